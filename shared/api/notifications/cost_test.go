package notifications_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// TestInboxUnits holds what looks at an inbox cost whose organization and documents are known: one that finds nothing new, and a page of 20
// comments on ten threads.
func TestInboxUnits(t *testing.T) {
	f := newFixture(t)
	log := &bytes.Buffer{}
	f.server.Log = slog.New(slog.NewJSONHandler(log, nil))
	for i := range 10 {
		th := &collab.Thread{Annotation: collab.Annotation{ID: fmt.Sprint("a", i), Status: collab.JSON(`{"id":"OPEN"}`), StatusID: "OPEN"}}
		for n := range 2 {
			text := "hello"
			th.Comments = append(th.Comments, collab.Comment{
				ID: int64(n + 1), Text: &text, From: collab.JSON(`{"userId":"bob"}`), AuthorID: "bob", CreatedAt: 1, LastUpdated: 1,
			})
		}
		must.Do(t, f.threads.AddAnnotation(t.Context(), storetest.Request(noon), org.Document("doc"), th, collab.NewAnnotation{}))
		for n := range 2 {
			note := collab.Notification{
				ID: fmt.Sprintf("n%02d", 2*i+n), DocumentID: "doc", AnnotationID: th.ID, CommentIDs: []int64{int64(n + 1)}, Headline: "x",
				ActionUser: collab.User{UserID: "bob"}, CreatedAt: noon.Add(time.Duration(2*i+n) * time.Minute).UnixMilli(),
			}
			_, err := f.inbox.Derive(t.Context(), org, note, []string{"ann"})
			if err == nil {
				err = f.inbox.AddToInbox(t.Context(), org, note, []string{"ann"})
			}
			must.Do(t, err)
		}
	}
	const page = 20
	for _, test := range []struct {
		name, data string
		items      int
		units      float64 // at most
	}{
		{"nobody's", `"userId":"eve"`, 0, 3},
		{"nothing new", fmt.Sprintf(`"userId":"ann","createdAfter":%d`, noon.Add(time.Hour).UnixMilli()), 0, 1},
		{"a page", fmt.Sprintf(`"userId":"ann","pageSize":%d`, page), page, 31},
	} {
		for _, known := range []bool{false, true} {
			r := httptest.NewRequest(http.MethodPost, "/v2/notifications/get", strings.NewReader(`{"data":{"organizationId":"org",`+test.data+`}}`))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			ctx := collab.WithIdentity(t.Context(), collab.Identity{Account: "acct", APIKey: "key"})
			log.Reset()
			rpc.Handle(f.server, f.Get, rpc.Options{}).ServeHTTP(w, r.WithContext(ctx))
			var answer struct{ Result struct{ Data []any } }
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Result.Data) != test.items {
				t.Fatalf("%s: %v %s", test.name, err, w.Body)
			}
			var line struct {
				Units float64 `json:"read_units"`
				Calls int     `json:"calls"`
			}
			if err := json.Unmarshal(log.Bytes(), &line); err != nil || line.Calls == 0 {
				t.Fatalf("%v: %s", err, log)
			}
			t.Logf("%s: %.1f units, %d calls", test.name, line.Units, line.Calls)
			if known && line.Units > test.units {
				t.Errorf("%s: %.1f units, want at most %.1f", test.name, line.Units, test.units)
			}
		}
	}
}

// TestUnreadUnits holds what it costs to count more unread notifications than are counted.
func TestUnreadUnits(t *testing.T) {
	f := newFixture(t)
	for i := range 130 {
		n := collab.Notification{ID: fmt.Sprintf("n%03d", i), DocumentID: "doc", CreatedAt: noon.UnixMilli() + int64(i)}
		must.Do(t, f.inbox.AddToInbox(t.Context(), org, n, []string{"ann"}))
	}
	usage := new(collab.Usage)
	n, more, err := f.inbox.Unread(collab.WithUsage(t.Context(), usage), org, "ann", "", func(documents []string) (map[string]bool, error) {
		return map[string]bool{"doc": true}, nil
	})
	units, _, _ := usage.Total()
	if err != nil || n != 99 || !more || units > 10 {
		t.Errorf("%d, %v, %v, by %.1f read units", n, more, err, units)
	}
	t.Logf("%.1f read units", units)
}
