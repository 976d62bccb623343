package relay

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// TestServe runs the function with its environment, on an event with a lost message.
func TestServe(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": localstacktest.DynamoDB(t), "AWS_ENDPOINT_URL_SQS": localstacktest.MiniStack(t),
		"AWS_REGION": localstack.Region, "AWS_ACCESS_KEY_ID": localstack.AccessKeyID, "AWS_SECRET_ACCESS_KEY": localstack.SecretAccessKey,
	} {
		t.Setenv(name, value)
	}
	values := map[string]string{"TABLE_NAME": "relay-" + rand.Text(), "STAGE": "test"}
	urls, err := queue.Create(t.Context(), localstacktest.Config(localstacktest.MiniStack(t)), values["TABLE_NAME"]+"-")
	must.Do(t, err)
	values["EVENTS_QUEUE_URL"], values["CALLS_QUEUE_URL"] = urls[keys.EventsQueue], urls[keys.CallsQueue]
	past := func() time.Time { return time.Now().Add(-3 * time.Minute) }
	s := outbox.New(store.New(localstacktest.Config(localstacktest.DynamoDB(t)), values["TABLE_NAME"], past, rand.Reader))
	must.Do(t, localstack.CreateTable(t.Context(), localstacktest.Config(localstacktest.DynamoDB(t)), values["TABLE_NAME"]))
	ev := &collab.Event{ID: "e", Account: "acme", OrganizationID: "org"}
	if _, err := s.Commit(t.Context(), storetest.Request(time.Now()), nil, ev); err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer
	environment := func() *app.Environment {
		return &app.Environment{Get: func(name string) string { return values[name] }}
	}
	r, err := fromEnvironment(t.Context(), environment(), &out)
	must.Do(t, err)
	must.Do(t, handler(r)(t.Context()))
	messages, err := r.Queue.(queue.Tasks).Events.Receive(t.Context(), 10, 0)
	if err != nil || len(messages) != 1 {
		t.Errorf("%d messages, %v", len(messages), err)
	}
	var figures struct {
		TaskAge float64
		Stage   string
	}
	for line := range bytes.Lines(out.Bytes()) { // includes the log
		if err := json.Unmarshal(line, &figures); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
	}
	if figures.TaskAge < 180 || figures.Stage != "test" {
		t.Errorf("wrote %s", &out)
	}

	delete(values, "STAGE")
	if _, err := fromEnvironment(t.Context(), environment(), &out); err == nil || !strings.Contains(err.Error(), "STAGE is missing") {
		t.Errorf("%v", err)
	}
}
