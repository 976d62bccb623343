package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"collabdata/shared/cache"
	"collabdata/shared/collab"
	"collabdata/shared/platform"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Tasks sends messages about tasks. Tasks that call other services have a queue of their own, so
// that the others never wait for them. It is safe for concurrent use.
type Tasks struct {
	Events *Queue // the queue keys.EventsQueue
	Calls  *Queue // the queue keys.CallsQueue; may be nil in functions that send no such tasks

	// Silent is shared by the requests of a process: after a time-out, Send leaves messages to the
	// relay for a while. It may be nil.
	Silent *cache.Breaker
}

// SilentPause is how long a process sends no messages of requests after a time-out.
const SilentPause = 30 * time.Second

// Of returns the queue of a kind of task.
func (q Tasks) Of(kind collab.TaskKind) *Queue {
	switch kind {
	case collab.NoticeTask, collab.WebhookTask:
		return q.Calls
	}
	return q.Events
}

var errSilent = errors.New("the queue did not answer in time")

// Waiting is Waiting of the queue of a kind.
func (q Tasks) Waiting(ctx context.Context, kind collab.TaskKind) (int, error) {
	return q.Of(kind).Waiting(ctx)
}

// Send sends a message for each task of a request. It logs messages that it cannot send, and the
// relay sends them later. It ignores the end of the context, and takes at most platform.SendTime.
func (q Tasks) Send(ctx context.Context, tasks ...collab.TaskRef) {
	if len(tasks) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), platform.SendTime)
	defer cancel()
	ctx = platform.WithAttemptTime(ctx, platform.SendTime/3) // leaves time for another attempt
	err := errSilent
	if !q.Silent.Refuses("") {
		err = q.SendIn(ctx, 0, tasks...)
		q.Silent.Record("", ctx.Err() != nil)
	}
	if err != nil {
		q.Events.log.LogAttrs(ctx, slog.LevelWarn, "tasks not sent: the relay sends them later", slog.String("account", tasks[0].Account),
			slog.String("first", tasks[0].ID), slog.Int("tasks", len(tasks)), slog.Any("cause", err))
	}
}

// SendIn sends messages that arrive after a delay of at most MaxDelay, which an emulator may not
// check, rounded up to whole seconds. Messages of one account form a group, so that a busy account
// does not delay the others. After an error, some may have been sent.
func (q Tasks) SendIn(ctx context.Context, delay time.Duration, tasks ...collab.TaskRef) error {
	entries := map[*Queue][]types.SendMessageBatchRequestEntry{}
	for _, t := range tasks {
		to := q.Of(t.Kind)
		entries[to] = append(entries[to], types.SendMessageBatchRequestEntry{MessageBody: aws.String(Encode(t)), MessageGroupId: group(t.Account)})
	}
	var errs []error
	for to, list := range entries {
		errs = append(errs, to.send(ctx, delay, list))
	}
	return errors.Join(errs...)
}

// group returns the group of an account's messages. SQS accepts fewer characters in a group than in
// an account id.
func group(acct string) *string {
	sum := sha256.Sum256([]byte(acct))
	return aws.String(hex.EncodeToString(sum[:16]))
}

// version is the version of sent messages. Decode accepts only this version, and ignores unknown
// fields, so that fields can be added while older code runs. A change that older code would misread
// needs the next version; deploy code that accepts it before code that sends it.
const version = 2

type message struct {
	Version int             `json:"v"`
	Kind    collab.TaskKind `json:"kind"`
	Account string          `json:"account"`
	ID      string          `json:"id"`
}

// Encode returns the text of a message. The ids must be valid UTF-8.
func Encode(t collab.TaskRef) string {
	text, err := json.Marshal(message{version, t.Kind, t.Account, t.ID})
	if err != nil {
		panic(err) // strings and integers always encode
	}
	return string(text)
}

// Decode returns the task of a message.
func Decode(text string) (collab.TaskRef, error) {
	var m message
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return collab.TaskRef{}, fmt.Errorf("queue: not a message: %w", err)
	}
	switch {
	case m.Version != version:
		return collab.TaskRef{}, fmt.Errorf("queue: a message of version %d, not %d", m.Version, version)
	case m.Kind == "" || m.Account == "" || m.ID == "":
		return collab.TaskRef{}, errors.New("queue: a message without a task")
	}
	return collab.TaskRef{Kind: m.Kind, Account: m.Account, ID: m.ID}, nil
}
