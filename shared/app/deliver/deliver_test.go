package deliver_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/app"
	"collabdata/shared/app/deliver"
	"collabdata/shared/app/local/worker"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
	"collabdata/shared/webhook"

	"github.com/aws/aws-lambda-go/events"
)

// output collects concurrent writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

var org = collab.OrganizationRef{Account: "acme", Organization: "org"}

// config returns a new deployment with the account acme and its organization org.
func config(t testing.TB, out io.Writer) deliver.Config {
	t.Helper()
	cloud := localstacktest.Config(localstacktest.MiniStack(t))
	c := deliver.Config{
		DynamoDB: localstacktest.Config(localstacktest.DynamoDB(t)), SQS: cloud, SES: cloud, Table: "deliver-" + rand.Text(),
		Mail: mail.Options{
			From: strings.ToLower(rand.Text()) + "@collab.example",
		}, PrivateRanges: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Metrics: metrics.New(out, "test", time.Now), Log: slog.New(slog.NewJSONHandler(out, nil)),
	}
	urls, err := queue.Create(t.Context(), cloud, c.Table+"-")
	must.Do(t, err)
	c.EventsURL, c.CallsURL = urls[keys.EventsQueue], urls[keys.CallsQueue]
	must.Do(t, mail.CreateIdentity(t.Context(), cloud, c.Mail.From))
	directory := directory.New(tableOf(c))
	must.Do(t, localstack.CreateTable(t.Context(), c.DynamoDB, c.Table))
	must.Do(t, accounts.New(directory.Table).AddAccount(t.Context(), collab.Account{ID: "acme"}))
	must.Do(t, storetest.AddDocuments(t.Context(), directory, org, "doc"))
	return c
}

// receive starts a receiver of webhooks, adds it to the account, and returns the posted ids.
func receive(t *testing.T, c deliver.Config) <-chan string {
	t.Helper()
	posts := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { posts <- r.Header.Get("webhook-id") }))
	t.Cleanup(receiver.Close)
	secret, err := webhook.NewSecret(rand.Reader)
	must.Do(t, err)
	must.Do(t, hooks.New(outboxOf(c)).AddWebhook(t.Context(), "acme", collab.MaxWebhooks, collab.Webhook{
		ID: "hook", URL: receiver.URL, Secrets: []collab.WebhookSecret{{Secret: secret}},
	}))
	return posts
}

// add records a notification for bob.
func add(t *testing.T, c deliver.Config, address string) *collab.Event {
	t.Helper()
	now := time.Now()
	ev := &collab.Event{
		ID: collab.NewIDs(now, []byte(rand.Text())).Next(), Type: collab.NotificationAdded, Account: "acme", OrganizationID: "org", DocumentID: "doc",
		Time: now.UnixMilli(), Notify: true, Actor: &collab.User{UserID: "ann"},
	}
	n := collab.Notification{ID: ev.ID, DocumentID: "doc", Headline: "hello", CreatedAt: ev.Time}
	ev.NotificationID = n.ID
	_, err := inboxOf(c).AddNotification(t.Context(), storetest.Request(now), org, n, []collab.User{{UserID: "bob", Email: &address}}, ev)
	must.Do(t, err)
	return ev
}

func inboxLen(t *testing.T, c deliver.Config) int {
	t.Helper()
	of := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: "bob"}}
	list, _, err := inboxOf(c).Notifications(t.Context(), org, of, "", 10)
	must.Do(t, err)
	return len(list)
}

// TestHandler checks the response to a batch: a list of failed messages, empty but never null. It
// also checks the lines of metrics.
func TestHandler(t *testing.T) {
	var out output
	c := config(t, &out)
	received := receive(t, c)
	ev := add(t, c, "bob@"+strings.ToLower(rand.Text())+".example")
	handle, err := deliver.NewHandler(c)
	must.Do(t, err)
	ref := outbox.EventTask("acme", ev.ID)
	run := func(messages ...string) string {
		t.Helper()
		var batch events.SQSEvent
		for i, text := range messages {
			batch.Records = append(batch.Records, events.SQSMessage{MessageId: string(rune('a' + i)), Body: text})
		}
		response, err := handle(t.Context(), batch)
		must.Do(t, err)
		text, err := json.Marshal(response)
		must.Do(t, err)
		return string(text)
	}
	if got := run(queue.Encode(ref)); got != `{"batchItemFailures":[]}` {
		t.Errorf("answered %s", got)
	}
	if inboxLen(t, c) != 1 {
		t.Error("nothing is in the inbox")
	}
	var texts []string // of the messages about the email and the endpoint
	for len(texts) < 2 {
		messages, err := queue.New(c.SQS, c.CallsURL, c.Log).Receive(t.Context(), queue.MaxReceive, queue.MaxWait)
		must.Do(t, err)
		texts = append(texts, collab.Map(messages, func(m queue.Message) string { return m.Text })...)
	}
	if got := run(texts...); got != `{"batchItemFailures":[]}` {
		t.Errorf("answered %s", got)
	}
	for _, want := range []string{`"Deliveries":1`, `"Channel":"email"`, `"Channel":"inbox"`, `"Events":1`, `"Namespace":"CollabData"`, `"Stage":"test"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("wrote no %s:\n%s", want, &out)
		}
	}
	got := run(queue.Encode(hooks.EndpointTask("acme", "hook")), "no message", queue.Encode(ref))
	if got != `{"batchItemFailures":[{"itemIdentifier":"b"}]}` {
		t.Errorf("answered %s", got)
	}
	if id := <-received; id != ev.ID || len(received) != 0 {
		t.Errorf("posted %s, and %d more", id, len(received))
	}
	if !strings.Contains(out.String(), "message to come again") {
		t.Errorf("logged\n%s", &out)
	}
	if got := run(); got != `{"batchItemFailures":[]}` {
		t.Errorf("answered %s", got)
	}
}

func TestMailIsChecked(t *testing.T) {
	if _, err := deliver.New(deliver.Config{Mail: mail.Options{From: "nobody"}}); err == nil {
		t.Error("a sender without an address is accepted")
	}
}

func TestFromEnvironment(t *testing.T) {
	values := map[string]string{
		"TABLE_NAME": "t", "EVENTS_QUEUE_URL": "e", "CALLS_QUEUE_URL": "w", "STAGE": "test", "MAIL_FROM": "a@example.com",
		"MAIL_UNSUBSCRIBE": "https://example.com/bye", "MAIL_CONFIGURATION_SET": "set", "MAIL_FROM_NAME": "N", "MAIL_PRODUCT": "P", "MAIL_LINK": "https://l",
		"ALLOWED_PRIVATE_CIDRS": "10.0.0.0/8,127.0.0.0/8",
	}
	environment := func() *app.Environment {
		return &app.Environment{Get: func(name string) string { return values[name] }}
	}
	wantMail := mail.Options{
		From: "a@example.com", ConfigurationSet: "set", Unsubscribe: "https://example.com/bye", Look: collab.MailLook{FromName: "N", Product: "P", Link: "https://l"},
	}
	c, err := deliver.FromEnvironment(t.Context(), environment())
	if err != nil || c.Table != "t" || c.EventsURL != "e" || c.CallsURL != "w" || !reflect.DeepEqual(c.Mail, wantMail) || len(c.PrivateRanges) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	delete(values, "STAGE")
	values["ALLOWED_PRIVATE_CIDRS"] = "10.0.0.1/8"
	_, err = deliver.FromEnvironment(t.Context(), environment())
	for _, want := range []string{"STAGE is missing", "ALLOWED_PRIVATE_CIDRS"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}

// TestLocal checks that the local server delivers recorded events, sent or not, and ends with its
// context.
func TestLocal(t *testing.T) {
	var out output
	c := config(t, &out)
	posts := receive(t, c)
	address := "bob@" + strings.ToLower(rand.Text()) + ".example"
	var mu sync.Mutex
	ahead := time.Duration(0)
	c.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(ahead)
	}
	l, err := worker.New(c)
	must.Do(t, err)
	sent, lost := add(t, c, address), add(t, c, address)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		l.Run(ctx)
		close(ended)
	}()
	must.Do(t, queue.Tasks{Events: queue.New(c.SQS, c.EventsURL, c.Log)}.SendIn(t.Context(), 0, outbox.EventTask("acme", sent.ID)))
	if id := <-posts; id != sent.ID {
		t.Errorf("got %s", id)
	}
	done := func(ev *collab.Event) bool {
		at, err := outboxOf(c).Task(t.Context(), outbox.EventTask("acme", ev.ID))
		must.Do(t, err)
		return at.Due == 0
	}
	for !done(sent) { // otherwise the relay would resend it
	}
	mu.Lock()
	ahead = 3 * time.Minute
	mu.Unlock()
	if id := <-posts; id != lost.ID {
		t.Errorf("got %s", id)
	}
	for !done(lost) {
	}
	for n := 0; n < 2; { // each email has its own message
		mails, err := localstack.Emails(t.Context(), *c.SES.BaseEndpoint, localstack.Account)
		must.Do(t, err)
		n = 0
		for _, m := range mails {
			if m.To[0] == address {
				n++
			}
		}
		if n > 2 {
			t.Fatalf("%d mails", n)
		}
	}
	if n := inboxLen(t, c); n != 2 {
		t.Errorf("%d in the inbox", n)
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(2 * worker.Grace):
		t.Error("it does not end")
	}
	for _, q := range []*queue.Queue{queue.New(c.SQS, c.EventsURL, c.Log), queue.New(c.SQS, c.CallsURL, c.Log)} {
		if n, err := q.Waiting(t.Context()); n != 0 || err != nil {
			t.Errorf("%d messages are left, %v", n, err)
		}
	}
	if strings.Contains(out.String(), "WARN") {
		t.Errorf("logged\n%s", &out)
	}
}

func tableOf(c deliver.Config) *store.Table {
	return store.New(c.DynamoDB, c.Table, time.Now, rand.Reader)
}

func outboxOf(c deliver.Config) *outbox.Store {
	return outbox.New(tableOf(c))
}

func inboxOf(c deliver.Config) *inbox.Store { return inbox.New(outboxOf(c), directory.New(tableOf(c))) }
