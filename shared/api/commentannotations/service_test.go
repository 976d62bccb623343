package commentannotations_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/heaptest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

type fixture struct {
	*app.Service
	handler http.Handler // of the account acme, with settings
	log     bytes.Buffer
	between func() // called before each write to the table
}

func newFixture(t *testing.T, settings collab.Settings, documents ...string) *fixture {
	t.Helper()
	f := &fixture{}
	f.Service = apitest.Start(t, func(c *app.Config) {
		c.Log = slog.New(slog.NewJSONHandler(&f.log, nil))
		c.DynamoDB.HTTPClient = storetest.Before(c.DynamoDB.HTTPClient, func(operation, _ string) *http.Response {
			if f.between != nil && !strings.Contains(operation, "Get") && operation != "Query" {
				f.between()
			}
			return nil
		})
	})
	f.handler = handlerWith(f.Service, settings)
	if documents == nil {
		documents = []string{"doc"}
	}
	must.Do(t, storetest.AddDocuments(t.Context(), f.Directory, docRef("").OrganizationRef, documents...))
	return f
}

func handlerWith(s *app.Service, settings collab.Settings) http.Handler {
	settings.WriteUnitsPerSecond, settings.ReadUnitsPerSecond = collab.Unlimited, collab.Unlimited
	settings.EventsPerMinute, settings.MailsPerDay = collab.Unlimited, collab.Unlimited
	return s.HandlerFor(collab.Identity{Account: "acme", Settings: settings})
}

func docRef(id string) collab.DocumentRef {
	return collab.OrganizationRef{Account: "acme", Organization: "org"}.Document(id)
}

type answer struct {
	code   int
	Result struct {
		Message string
		Data    collab.JSON
	}
	Error struct {
		Message string
		Status  collab.Code
		Details []collab.FieldError
	}
}

func (a answer) items(t *testing.T) (keys []string, items map[string]item) {
	t.Helper()
	if err := json.Unmarshal(a.Result.Data, &items); err != nil {
		t.Fatalf("%d %+v: %v", a.code, a, err)
	}
	for name := range a.Result.Data.Members() {
		keys = append(keys, name)
	}
	return keys, items
}

type item struct {
	Success    bool
	Message    string
	Code       collab.Code
	CommentIDs []int64
}

// post sends data, without organization and document, to an operation.
func post(t *testing.T, f *fixture, path, data string) answer {
	t.Helper()
	w := f.serve(t.Context(), path, `"documentId":"doc",`+data)
	a := answer{code: w.Code}
	must.Do(t, json.Unmarshal(w.Body.Bytes(), &a))
	return a
}

// serve sends data, without the organization, to an operation.
func (f *fixture) serve(ctx context.Context, path, data string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(`{"data":{"organizationId":"org",`+data+`}}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	return w
}

// succeed fails the test unless all items of a response succeeded.
func succeed(t *testing.T, a answer) {
	t.Helper()
	if a.code != http.StatusOK || strings.Contains(string(a.Result.Data), `"success":false`) {
		t.Fatalf("%d %s %s", a.code, a.Error.Message, a.Result.Data)
	}
}

func comment(id int, author, more string) string {
	return fmt.Sprintf(`{"commentId":%d,"commentText":"text","from":{"userId":%q}%s}`, id, author, more)
}

func list(comments ...string) string { return `"commentData":[` + strings.Join(comments, ",") + `]` }

func repeat(n int, text func(i int) string) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = text(i)
	}
	return strings.Join(texts, ",")
}

func TestLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, collab.Settings{})
	annotations := func(n, comments int) string {
		return `"commentAnnotations":[` + repeat(n, func(i int) string {
			return fmt.Sprintf(`{"annotationId":"l%d-%d-%d",%s}`, n, comments, i, list(repeat(comments, func(j int) string {
				return fmt.Sprintf(`{"commentId":%d,"isCommentResolverUsed":true,"from":{"userId":"u"}}`, j+1)
			})))
		}) + `]`
	}
	comments := func(n int) string {
		return `"annotationId":"l1-90-0",` + list(repeat(n, func(i int) string { return comment(1000*n+i, "u", "") }))
	}
	tags := func(n int) string {
		return `"taggedUserContacts":[` + repeat(n, func(i int) string { return fmt.Sprintf(`{"userId":"u%d"}`, i) }) + `]`
	}
	ids := func(n int) string { return repeat(n, func(i int) string { return fmt.Sprintf(`"i%d"`, i) }) }
	for _, test := range []struct {
		name string
		post func(data string) answer
		fits string
		over string
		code collab.Code
		text string
	}{
		{
			"annotations", func(d string) answer { return post(t, f, "/v2/commentannotations/add", d) }, annotations(1, 0), annotations(501, 0), // 500 of them: below
			collab.InvalidArgument, "data.commentAnnotations must have at most 500 items, not 501",
		},
		{
			"annotations in v1", func(d string) answer { return post(t, f, "/v1/commentannotations/add", d) }, annotations(499, 0), annotations(501, 0),
			collab.InvalidArgument, "data.commentAnnotations must have at most 500 items, not 501",
		},
		{
			"comments of an annotation", func(d string) answer { return post(t, f, "/v2/commentannotations/add", d) }, annotations(1, 90), annotations(1, 91),
			collab.InvalidArgument, "data.commentAnnotations[0].commentData must have at most 90 items, not 91: send the rest by /v2/commentannotations/comments/add",
		},
		{
			"comments of all annotations", func(d string) answer { return post(t, f, "/v2/commentannotations/add", d) }, annotations(500, 10), annotations(59, 85),
			collab.InvalidArgument, "data.commentAnnotations must hold at most 5000 comments in all, not 5015",
		},
		{
			"comments to add", func(d string) answer { return post(t, f, "/v2/commentannotations/comments/add", d) }, comments(90), comments(91),
			collab.InvalidArgument, "data.commentData must have at most 90 items, not 91: send the rest by /v2/commentannotations/comments/add",
		},
		{
			"tagged users of an annotation", func(d string) answer { return post(t, f, "/v2/commentannotations/add", d) },
			`"commentAnnotations":[{"commentData":[{"commentText":"x","from":{"userId":"u"},` + tags(1000) + `},{"commentText":"x","from":{"userId":"u"},` + tags(500) + `}]}]`,
			`"commentAnnotations":[{"commentData":[{"commentText":"x","from":{"userId":"u"},` + tags(1001) + `}]}]`,
			collab.InvalidArgument, "data.commentAnnotations[0].commentData must tag at most 1000 users in all, not 1001",
		},
		{
			"tagged users of added comments", func(d string) answer { return post(t, f, "/v2/commentannotations/comments/add", d) },
			`"annotationId":"l1-90-0","commentData":[{"commentText":"x","from":{"userId":"u"},"triggerNotification":true,` + tags(1000) + `}]`,
			`"annotationId":"l1-90-0","commentData":[{"commentText":"x","from":{"userId":"u"},` + tags(1001) + `}]`,
			collab.InvalidArgument, "data.commentData must tag at most 1000 users in all, not 1001",
		},
		{
			"tagged users of updated comments", func(d string) answer { return post(t, f, "/v2/commentannotations/comments/update", d) },
			`"annotationId":"l1-90-0","commentIds":[1],"updatedData":{` + tags(1000) + `}`,
			`"annotationId":"l1-90-0","commentIds":[1],"updatedData":{` + tags(1001) + `}`,
			collab.InvalidArgument, "data.updatedData.taggedUserContacts must tag at most 1000 users in all, not 1001",
		},

		{
			"annotations named in an update", func(d string) answer { return post(t, f, "/v2/commentannotations/update", d) },
			`"annotationIds":["l1-90-0",` + strings.Repeat(`"l1-90-0",`, 9_998) + `"l1-90-0"],"updatedData":{"context":{}}`,
			`"annotationIds":[` + ids(10_001) + `],"updatedData":{"context":{}}`,
			collab.InvalidArgument, "data.annotationIds must have at most 10000 items, not 10001",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			over := test.post(test.over)
			if over.Error.Status != test.code || over.Error.Message != test.text {
				t.Errorf("got %d %s %s", over.code, over.Error.Status, over.Error.Message)
			}
			succeed(t, test.post(test.fits))
		})
	}
}

// TestPersonLimits checks the greatest contexts, suggestions and reasons for a rejection that a
// person can send, in each operation.
func TestPersonLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, collab.Settings{})
	succeed(t, post(t, f, "/v2/commentannotations/add", `"commentAnnotations": [
		{"annotationId": "a", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "ann"}}]},
		{"annotationId": "s", "type": "suggestion", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "ann"}}]}]`))
	text := func(bytes int) string {
		return `"` + strings.Repeat("é", bytes/2) + strings.Repeat("x", bytes%2) + `"`
	}
	object := func(bytes int) string { return `{"k":` + text(bytes-8) + `}` }
	const context, ofContext, thread = 8 << 10, "must be at most 8192 bytes of JSON, not 8193", `"commentData": [{"commentText": "x"}], `
	for _, test := range []struct {
		path, before, after string // the value
		value               func(bytes int) string
		most                int
		field, rule         string
	}{
		{"add", `"commentAnnotations": [{` + thread + `"context": `, `}]`, object, context, "commentAnnotations[0].context", ofContext},
		{"add", `"commentAnnotations": [{"commentData": [{"commentText": "x", "context": `, `}]}]`, object, context, "commentAnnotations[0].commentData[0].context", ofContext},
		{"update", `"annotationIds": ["a"], "updatedData": {"context": `, `}`, object, context, "updatedData.context", ofContext},
		{"comments/add", `"annotationId": "a", "commentData": [{"commentText": "x", "context": `, `}]`, object, context, "commentData[0].context", ofContext},
		{"comments/update", `"annotationId": "a", "commentIds": [1], "updatedData": {"context": `, `}`, object, context, "updatedData.context", ofContext},
		{
			"add", `"commentAnnotations": [{` + thread + `"targetElement": {"targetText": `, `}}]`, text, 4_096,
			"commentAnnotations[0].targetElement.targetText", "must be at most 4096 bytes, not 4097",
		},
		{
			"add", `"commentAnnotations": [{` + thread + `"suggestion": `, `}]`, object, 16 << 10,
			"commentAnnotations[0].suggestion", "must be at most 16384 bytes of JSON, not 16385",
		},
		{
			"add", `"commentAnnotations": [{` + thread + `"context": ` + object(8000) + `, "suggestion": `, `}]`, object, 16<<10 - 8000,
			"commentAnnotations[0]", "must be at most 16384 bytes without its comments, not 16385",
		},
		{
			"update", `"annotationIds": ["s"], "updatedData": {"suggestion": {"status": "rejected", "rejectReason": `, `}}`, text, 2_000,
			"updatedData.suggestion.rejectReason", "must be a text of at most 2000 bytes",
		},
	} {
		t.Run(test.path+" "+test.field, func(t *testing.T) {
			send := func(bytes int) answer {
				return post(t, f.person("ann"), "/v2/commentannotations/"+test.path, test.before+test.value(bytes)+test.after)
			}
			over := send(test.most + 1)
			if want := "data." + test.field + " " + test.rule; over.Error.Status != collab.InvalidArgument || over.Error.Message != want {
				t.Errorf("got %d %s %s, want %s", over.code, over.Error.Status, over.Error.Message, want)
			}
			succeed(t, send(test.most))
		})
	}
}

// TestPersonGrowth checks that a person's updates do not let a thread grow beyond 16,384 bytes, and
// that a person can resolve a larger one of the back end.
func TestPersonGrowth(t *testing.T) {
	t.Parallel()
	f := newFixture(t, collab.Settings{})
	const comments = `"commentData": [{"commentText": "x", "from": {"userId": "ann"}}]`
	object := func(bytes int) string { return `{"k":"` + strings.Repeat("x", bytes-8) + `"}` }
	added, _ := post(t, f.person("ann"), "/v2/commentannotations/add",
		`"commentAnnotations": [{"commentData": [{"commentText": "x"}], "type": "suggestion", "suggestion": `+object(12_000)+`}]`).items(t)
	own := added[0]
	succeed(t, post(t, f, "/v2/commentannotations/add", `"commentAnnotations": [{"annotationId": "large", "targetElement": {"targetText": "`+strings.Repeat("x", 50_000)+`"}, `+comments+`}]`))
	for _, test := range []struct {
		id, data, text string
	}{
		{own, `"context": ` + object(8_000), "data.updatedData must leave the annotation at most 16384 bytes without its comments, not 2"},
		{own, `"context": ` + object(4_000), ""},
		{own, `"visibility": {"type": "restricted", "userIds": ["ann"]}`, ""},
		{own, `"context": ` + object(5_000), "data.updatedData must leave the annotation at most 16384 bytes without its comments, not 1"},
		{own, `"suggestion": {"status": "accepted"}`, ""},
		{"large", `"visibility": {"type": "restricted", "userIds": ["ann"]}`, "data.updatedData must leave the annotation at most 16384 bytes without its comments, not 50"},
		{"large", `"status": {"id": "RESOLVED"}`, ""},
	} {
		_, items := post(t, f.person("ann"), "/v2/commentannotations/update", `"annotationIds": ["`+test.id+`"], "updatedData": {`+test.data+`}`).items(t)
		if it := items[test.id]; it.Success != (test.text == "") || !strings.HasPrefix(it.Message, test.text) || !it.Success && it.Code != collab.InvalidArgument {
			t.Errorf("%s, %.60s: %+v", test.id, test.data, it)
		}
	}
}

// TestTooLarge checks the errors for oversized comments and annotations, which have the item and
// the limit.
func TestTooLarge(t *testing.T) {
	f := newFixture(t, collab.Settings{})
	succeed(t, post(t, f, "/v2/commentannotations/add", `"commentAnnotations":[{"annotationId":"a",`+list(comment(1, "u", ""))+`}]`))
	large := strings.Repeat("x", collab.MaxItemBytes)
	largeComment := `{"commentText":"` + large + `","from":{"userId":"u"}}`
	largeUser := `{"userId":"v","name":"` + large + `"}`

	a := post(t, f, "/v2/commentannotations/comments/add", `"annotationId":"a",`+list(comment(2, "u", ""), largeComment))
	many := list(repeat(11, func(int) string { return `{"commentText":"` + large[:330_000] + `","from":{"userId":"u"}}` }))
	for field, a := range map[string]answer{
		"data.commentData[1]": a,
		"data.commentData":    post(t, f, "/v2/commentannotations/comments/add", `"annotationId":"a",`+many),
	} {
		const rule = "is too large: "
		if d := a.Error.Details; a.code != http.StatusBadRequest || a.Error.Status != collab.InvalidArgument || !strings.HasPrefix(a.Error.Message, field+" "+rule) ||
			len(d) != 1 ||
			d[0].Field != field ||
			!strings.HasPrefix(d[0].Message, rule) {
			t.Errorf("comments add: %d %+v", a.code, a.Error)
		}
	}
	for _, test := range []struct {
		name string
		a    answer
		item string
		text string
	}{
		{"add", post(t, f, "/v2/commentannotations/add", `"commentAnnotations":[{"annotationId":"b",`+list(comment(1, "u", ""), largeComment)+`}]`), "b", "data.commentAnnotations[0].commentData[1] is too large: "},
		{"add, all together", post(t, f, "/v2/commentannotations/add", `"commentAnnotations":[{"annotationId":"a"},{"annotationId":"d",`+many+`}]`), "d", "data.commentAnnotations[1] is too large: "},
		{"add", post(t, f, "/v2/commentannotations/add", `"commentAnnotations":[{"annotationId":"c","assignedTo":`+largeUser+`}]`), "c", "data.commentAnnotations[0] is too large: "},
		{"update", post(t, f, "/v2/commentannotations/update", `"updatedData":{"context":{"large":"`+large+`"}}`), "a", "the annotation is too large: "},
		{"update of users", post(t, f, "/v2/commentannotations/update", `"updateUsers":[{"oldUser":{"userId":"u"},"newUser":`+largeUser+`}]`), "a", "comment 1 is too large: "},
		{"comments update", post(t, f, "/v2/commentannotations/comments/update", `"annotationId":"a","commentIds":[1],"updatedData":{"commentText":"`+large+`"}`), "1", "comment 1 is too large: "},
	} {
		_, items := test.a.items(t)
		if it := items[test.item]; it.Success || it.Code != collab.InvalidArgument || !strings.HasPrefix(it.Message, test.text) ||
			!strings.Contains(it.Message, " at most 35000") {
			t.Errorf("%s: %d %+v", test.name, test.a.code, it)
		}
	}
	keys, _ := post(t, f, "/v2/commentannotations/update", `"updatedData":{"context":{}}`).items(t)
	if diff := cmp.Diff([]string{"a"}, keys); diff != "" {
		t.Error(diff)
	}
	if got := post(t, f, "/v2/commentannotations/comments/get", `"annotationId":"a"`); got.Result.Message != "1 comment" ||
		strings.Contains(string(got.Result.Data), "xx") {
		t.Errorf("comments after all: %s", got.Result.Message)
	}
}

// TestUpdateInOneAnswer updates as many annotations as a response can hold with the longest ids. It
// refuses more before any update.
func TestUpdateInOneAnswer(t *testing.T) {
	f := newFixture(t, collab.Settings{})
	succeed(t, post(t, f, "/v2/commentannotations/add", `"commentAnnotations":[{"annotationId":"a"}]`))
	update := func(n int, key string) answer {
		return post(t, f, "/v2/commentannotations/update", `"annotationIds":["a",`+repeat(n, func(i int) string {
			return fmt.Sprintf(`"%s%06d"`, strings.Repeat(`\\`, 250), i) // grows at every level of quoting
		})+`],"updatedData":{"context":{"`+key+`":1}}`)
	}
	if a := update(2_000, "fits"); a.code != http.StatusOK || a.Result.Message != "1 comment annotation updated, 2000 failed" ||
		rpc.WrappedLen(a.Result.Data) > maxAnswer {
		t.Errorf("%d %s %s, %d bytes", a.code, a.Error.Message, a.Result.Message, rpc.WrappedLen(a.Result.Data))
	}
	if a := update(3_000, "over"); a.code != http.StatusBadRequest ||
		a.Error.Message != "the response to these 3001 annotations would exceed 5 MB: select fewer" {
		t.Errorf("%d %s %s", a.code, a.Error.Status, a.Error.Message)
	}
	if a := post(t, f, "/v2/commentannotations/get", `"annotationIds":["a"]`); !strings.Contains(string(a.Result.Data), `"context":{"fits":1}`) {
		t.Errorf("the annotation is %s", a.Result.Data)
	}
}

// TestOvertaken lets another process write between reads and writes of updates.
func TestOvertaken(t *testing.T) {
	writes, most := 0, 0 // of the other writer
	var write func() answer
	f := newFixture(t, collab.Settings{AllEvents: true})
	succeed(t, post(t, f, "/v2/commentannotations/add", `"commentAnnotations":[{"annotationId":"a1","location":{"id":"l0"},`+list(comment(1, "ann", ""))+`}]`))
	c := f.Config()
	c.DynamoDB.HTTPClient = http.DefaultClient
	others := &fixture{handler: handlerWith(app.New(c), collab.Settings{})}
	f.between = func() {
		if writes++; writes <= most {
			succeed(t, write())
		}
	}
	update := func() answer {
		return post(t, f, "/v2/commentannotations/update", `"locationIds":["l0"],"updatedData":{"context":{}}`)
	}
	updateComments := func() answer {
		return post(t, f, "/v2/commentannotations/comments/update", `"annotationId":"a1","commentIds":[1],"updatedData":{"commentText":"new"}`)
	}
	head := func(location string) func() answer {
		return func() answer {
			return post(t, others, "/v2/commentannotations/update", fmt.Sprintf(`"updatedData":{"location":{"id":%q}}`, location))
		}
	}
	theComment := func() answer {
		return post(t, others, "/v2/commentannotations/comments/update", `"annotationId":"a1","commentIds":[1],"updatedData":{"context":{}}`)
	}
	aComment := func() answer {
		return post(t, others, "/v2/commentannotations/comments/add", `"annotationId":"a1",`+list(`{"commentText":"x","from":{"userId":"u"}}`))
	}
	aborted := item{Code: collab.Aborted, Message: `others are writing annotation "a1": try again`}
	updated := map[string]item{"a1": {Success: true, Message: "the comment annotation was updated"}}
	commentUpdated := map[string]item{"1": {Success: true, Message: "the comment was updated"}}
	for _, test := range []struct {
		name   string
		most   int
		write  func() answer
		post   func() answer
		want   map[string]item
		events int
	}{
		{"update, once", 1, head("l0"), update, updated, 1},
		{"update, always", 100, head("l0"), update, map[string]item{"a1": aborted}, 0},
		{"update, a comment is updated always", 100, theComment, update, updated, 1},
		{"update comments, once", 1, theComment, updateComments, commentUpdated, 1},
		{"update comments, always", 100, theComment, updateComments, map[string]item{"1": aborted}, 0},
		{"update comments, the head is updated always", 100, head("l0"), updateComments, commentUpdated, 1},
		{"update comments, others are added always", 100, aComment, updateComments, commentUpdated, 1},
		{"moved out of the selection", 1, head("l1"), update, map[string]item{}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := len(storetest.Waiting(t, f.Outbox.Waiting))
			writes, most, write = 0, test.most, test.write
			a := test.post()
			if _, got := a.items(t); !cmp.Equal(test.want, got) {
				t.Error(cmp.Diff(test.want, got))
			}
			if n := len(storetest.Waiting(t, f.Outbox.Waiting)) - before; n != test.events {
				t.Errorf("%d events, want %d", n, test.events)
			}
		})
	}
}

// TestHiddenFailuresAreLogged checks that the log has the causes that responses omit.
func TestHiddenFailuresAreLogged(t *testing.T) {
	f := newFixture(t, collab.Settings{})
	if _, err := f.Directory.OpenDocument(t.Context(), "acme", "org", "doc", collab.CreateFlags{}); err != nil { // caches it
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	w, a := f.serve(ctx, "/v2/commentannotations/add", `"documentId":"doc","commentAnnotations":[{"annotationId":"a"},{"annotationId":"b"},{"annotationId":"c"}]`), answer{}
	must.Do(t, json.Unmarshal(w.Body.Bytes(), &a))
	failed := item{Code: collab.DeadlineExceeded, Message: "the time of the request ran out", CommentIDs: []int64{}}
	if _, got := a.items(t); !cmp.Equal(map[string]item{"a": failed, "b": failed, "c": failed}, got) {
		t.Errorf("%+v", got)
	}
	if a.Result.Message != "0 comment annotations added, 3 failed" {
		t.Error(a.Result.Message)
	}
	var record struct {
		Level, Path, Account, Cause string
		Items                       int
	}
	must.Do(t, json.Unmarshal(f.log.Bytes(), &record))
	if record.Level != "ERROR" || record.Account != "acme" || record.Items != 3 || !strings.Contains(record.Cause, "deadline exceeded") {
		t.Errorf("%+v", record)
	}
}

// TestManyMembers checks that requests read objects with many members once.
func TestManyMembers(t *testing.T) {
	f := newFixture(t, collab.Settings{})
	var members strings.Builder
	for i := range 4_000 {
		fmt.Fprintf(&members, `"%d":1,`, i)
	}
	person := f.HandlerFor(collab.Identity{Account: "acme", Person: &collab.Person{UserID: "ann"}})
	for path, test := range map[string]struct {
		handler http.Handler
		data    string
		code    int
	}{
		"/v2/commentannotations/update": {person, `"updatedData":{"suggestion":{` + members.String() + `"status":"accepted"}}`, http.StatusBadRequest},
		"/v1/commentannotations/add":    {f.handler, `"commentAnnotations":[{"status":{"id":"OPEN","name":"Open","type":{` + members.String() + `"kind":"default"}}}]`, http.StatusOK},
	} {
		f.handler = test.handler
		var got *httptest.ResponseRecorder
		cost := heaptest.Allocated(func() { got = f.serve(t.Context(), path, `"documentId":"doc",`+test.data) })
		if got.Code != test.code || cost > 20_000_000 {
			t.Errorf("%s: %d %.200s, allocated %d bytes", path, got.Code, got.Body, cost)
		}
	}
}
