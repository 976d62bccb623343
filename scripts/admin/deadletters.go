package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"collabdata/shared/queue"
	"collabdata/shared/table"
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
	names := []string{table.EventsQueue, table.WebhooksQueue}
	return slices.DeleteFunc(names, func(name string) bool { return w.Queue != "both" && w.Queue != name })
}

// emptyAfter is how long a queue must stay silent to be taken for empty: long polling asks all of SQS's servers.
const emptyAfter = time.Second

type deadLetterList struct {
	whichQueues
	Most int `default:"1000" help:"The most to list of each queue."`
}

// Run lists the dead letters. They cannot be taken while they are listed, and are given back then.
func (c *deadLetterList) Run(ctx context.Context, a *admin) error {
	a.list("QUEUE", "SENT", "ACCOUNT", "EVENT", "WEBHOOK")
	found := 0
	for _, name := range c.names() {
		n, err := a.listDead(ctx, name, c.Most)
		if err != nil {
			return err
		}
		found += n
	}
	if found == 0 {
		a.say("There are none.")
		return nil
	}
	a.say("The logs of deliver say why they failed. Once that is mended, `admin dead-letters redrive` sends them again.")
	return nil
}

func (a *admin) listDead(ctx context.Context, name string, most int) (found int, err error) {
	live, err := a.queue(ctx, name)
	if err != nil {
		return 0, err
	}
	dead, err := live.DeadLetters(ctx)
	if err != nil {
		return 0, err
	}
	var taken []queue.Message
	defer func() {
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if failed := dead.Release(release, taken...); failed != nil {
			a.say("Some of them can be redriven in 30 s only: %v", failed)
		}
	}()
	for len(taken) < most {
		messages, err := dead.Receive(ctx, min(queue.MaxReceive, most-len(taken)), emptyAfter)
		if err != nil {
			return len(taken), err
		}
		if len(messages) == 0 {
			return len(taken), nil
		}
		taken = append(taken, messages...)
		for _, m := range messages {
			a.printDead(name, m)
		}
	}
	a.say("There may be more in the queue %s than these %d: --most N lists more.", name, most)
	return len(taken), nil
}

func (a *admin) printDead(name string, m queue.Message) {
	sent := stamp(m.Sent.UnixMilli())
	if name == table.EventsQueue {
		if e, err := queue.DecodeEvent(m.Text); err == nil {
			a.row(name, sent, e.Account, e.ID, "")
			return
		}
	} else if l, err := queue.DecodeLane(m.Text); err == nil {
		a.row(name, sent, l.Account, "", l.WebhookID)
		return
	}
	a.row(name, sent, "unreadable", fmt.Sprintf("%.200q", m.Text), "")
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
		dead, err := live.DeadLetters(ctx)
		if err != nil {
			return err
		}
		moved, left, err := redrive(ctx, name, dead, live)
		a.field(name, moved)
		if err != nil {
			return fmt.Errorf("%w\nNothing is lost: give the command again", err)
		}
		total += moved
		unreadable += left
	}
	if unreadable > 0 {
		return fmt.Errorf("%d messages are not of a form that this version knows, and stay: see `admin dead-letters list`, and upgrade", unreadable)
	}
	if total == 0 {
		a.say("There are none.")
		return nil
	}
	a.say("They are delivered within moments. `admin dead-letters list` shows those that fail again, after some minutes.")
	return nil
}

// redrive sends what is in a dead-letter queue to its live queue, until nothing comes any more. A message is deleted after it was sent: where
// this ends in between, it is in both, and its delivery tells that it was done before. Messages that cannot be read are left.
func redrive(ctx context.Context, name string, dead, live *queue.Queue) (moved, unreadable int, err error) {
	var left []queue.Message
	defer func() {
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, dead.Release(release, left...))
	}()
	for {
		messages, err := dead.Receive(ctx, queue.MaxReceive, emptyAfter)
		if err != nil || len(messages) == 0 {
			return moved, len(left), err
		}
		readable, others := decode(name, messages)
		left = append(left, others...)
		err = send(ctx, live, readable)
		if err == nil {
			err = dead.Delete(ctx, readable.messages...)
		}
		if err != nil {
			left = append(left, readable.messages...)
			return moved, 0, err
		}
		moved += len(readable.messages)
	}
}

// letters are messages with what they say.
type letters struct {
	messages []queue.Message
	events   []queue.Event
	lanes    []queue.Lane
}

// decode divides messages of a queue into those that can be read and others.
func decode(name string, messages []queue.Message) (readable letters, others []queue.Message) {
	for _, m := range messages {
		if name == table.EventsQueue {
			if e, err := queue.DecodeEvent(m.Text); err == nil {
				readable.messages, readable.events = append(readable.messages, m), append(readable.events, e)
				continue
			}
		} else if l, err := queue.DecodeLane(m.Text); err == nil {
			readable.messages, readable.lanes = append(readable.messages, m), append(readable.lanes, l)
			continue
		}
		others = append(others, m)
	}
	return readable, others
}

func send(ctx context.Context, live *queue.Queue, l letters) error {
	if err := live.SendEvents(ctx, l.events...); err != nil {
		return err
	}
	return live.SendLanes(ctx, 0, l.lanes...)
}
