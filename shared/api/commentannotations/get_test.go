package commentannotations_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

func (f *fixture) add(t *testing.T, document, id string, n int, text string) {
	t.Helper()
	thread := storetest.Thread(id, "u", n)
	for i := range thread.Comments {
		thread.Comments[i].Text = &text
	}
	rest := thread.Comments[min(n, 1):]
	thread.Comments = thread.Comments[:min(n, 1)]
	if err := f.Threads.AddAnnotation(t.Context(), storetest.Request(time.Now()), docRef(document), thread, collab.NewAnnotation{}); err != nil {
		t.Error(err)
	}
	for part := range slices.Chunk(rest, 10) {
		add := collab.NewComments{Comments: part}
		if _, err := f.Threads.AddComments(t.Context(), storetest.Request(time.Now()), docRef(document), id, add); err != nil {
			t.Error(err)
		}
	}
}

// addMany concurrently adds annotations 0000 to n-1 with one comment each.
func (f *fixture) addMany(t *testing.T, document string, n int, text string) (ids []string) {
	t.Helper()
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range n {
		id := fmt.Sprintf("%04d", i)
		ids = append(ids, id)
		slots <- struct{}{}
		wg.Go(func() {
			f.add(t, document, id, 1, text)
			<-slots
		})
	}
	wg.Wait()
	return ids
}

// page is a response of get.
type page struct {
	code int
	size int // of the body, as Lambda encodes it
	list []annotation

	token   string
	status  collab.Code
	message string
}

type annotation struct {
	AnnotationID, DocumentID string
	Comments                 []struct{ CommentID int64 }
	CommentsTruncated        bool
}

// unmarshal is much faster than package encoding/json under the race detector.
func unmarshal(text []byte, v any) error {
	return jsonv2.Unmarshal(text, v, jsonv2.MatchCaseInsensitiveNames(true))
}

// get sends data, without the organization, to an operation.
func get(t *testing.T, f *fixture, path, data string) page {
	t.Helper()
	w := f.serve(t.Context(), path, data)
	var body struct {
		Result struct {
			Data          jsontext.Value
			NextPageToken string
		}
		Error struct {
			Status  collab.Code
			Message string
		}
	}
	must.Do(t, unmarshal(w.Body.Bytes(), &body))
	p := page{
		code: w.Code, size: rpc.WrappedLen(w.Body.Bytes()), token: body.Result.NextPageToken, status: body.Error.Status, message: body.Error.Message,
	}
	if !strings.HasPrefix(string(body.Result.Data), "{") {
		if err := unmarshal(body.Result.Data, &p.list); w.Code == http.StatusOK && err != nil {
			t.Fatal(err)
		}
		return p
	}
	for document, value := range collab.JSON(body.Result.Data).Members() {
		var group []annotation
		must.Do(t, unmarshal(value, &group))
		for _, a := range group {
			if a.DocumentID != document {
				t.Errorf("annotation %s of document %s stands under %s", a.AnnotationID, a.DocumentID, document)
			}
		}
		p.list = append(p.list, group...)
	}
	return p
}

// walk gets all pages of a list.
func walk(t *testing.T, f *fixture, data string) (pages []page, ids []string) {
	t.Helper()
	for token := ""; ; {
		p := get(t, f, "/v2/commentannotations/get", data+`,"pageToken":"`+token+`"`)
		if p.code != http.StatusOK {
			t.Fatalf("%d %s", p.code, p.message)
		}
		pages = append(pages, p)
		for _, a := range p.list {
			ids = append(ids, a.AnnotationID)
		}
		if token = p.token; token == "" {
			return pages, ids
		}
	}
}

const maxAnswer = 5_000_000

// TestGetEndsPagesBySize walks annotations of 30 KB, with texts that grow differently in Lambda's
// encoding.
func TestGetEndsPagesBySize(t *testing.T) {
	t.Parallel()
	f := newFixture(t, collab.Settings{}, "plain", "controls")
	for document, of := range map[string]struct {
		text    string
		n       int // more than a page holds
		grouped []bool
	}{"plain": {"x", 175, []bool{false}}, "controls": {"\x01", 28, []bool{false, true}}} {
		want := f.addMany(t, document, of.n, strings.Repeat(of.text, 30_000/len(of.text)))
		for _, grouped := range of.grouped {
			t.Run(fmt.Sprint(document, " ", grouped), func(t *testing.T) {
				pages, ids := walk(t, f, fmt.Sprintf(`"documentId":%q,"groupByDocumentId":%v`, document, grouped))
				if diff := cmp.Diff(want, ids); diff != "" {
					t.Error(diff)
				}
				for i, p := range pages {
					one := p.size / len(p.list)
					if p.size > maxAnswer || i < len(pages)-1 && p.size < maxAnswer-one-20_000 {
						t.Errorf("page %d of %d annotations takes %d bytes", i, len(p.list), p.size)
					}
				}
				if len(pages) < 2 {
					t.Error("it is all one page")
				}
			})
		}
	}
}

// TestGetThreadLargerThanPage has two threads that exceed a page: one by stored bytes, one only in
// Lambda's encoding.
func TestGetThreadLargerThanPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, collab.Settings{}, "doc", "wrapped")
	f.add(t, "doc", "a", 1, "small")
	f.add(t, "doc", "b", 17, strings.Repeat("x", 300_000))
	f.add(t, "doc", "c", 1, "small")
	f.add(t, "wrapped", "a", 1, "small")
	f.add(t, "wrapped", "b", 7, strings.Repeat(`"`, 200_000))
	f.add(t, "wrapped", "c", 1, "small")
	type short struct {
		ID        string
		Comments  int
		Truncated bool
	}
	tests := []struct {
		query string
		want  [][]short
	}{
		{`"documentId":"doc"`, [][]short{{{"a", 1, false}}, {{"b", 16, true}}, {{"c", 1, false}}}},
		{`"documentId":"doc","annotationIds":["c","b","nobody"]`, [][]short{{{"c", 1, false}}, {{"b", 16, true}}, {{}}}},
		{`"documentId":"wrapped","groupByDocumentId":true,"annotationIds":["nobody","b","a"]`, [][]short{{{"b", 6, true}}, {{"a", 1, false}}}},
	}
	for _, test := range tests {
		t.Run(test.query, func(t *testing.T) {
			pages, _ := walk(t, f, test.query)
			var got [][]short
			for i, p := range pages {
				if p.size > maxAnswer {
					t.Errorf("page %d takes %d bytes", i, p.size)
				}
				var list []short
				for _, a := range p.list {
					list = append(list, short{a.AnnotationID, len(a.Comments), a.CommentsTruncated})
					for n, c := range a.Comments {
						if c.CommentID != int64(n+1) {
							t.Errorf("comment %d of %s has the id %d", n, a.AnnotationID, c.CommentID)
						}
					}
				}
				got = append(got, list)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	checkExhausted(t, get(t, f, "/v1/commentannotations/get", `"documentId":"doc"`))
	checkExhausted(t, get(t, f, "/v1/commentannotations/get", `"documentId":"wrapped","annotationIds":["b"]`))
}

func checkExhausted(t *testing.T, p page) {
	t.Helper()
	if p.code != http.StatusBadRequest || p.status != collab.FailedPrecondition || !strings.Contains(p.message, "/v2/commentannotations/get") {
		t.Errorf("%d %s %s", p.code, p.status, p.message)
	}
}

// TestGetV1InOneAnswer exceeds v2's page of 1,000, up to the size limit of a response.
func TestGetV1InOneAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, collab.Settings{}, "many", "large")
	want := f.addMany(t, "many", 1_100, "x")
	var got []string
	for _, a := range get(t, f, "/v1/commentannotations/get", `"documentId":"many"`).list {
		got = append(got, a.AnnotationID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	f.addMany(t, "large", 17, strings.Repeat("x", 300_000))
	checkExhausted(t, get(t, f, "/v1/commentannotations/get", `"documentId":"large"`))
	if p := get(t, f, "/v1/commentannotations/get", `"documentId":"large","annotationIds":["0000","0003","0016"]`); len(p.list) != 3 {
		t.Errorf("%d %s, %d annotations", p.code, p.message, len(p.list))
	}
}
