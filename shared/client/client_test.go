package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/client"
	"collabdata/shared/testing/must"
)

// exchange is a received request and its response.
type exchange struct {
	status     int
	retryAfter string
	body       string // "" ends the connection without a response

	after time.Duration // arrival time of the request
	sent  string
	key   string
}

// service responds to requests in order, and records them.
type service struct {
	start     time.Time
	exchanges []exchange
	next      int
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if s.next == len(s.exchanges) {
		return nil, errors.New("a request too many")
	}
	e := &s.exchanges[s.next]
	s.next++
	e.after, e.sent, e.key = time.Since(s.start), string(body), r.Header.Get(client.IdempotencyHeader)
	if e.body == "" {
		return nil, errors.New("the connection ended")
	}
	header := http.Header{}
	if e.retryAfter != "" {
		header.Set("Retry-After", e.retryAfter)
	}
	return &http.Response{StatusCode: e.status, Header: header, Body: io.NopCloser(strings.NewReader(e.body))}, nil
}

const done = `{"result":{"status":"success","message":"1 comment annotation added","data":{` +
	`"b":{"success":true,"message":"m","annotationId":"b","commentIds":[7]},` +
	`"a":{"success":false,"message":"m","code":"ALREADY_EXISTS","annotationId":"a","commentIds":[]}}}}`

func failure(code client.Code) string {
	return fmt.Sprintf(`{"error":{"message":"text","status":%q,"details":[{"field":"data.x","message":"rule"}]}}`, code)
}

// add calls the operation with a time limit and these responses.
func add(t *testing.T, within time.Duration, exchanges ...exchange) (
	result client.Keyed[client.CommentAnnotationsAddItem], got []exchange, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &service{start: time.Now(), exchanges: exchanges}
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		c := client.New(client.Config{BaseURL: "http://service.test/", HTTP: &http.Client{Transport: s}})
		result, err = c.CommentAnnotations.Add(ctx, request())
		got = s.exchanges[:s.next]
	})
	return result, got, err
}

func request() *client.CommentAnnotationsAddRequest {
	return &client.CommentAnnotationsAddRequest{OrganizationID: "acme", DocumentID: "plan", CommentAnnotations: []client.NewAnnotation{{
		CreatedAt:   time.UnixMilli(0),
		CommentData: []client.AnnotationComment{{CommentText: "Hello <b>", From: client.User{UserID: "ann"}}},
		Context:     map[string]any{"b": 1, "a": 2},
	}}}
}

// TestRetries checks that temporary failures are retried under the same key, after the requested
// time or soon.
func TestRetries(t *testing.T) {
	result, got, err := add(t, time.Minute,
		exchange{status: 503, body: failure(client.CodeUnavailable), retryAfter: "2"},
		exchange{},
		exchange{status: 502, body: "<html>"},
		exchange{status: 409, body: failure(client.CodeAborted)},
		exchange{status: 200, body: done})
	must.Do(t, err)
	want := client.Keyed[client.CommentAnnotationsAddItem]{
		{Key: "b", Value: client.CommentAnnotationsAddItem{Success: true, Message: "m", AnnotationID: "b", CommentIDs: []int64{7}}},
		{Key: "a", Value: client.CommentAnnotationsAddItem{Message: "m", Code: client.CodeAlreadyExists, AnnotationID: "a", CommentIDs: []int64{}}},
	}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
	const sent = `{"data":{"organizationId":"acme","documentId":"plan","commentAnnotations":[{` +
		`"context":{"a":2,"b":1},"createdAt":0,"commentData":[{"commentText":"Hello <b>","from":{"userId":"ann"}}]}]}}`
	for i, e := range got {
		if e.sent != sent || e.key == "" || e.key != got[0].key {
			t.Errorf("attempt %d has the key %q and the body %s", i+1, e.key, e.sent)
		}
	}
	if first := got[1].after; first < 2*time.Second || first > 2200*time.Millisecond {
		t.Errorf("Retry-After of 2 s was waited for %v", first)
	}
	if last := got[4].after; last > 8*time.Second {
		t.Errorf("the fifth attempt came after %v", last)
	}
}

// TestErrors checks the final error of a call, and the number of attempts.
func TestErrors(t *testing.T) {
	for _, test := range []struct {
		name     string
		within   time.Duration
		answers  []exchange
		attempts int
		want     client.Code
	}{
		{"a mistake", time.Minute, []exchange{{status: 400, body: failure(client.CodeInvalidArgument)}}, 1, client.CodeInvalidArgument},
		{"a size", time.Minute, []exchange{{status: 400, body: failure(client.CodeFailedPrecondition)}}, 1, client.CodeFailedPrecondition},
		{"always later", time.Minute, repeat(5, exchange{status: 429, body: failure(client.CodeResourceExhausted), retryAfter: "1"}), 5, client.CodeResourceExhausted},
		{"later than there is time", time.Second, []exchange{{status: 429, body: failure(client.CodeResourceExhausted), retryAfter: "30"}}, 1, client.CodeResourceExhausted},
		{"long later", time.Hour, []exchange{{status: 429, body: failure(client.CodeResourceExhausted), retryAfter: "60"}}, 1, client.CodeResourceExhausted},
		{"later and later", time.Hour, repeat(3, exchange{status: 429, body: failure(client.CodeResourceExhausted), retryAfter: "20"}), 3, client.CodeResourceExhausted},
		{"never an answer", time.Minute, repeat(5, exchange{}), 5, client.CodeUnavailable},
		{"another server", time.Minute, []exchange{{status: 404, body: "not here"}}, 1, client.CodeFailedPrecondition},
		{"a busy proxy", time.Minute, repeat(5, exchange{status: 429, body: "later", retryAfter: "1"}), 5, client.CodeResourceExhausted},
		{"busy until a time", time.Hour, []exchange{{status: 429, body: "later", retryAfter: "Fri, 31 Dec 2100 23:59:59 GMT"}}, 1, client.CodeResourceExhausted},
		{"an answer of another type", time.Minute, []exchange{{status: 200, body: `{"result":{"data":{"a":7}}}`}}, 1, client.CodeFailedPrecondition},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, got, err := add(t, test.within, test.answers...)
			if client.CodeOf(err) != test.want || len(got) != test.attempts {
				t.Errorf("after %d attempts: %v, want %d and %s", len(got), err, test.attempts, test.want)
			}
		})
	}
	_, _, err := add(t, time.Minute, exchange{status: 400, body: failure(client.CodeInvalidArgument)})
	e, ok := errors.AsType[*client.Error](err)
	want := &client.Error{Code: client.CodeInvalidArgument, Message: "text", Details: []client.FieldError{{Field: "data.x", Message: "rule"}}}
	if diff := cmp.Diff(want, e); !ok || diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
}

func repeat(n int, e exchange) []exchange {
	list := make([]exchange, n)
	for i := range list {
		list[i] = e
	}
	return list
}

// TestItems checks that pages are requested in order, without a key, until the last page or until
// the caller stops.
func TestItems(t *testing.T) {
	page := func(items, token string) exchange {
		return exchange{status: 200, body: fmt.Sprintf(`{"result":{"data":[%s],"nextPageToken":%q}}`, items, token)}
	}
	read := func(most int, exchanges ...exchange) (ids []string, asked []exchange, last error) {
		s := &service{exchanges: exchanges}
		c := client.New(client.Config{BaseURL: "http://service.test", HTTP: &http.Client{Transport: s}})
		request := &client.CommentAnnotationsGetRequest{OrganizationID: "acme", PageSize: 2, PageToken: "t0"}
		for item, err := range c.CommentAnnotations.Get(t.Context(), request) {
			if err != nil {
				last = err
				continue
			}
			id := ""
			if item != nil {
				id = item.AnnotationID
			}
			if ids = append(ids, id); len(ids) == most {
				break
			}
		}
		return ids, s.exchanges[:s.next], last
	}
	ids, asked, err := read(9, page(`{"annotationId":"a"},{"annotationId":"b"}`, "t1"), page("", "t2"), page(`null,{"annotationId":"c"}`, ""))
	if diff := cmp.Diff([]string{"a", "b", "", "c"}, ids); diff != "" || err != nil {
		t.Errorf("%v (- want, + got):\n%s", err, diff)
	}
	for i, e := range asked {
		want := fmt.Sprintf(`{"data":{"organizationId":"acme","pageSize":2,"pageToken":"t%d"}}`, i)
		if e.sent != want || e.key != "" {
			t.Errorf("page %d was asked for by %s, key %q", i+1, e.sent, e.key)
		}
	}
	if ids, asked, err := read(1, page(`{"annotationId":"a"}`, "t1")); len(ids) != 1 || len(asked) != 1 || err != nil {
		t.Errorf("for one item %d pages were read: %v, %v", len(asked), ids, err)
	}
	if ids, _, err := read(9, page(`{"annotationId":"a"}`, "t1"), exchange{status: 404, body: failure(client.CodeNotFound)}); len(ids) != 1 ||
		client.CodeOf(err) != client.CodeNotFound {
		t.Errorf("the pages end with %v, %v", ids, err)
	}
}

// TestUpdate checks that an update sends absent, null and set fields, and that pages end without a
// token.
func TestUpdate(t *testing.T) {
	s := &service{
		exchanges: []exchange{
			{status: 200, body: `{"result":{"data":{}}}`},
			{status: 200, body: `{"result":{"data":{"replayed":2},"nextPageToken":"t"}}`},
		},
	}
	c := client.New(client.Config{BaseURL: "http://service.test", HTTP: &http.Client{Transport: s}})
	_, err := c.CommentAnnotations.Update(t.Context(), &client.CommentAnnotationsUpdateRequest{
		OrganizationID: "acme", DocumentID: "plan",
		UpdatedData: &client.UpdatedData{
			Status:     client.Set(client.StatusChange{ID: "RESOLVED"}),
			AssignedTo: client.Clear[client.UserChange](),
			Context:    client.Set[any](map[string]string{"at": "x"}),
		},
	}, client.IdempotencyKey("mine"))
	const want = `{"data":{"organizationId":"acme","documentId":"plan","updatedData":{"status":{"id":"RESOLVED"},"assignedTo":null,"context":{"at":"x"}}}}`
	if got := s.exchanges[0]; err != nil || got.sent != want || got.key != "mine" {
		t.Errorf("%v, key %q\n%s, want\n%s", err, got.key, got.sent, want)
	}
	replayed, next, err := c.Webhooks.ReplayDeliveries(
		t.Context(), &client.WebhooksReplayDeliveriesRequest{WebhookID: "crm", Since: time.UnixMilli(1500)},
	)
	if err != nil || replayed.Replayed != 2 || next != "t" {
		t.Errorf("%+v, %q, %v", replayed, next, err)
	}
	if got := s.exchanges[1].sent; got != `{"data":{"webhookId":"crm","since":1500}}` {
		t.Errorf("%s was sent", got)
	}
}

// TestAnswers checks the decoding of responses: both forms of times, free-form values, and further
// fields.
func TestAnswers(t *testing.T) {
	s := &service{exchanges: []exchange{
		{status: 200, body: `{"result":{"data":[{"folderId":"f","createdAt":1500,"lastUpdated":2500,"later":true}]}}`},
		{
			status: 200,
			body:   `{"result":{"data":[{"annotationId":"a","createdAt":"1970-01-01T00:00:01.500Z","context":{"n":12345678901234567890}}]}}`,
		},
		{status: 200, body: `{"result":{"data":[{"id":"o","disabled":true,"tier":"gold"}]}}`},
	}}
	c := client.New(client.Config{BaseURL: "http://service.test", HTTP: &http.Client{Transport: s}})
	folders, err := c.Organizations.GetFoldersV1(t.Context(), &client.OrganizationsGetFoldersV1Request{OrganizationID: "o"})
	must.Do(t, err)
	threads, err := c.CommentAnnotations.GetPage(t.Context(), &client.CommentAnnotationsGetRequest{OrganizationID: "o"})
	must.Do(t, err)
	organizations, err := c.Organizations.GetPage(t.Context(), &client.OrganizationsGetRequest{})
	must.Do(t, err)
	at := time.UnixMilli(1500).UTC()
	if folders[0].CreatedAt != at || !threads.Items[0].CreatedAt.Equal(at) {
		t.Errorf("the times are %v and %v", folders[0].CreatedAt, threads.Items[0].CreatedAt)
	}
	if got := string(threads.Items[0].Context); got != `{"n":12345678901234567890}` {
		t.Errorf("the context is %s", got)
	}
	if o := organizations.Items[0]; !o.Disabled || string(o.Further["tier"]) != `"gold"` {
		t.Errorf("%+v", o)
	}
}
