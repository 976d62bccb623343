package live_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/app/live"
	"collabdata/shared/keys"
	rules "collabdata/shared/live"
	"collabdata/shared/live/gateway"
	"collabdata/shared/metrics"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

// TestRoutes checks that the gateway's events start, answer and end connections, and that a
// connection requires a ticket and the table.
func TestRoutes(t *testing.T) {
	w := newWorld(t)
	route := live.Routes(w.pages, slog.New(slog.DiscardHandler))
	call := func(event string) int {
		t.Helper()
		var r events.APIGatewayWebsocketProxyRequest
		must.Do(t, json.Unmarshal([]byte(event), &r))
		answer, err := route(t.Context(), r)
		must.Do(t, err)
		return answer.StatusCode
	}
	_, ticket, _ := strings.Cut(w.ticket(t, "acme", "ann", `"documentIds": ["plan"]`), "=")
	connect := `{"requestContext": {"eventType": "CONNECT", "routeKey": "$connect", "connectionId": "c1"}, "queryStringParameters": {"ticket": "` + ticket + `"}}`
	table := &unreadable{kept: w.pages.Connections, err: errors.New("throttled")}
	w.pages.Connections = table
	if got := call(connect); got != http.StatusServiceUnavailable {
		t.Errorf("connecting while the table cannot be read gives %d", got)
	}
	table.err = nil
	for _, want := range []int{http.StatusOK, http.StatusForbidden} {
		if got := call(connect); got != want {
			t.Errorf("connecting gives %d, want %d", got, want)
		}
	}
	if got := call(`{"requestContext": {"eventType": "CONNECT", "connectionId": "c2"}}`); got != http.StatusForbidden {
		t.Errorf("connecting without a ticket gives %d", got)
	}
	if list := w.connections(t, "ann"); len(list) != 1 || list[0].ID != "c1" {
		t.Errorf("kept are %+v", list)
	}
	if got := call(`{"requestContext": {"eventType": "MESSAGE", "connectionId": "c1", "routeKey": "$default"}, "body": "{}"}`); got != http.StatusOK {
		t.Errorf("a message gives %d", got)
	}
	if diff := cmp.Diff([]string{""}, w.gateway.posted); diff != "" {
		t.Errorf("a message does not end its connection (-want +got):\n%s", diff)
	}
	for range 2 { // the gateway may repeat it
		if got := call(`{"requestContext": {"eventType": "DISCONNECT", "routeKey": "$disconnect", "connectionId": "c1"}}`); got != http.StatusOK {
			t.Errorf("the end gives %d", got)
		}
	}
	if list := w.connections(t, ""); len(list) != 0 {
		t.Errorf("kept are %+v", list)
	}
}

// TestHeartbeat checks that heartbeats only report their age, and neither send hints nor read the
// table. Another item that was written is a reason to read it, and the batch fails without it.
func TestHeartbeat(t *testing.T) {
	w := newWorld(t)
	ann := w.connect(t, "acme", "ann", `"documentIds": ["plan"], "inbox": true`)
	var out bytes.Buffer
	beat := events.DynamoDBEventRecord{}
	beat.Change.Keys = map[string]events.DynamoDBAttributeValue{
		keys.PK: events.NewStringAttribute(keys.HeartbeatKey().PK), keys.SK: events.NewStringAttribute(keys.HeartbeatKey().SK),
	}
	beat.Change.ApproximateCreationDateTime.Time = time.Now().Add(-90 * time.Second)
	table := &unreadable{kept: w.hints.Connections, err: errors.New("throttled")}
	w.hints.Connections = table
	take := live.Taker(w.hints, metrics.New(&out, "prod", time.Now))
	must.Do(t, take(t.Context(), events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{beat}}))
	ann.still(t)
	var line struct{ HintsAge float64 }
	must.Do(t, json.Unmarshal(out.Bytes(), &line))
	if line.HintsAge < 90 || line.HintsAge > 150 {
		t.Errorf("reported is %s", &out)
	}
	out.Reset()
	must.Do(t, take(t.Context(), events.DynamoDBEvent{}))
	if out.Len() > 0 {
		t.Errorf("without a heartbeat reported is %s", &out)
	}
	annotation := keys.Annotation(w.document(t, "plan"), "a")
	beat.Change.Keys = map[string]events.DynamoDBAttributeValue{
		keys.PK: events.NewStringAttribute(annotation.PK), keys.SK: events.NewStringAttribute(annotation.SK),
	}
	if err := take(t.Context(), events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{beat}}); !errors.Is(err, table.err) {
		t.Errorf("where the table cannot be read: %v", err)
	}
}

// TestWritten parses a batch of the stream in Lambda's form.
func TestWritten(t *testing.T) {
	var batch events.DynamoDBEvent
	err := json.Unmarshal([]byte(`{"Records": [{"eventName": "MODIFY", "eventSource": "aws:dynamodb", "dynamodb": {"ApproximateCreationDateTime": 1795413687.0,
		"Keys": {"pk": {"S": "A#acme"}, "sk": {"S": "ORG#org"}}, "SequenceNumber": "1", "SizeBytes": 20, "StreamViewType": "KEYS_ONLY"}}]}`), &batch)
	if diff := cmp.Diff([]keys.Key{{PK: "A#acme", SK: "ORG#org"}}, live.Written(batch)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestFromEnvironment(t *testing.T) {
	values := map[string]string{"STAGE": "prod", "TABLE_NAME": "t", "LIVE_URL": "https://a.execute-api.eu-west-1.amazonaws.com/prod", "ALLOWED_PRIVATE_CIDRS": "10.0.0.0/8"}
	environment := func() *app.Environment {
		return &app.Environment{Get: func(name string) string { return values[name] }}
	}
	c, err := live.FromEnvironment(t.Context(), environment())
	if err != nil || c.Table != "t" || c.Gateway == nil || len(c.PrivateRanges) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	delete(values, "LIVE_URL")
	if _, err := live.FromEnvironment(t.Context(), environment()); err == nil || !strings.Contains(err.Error(), "LIVE_URL is missing") {
		t.Errorf("%v", err)
	}
}

// TestGateway checks that responses of API Gateway are handled, with at most two attempts.
func TestGateway(t *testing.T) {
	for _, test := range []struct {
		status int
		kind   string
		asked  int
		gone   bool
	}{
		{200, "", 1, false}, {410, "GoneException", 1, true}, {429, "LimitExceededException", 2, false}, {500, "InternalServerError", 2, false},
		{403, "ForbiddenException", 1, false},
	} {
		var asked []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			asked = append(asked, r.Method+" "+r.URL.Path+" "+string(body))
			w.Header().Set("X-Amzn-ErrorType", test.kind)
			w.WriteHeader(test.status)
		}))
		g := gateway.New(localstacktest.Config(server.URL), server.URL+"/prod")
		for _, call := range []struct {
			does func() error
			want string
		}{
			{func() error { return g.Post(t.Context(), "c=1", pong) }, "POST /prod/@connections/c=1 " + pong},
			{func() error { return g.Close(t.Context(), "c=1") }, "DELETE /prod/@connections/c=1 "},
		} {
			asked = nil
			err := call.does()
			if len(asked) != test.asked || asked[0] != call.want || errors.Is(err, rules.ErrGone) != test.gone || (err == nil) != (test.status == 200) {
				t.Errorf("%d: %v after %q, want %d times %q", test.status, err, asked, test.asked, call.want)
			}
		}
		server.Close()
	}
}
