package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"collabdata/scripts/operator"
	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
	"collabdata/shared/table"
)

func event(ctx context.Context, v *view) error {
	v.inAccount()
	ref := collab.EventRef{Account: v.Get("account"), ID: v.Get("event")}
	v.title = "Event " + ref.ID
	body, err := v.outbox.EventBody(ctx, ref)
	if err != nil {
		return err
	}
	var ev collab.Event
	facts := [][]cell{}
	if err := json.Unmarshal(body, &ev); err != nil {
		facts = append(facts, fact("It cannot be read", cell{Text: err.Error(), Class: "bad"}))
	} else {
		facts = v.eventFacts(&ev)
	}
	for _, kind := range []collab.WorkKind{collab.EventWork, collab.ParkedWork} {
		w, err := v.outbox.Pending(ctx, ref, kind)
		if err != nil {
			return err
		}
		if w != nil {
			facts = append(facts, fact("Its delivery", cell{Text: v.standing(*w), Class: "bad"}))
		}
	}
	v.add(&section{Rows: facts})
	if err := v.addRecipients(ctx, ref); err != nil {
		return err
	}
	if err := v.addDeliveries(ctx, ref); err != nil {
		return err
	}
	v.add(&section{Title: "As it is stored", Text: indented(body)})
	return nil
}

func (v *view) eventFacts(ev *collab.Event) [][]cell {
	facts := [][]cell{fact("Type", text(string(ev.Type))), fact("At", clock(ev.Time))}
	if ev.Actor != nil {
		facts = append(facts, fact("By", text(named(*ev.Actor))))
	}
	in := []string{"account", ev.Account, "organization", ev.OrganizationID}
	if ev.OrganizationID != "" {
		facts = append(facts, fact("Organization", link(ev.OrganizationID, at("/organization", in...))))
	}
	if ev.DocumentID != "" {
		in = append(in, "document", ev.DocumentID)
		facts = append(facts, fact("Document", link(ev.DocumentID, at("/document", in...))))
	}
	if ev.AnnotationID != "" {
		facts = append(facts, fact("Thread", link(ev.AnnotationID, at("/thread", append(in, "annotation", ev.AnnotationID)...))))
	}
	tells := soft("nobody but webhooks")
	if ev.Notify {
		tells = text("people, too")
	}
	return append(facts, fact("It tells", tells))
}

// stage is how far the delivery of something has come; of a lane or a job there is none.
func stage(w outbox.Work) string {
	if w.Kind == collab.LaneWork || w.Kind == collab.JobWork {
		return ""
	}
	return cmp.Or(string(w.Stage), "new")
}

// standing says how far the delivery of something has come.
func (v *view) standing(w outbox.Work) string {
	now := v.Directory.Now()
	return fmt.Sprintf("%s, for %s; tried again in %s", stage(w), span(now.Sub(time.UnixMilli(w.Since))), span(max(0, time.UnixMilli(w.Next).Sub(now))))
}

// addRecipients adds whom an event reaches.
func (v *view) addRecipients(ctx context.Context, ref collab.EventRef) error {
	page, err := v.outbox.RecipientPage(ctx, ref, v.Get("after"))
	s := &section{Title: "Who is told", ID: "told", Columns: []string{"User", "By", "Mail to"}, Empty: "Nobody, or everyone by the list for all, or it is not worked out yet."}
	if page != nil {
		for _, r := range page.Recipients {
			s.Rows = append(s.Rows, row(text(named(r.User)), text(channels(r)), text(collab.Deref(r.Email))))
		}
		s.More = v.with("/event", "after", page.Next)
	}
	v.add(s)
	return err
}

// addDeliveries adds how an event came to the webhooks of its account.
func (v *view) addDeliveries(ctx context.Context, ref collab.EventRef) error {
	hooks, err := v.outbox.Endpoints(ctx, ref.Account)
	if err != nil {
		return err
	}
	s := &section{Title: "Webhooks that are posted it", Columns: deliveryColumns, Empty: "There is none."}
	for _, h := range hooks {
		if v.enough() {
			s.Note = "These are not all: the page has read enough."
			break
		}
		d, err := v.outbox.Delivery(ctx, endpoint(ref.Account, h), ref.ID)
		if collab.CodeOf(err) == collab.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		s.Rows = append(s.Rows, v.delivery(h.ID, &d))
	}
	v.add(s)
	return nil
}

func endpoint(account string, h collab.Webhook) collab.EndpointRef {
	return collab.EndpointRef{LaneRef: collab.LaneRef{Account: account, WebhookID: h.ID}, CreatedAt: h.CreatedAt}
}

var deliveryColumns = []string{"Webhook", "Event", "Type", "State", "Tries", "Last answer", "Changed"}

// delivery is a delivery as a row.
func (v *view) delivery(webhook string, d *collab.Delivery) []cell {
	answer := soft("–")
	if n := len(d.Attempts); n > 0 {
		answer = attempt(d.Attempts[n-1])
	}
	return row(
		link(webhook, v.at("/webhook", "account", "webhook", webhook)),
		link(d.EventID, v.at("/delivery", "account", "webhook", webhook, "event", d.EventID)),
		text(string(d.Type)), deliveryState(d), number(d.Tries), answer, clock(d.LastUpdated),
	)
}

func attempt(a collab.DeliveryAttempt) cell {
	c := cell{Text: a.Reason, Class: "bad"}
	if a.Reason == "" {
		c = cell{Text: strconv.Itoa(a.Status), Class: "good"}
	}
	return c
}

func deliveryState(d *collab.Delivery) cell {
	class := map[collab.DeliveryState]string{collab.DeliveryDelivered: "good", collab.DeliveryExhausted: "bad"}[d.State]
	return cell{Text: string(d.State), Class: class}
}

func webhookList(ctx context.Context, v *view) error {
	v.inAccount()
	acct := v.Get("account")
	if _, err := v.Directory.Account(ctx, acct); err != nil {
		return err
	}
	list, err := v.outbox.Webhooks(ctx, acct)
	s := &section{Columns: []string{"Webhook", "State", "Failures", "Failing since", "URL", "Description"}, Empty: "There is none: a back end adds one by POST /v2/webhooks/add."}
	for _, h := range list {
		s.Rows = append(s.Rows, row(link(h.ID, v.at("/webhook", "account", "webhook", h.ID)), webhookState(h), number(h.Health.Failures), clock(h.Health.FailingSince), text(h.URL), text(h.Description)))
	}
	v.add(s)
	return err
}

func webhookState(h collab.Webhook) cell {
	switch {
	case h.Disabled && h.DisabledReason != "":
		return cell{Text: "disabled: " + h.DisabledReason, Class: "bad"}
	case !h.Disabled && h.Health.Resting():
		return cell{Text: "resting", Class: "bad"}
	}
	return state(h.Disabled)
}

func webhookPage(ctx context.Context, v *view) error {
	v.inAccount()
	acct, id, ann := v.Get("account"), v.Get("webhook"), v.Get("annotation")
	v.crumb("Webhooks", v.at("/webhooks", "account"))
	h, err := v.outbox.Webhook(ctx, acct, id)
	if err != nil {
		return err
	}
	lanes, err := v.outbox.Lanes(ctx, collab.LaneRef{Account: acct, WebhookID: id})
	if err != nil {
		return err
	}
	h.Health = lanes[0].Health
	v.title = "Webhook " + id
	types := "all"
	if h.EventTypes != nil {
		types = fmt.Sprint(h.EventTypes)
	}
	since := v.ask("webhook/replay", "Replay …", "account webhook")
	since.Inputs = []input{{Name: "since", Label: "Sent since (UTC)", Kind: "datetime-local"}, {Name: "state", Label: "State", Values: states()}}
	v.add(&section{Rows: [][]cell{
		fact("URL", text(h.URL)), fact("Description", text(h.Description)), fact("State", webhookState(h)), fact("Event types", text(types)),
		fact("Failures since the last success", number(h.Health.Failures)), fact("Failing since", clock(h.Health.FailingSince)),
		fact("Posted to again not before", clock(lanes[0].Pause)), fact("Secrets that sign", number(len(h.SigningSecrets(v.Directory.Millis())))),
		fact("Created", clock(h.CreatedAt)), fact("Changed", clock(h.LastUpdated)),
	}, Forms: []form{since}})
	looked := 0
	list, next, err := collect(v, "after", 5, func(after string, n int) ([]collab.Delivery, string, error) {
		list, next, err := v.outbox.Deliveries(ctx, acct, id, collab.DeliveryFilter{}, after, n)
		looked += len(list)
		kept := list[:0]
		for _, d := range list {
			if s := v.Get("state"); err == nil && (s == "" || s == "any" || s == string(d.State)) {
				var of bool
				if of, err = v.isOf(ctx, acct, d.EventID, ann); of {
					kept = append(kept, d)
				}
			}
		}
		return kept, next, err
	})
	if err != nil {
		return err
	}
	only := form{Action: Path + "/webhook", Label: "Show", Get: true, Inputs: []input{{Name: "state", Label: "State", Value: v.Get("state"), Values: states()}, {Name: "annotation", Label: "Of thread", Value: ann}}}
	only.Hidden = [][2]string{{"account", acct}, {"webhook", id}}
	s := &section{
		Title: "Deliveries", ID: "deliveries", Columns: deliveryColumns[1:], Empty: "None of these.", More: v.with("/webhook", "after", next), Forms: []form{only},
		Note: fmt.Sprintf("Newest event first, kept for 30 days. %d were looked at.", looked),
	}
	for _, d := range list {
		s.Rows = append(s.Rows, v.delivery(id, &d)[1:])
	}
	v.add(s)
	return nil
}

func states() []string { return append([]string{"any"}, collab.DeliveryState("").Values()...) }

// isOf reports whether an event is of a thread, "" for any.
func (v *view) isOf(ctx context.Context, acct, id, ann string) (bool, error) {
	if ann == "" {
		return true, nil
	}
	body, err := v.outbox.EventBody(ctx, collab.EventRef{Account: acct, ID: id})
	if collab.CodeOf(err) == collab.NotFound {
		return false, nil
	}
	var ev collab.Event
	return err == nil && json.Unmarshal(body, &ev) == nil && ev.AnnotationID == ann, err
}

func delivered(ctx context.Context, v *view) error {
	v.inAccount()
	acct, hook, id := v.Get("account"), v.Get("webhook"), v.Get("event")
	v.crumb("Webhooks", v.at("/webhooks", "account"))
	v.crumb(hook, v.at("/webhook", "account webhook"))
	v.title = "Delivery of event " + id
	h, err := v.outbox.Webhook(ctx, acct, hook)
	if err != nil {
		return err
	}
	d, err := v.outbox.Delivery(ctx, endpoint(acct, h), id)
	if err != nil {
		return err
	}
	facts := [][]cell{
		fact("Event", link(id, v.at("/event", "account event"))), fact("Type", text(string(d.Type))), fact("To", text(h.URL)), fact("State", deliveryState(&d)),
		fact("Tries since it was added or replayed", number(d.Tries)), fact("Added", clock(d.CreatedAt)), fact("Changed", clock(d.LastUpdated)),
	}
	if d.State == collab.DeliveryPending {
		facts = append(facts, fact("Posted next", clock(d.NextAttempt)))
	}
	v.add(&section{Rows: facts, Forms: []form{v.ask("delivery/replay", "Post it again …", "account webhook event")}})
	s := &section{Title: "Answers", Columns: []string{"At", "Status", "It was", "Took"}, Empty: "It was not posted yet."}
	for _, a := range slices.Backward(d.Attempts) {
		s.Rows = append(s.Rows, row(clock(a.At), text(strconv.Itoa(a.Status)), cell{Text: cmp.Or(a.Reason, "accepted"), Class: attempt(a).Class}, text(fmt.Sprint(a.Duration, " ms"))))
	}
	v.add(s)
	ev, err := v.outbox.Event(ctx, acct, id)
	if collab.CodeOf(err) == collab.NotFound {
		v.add(&section{Title: "Body", Note: "The event is not kept any more."})
		return nil
	}
	if err != nil {
		return err
	}
	body, err := delivery.Payload(ctx, v.outbox, ev)
	v.add(&section{Title: "Body", Text: indented(body)})
	return err
}

// indented is a JSON text with a line for each member.
func indented(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

// waiting are the kinds of pending work, as the pages name them.
var waiting = []struct {
	kind collab.WorkKind
	name string
}{
	{collab.EventWork, "Events whose delivery is not done"}, {collab.LaneWork, "Webhooks with deliveries that wait"},
	{collab.ParkedWork, "Events of what is disabled"}, {collab.JobWork, "What deletions have left to be swept"},
}

// shown is how many entries of each shard of pending work are looked at.
const shown = 10

func pending(ctx context.Context, v *view) error {
	for _, kind := range waiting {
		var mu sync.Mutex
		var all []outbox.Work
		var more bool
		s := &section{Title: kind.name, Columns: []string{"Since", "For", "Account", "Id", "Stage", "Tried again", "Moved on"}, Empty: "There is none."}
		v.add(s)
		err := store.Each(ctx, table.DueShards, func(ctx context.Context, shard int) error {
			list, next, err := v.outbox.Work(ctx, kind.kind, shard, "", shown, func(err error) {
				mu.Lock()
				defer mu.Unlock()
				s.Bad = "One cannot be read: " + err.Error()
			})
			mu.Lock()
			defer mu.Unlock()
			all, more = append(all, list...), more || next != ""
			return err
		})
		if err != nil {
			return err
		}
		if more {
			s.Note = fmt.Sprintf("There are more: the first %d by account of each of %d parts are looked at.", shown, table.DueShards)
		}
		slices.SortFunc(all, func(a, b outbox.Work) int { return cmp.Compare(a.Since, b.Since) })
		for _, w := range all {
			to := "/event"
			switch kind.kind {
			case collab.LaneWork:
				to = "/webhook"
			case collab.JobWork:
				to = "/job"
			}
			id := link(w.ID, at(to, "account", w.Account, to[1:], w.ID))
			age := v.Directory.Now().Sub(time.UnixMilli(w.Since))
			s.Rows = append(s.Rows, row(clock(w.Since), text(span(max(0, age))), link(w.Account, at("/account", "account", w.Account)), id, text(stage(w)), clock(w.Next), text(strconv.FormatInt(w.Moves, 10))))
		}
	}
	return nil
}

func quarantine(ctx context.Context, v *view) error {
	s := &section{
		ID: "quarantine", Columns: []string{"Account", "Event", "Since", "Reason", "Retry"}, Empty: "There are none.",
		Note: "Events whose handling ended the process, or that cannot be read. The logs of deliver say why. They are kept for 30 days.",
	}
	v.add(s)
	list, next, err := collect(v, "after", pageSize, func(after string, n int) ([]outbox.Quarantined, string, error) {
		return v.outbox.Quarantined(ctx, after, n, func(err error) { s.Bad = "One cannot be read: " + err.Error() })
	})
	s.More = v.with("/quarantine", "after", next)
	for _, q := range list {
		retry := v.ask("quarantine/retry", "Retry …", "", "account", q.Account, "event", q.ID)
		s.Rows = append(s.Rows, row(link(q.Account, at("/account", "account", q.Account)), link(q.ID, eventAt(q.Account, q.ID)), clock(q.At), text(q.Reason), button(retry)))
	}
	return err
}

var queues = []string{table.EventsQueue, table.WebhooksQueue}

// mostDead is how many dead letters of a queue are listed: reading them keeps others from them for the while.
const mostDead = 50

func deadLetters(ctx context.Context, v *view) error {
	for _, name := range queues {
		s := &section{Title: "Of the queue " + name, Columns: []string{"Sent", "Account", "Event", "Webhook"}, Empty: "There are none."}
		v.add(s)
		live, err := v.Queue(ctx, name)
		if err != nil {
			return err
		}
		list, more, err := operator.DeadLetters(ctx, name, live, mostDead, func(err error) { s.Bad = "Some of them can be redriven in 30 s only: " + err.Error() })
		if err != nil {
			return err
		}
		if more {
			s.Note = fmt.Sprintf("There may be more than these %d.", mostDead)
		}
		for _, d := range list {
			of := row(clock(d.Sent), link(d.Account, at("/account", "account", d.Account)), soft("–"), soft("–"))
			switch {
			case d.Unreadable != "":
				of[1], of[2] = cell{Text: "unreadable", Class: "bad"}, text(d.Unreadable)
			case d.Event != "":
				of[2] = link(d.Event, eventAt(d.Account, d.Event))
			default:
				of[3] = link(d.Webhook, at("/webhook", "account", d.Account, "webhook", d.Webhook))
			}
			s.Rows = append(s.Rows, of)
		}
		if len(list) > 0 {
			s.Forms = []form{v.ask("dead-letters/redrive", "Send them again …", "", "queue", name)}
		}
	}
	return nil
}

func job(ctx context.Context, v *view) error {
	v.inAccount()
	v.title = "Job " + v.Get("job")
	p, err := v.outbox.JobProgress(ctx, v.Get("account"), v.Get("job"))
	v.add(&section{Rows: [][]cell{fact("State", text(string(p.State))), fact("Started", clock(p.StartedAt)), fact("Items swept", text(strconv.FormatInt(p.Done, 10)))}})
	return err
}
