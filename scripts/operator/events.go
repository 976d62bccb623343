package operator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/api/webhooks"
	"collabdata/shared/collab"
	"collabdata/shared/delivery"
)

func eventAt(account, event string) string {
	return address("/event", "account", account, "event", event)
}

func showEvent(ctx context.Context, r *Run, p *inEvent) error {
	r.aboveAccount(p.Account)
	r.Title = "Event " + string(p.Event)
	body, err := r.outbox.EventBody(ctx, p.ref())
	if err != nil {
		return err
	}
	part := r.facts()
	var ev collab.Event
	if err := json.Unmarshal(body, &ev); err != nil {
		part.Rows = facts("It cannot be read", bad(err.Error()))
	} else {
		part.Rows = eventFacts(&ev)
	}
	now := r.directory.Now()
	for _, kind := range []collab.WorkKind{collab.EventWork, collab.ParkedWork} {
		w, err := r.outbox.Pending(ctx, p.ref(), kind)
		if err != nil {
			return err
		}
		if w != nil {
			since, next := now.Sub(time.UnixMilli(w.Since)), max(0, time.UnixMilli(w.Next).Sub(now))
			part.Rows = append(part.Rows, row("Its delivery", bad(fmt.Sprintf("%s, for %s; tried again in %s", stage(*w), span(since), span(next)))))
		}
	}
	if err := r.addPeople(ctx, p.ref()); err != nil {
		return err
	}
	if err := r.addDeliveries(ctx, p.ref()); err != nil {
		return err
	}
	r.add(&Part{Title: "As it is stored", Text: indented(body)})
	return nil
}

func eventFacts(ev *collab.Event) [][]Cell {
	rows := facts("Type", string(ev.Type), "At", Time(ev.Time))
	if ev.Actor != nil {
		rows = append(rows, row("By", named(*ev.Actor)))
	}
	in := []string{"account", ev.Account, "organization", ev.OrganizationID}
	if ev.OrganizationID != "" {
		rows = append(rows, row("Organization", link(ev.OrganizationID, address("/organization", in...))))
	}
	if in = append(in, "document", ev.DocumentID); ev.DocumentID != "" {
		rows = append(rows, row("Document", link(ev.DocumentID, address("/document", in...))))
	}
	if in = append(in, "annotation", ev.AnnotationID); ev.AnnotationID != "" {
		rows = append(rows, row("Thread", link(ev.AnnotationID, address("/thread", in...))))
	}
	if ev.Notify {
		return append(rows, row("It notifies", "people, too"))
	}
	return append(rows, row("It notifies", soft("nobody but webhooks")))
}

// addDeliveries adds how an event came to the webhooks of its account.
func (r *Run) addDeliveries(ctx context.Context, ref collab.EventRef) error {
	part := &Part{Title: "Webhooks that are posted it", Columns: append([]string{"Webhook"}, deliveryColumns...)}
	r.add(part)
	hooks, err := r.hooks.Endpoints(ctx, ref.Account)
	for _, h := range hooks {
		if r.enough() {
			part.Note = "These are not all: the page has read enough."
			break
		}
		d, err := r.hooks.Delivery(ctx, endpoint(ref.Account, h), ref.ID)
		if collab.CodeOf(err) == collab.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		hook := link(h.ID, r.at("/webhook", "account", "webhook", h.ID))
		part.Rows = append(part.Rows, append(row(hook), r.delivery(h.ID, &d)...))
	}
	return err
}

func endpoint(account string, h collab.Webhook) collab.EndpointRef {
	return collab.EndpointRef{LaneRef: collab.LaneRef{Account: account, WebhookID: h.ID}, CreatedAt: h.CreatedAt}
}

var deliveryColumns = []string{"Event", "Type", "State", "Tries", "Last answer", "Changed"}

// delivery is a delivery as a row.
func (r *Run) delivery(hook string, d *collab.Delivery) []Cell {
	answer := soft("–")
	if n := len(d.Attempts); n > 0 {
		answer = attempt(d.Attempts[n-1])
	}
	to := link(d.EventID, r.at("/delivery", "account", "webhook", hook, "event", d.EventID))
	return row(to, string(d.Type), deliveryState(d), d.Tries, answer, Time(d.LastUpdated))
}

func attempt(a collab.DeliveryAttempt) Cell {
	if a.Reason == "" {
		return good(fmt.Sprint(a.Status))
	}
	return bad(a.Reason)
}

func deliveryState(d *collab.Delivery) Cell {
	c := Cell{Value: string(d.State)}
	switch d.State {
	case collab.DeliveryDelivered:
		c.Kind = Good
	case collab.DeliveryExhausted:
		c.Kind = Bad
	}
	return c
}

func listWebhooks(ctx context.Context, r *Run, p *inAccount) error {
	r.aboveAccount(p.Account)
	r.Title = "Webhooks"
	if _, err := r.accounts.Account(ctx, string(p.Account)); err != nil {
		return err
	}
	part := &Part{
		Columns: []string{"Webhook", "State", "Failures", "Failing since", "URL", "Description"},
		Empty:   "There is none: a back end adds one by POST /v2/webhooks/add.",
	}
	r.add(part)
	list, err := r.hooks.Webhooks(ctx, string(p.Account))
	for _, h := range list {
		hook, since := link(h.ID, r.at("/webhook", "account", "webhook", h.ID)), Time(h.Health.FailingSince)
		part.Rows = append(part.Rows, row(hook, webhookState(h), h.Health.Failures, since, h.URL, h.Description))
	}
	return err
}

func webhookState(h collab.Webhook) Cell {
	switch {
	case h.Disabled && h.DisabledReason != "":
		return bad("disabled: " + h.DisabledReason)
	case !h.Disabled && h.Health.Resting():
		return bad("resting")
	}
	return state(h.Disabled)
}

type aWebhook struct {
	inAccount
	Webhook id `arg:"" help:"Webhook."`
}

// open returns the webhook endpoint.
func (p *aWebhook) open(ctx context.Context, r *Run) (collab.Webhook, error) {
	r.aboveAccount(p.Account)
	r.Above = append(r.Above, link("Webhooks", r.at("/webhooks", "account")), link(string(p.Webhook), r.at("/webhook", "account webhook")))
	return r.hooks.Webhook(ctx, string(p.Account), string(p.Webhook))
}

type deliveriesOf struct {
	aWebhook
	State      deliveryFilter `enum:"any,pending,delivered,exhausted,canceled" default:"any" help:"Only deliveries in this state: any, pending, delivered, exhausted or canceled."`
	Annotation string         `help:"Only deliveries about this thread."`
}

// deliveryFilter is a state of deliveries, or any.
type deliveryFilter string

const anyState = "any"

func (s deliveryFilter) state() collab.DeliveryState {
	if s == anyState {
		return ""
	}
	return collab.DeliveryState(s)
}

func states() []string { return append([]string{anyState}, collab.DeliveryState("").Values()...) }

func showWebhook(ctx context.Context, r *Run, p *deliveriesOf) error {
	h, err := p.open(ctx, r)
	if err != nil {
		return err
	}
	acct := string(p.Account)
	lanes, err := r.hooks.Lanes(ctx, collab.LaneRef{Account: acct, WebhookID: h.ID})
	if err != nil {
		return err
	}
	h.Health = lanes[0].Health
	r.Title = "Webhook " + h.ID
	types := "all"
	if h.EventTypes != nil {
		types = strings.Join(collab.Map(h.EventTypes, func(t collab.EventType) string { return string(t) }), ", ")
	}
	replay := r.offer("webhook replay", "Replay …", "account webhook")
	replay.Inputs = []Input{
		{Name: "since", Label: "Sent since (UTC)", Kind: "datetime-local"}, {Name: "state", Label: "State", Values: states()},
	}
	r.facts(
		"URL", h.URL, "Description", h.Description, "State", webhookState(h), "Event types", types,
		"Failures since the last success", h.Health.Failures, "Failing since", Time(h.Health.FailingSince),
		"Posted to again not before", Time(lanes[0].Pause), "Secrets that sign", len(h.SigningSecrets(r.directory.Millis())),
		"Created", Time(h.CreatedAt), "Changed", Time(h.LastUpdated),
	).Offers = []*Offer{replay}
	only := r.offer("webhook show", "Show", "account webhook")
	only.Inputs = []Input{
		{Name: "state", Label: "State", Value: string(p.State), Values: states()}, {Name: "annotation", Label: "Of thread", Value: p.Annotation},
	}
	part := &Part{
		Title: "Deliveries", Columns: deliveryColumns, Empty: "None of those that were looked at.", Note: "Newest event first, kept for 30 days.",
		Offers: []*Offer{only},
	}
	read := func(after string, n int) ([]collab.Delivery, string, error) {
		return r.hooks.Deliveries(ctx, acct, h.ID, collab.DeliveryFilter{}, after, n)
	}
	return list(r, "deliveries", part, 5, read, func(d collab.Delivery) ([]Cell, error) {
		if state := p.State.state(); state != "" && state != d.State {
			return nil, nil
		}
		if of, err := r.isOf(ctx, acct, d.EventID, p.Annotation); !of {
			return nil, err
		}
		return r.delivery(h.ID, &d), nil
	})
}

// isOf reports whether an event is of a thread, "" for any.
func (r *Run) isOf(ctx context.Context, acct, id, ann string) (bool, error) {
	if ann == "" {
		return true, nil
	}
	body, err := r.outbox.EventBody(ctx, collab.EventRef{Account: acct, ID: id})
	if collab.CodeOf(err) == collab.NotFound {
		return false, nil
	}
	var ev collab.Event
	return err == nil && json.Unmarshal(body, &ev) == nil && ev.AnnotationID == ann, err
}

type replay struct {
	aWebhook
	Since moment         `required:"" placeholder:"TIME" help:"Of the events: 2027-01-31, 2027-01-31T12:00:00Z, or 12h or 2d ago. Deliveries are kept for 30 days."`
	State deliveryFilter `enum:"any,pending,delivered,exhausted,canceled" default:"any" help:"Only deliveries in this state: any, pending, delivered, exhausted or canceled."`
	After string         `kong:"-"` // where an earlier replay stopped
}

// ask says of a form what it replays.
func (p *replay) ask(_ context.Context, r *Run) (string, error) {
	return fmt.Sprintf("What webhook %q was sent since %s UTC is posted again, oldest event first: deliveries that are %s.",
		p.Webhook, Time(p.Since.before(r.directory.Now())).Clock(), cmp.Or(string(p.State.state()), "in any state")), nil
}

// replayWebhook makes deliveries pending page by page, as the operation does.
func replayWebhook(ctx context.Context, r *Run, p *replay) error {
	if _, err := r.accounts.Account(ctx, string(p.Account)); err != nil {
		return err
	}
	f := collab.DeliveryFilter{After: p.Since.before(r.directory.Now()), State: p.State.state()}
	service := webhooks.Service{Store: r.hooks}
	replayed, next := 0, p.After
	var err error
	for first := true; err == nil && (first || next != "" && (r.until.IsZero() || r.directory.Now().Before(r.until))); first = false {
		var n int
		n, next, err = service.ReplaySince(ctx, string(p.Account), string(p.Webhook), f, next, webhooks.MaxReplay)
		replayed += n
	}
	if err != nil && replayed == 0 {
		return err
	}
	r.Title, r.Stay = "Replay", true
	part := r.facts("Replayed", replayed)
	part.Links = []Cell{link("Webhook "+string(p.Webhook), r.at("/webhook", "account webhook"))}
	if next != "" {
		part.Offers = []*Offer{r.offer("webhook replay", "Go on with the others", "account webhook since state confirmed", "after", next)}
	}
	r.done("%s will be posted again, the first within a minute or so.", rpc.Count(replayed, "delivery"))
	return err
}

type aDelivery struct {
	aWebhook
	Event id `arg:"" help:"Event."`
}

func showDelivery(ctx context.Context, r *Run, p *aDelivery) error {
	h, err := p.open(ctx, r)
	if err != nil {
		return err
	}
	acct, id := string(p.Account), string(p.Event)
	r.Title = "Delivery of event " + id
	d, err := r.hooks.Delivery(ctx, endpoint(acct, h), id)
	if err != nil {
		return err
	}
	part := r.facts(
		"Event", link(id, eventAt(acct, id)), "Type", string(d.Type), "To", h.URL, "State", deliveryState(&d),
		"Tries since it was added or replayed", d.Tries, "Added", Time(d.CreatedAt), "Changed", Time(d.LastUpdated),
	)
	part.Offers = []*Offer{r.offer("delivery replay", "Post it again …", "account webhook event")}
	if d.State == collab.DeliveryPending {
		part.Rows = append(part.Rows, row("Posted next", Time(d.NextAttempt)))
	}
	part = &Part{Title: "Answers", Columns: []string{"At", "Status", "It was", "Took", "Answer"}, Empty: "It was not posted yet."}
	r.add(part)
	for _, a := range slices.Backward(d.Attempts) {
		was := Cell{Value: cmp.Or(a.Reason, "accepted"), Kind: attempt(a).Kind}
		part.Rows = append(part.Rows, row(Time(a.At), a.Status, was, fmt.Sprint(a.Duration, " ms"), a.Answer))
	}
	ev, err := r.outbox.Event(ctx, acct, id)
	if collab.CodeOf(err) == collab.NotFound {
		r.add(&Part{Title: "Body", Note: "The event is not kept any more."})
		return nil
	}
	if err != nil {
		return err
	}
	body, err := delivery.Payload(ctx, r.inbox, ev)
	r.add(&Part{Title: "Body", Text: indented(body)})
	return err
}

func replayDelivery(ctx context.Context, r *Run, p *aDelivery) error {
	data := map[string]any{"webhookId": string(p.Webhook), "eventId": string(p.Event)}
	if err := r.change(ctx, p.Account, "/v2/webhooks/deliveries/replay", data); err != nil {
		return err
	}
	r.facts("Replayed", p.Event)
	r.done("Event %q is posted to webhook %q within a minute or so.", p.Event, p.Webhook)
	return nil
}

// indented is a JSON text with a line for each member.
func indented(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}
