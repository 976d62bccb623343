package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"collabdata/scripts/operator"
	"collabdata/shared/keys"
)

type deadLetterCommands struct {
	List    deadLetterList    `cmd:"" help:"List the dead letters."`
	Redrive deadLetterRedrive `cmd:"" help:"Send the dead letters to their queues again."`
}

// whichQueues are the queues that a command is for.
type whichQueues struct {
	Queue string `enum:"events,webhooks,both" default:"both" help:"Whose dead letters: events, webhooks or both."`
}

func (w whichQueues) names() []string {
	names := []string{keys.EventsQueue, keys.WebhooksQueue}
	return slices.DeleteFunc(names, func(name string) bool { return w.Queue != "both" && w.Queue != name })
}

type deadLetterList struct {
	whichQueues
	Most int `default:"1000" help:"The most to list of each queue."`
}

// Run lists the dead letters.
func (c *deadLetterList) Run(ctx context.Context, a *admin) error {
	a.list("QUEUE", "SENT", "ACCOUNT", "EVENT", "WEBHOOK")
	for _, name := range c.names() {
		live, err := a.queue(ctx, name)
		if err != nil {
			return err
		}
		list, more, err := operator.DeadLetters(
			ctx, name, live, c.Most, func(err error) { a.say("Some of them can be redriven in 30 s only: %v", err) },
		)
		for _, d := range list {
			if d.Unreadable != "" {
				d.Account = "unreadable"
			}
			a.row(name, stamp(d.Sent), d.Account, cmp.Or(d.Event, d.Unreadable), d.Webhook)
		}
		if err != nil {
			return err
		}
		if more {
			a.say("There may be more in the queue %s than these %d: --most N lists more.", name, c.Most)
		}
	}
	if len(a.rows) == 0 {
		a.say("There are none.")
		return nil
	}
	a.say("The logs of deliver say why they failed. Once that is mended, `admin dead-letters redrive` sends them again.")
	return nil
}

type deadLetterRedrive struct {
	whichQueues
}

// Run redrives the dead letters.
func (c *deadLetterRedrive) Run(ctx context.Context, a *admin) error {
	total, unreadable := 0, 0
	for _, name := range c.names() {
		live, err := a.queue(ctx, name)
		if err != nil {
			return err
		}
		moved, left, err := operator.Redrive(ctx, name, live)
		if err == nil || moved > 0 {
			a.field(name, moved)
		}
		if err != nil {
			return fmt.Errorf("%w\nNothing is lost: give the command again", err)
		}
		total += moved
		unreadable += left
	}
	if unreadable > 0 {
		return fmt.Errorf(
			"%d messages are not of a form that this version knows, and stay: see `admin dead-letters list`, and upgrade", unreadable,
		)
	}
	if total == 0 {
		a.say("There are none.")
		return nil
	}
	a.say("They are delivered within moments. `admin dead-letters list` shows those that fail again, after some minutes.")
	return nil
}
