package delivery_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"strings"
	"testing"

	"collabdata/localstack"
	"collabdata/shared/keys"
	"collabdata/shared/mail"
	"collabdata/shared/queue"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

// cloud holds the queues and the email service of a world, in its own AWS account in MiniStack.
type cloud struct {
	events, calls sqsQueue
	aws           aws.Config
	account       string
	sender        string // accepted by the email service
}

const unsubscribePage = "https://api.example/unsubscribe"

func newCloud(t testing.TB) cloud {
	t.Helper()
	c := cloud{
		aws: localstacktest.Config(localstacktest.MiniStack(t)), account: fmt.Sprintf("%012d", mathrand.Int64N(1e12)),
		sender: strings.ToLower(rand.Text()) + "@collab.example",
	}
	c.aws.HTTPClient = client
	c.aws.Credentials = credentials.NewStaticCredentialsProvider(c.account, localstack.SecretAccessKey, "")
	urls, err := queue.Create(t.Context(), c.aws, rand.Text()+"-")
	must.Do(t, err)
	must.Do(t, mail.CreateIdentity(t.Context(), c.aws, c.sender))
	c.events, c.calls = c.queue(urls[keys.EventsQueue]), c.queue(urls[keys.CallsQueue])
	return c
}

// mailer returns a mailer with a sender.
func (w *world) mailer(from string) *mail.Mailer {
	w.Helper()
	m, err := mail.New(w.aws, mail.Options{From: from, Unsubscribe: unsubscribePage})
	w.must(err)
	return m
}

// sentEmails returns the sent emails by address, oldest first.
func (w *world) sentEmails() map[string][]localstack.Mail {
	w.Helper()
	all, err := localstack.Emails(context.WithoutCancel(w.Context()), *w.aws.BaseEndpoint, w.cloud.account)
	w.must(err)
	to := map[string][]localstack.Mail{}
	for _, m := range all {
		for _, address := range m.To {
			to[address] = append(to[address], m)
		}
	}
	return to
}

// sqsQueue is a queue without a visibility timeout.
type sqsQueue struct {
	*queue.Queue
	client *awssqs.Client
	url    string
}

func (c cloud) queue(url string) sqsQueue {
	return sqsQueue{queue.New(c.aws, url, slog.New(slog.DiscardHandler)), awssqs.NewFromConfig(c.aws), url}
}

func (q sqsQueue) release(ctx context.Context, m queue.Message) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &awssqs.ChangeMessageVisibilityInput{QueueUrl: &q.url, ReceiptHandle: &m.Handle})
	return err
}
