package main

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/outbox"
)

type quarantineCommands struct {
	List  quarantineList  `cmd:"" help:"List the events in the quarantine."`
	Show  quarantineShow  `cmd:"" help:"Show an event as it is stored."`
	Retry quarantineRetry `cmd:"" help:"Deliver an event again, once the cause is mended."`
}

type quarantineList struct{}

// Run lists the quarantine.
func (c *quarantineList) Run(ctx context.Context, a *admin, d *directory.Store) error {
	a.list("ACCOUNT", "EVENT", "SINCE", "REASON")
	for after, first := "", true; first || after != ""; first = false {
		list, next, err := outbox.New(d.Table, d).Quarantined(ctx, after, 0, func(err error) { a.say("Passed over: %v", err) })
		if err != nil {
			return err
		}
		for _, q := range list {
			a.row(q.Account, q.ID, stamp(q.At), q.Reason)
		}
		after = next
	}
	if len(a.rows) == 0 {
		a.say("There are none.")
		return nil
	}
	a.say(
		"The logs of deliver say why. Once that is mended, `admin quarantine retry ACCOUNT EVENT` delivers one again. They are kept for 30 days.",
	)
	return nil
}

// quarantinedEvent is the event that a command is for.
type quarantinedEvent struct {
	Account id `arg:"" help:"Account."`
	Event   id `arg:"" help:"Event."`
}

func (e quarantinedEvent) ref() collab.EventRef {
	return collab.EventRef{Account: string(e.Account), ID: string(e.Event)}
}

type quarantineShow struct {
	quarantinedEvent `embed:""`
}

// Run shows an event.
func (c *quarantineShow) Run(ctx context.Context, a *admin, d *directory.Store) error {
	body, err := outbox.New(d.Table, d).EventBody(ctx, c.ref())
	if err != nil {
		return err
	}
	a.field("event", string(body))
	return nil
}

type quarantineRetry struct {
	quarantinedEvent `embed:""`
}

// Run retries an event.
func (c *quarantineRetry) Run(ctx context.Context, a *admin, d *directory.Store) error {
	if err := outbox.New(d.Table, d).Retry(ctx, c.ref()); err != nil {
		return err
	}
	a.field("retried", c.Event)
	a.say("It is delivered within a minute or so. `admin quarantine list` shows it again should that fail.")
	return nil
}
