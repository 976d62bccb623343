package queue_test

import (
	"bytes"
	"collabdata/shared/cache"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/queue"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go/middleware"
)

func config(t testing.TB) aws.Config {
	return localstacktest.Config(localstacktest.MiniStack(t))
}

func create(t testing.TB, cfg aws.Config) map[string]string {
	t.Helper()
	urls, err := queue.Create(t.Context(), cfg, prefix(t))
	must.Do(t, err)
	return urls
}

func prefix(t testing.TB) string { return fmt.Sprintf("%s-%d-", t.Name(), time.Now().UnixNano()) }

// receive receives n messages, or fewer if none comes for a while.
func receive(t testing.TB, q *queue.Queue, n int) []queue.Message {
	t.Helper()
	var all []queue.Message
	for len(all) < n {
		messages, err := q.Receive(t.Context(), queue.MaxReceive, 5*time.Second)
		must.Do(t, err)
		if len(messages) == 0 {
			t.Fatalf("%d messages, want %d", len(all), n)
		}
		all = append(all, messages...)
	}
	return all
}

func refs(n int) []collab.TaskRef {
	list := make([]collab.TaskRef, n)
	for i := range list {
		list[i] = collab.TaskRef{Kind: collab.EventTask, Account: "acme", ID: fmt.Sprintf("event-%03d", i)}
	}
	return list
}

// checkEvents checks that the events are those of refs(n), each once.
func checkEvents(t testing.TB, messages []queue.Message, n int) {
	t.Helper()
	var got []string
	for _, m := range messages {
		e, err := queue.Decode(m.Text)
		must.Do(t, err)
		got = append(got, e.ID)
	}
	slices.Sort(got)
	var want []string
	for _, r := range refs(n) {
		want = append(want, r.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func eventsTo(q *queue.Queue) queue.Tasks { return queue.Tasks{Events: q} }

func TestSend(t *testing.T) {
	cfg := config(t)
	var log bytes.Buffer
	q := queue.New(cfg, create(t, cfg)[keys.EventsQueue], slog.New(slog.NewJSONHandler(&log, nil)))
	before := time.Now()
	eventsTo(q).Send(t.Context())
	eventsTo(q).Send(t.Context(), refs(25)...)
	if n, err := q.Waiting(t.Context()); n != 25 || err != nil {
		t.Errorf("%d messages are waiting, %v, want 25", n, err)
	}
	messages := receive(t, q, 25)
	checkEvents(t, messages, 25)
	for _, m := range messages {
		if m.Receives != 1 || m.Sent.Before(before.Truncate(time.Millisecond)) || m.Sent.After(time.Now()) {
			t.Errorf("message taken %d times, sent at %v", m.Receives, m.Sent)
		}
	}
	if n, err := q.Waiting(t.Context()); n != 0 || err != nil {
		t.Errorf("%d messages are waiting, %v, want none", n, err)
	}
	if err := q.Delete(t.Context(), messages...); err != nil {
		t.Error(err)
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", &log)
	}
}

// TestSendAfterRequest: events are sent even if the request's context has ended.
func TestSendAfterRequest(t *testing.T) {
	cfg := config(t)
	q := queue.New(cfg, create(t, cfg)[keys.EventsQueue], slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	eventsTo(q).Send(ctx, refs(1)...)
	checkEvents(t, receive(t, q, 1), 1)
}

func TestSendFails(t *testing.T) {
	cfg := config(t)
	url := create(t, cfg)[keys.EventsQueue]
	var log bytes.Buffer
	q := queue.New(cfg, url+"-none", slog.New(slog.NewJSONHandler(&log, nil)))
	eventsTo(q).Send(t.Context(), refs(3)...)
	line := log.String()
	for _, want := range []string{`"level":"WARN"`, `"account":"acme"`, `"first":"event-000"`, `"tasks":3`, `NonExistentQueue`} {
		if !strings.Contains(line, want) {
			t.Errorf("logged %s, want %s in it", line, want)
		}
	}
	if err := eventsTo(q).SendIn(t.Context(), 0, refs(1)...); err == nil {
		t.Error("sent to a queue that does not exist")
	}
}

// TestSilent: after a time-out, a process leaves the messages of its requests to the relay for a
// while.
func TestSilent(t *testing.T) {
	var calls atomic.Int64
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		io.Copy(io.Discard, r.Body) // so that the end of the call is noticed
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	now := time.Now()
	var log bytes.Buffer
	q := eventsTo(queue.New(localstacktest.Config(silent.URL), silent.URL, slog.New(slog.NewJSONHandler(&log, nil))))
	q.Silent = cache.NewBreaker(1, queue.SilentPause, func() time.Time { return now })
	send := func(more bool) {
		t.Helper()
		before := calls.Load()
		q.Send(t.Context(), refs(1)...)
		if got := calls.Load() > before; got != more {
			t.Errorf("SQS is called: %v, want %v", got, more)
		}
	}
	send(true)
	send(false)
	now = now.Add(queue.SilentPause)
	send(true)
	if n := strings.Count(log.String(), "tasks not sent"); n != 3 {
		t.Errorf("logged %s", &log)
	}
}

// leaveOut makes SQS reject the last entry of a batch, as long as refusals are left.
func leaveOut(refusals *int) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("LeaveOut", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			p, ok := in.Parameters.(*sqs.SendMessageBatchInput)
			if !ok || *refusals == 0 {
				return next.HandleInitialize(ctx, in)
			}
			*refusals--
			failed := []types.BatchResultErrorEntry{
				{Id: p.Entries[len(p.Entries)-1].Id, Code: aws.String("InternalError"), Message: aws.String("try again")},
			}
			if len(p.Entries) == 1 {
				return middleware.InitializeOutput{Result: &sqs.SendMessageBatchOutput{Failed: failed}}, middleware.Metadata{}, nil
			}
			less := *p
			less.Entries = p.Entries[:len(p.Entries)-1]
			in.Parameters = &less
			out, meta, err := next.HandleInitialize(ctx, in)
			if err == nil {
				out.Result.(*sqs.SendMessageBatchOutput).Failed = failed
			}
			return out, meta, err
		}), middleware.Before)
	}
}

func TestLeftOut(t *testing.T) {
	cfg := config(t)
	url := create(t, cfg)[keys.EventsQueue]
	refusals := 2
	cfg.APIOptions = append(cfg.APIOptions, leaveOut(&refusals))
	q := queue.New(cfg, url, slog.New(slog.DiscardHandler))
	if err := eventsTo(q).SendIn(t.Context(), 0, refs(10)...); err != nil {
		t.Error(err)
	}
	checkEvents(t, receive(t, q, 10), 10)

	refusals = 3
	if err := eventsTo(q).SendIn(t.Context(), 0, refs(10)...); err == nil ||
		!strings.Contains(err.Error(), "1 messages refused: InternalError: try again") {
		t.Errorf("got error %v", err)
	}
	checkEvents(t, receive(t, q, 9), 9)
}

func TestDelay(t *testing.T) {
	cfg := config(t)
	tasks := queue.Tasks{Calls: queue.New(cfg, create(t, cfg)[keys.CallsQueue], slog.New(slog.DiscardHandler))}
	now := collab.TaskRef{Kind: collab.WebhookTask, Account: "acme", ID: "now"}
	later := collab.TaskRef{Kind: collab.NoticeTask, Account: "acme", ID: "later"}
	take := func(want collab.TaskRef) queue.Message {
		t.Helper()
		m := receive(t, tasks.Calls, 1)[0]
		if got, err := queue.Decode(m.Text); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		return m
	}
	must.Do(t, errors.Join(tasks.SendIn(t.Context(), queue.MaxDelay, later), tasks.SendIn(t.Context(), 0, now)))
	if n, err := tasks.Waiting(t.Context(), later.Kind); n != 1 || err != nil {
		t.Errorf("%d messages are waiting, %v, want the one without delay", n, err)
	}
	take(now)
	must.Do(t, tasks.SendIn(t.Context(), 500*time.Millisecond, later))
	if waited := time.Since(take(later).Sent); waited < time.Second-50*time.Millisecond {
		t.Errorf("a delay of half a second, rounded up to one, was %v", waited)
	}
	if err := tasks.SendIn(t.Context(), queue.MaxDelay+time.Second, now); err == nil {
		t.Error("a delay beyond MaxDelay was accepted")
	}
}

// TestGroup: the messages of an account are one group in both queues, whatever its id.
func TestGroup(t *testing.T) {
	cfg := config(t)
	groups := map[string]bool{}
	for name, url := range create(t, cfg) {
		q := queue.New(cfg, url, slog.New(slog.DiscardHandler))
		for _, acct := range []string{"acme", strings.Repeat("é", 128)} {
			kind := map[string]collab.TaskKind{keys.EventsQueue: collab.JobTask, keys.CallsQueue: collab.WebhookTask}[name]
			must.Do(t, queue.Tasks{Events: q, Calls: q}.SendIn(t.Context(), 0, collab.TaskRef{Kind: kind, Account: acct, ID: "e"}))
			out, err := sqs.NewFromConfig(cfg).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
				QueueUrl: &url, WaitTimeSeconds: 5, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"MessageGroupId"},
			})
			if err != nil || len(out.Messages) != 1 {
				t.Fatalf("got %+v, %v", out, err)
			}
			groups[out.Messages[0].Attributes["MessageGroupId"]] = true
		}
	}
	if len(groups) != 2 || groups[""] {
		t.Errorf("groups %v", groups)
	}
}

func TestDeleteFails(t *testing.T) {
	cfg := config(t)
	urls := create(t, cfg)
	q := queue.New(cfg, urls[keys.EventsQueue], slog.New(slog.DiscardHandler))
	eventsTo(q).Send(t.Context(), refs(1)...)
	messages := receive(t, q, 1)
	if err := queue.New(cfg, urls[keys.EventsQueue]+"-none", slog.New(slog.DiscardHandler)).Delete(t.Context(), messages...); err == nil {
		t.Error("deleted from a queue that does not exist")
	}
	if err := q.Delete(t.Context(), messages...); err != nil {
		t.Error(err)
	}
}

// TestCreate checks the attributes of new and existing queues. An undeleted message becomes a dead
// letter.
func TestCreate(t *testing.T) {
	cfg := config(t)
	client := sqs.NewFromConfig(cfg)
	pre := prefix(t)
	if _, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String(pre + keys.EventsQueue), Attributes: map[string]string{"VisibilityTimeout": "7"},
	}); err != nil {
		t.Fatal(err)
	}
	urls, err := queue.Create(t.Context(), cfg, pre)
	must.Do(t, err)
	if len(urls) != len(keys.Queues()) {
		t.Errorf("made %v", urls)
	}
	attributes := func(url string) map[string]string {
		t.Helper()
		out, err := client.GetQueueAttributes(
			t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"All"}},
		)
		must.Do(t, err)
		return out.Attributes
	}
	for _, want := range keys.Queues() {
		got := attributes(urls[want.Name])
		if got["VisibilityTimeout"] != fmt.Sprint(want.VisibilityTimeout) || got["MessageRetentionPeriod"] != fmt.Sprint(want.Retention) {
			t.Errorf("queue %s has %v", want.Name, got)
		}
		dead := attributes(urls[want.Name] + "-dead")
		if dead["MessageRetentionPeriod"] != fmt.Sprint(want.DeadRetention) {
			t.Errorf("dead letters of %s have %v", want.Name, dead)
		}
		if p := got["RedrivePolicy"]; !strings.Contains(p, dead["QueueArn"]) ||
			!strings.Contains(p, fmt.Sprintf(`"maxReceiveCount":"%d"`, want.MaxReceives)) {
			t.Errorf("queue %s has redrive policy %s", want.Name, p)
		}
	}

	url := urls[keys.EventsQueue]
	if _, err := client.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{"VisibilityTimeout": "0"}}); err != nil {
		t.Fatal(err)
	}
	q := queue.New(cfg, url, slog.New(slog.DiscardHandler))
	eventsTo(q).Send(t.Context(), refs(1)...)
	// Under load MiniStack may receive a request twice, so that a receipt goes unnoticed.
	for last := 0; ; {
		messages, err := q.Receive(t.Context(), 1, 0)
		must.Do(t, err)
		if len(messages) == 0 {
			break
		}
		if m := messages[0]; m.Receives <= last || m.Receives > keys.Queues()[0].MaxReceives {
			t.Fatalf("taken %d times after %d", m.Receives, last)
		}
		last = messages[0].Receives
	}
	checkEvents(t, receive(t, queue.New(cfg, url+"-dead", slog.New(slog.DiscardHandler)), 1), 1)
}
