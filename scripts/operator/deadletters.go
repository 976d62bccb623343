package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/queue"
)

// EmptyAfter is how long a queue must stay silent to be taken for empty: long polling asks all of SQS's servers.
const EmptyAfter = time.Second

// DeadLetter is a message that delivery has given up.
type DeadLetter struct {
	Queue                   string // its name in package keys
	Sent                    collab.Millis
	Account, Event, Webhook string // of a message that can be read; a webhook's has no event
	Unreadable              string // the text of one that cannot: its beginning, quoted
}

// DeadLetters lists up to most dead letters of a queue, which has this name in package keys; more reports that there may be others. They
// cannot be taken while they are listed, and are given back then: in 30 s only those that released tells of.
func DeadLetters(
	ctx context.Context, name string, live *queue.Queue, most int, released func(error),
) (list []DeadLetter, more bool, err error) {
	dead, err := live.DeadLetters(ctx)
	if err != nil {
		return nil, false, err
	}
	var taken []queue.Message
	defer func() {
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if failed := dead.Release(release, taken...); failed != nil {
			released(failed)
		}
	}()
	for len(taken) < most {
		messages, err := dead.Receive(ctx, min(queue.MaxReceive, most-len(taken)), EmptyAfter)
		if err != nil || len(messages) == 0 {
			return list, false, err
		}
		taken = append(taken, messages...)
		for _, m := range messages {
			list = append(list, deadLetter(name, m))
		}
	}
	return list, true, nil
}

func deadLetter(name string, m queue.Message) DeadLetter {
	d := DeadLetter{Queue: name, Sent: m.Sent.UnixMilli()}
	readable, _ := decode(name, []queue.Message{m})
	switch {
	case len(readable.events) > 0:
		d.Account, d.Event = readable.events[0].Account, readable.events[0].ID
	case len(readable.lanes) > 0:
		d.Account, d.Webhook = readable.lanes[0].Account, readable.lanes[0].WebhookID
	default:
		d.Unreadable = fmt.Sprintf("%.200q", m.Text)
	}
	return d
}

// Redrive sends what is in the dead-letter queue of a queue to that queue, until nothing comes any more, and returns how many messages it
// has moved, and how many cannot be read and stay. A message is deleted after it was sent: where this ends in between, it is in both, and
// its delivery tells that it was done before.
func Redrive(ctx context.Context, name string, live *queue.Queue) (moved, unreadable int, err error) {
	dead, err := live.DeadLetters(ctx)
	if err != nil {
		return 0, 0, err
	}
	var left []queue.Message
	defer func() {
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, dead.Release(release, left...))
	}()
	for {
		messages, err := dead.Receive(ctx, queue.MaxReceive, EmptyAfter)
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
		if name == keys.EventsQueue {
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
