//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/queue"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	// descriptions of the functions
	deliverDoes = "Runs the tasks that messages name: events, emails, webhook deliveries, jobs"
	relayDoes   = "Sends messages about tasks that are due"
)

// patience limits every wait. The longest is for relay, which runs each minute.
const patience = 3 * time.Minute

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("waited %v in vain: %s", patience, what)
		case <-tick.C:
		}
	}
}

// receiver is a back end with a webhook endpoint.
type receiver struct {
	url    string
	secret string
	posts  chan post
}

type post struct {
	header http.Header
	body   []byte
}

// subscribe starts a receiver and registers it for added threads.
func (d *deployment) subscribe(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{posts: make(chan post, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.posts <- post{req.Header, body}
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	var made struct{ WebhookID, Secret string }
	d.result(t, "/v2/webhooks/add", fmt.Sprintf(`{"data": {"url": %q, "eventTypes": ["comment_annotation.added"]}}`, r.url), &made)
	r.secret = made.Secret
	return r
}

// take waits for a post about each annotation, in any order, and returns the last. It fails on
// posts about others.
func (r *receiver) take(t *testing.T, annotations ...string) (last post) {
	t.Helper()
	for len(annotations) > 0 {
		select {
		case last = <-r.posts:
		case <-time.After(patience):
			t.Fatalf("waited %v in vain: nothing is posted about %v", patience, annotations)
		}
		var body struct {
			Type string
			Data struct{ AnnotationID string }
		}
		err := json.Unmarshal(last.body, &body)
		i := slices.Index(annotations, body.Data.AnnotationID)
		if err != nil || body.Type != "comment_annotation.added" || i < 0 {
			t.Fatalf("posted %s, want comment_annotation.added of %v", last.body, annotations)
		}
		annotations = slices.Delete(annotations, i, i+1)
	}
	return last
}

// result sends a request that must succeed, and decodes the data of the response.
func (d *deployment) result(t *testing.T, path, body string, data any) {
	t.Helper()
	a := d.send(t, "POST", path, body)
	envelope := struct{ Result struct{ Data any } }{}
	envelope.Result.Data = data
	if err := json.Unmarshal([]byte(a.body), &envelope); err != nil || a.status != http.StatusOK {
		t.Fatalf("%s: %d %s %v", path, a.status, a.body, err)
	}
}

// mention adds an annotation that mentions bob.
func (d *deployment) mention(t *testing.T, annotation string) {
	t.Helper()
	d.result(t, "/v2/commentannotations/add", fmt.Sprintf(`{"data": {"organizationId": "acme", "createOrganization": true,
		"documentId": "plan", "createDocument": true, "commentAnnotations": [{"annotationId": %q, "commentData": [{
			"commentText": "About %s, {{bob}}?", "from": {"userId": "ann", "name": "Ann"}, "triggerNotification": true,
			"taggedUserContacts": [{"userId": "bob", "contact": {"userId": "bob", "email": "bob@example.com"}}]}]}]}}`, annotation, annotation), nil)
}

// notified waits until bob's inbox has one notification of each annotation and no others.
func (d *deployment) notified(t *testing.T, annotations ...string) {
	t.Helper()
	var inbox []struct{ AnnotationID string }
	eventually(t, "bob's inbox", func() bool {
		d.result(t, "/v2/notifications/get", `{"data": {"organizationId": "acme", "userId": "bob"}}`, &inbox)
		return len(inbox) >= len(annotations)
	})
	var got []string
	for _, n := range slices.Backward(inbox) { // newest first
		got = append(got, n.AnnotationID)
	}
	if !slices.Equal(got, annotations) {
		t.Errorf("bob's inbox has %v, want %v", got, annotations)
	}
}

// delivery checks that a thread leads to notifications. It returns the event of a dead letter.
func (d *deployment) delivery(t *testing.T, r *receiver) (dead string) {
	t.Run("an event reaches the inbox and the webhook", func(t *testing.T) {
		d.mention(t, "first")
		p := r.take(t, "first")
		verifyInGo(t, r.secret, p)
		verifyInNode(t, r.secret, p)
		d.notified(t, "first")
	})
	t.Run("the event of a dead letter stays pending", func(t *testing.T) { dead = d.deadLetter(t) })
	return dead
}

// deadLetter breaks deliver until a message is a dead letter, repairs it, and returns the message's
// event.
func (d *deployment) deadLetter(t *testing.T) string {
	deliver := d.function(t, deliverDoes)
	d.set(t, deliver, "TABLE_NAME", "no-such-table")
	d.setVisibility(t, "1") // seconds between attempts
	d.mention(t, "dead")
	dead := queue.New(d.aws, d.outputs["EventsDeadQueueUrl"], slog.New(slog.NewTextHandler(t.Output(), nil)))
	eventually(t, "a dead letter", func() bool {
		n, err := dead.Waiting(t.Context())
		must.Do(t, err)
		return n == 1
	})
	d.set(t, deliver, "TABLE_NAME", deliver.Environment.Variables["TABLE_NAME"])
	d.setVisibility(t, "180")
	var pending []struct{ EventID string }
	if err := json.Unmarshal([]byte(d.admin(t, "-o", "json", "pending", "get", "--kind", "event")), &pending); err != nil || len(pending) != 1 {
		t.Fatalf("pending are %v, %v", pending, err)
	}
	return pending[0].EventID
}

// loseMessage removes an event's message before deliver can read it, so that relay must resend it.
// It returns the event. other is an event with messages that may appear meanwhile.
func (d *deployment) loseMessage(t *testing.T, other string) string {
	t.Helper()
	events := d.events(t)
	d.setMapping(t, false)
	d.mention(t, "lost")
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		messages, err := events.Receive(t.Context(), queue.MaxReceive, queue.MaxWait)
		must.Do(t, err)
		for _, m := range messages {
			event, err := queue.Decode(m.Text)
			must.Do(t, err)
			if event.ID != other {
				must.Do(t, events.Delete(t.Context(), m))
				d.setMapping(t, true)
				return event.ID
			}
		}
	}
	t.Fatal("the event has no message")
	return ""
}

// makeDue has relay send an event now, because it would wait for a minute.
func (d *deployment) makeDue(t *testing.T, event string) {
	t.Helper()
	o := outbox.New(d.accounts.Table)
	for shard := range keys.DueShards {
		list, _, err := o.Waiting(t.Context(), string(collab.EventTask), shard, collab.MaxMillis-1, "", 1000, func(err error) { t.Error(err) })
		must.Do(t, err)
		for _, waits := range list {
			if waits.ID == event {
				_, err := o.Write(t.Context(), o.Wake(waits.TaskRef, false))
				must.Do(t, err)
				return
			}
		}
	}
	t.Fatalf("the event %s is not pending", event)
}

func (d *deployment) events(t *testing.T) *queue.Queue {
	return queue.New(d.aws, d.outputs["EventsQueueUrl"], slog.New(slog.NewTextHandler(t.Output(), nil)))
}

func (d *deployment) setVisibility(t *testing.T, seconds string) {
	t.Helper()
	url := d.outputs["EventsQueueUrl"]
	_, err := sqs.NewFromConfig(d.aws).SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: &url, Attributes: map[string]string{"VisibilityTimeout": seconds},
	})
	must.Do(t, err)
}

// setMapping enables or disables deliver's mapping of the events queue.
func (d *deployment) setMapping(t *testing.T, enabled bool) {
	t.Helper()
	name := d.outputs["EventsQueueUrl"][strings.LastIndexByte(d.outputs["EventsQueueUrl"], '/')+1:]
	for _, m := range d.mappings(t) {
		if !strings.HasSuffix(aws.ToString(m.EventSourceArn), ":"+name) {
			continue
		}
		_, err := lambda.NewFromConfig(d.aws).UpdateEventSourceMapping(t.Context(), &lambda.UpdateEventSourceMappingInput{
			UUID: m.UUID, Enabled: &enabled,
		})
		must.Do(t, err)
		return
	}
	t.Fatalf("no mapping of %s", name)
}

// verifyInGo verifies a signature with the Go library of Standard Webhooks.
func verifyInGo(t *testing.T, secret string, p post) {
	t.Helper()
	receiver, err := standardwebhooks.NewWebhook(secret)
	must.Do(t, err)
	if err := receiver.Verify(p.body, p.header); err != nil {
		t.Errorf("the Go library: %v", err)
	}
	if receiver.Verify(append([]byte(" "), p.body...), p.header) == nil {
		t.Error("the Go library accepts another body")
	}
}

// verifyInNode verifies a signature with the npm package standardwebhooks.
func verifyInNode(t *testing.T, secret string, p post) {
	t.Helper()
	modules, err := localstack.NodeModules(t.Context(), os.Stderr)
	must.Do(t, err)
	headers := map[string]string{}
	for name := range p.header {
		headers[strings.ToLower(name)] = p.header.Get(name)
	}
	input, err := json.Marshal(map[string]any{"secret": secret, "headers": headers, "body": string(p.body)})
	must.Do(t, err)
	cmd := exec.CommandContext(t.Context(), "node", "verify.cjs")
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	cmd.Stdin = bytes.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "verified\n" {
		t.Errorf("the npm package: %v\n%s", err, out)
	}
}
