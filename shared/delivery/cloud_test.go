package delivery_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	netmail "net/mail"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/keys"
	"collabdata/shared/mail"
	"collabdata/shared/queue"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
)

// cloud is what a world has next to the table: the queues and the mail service. It is in memory, or with the build tag e2e a MiniStack, on
// which all tests of this package run, too.
type cloud struct {
	events, webhooks messages
	sender           string                              // whom the mail service knows
	mailer           func(sender string) delivery.Mailer // a new one
	sent             func() []localstack.Mail
}

// messages is a queue. Package queue documents the methods.
type messages interface {
	SendEvents(ctx context.Context, events ...queue.Event) error
	SendLanes(ctx context.Context, delay time.Duration, lanes ...queue.Lane) error
	Waiting(ctx context.Context) (int, error)
	Receive(ctx context.Context, most int, wait time.Duration) ([]queue.Message, error)
	Delete(ctx context.Context, messages ...queue.Message) error
	release(ctx context.Context, m queue.Message) error // lets it be taken again at once
}

const unsubscribePage = "https://api.example/unsubscribe"

func mailer(t testing.TB, cfg aws.Config, from string) *mail.Mailer {
	m, err := mail.New(cfg, mail.Options{From: from, Unsubscribe: unsubscribePage})
	if err != nil {
		t.Error(err)
	}
	return m
}

// newMiniStack returns an AWS account of its own in a MiniStack.
func newMiniStack(t testing.TB) cloud {
	t.Helper()
	cfg, acct := localstacktest.Config(localstacktest.MiniStack(t)), fmt.Sprintf("%012d", mathrand.Int64N(1e12))
	cfg.HTTPClient = client
	cfg.Credentials = credentials.NewStaticCredentialsProvider(acct, localstack.SecretAccessKey, "")
	sender := strings.ToLower(rand.Text()) + "@collab.example"
	urls, err := queue.Create(t.Context(), cfg, rand.Text()+"-")
	if err == nil {
		err = mail.CreateIdentity(t.Context(), cfg, sender)
	}
	must.Do(t, err)
	log := slog.New(slog.DiscardHandler)
	on := func(url string) onSQS { return onSQS{queue.New(cfg, url, log), cfg, url} }
	return cloud{
		events: on(urls[keys.EventsQueue]), webhooks: on(urls[keys.WebhooksQueue]),
		sender: sender, mailer: func(from string) delivery.Mailer { return mailer(t, cfg, from) },
		sent: func() []localstack.Mail {
			all, err := localstack.Mails(context.WithoutCancel(t.Context()), *cfg.BaseEndpoint, acct)
			if err != nil {
				t.Error(err)
			}
			return all
		},
	}
}

type onSQS struct {
	*queue.Queue
	config aws.Config
	url    string
}

func (q onSQS) release(ctx context.Context, m queue.Message) error {
	_, err := awssqs.NewFromConfig(q.config).ChangeMessageVisibility(ctx, &awssqs.ChangeMessageVisibilityInput{QueueUrl: &q.url, ReceiptHandle: &m.Handle})
	return err
}

// newMemory returns a cloud in memory.
func newMemory(t testing.TB) cloud {
	t.Helper()
	var box mailbox
	return cloud{
		events: &inMemory{t: t}, webhooks: &inMemory{t: t}, sender: "service@collab.example",
		mailer: func(from string) delivery.Mailer { return toMailbox{mailer(t, aws.Config{}, from), from, &box} },
		sent:   box.all,
	}
}

// inMemory is a queue in memory. What is taken stays so until it is deleted or released.
type inMemory struct {
	t     testing.TB
	mu    sync.Mutex
	list  []queue.Message // that can be taken
	taken map[string]queue.Message
	last  int
}

func (q *inMemory) SendEvents(_ context.Context, events ...queue.Event) error {
	return q.send(collab.Map(events, queue.Event.Encode)...)
}

func (q *inMemory) SendLanes(_ context.Context, delay time.Duration, lanes ...queue.Lane) error {
	if delay != 0 {
		q.t.Errorf("a delay of %v", delay) // the world holds messages back
	}
	return q.send(collab.Map(lanes, queue.Lane.Encode)...)
}

func (q *inMemory) send(texts ...string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, text := range texts {
		q.last++
		q.list = append(q.list, queue.Message{Text: text, Sent: time.Now(), Handle: strconv.Itoa(q.last)})
	}
	return nil
}

func (q *inMemory) Waiting(context.Context) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list), nil
}

func (q *inMemory) Receive(_ context.Context, most int, _ time.Duration) ([]queue.Message, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []queue.Message
	for len(q.list) > 0 && len(all) < most {
		m := q.list[0]
		q.list = q.list[1:]
		m.Receives++
		if q.taken == nil {
			q.taken = map[string]queue.Message{}
		}
		q.taken[m.Handle] = m
		all = append(all, m)
	}
	return all, nil
}

func (q *inMemory) Delete(_ context.Context, messages ...queue.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range messages {
		delete(q.taken, m.Handle)
	}
	return nil
}

func (q *inMemory) release(_ context.Context, m queue.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m, ok := q.taken[m.Handle]; ok {
		q.list = append(q.list, m)
		delete(q.taken, m.Handle)
	}
	return nil
}

// mailbox is what a mail service has sent.
type mailbox struct {
	mu    sync.Mutex
	mails []localstack.Mail
}

func (b *mailbox) all() []localstack.Mail {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.mails)
}

// toMailbox sends mails to a mailbox, as they are rendered. As SES it refuses what is no address, and a sender that it does not know.
type toMailbox struct {
	*mail.Mailer
	from string
	box  *mailbox
}

func (m toMailbox) Send(_ context.Context, n mail.Notice) error {
	to := collab.Deref(n.To.Email)
	if _, err := netmail.ParseAddress(to); err != nil {
		return fmt.Errorf("%w: %w", mail.ErrRejected, err)
	}
	content, err := m.Render(n)
	if err != nil {
		return err
	}
	if strings.HasSuffix(m.from, "@unverified.example") {
		return &smithy.GenericAPIError{Code: "MessageRejected", Message: m.from + " is not verified; no mail to " + to}
	}
	m.box.mu.Lock()
	defer m.box.mu.Unlock()
	m.box.mails = append(m.box.mails, localstack.Mail{
		From: m.from, To: []string{to}, Subject: content.Subject, Text: content.Text, HTML: content.HTML, At: float64(time.Now().Unix()),
	})
	return nil
}
