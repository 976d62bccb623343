package main

import (
	"context"
	"fmt"

	"collabdata/shared/api/webhooks"
	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/outbox"
)

type webhookCommands struct {
	List   webhookList   `cmd:"" help:"List the webhooks of an account, and how they are."`
	Replay webhookReplay `cmd:"" help:"Post again what a webhook was sent since a time."`
}

type webhookList struct {
	Account id `arg:"" help:"Account."`
}

// Run lists the webhooks.
func (c *webhookList) Run(ctx context.Context, a *admin, d *directory.Store) error {
	if err := checkAccount(ctx, d, c.Account); err != nil {
		return err
	}
	list, err := outbox.New(d.Table, d).Webhooks(ctx, string(c.Account))
	if err != nil {
		return err
	}
	a.list("WEBHOOK", "STATE", "FAILURES", "FAILING SINCE", "URL", "REASON")
	for _, w := range list {
		state := state(w.Disabled)
		if !w.Disabled && w.Health.Resting() {
			state = "resting"
		}
		since := ""
		if w.Health.FailingSince != 0 {
			since = stamp(w.Health.FailingSince)
		}
		a.row(w.ID, state, w.Health.Failures, since, w.URL, w.DisabledReason)
	}
	if len(list) == 0 {
		a.say("There is none: a back end adds one by POST /v2/webhooks/add.")
	}
	return nil
}

type webhookReplay struct {
	Account id     `arg:"" help:"Account."`
	Webhook id     `arg:"" help:"Webhook."`
	Since   moment `required:"" placeholder:"TIME" help:"Of the events: 2027-01-31, 2027-01-31T12:00:00Z, or 12h or 2d ago. Deliveries are kept for 30 days."`
	State   string `enum:"any,pending,delivered,exhausted,canceled" default:"any" help:"Only deliveries in this state: any, pending, delivered, exhausted or canceled."`
}

// Run replays the deliveries as the operation does, page by page.
func (c *webhookReplay) Run(ctx context.Context, a *admin, d *directory.Store) error {
	err := checkAccount(ctx, d, c.Account)
	if err != nil {
		return err
	}
	filter := collab.DeliveryFilter{After: max(c.Since.before(a.now()).UnixMilli(), 0)}
	if c.State != "any" {
		filter.State = collab.DeliveryState(c.State)
	}
	service := webhooks.Service{Store: outbox.New(d.Table, d)}
	replayed, next := 0, ""
	for {
		var n int
		n, next, err = service.ReplaySince(ctx, string(c.Account), string(c.Webhook), filter, next, webhooks.MaxReplay)
		replayed += n
		if err != nil || next == "" {
			break
		}
	}
	a.field("replayed", replayed)
	switch collab.CodeOf(err) {
	case "":
		a.say("The first posts are made within a minute or so. POST /v2/webhooks/deliveries/get shows what becomes of them.")
		return nil
	case collab.NotFound:
		return fmt.Errorf("%s: see `admin webhook list %s`", collab.MessageOf(err), word(c.Account))
	}
	return err
}
