package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/queue"
)

// QueueName is a queue with dead letters.
type QueueName string

// Values returns the names of the queues.
func (QueueName) Values() []string { return []string{keys.EventsQueue, keys.WebhooksQueue} }

// DeadLettersRequest may name a queue.
type DeadLettersRequest struct {
	Queue QueueName `json:"queue" rule:"notnull" doc:"Of this queue alone"`
}

func (r *DeadLettersRequest) names() []string {
	if r.Queue == "" {
		return r.Queue.Values()
	}
	return []string{string(r.Queue)}
}

// DeadLetter is a message that delivery has given up.
type DeadLetter struct {
	Queue     string           `json:"queue"`
	SentAt    collab.Timestamp `json:"sentAt"`
	AccountID string           `json:"accountId,omitempty"`
	EventID   string           `json:"eventId,omitempty"`
	WebhookID string           `json:"webhookId,omitempty"`
	Text      string           `json:"text,omitempty" doc:"The beginning of one that cannot be read"`
}

// DeadLettersGet is POST /operator/deadletters/get.
func DeadLettersGet() rpc.Endpoint {
	return endpoint("deadletters/get", rpc.Method((*Service).DeadLettersGet), "", `
Lists messages that delivery has given up: the logs of deliver say why. It shows at most 50 of each queue. While they are read, for some
seconds, they cannot be redriven.`)
}

const mostDead = 50

// emptyAfter is how long a queue must stay silent to be taken for empty: long polling asks all of SQS's servers.
const emptyAfter = time.Second

// DeadLettersGet lists dead letters.
func (s *Service) DeadLettersGet(ctx context.Context, call *rpc.Call, req *DeadLettersRequest) ([]DeadLetter, error) {
	list := []DeadLetter{}
	for _, name := range req.names() {
		found, err := s.deadLettersOf(ctx, name)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	call.Message = rpc.Count(len(list), "dead letter")
	return list, nil
}

// deadLettersOf reads dead letters of a queue, and gives them back.
func (s *Service) deadLettersOf(ctx context.Context, name string) (list []DeadLetter, err error) {
	dead, _, err := s.deadLetters(ctx, name)
	if err != nil {
		return nil, err
	}
	var taken []queue.Message
	defer func() { err = errors.Join(err, release(ctx, dead, taken)) }()
	for len(taken) < mostDead {
		messages, err := dead.Receive(ctx, min(queue.MaxReceive, mostDead-len(taken)), emptyAfter)
		if err != nil || len(messages) == 0 {
			return list, err
		}
		taken = append(taken, messages...)
		for _, m := range messages {
			list = append(list, deadLetter(name, m))
		}
	}
	return list, nil
}

func deadLetter(name string, m queue.Message) DeadLetter {
	d := DeadLetter{Queue: name, SentAt: collab.Timestamp(m.Sent.UnixMilli())}
	events, lanes := letter(name, m)
	switch {
	case len(events) > 0:
		d.AccountID, d.EventID = events[0].Account, events[0].ID
	case len(lanes) > 0:
		d.AccountID, d.WebhookID = lanes[0].Account, lanes[0].WebhookID
	default:
		d.Text = collab.Cut(m.Text, 200)
	}
	return d
}

// deadLetters returns the dead-letter queue of a queue, and that queue.
func (s *Service) deadLetters(ctx context.Context, name string) (dead, live *queue.Queue, err error) {
	if live, err = s.Queue(ctx, name); err == nil {
		dead, err = live.DeadLetters(ctx)
	}
	return dead, live, err
}

// release gives messages back to their queue, also after the end of the context.
func release(ctx context.Context, q *queue.Queue, messages []queue.Message) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return q.Release(ctx, messages...)
}

// Redriven is how many dead letters of a queue were sent again.
type Redriven struct {
	Queue      string `json:"queue"`
	Sent       int    `json:"sent"`
	Unreadable int    `json:"unreadable" doc:"Messages that this version cannot read, and leaves"`
}

// DeadLettersRedrive is POST /operator/deadletters/redrive.
func DeadLettersRedrive() rpc.Endpoint {
	return endpoint("deadletters/redrive", rpc.Method((*Service).DeadLettersRedrive), "", `
Sends the dead letters to their queues again. They are delivered within moments; those that fail again come back after some minutes. After
a failure it may be called again: nothing is lost.`)
}

// DeadLettersRedrive sends dead letters again.
func (s *Service) DeadLettersRedrive(ctx context.Context, call *rpc.Call, req *DeadLettersRequest) ([]Redriven, error) {
	var list []Redriven
	total := 0
	for _, name := range req.names() {
		r, err := s.redrive(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%d were sent again; nothing is lost, call it again: %w", total+r.Sent, err)
		}
		list, total = append(list, r), total+r.Sent
	}
	call.Message = rpc.Count(total, "dead letter") + " sent again"
	return list, nil
}

// redrive moves the dead letters of a queue to that queue until none comes. A message is deleted after it was sent: where this ends in
// between it is in both, and its delivery finds that it was done before.
func (s *Service) redrive(ctx context.Context, name string) (r Redriven, err error) {
	r.Queue = name
	dead, live, err := s.deadLetters(ctx, name)
	if err != nil {
		return r, err
	}
	var left []queue.Message
	defer func() { err = errors.Join(err, release(ctx, dead, left)) }()
	for {
		messages, err := dead.Receive(ctx, queue.MaxReceive, emptyAfter)
		if err != nil || len(messages) == 0 {
			r.Unreadable = len(left)
			return r, err
		}
		var readable []queue.Message
		var events []queue.Event
		var lanes []queue.Lane
		for _, m := range messages {
			e, l := letter(name, m)
			if events, lanes = append(events, e...), append(lanes, l...); len(e)+len(l) > 0 {
				readable = append(readable, m)
			} else {
				left = append(left, m)
			}
		}
		if err = live.SendEvents(ctx, events...); err == nil {
			err = live.SendLanes(ctx, 0, lanes...)
		}
		if err == nil {
			err = dead.Delete(ctx, readable...)
		}
		if err != nil {
			left = append(left, readable...)
			return r, err
		}
		r.Sent += len(readable)
	}
}

// letter reads a message of a queue as an event or a lane; as neither where it cannot be read.
func letter(name string, m queue.Message) (events []queue.Event, lanes []queue.Lane) {
	if name == keys.EventsQueue {
		if e, err := queue.DecodeEvent(m.Text); err == nil {
			events = []queue.Event{e}
		}
	} else if l, err := queue.DecodeLane(m.Text); err == nil {
		lanes = []queue.Lane{l}
	}
	return events, lanes
}
