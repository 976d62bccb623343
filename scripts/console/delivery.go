package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"collabdata/scripts/operator"
	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
)

func event(ctx context.Context, v *view) error {
	v.inAccount()
	ref := collab.EventRef{Account: v.Get("account"), ID: v.Get("event")}
	v.Title = "Event " + ref.ID
	body, err := v.outbox.EventBody(ctx, ref)
	if err != nil {
		return err
	}
	var ev collab.Event
	facts := [][]cell{}
	if err := json.Unmarshal(body, &ev); err != nil {
		facts = append(facts, fact("It cannot be read", bad(err.Error())))
	} else {
		facts = eventFacts(&ev)
	}
	now := v.Directory.Now()
	for _, kind := range []collab.WorkKind{collab.EventWork, collab.ParkedWork} {
		w, err := v.outbox.Pending(ctx, ref, kind)
		if err != nil {
			return err
		}
		if w != nil {
			since, next := now.Sub(time.UnixMilli(w.Since)), max(0, time.UnixMilli(w.Next).Sub(now))
			facts = append(facts, fact("Its delivery", bad(fmt.Sprintf("%s, for %s; tried again in %s", stage(*w), span(since), span(next)))))
		}
	}
	v.facts(facts)
	if err := v.addRecipients(ctx, ref); err != nil {
		return err
	}
	if err := v.addDeliveries(ctx, ref); err != nil {
		return err
	}
	v.add(&section{Title: "As it is stored", Text: indented(body)})
	return nil
}

func eventFacts(ev *collab.Event) [][]cell {
	facts := [][]cell{fact("Type", text(string(ev.Type))), fact("At", clock(ev.Time))}
	if ev.Actor != nil {
		facts = append(facts, fact("By", text(named(*ev.Actor))))
	}
	at := &view{values: map[string][]string{"account": {ev.Account}, "organization": {ev.OrganizationID}}}
	if ev.OrganizationID != "" {
		facts = append(facts, fact("Organization", link(ev.OrganizationID, at.at("/organization", inOrganization))))
	}
	if ev.DocumentID != "" {
		facts = append(facts, fact("Document", at.document(ev.DocumentID)), fact("Thread", at.thread(ev.DocumentID, ev.AnnotationID)))
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

// addRecipients adds whom an event reaches.
func (v *view) addRecipients(ctx context.Context, ref collab.EventRef) error {
	s := &section{
		Title: "Who is told", ID: "told", Columns: []string{"User", "By", "Mail to"},
		Empty: "Nobody, or everyone by the list for all, or it is not worked out yet.",
	}
	v.add(s)
	page, err := v.outbox.RecipientPage(ctx, ref, v.Get(s.ID))
	if page != nil {
		for _, r := range page.Recipients {
			s.Rows = append(s.Rows, row(text(named(r.User)), text(channels(r)), text(collab.Deref(r.Email))))
		}
		s.More = v.more(s.ID, page.Next)
	}
	return err
}

// addDeliveries adds how an event came to the webhooks of its account.
func (v *view) addDeliveries(ctx context.Context, ref collab.EventRef) error {
	s := &section{Title: "Webhooks that are posted it", Columns: append([]string{"Webhook"}, deliveryColumns...)}
	v.add(s)
	hooks, err := v.outbox.Endpoints(ctx, ref.Account)
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
		hook := link(h.ID, v.at("/webhook", inAccount, "webhook", h.ID))
		s.Rows = append(s.Rows, append(row(hook), v.delivery(h.ID, &d)...))
	}
	return err
}

func endpoint(account string, h collab.Webhook) collab.EndpointRef {
	return collab.EndpointRef{LaneRef: collab.LaneRef{Account: account, WebhookID: h.ID}, CreatedAt: h.CreatedAt}
}

var deliveryColumns = []string{"Event", "Type", "State", "Tries", "Last answer", "Changed"}

// delivery is a delivery as a row.
func (v *view) delivery(hook string, d *collab.Delivery) []cell {
	answer := soft("–")
	if n := len(d.Attempts); n > 0 {
		answer = attempt(d.Attempts[n-1])
	}
	to := link(d.EventID, v.at("/delivery", inAccount, "webhook", hook, "event", d.EventID))
	return row(to, text(string(d.Type)), deliveryState(d), number(d.Tries), answer, clock(d.LastUpdated))
}

func attempt(a collab.DeliveryAttempt) cell {
	if a.Reason == "" {
		return good(fmt.Sprint(a.Status))
	}
	return bad(a.Reason)
}

func deliveryState(d *collab.Delivery) cell {
	switch s := string(d.State); d.State {
	case collab.DeliveryDelivered:
		return good(s)
	case collab.DeliveryExhausted:
		return bad(s)
	default:
		return text(s)
	}
}

func webhookList(ctx context.Context, v *view) error {
	v.inAccount()
	acct := v.Get("account")
	if _, err := v.Directory.Account(ctx, acct); err != nil {
		return err
	}
	s := &section{
		Columns: []string{"Webhook", "State", "Failures", "Failing since", "URL", "Description"},
		Empty:   "There is none: a back end adds one by POST /v2/webhooks/add.",
	}
	v.add(s)
	list, err := v.outbox.Webhooks(ctx, acct)
	for _, h := range list {
		hook := link(h.ID, v.at("/webhook", inAccount, "webhook", h.ID))
		failures, since := number(h.Health.Failures), clock(h.Health.FailingSince)
		s.Rows = append(s.Rows, row(hook, webhookState(h), failures, since, text(h.URL), text(h.Description)))
	}
	return err
}

func webhookState(h collab.Webhook) cell {
	switch {
	case h.Disabled && h.DisabledReason != "":
		return bad("disabled: " + h.DisabledReason)
	case !h.Disabled && h.Health.Resting():
		return bad("resting")
	}
	return state(h.Disabled)
}

// webhook returns the endpoint that the address names.
func (v *view) webhook(ctx context.Context) (collab.Webhook, error) {
	v.inAccount()
	v.crumb("Webhooks", v.at("/webhooks", inAccount))
	v.crumb(v.Get("webhook"), v.at("/webhook", "account webhook"))
	return v.outbox.Webhook(ctx, v.Get("account"), v.Get("webhook"))
}

func webhookPage(ctx context.Context, v *view) error {
	h, err := v.webhook(ctx)
	if err != nil {
		return err
	}
	acct := v.Get("account")
	lanes, err := v.outbox.Lanes(ctx, collab.LaneRef{Account: acct, WebhookID: h.ID})
	if err != nil {
		return err
	}
	h.Health = lanes[0].Health
	v.Title = "Webhook " + h.ID
	types := "all"
	if h.EventTypes != nil {
		types = fmt.Sprint(h.EventTypes)
	}
	replay := v.ask("webhook/replay", "Replay …", "account webhook")
	replay.Inputs = []input{
		{Name: "since", Label: "Sent since (UTC)", Kind: "datetime-local"}, {Name: "state", Label: "State", Values: states()},
	}
	v.facts([][]cell{
		fact("URL", text(h.URL)), fact("Description", text(h.Description)), fact("State", webhookState(h)), fact("Event types", text(types)),
		fact("Failures since the last success", number(h.Health.Failures)), fact("Failing since", clock(h.Health.FailingSince)),
		fact("Posted to again not before", clock(lanes[0].Pause)), fact("Secrets that sign", number(len(h.SigningSecrets(v.Directory.Millis())))),
		fact("Created", clock(h.CreatedAt)), fact("Changed", clock(h.LastUpdated)),
	}, replay)
	only, ann := cmp.Or(v.Get("state"), anyState), v.Get("annotation")
	s := &section{
		Title: "Deliveries", Columns: deliveryColumns, Empty: "None of those that were looked at.", Note: "Newest event first, kept for 30 days.",
		Forms: []form{v.filter("account webhook", input{Name: "state", Label: "State", Value: only, Values: states()},
			input{Name: "annotation", Label: "Of thread", Value: ann})},
	}
	read := func(after string, n int) ([]collab.Delivery, string, error) {
		return v.outbox.Deliveries(ctx, acct, h.ID, collab.DeliveryFilter{}, after, n)
	}
	return addList(v, "deliveries", s, 5, read, func(d collab.Delivery) ([]cell, error) {
		if only != anyState && only != string(d.State) {
			return nil, nil
		}
		if of, err := v.isOf(ctx, acct, d.EventID, ann); !of {
			return nil, err
		}
		return v.delivery(h.ID, &d), nil
	})
}

// anyState stands for every state of deliveries.
const anyState = "any"

func states() []string { return append([]string{anyState}, collab.DeliveryState("").Values()...) }

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
	h, err := v.webhook(ctx)
	if err != nil {
		return err
	}
	acct, id := v.Get("account"), v.Get("event")
	v.Title = "Delivery of event " + id
	d, err := v.outbox.Delivery(ctx, endpoint(acct, h), id)
	if err != nil {
		return err
	}
	facts := [][]cell{
		fact("Event", link(id, eventAt(acct, id))), fact("Type", text(string(d.Type))), fact("To", text(h.URL)), fact("State", deliveryState(&d)),
		fact("Tries since it was added or replayed", number(d.Tries)), fact("Added", clock(d.CreatedAt)), fact("Changed", clock(d.LastUpdated)),
	}
	if d.State == collab.DeliveryPending {
		facts = append(facts, fact("Posted next", clock(d.NextAttempt)))
	}
	v.facts(facts, v.ask("delivery/replay", "Post it again …", "account webhook event"))
	s := &section{Title: "Answers", Columns: []string{"At", "Status", "It was", "Took"}, Empty: "It was not posted yet."}
	v.add(s)
	for _, a := range slices.Backward(d.Attempts) {
		was := cell{Text: cmp.Or(a.Reason, "accepted"), Class: attempt(a).Class}
		s.Rows = append(s.Rows, row(clock(a.At), number(a.Status), was, text(fmt.Sprint(a.Duration, " ms"))))
	}
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

// waiting are the kinds of pending work, as the pages name them, with the page of each.
var waiting = []struct {
	kind       collab.WorkKind
	name, page string
}{
	{collab.EventWork, "Events whose delivery is not done", "event"}, {collab.LaneWork, "Webhooks with deliveries that wait", "webhook"},
	{collab.ParkedWork, "Events of what is disabled", "event"}, {collab.JobWork, "What deletions have left to be swept", "job"},
}

// shown is how many entries of each shard of pending work are looked at.
const shown = 10

func pending(ctx context.Context, v *view) error {
	for _, kind := range waiting {
		s := &section{Title: kind.name, Columns: []string{"Since", "For", "Account", "Id", "Stage", "Tried again", "Moved on"}}
		v.add(s)
		var mu sync.Mutex
		var all []outbox.Work
		err := store.Each(ctx, keys.DueShards, func(ctx context.Context, shard int) error {
			list, next, err := v.outbox.Work(ctx, kind.kind, shard, "", shown, func(err error) {
				mu.Lock()
				defer mu.Unlock()
				s.Bad = "One cannot be read: " + err.Error()
			})
			mu.Lock()
			defer mu.Unlock()
			if all = append(all, list...); next != "" {
				s.Note = fmt.Sprintf("There are more: the first %d by account of each of %d parts are looked at.", shown, keys.DueShards)
			}
			return err
		})
		if err != nil {
			return err
		}
		slices.SortFunc(all, func(a, b outbox.Work) int { return cmp.Compare(a.Since, b.Since) })
		for _, w := range all {
			id := link(w.ID, at("/"+kind.page, "account", w.Account, kind.page, w.ID))
			age := text(span(max(0, v.Directory.Now().Sub(time.UnixMilli(w.Since)))))
			s.Rows = append(s.Rows, row(clock(w.Since), age, accountLink(w.Account), id, text(stage(w)), clock(w.Next), number(w.Moves)))
		}
	}
	return nil
}

func accountLink(id string) cell { return link(id, at("/account", "account", id)) }

func quarantine(ctx context.Context, v *view) error {
	s := &section{
		Columns: []string{"Account", "Event", "Since", "Reason", "Retry"},
		Note:    "Events whose handling ended the process, or that cannot be read. The logs of deliver say why. They are kept for 30 days.",
	}
	read := func(after string, n int) ([]outbox.Quarantined, string, error) {
		return v.outbox.Quarantined(ctx, after, n, func(err error) { s.Bad = "One cannot be read: " + err.Error() })
	}
	return addList(v, "quarantine", s, pageSize, read, always(func(q outbox.Quarantined) []cell {
		retry := v.ask("quarantine/retry", "Retry …", "", "account", q.Account, "event", q.ID)
		return row(accountLink(q.Account), link(q.ID, eventAt(q.Account, q.ID)), clock(q.At), text(q.Reason), cell{Form: &retry})
	}))
}

var queues = []string{keys.EventsQueue, keys.WebhooksQueue}

// mostDead is how many dead letters of a queue are listed: reading them keeps others from them for the while.
const mostDead = 50

func deadLetters(ctx context.Context, v *view) error {
	for _, name := range queues {
		s := &section{Title: "Of the queue " + name, Columns: []string{"Sent", "Account", "Event", "Webhook"}}
		v.add(s)
		live, err := v.Queue(ctx, name)
		if err != nil {
			return err
		}
		list, more, err := operator.DeadLetters(ctx, name, live, mostDead, func(err error) {
			s.Bad = "Some of them can be redriven in 30 s only: " + err.Error()
		})
		if err != nil {
			return err
		}
		if more {
			s.Note = fmt.Sprintf("There may be more than these %d.", mostDead)
		}
		for _, d := range list {
			of := row(clock(d.Sent), accountLink(d.Account), soft("–"), soft("–"))
			switch {
			case d.Unreadable != "":
				of[1], of[2] = bad("unreadable"), text(d.Unreadable)
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
	v.Title = "Job " + v.Get("job")
	p, err := v.outbox.JobProgress(ctx, v.Get("account"), v.Get("job"))
	v.facts([][]cell{fact("State", text(string(p.State))), fact("Started", clock(p.StartedAt)), fact("Items swept", number(p.Done))})
	return err
}
