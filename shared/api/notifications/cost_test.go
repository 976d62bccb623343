package notifications_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store/inbox"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// TestInboxUnits checks the cost of reading an inbox with cached organization and documents:
// without news, and a page of 20 comments on ten threads.
func TestInboxUnits(t *testing.T) {
	f := newFixture(t)
	for i := range 10 {
		th := storetest.Thread(fmt.Sprint("a", i), "bob", 2)
		must.Do(t, f.Threads.AddAnnotation(t.Context(), storetest.Request(noon), org.Document("doc"), th, collab.NewAnnotation{}))
		for n := range 2 {
			note := collab.Notification{
				ID: fmt.Sprintf("n%02d", 2*i+n), DocumentID: "doc", AnnotationID: th.ID, CommentIDs: []int64{int64(n + 1)}, Headline: "x",
				ActionUser: collab.User{UserID: "bob"}, CreatedAt: noon.Add(time.Duration(2*i+n) * time.Minute).UnixMilli(),
			}
			_, err := f.Inbox.Derive(t.Context(), org, note, []string{"ann"})
			if err == nil {
				err = f.Inbox.AddToInbox(t.Context(), org, note, storetest.Placed("ann"))
			}
			must.Do(t, err)
		}
	}
	for i := range 60 {
		f.give(t, i, collab.Notification{ID: fmt.Sprintf("b%02d", i)}, "bob")
	}
	const page = 20
	for _, test := range []struct {
		name, data string
		items      int
		units      float64 // at most
		calls      int     // at most
	}{
		{"nobody's", `"userId":"eve"`, 0, 3, 5},
		{"nothing new", fmt.Sprintf(`"userId":"ann","createdAfter":%d`, noon.Add(time.Hour).UnixMilli()), 0, 1, 2},
		{"a page", fmt.Sprintf(`"userId":"ann","pageSize":%d`, page), page, 35, 13},
		{"a page of a longer inbox, of no threads", fmt.Sprintf(`"userId":"bob","pageSize":%d`, page), page, 16.5, 10},
		{"a page of the unread", fmt.Sprintf(`"userId":"bob","pageSize":%d,"unreadOnly":true`, page), page, 16.5, 10},
	} {
		for _, known := range []bool{false, true} {
			f.log.Reset()
			w := f.post("get", test.data)
			var answer struct{ Result struct{ Data []any } }
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Result.Data) != test.items {
				t.Fatalf("%s: %v %s", test.name, err, w.Body)
			}
			var line struct {
				Units float64 `json:"read_units"`
				Calls int     `json:"calls"`
			}
			if err := json.Unmarshal(f.log.Bytes(), &line); err != nil || line.Calls == 0 {
				t.Fatalf("%v: %s", err, f.log)
			}
			t.Logf("%s: %.1f units, %d calls", test.name, line.Units, line.Calls)
			if known && (line.Units > test.units || line.Calls > test.calls) {
				t.Errorf("%s: %.1f units, want at most %.1f; %d calls, want at most %d", test.name, line.Units, test.units, line.Calls, test.calls)
			}
		}
	}
}

// TestUnreadUnits checks the cost of counting more unread notifications than the maximum.
func TestUnreadUnits(t *testing.T) {
	f := newFixture(t)
	for i := range 130 {
		n := collab.Notification{ID: fmt.Sprintf("n%03d", i), DocumentID: "doc", CreatedAt: noon.UnixMilli() + int64(i)}
		must.Do(t, f.Inbox.AddToInbox(t.Context(), org, n, storetest.Placed("ann")))
	}
	usage := new(collab.Usage)
	unread, next, err := f.Inbox.Reader(org, "ann").Unread(collab.WithUsage(t.Context(), usage), "", func([]string) (own, all map[string]bool, err error) {
		return map[string]bool{"doc": true}, nil, nil
	})
	units, _, _ := usage.Total()
	if err != nil || len(unread) != inbox.MostUnread+1 || next == "" || units > 5 {
		t.Errorf("%d, %q, %v, by %.1f read units", len(unread), next, err, units)
	}
	t.Logf("%.1f read units", units)
}
