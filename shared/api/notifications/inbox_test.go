package notifications_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"collabdata/shared/api/notifications"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/testing/heaptest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// give adds a notification to the inboxes of users, or of everyone if there are none, a minute
// after the previous number.
func (f *fixture) give(t *testing.T, number int, n collab.Notification, users ...string) {
	t.Helper()
	n.CreatedAt = noon.Add(time.Duration(number) * time.Minute).UnixMilli()
	if n.ActionUser.UserID == "" {
		n.ActionUser.UserID = "boss"
	}
	if n.DocumentID == "" {
		n.DocumentID = "doc"
	}
	if n.AnnotationID != "" {
		th := storetest.Thread(n.AnnotationID, "boss", 0)
		must.Do(t, f.Threads.AddAnnotation(t.Context(), storetest.Request(noon), org.Document("doc"), th, collab.NewAnnotation{}))
	}
	_, err := f.Inbox.Derive(t.Context(), org, n, users)
	if err == nil && len(users) > 0 {
		err = f.Inbox.AddToInbox(t.Context(), org, n, storetest.Placed(users...))
	} else if err == nil {
		err = f.Inbox.AddToInboxOfAll(t.Context(), org, n)
	}
	must.Do(t, err)
}

// page is a response of notifications/get. size is that of its body as Lambda encodes it.
type page struct {
	code, size int
	Result     struct {
		Data          []notifications.Notification
		NextPageToken string
	}
	Error struct{ Message string }
}

func (f *fixture) get(t *testing.T, user string, size int, token string) page {
	t.Helper()
	w := f.post("get", fmt.Sprintf(`"userId":%q,"pageSize":%d,"pageToken":%q`, user, size, token))
	p := page{code: w.Code, size: rpc.WrappedLen(w.Body.Bytes())}
	must.Do(t, json.Unmarshal(w.Body.Bytes(), &p))
	if p.code != http.StatusOK || p.size > 5_000_000 || len(p.Result.Data) > size {
		t.Fatalf("%d %s: %d notifications, %d bytes", p.code, p.Error.Message, len(p.Result.Data), p.size)
	}
	return p
}

// walk returns the ids of a user's notifications in pages of size, and the number of pages.
func (f *fixture) walk(t *testing.T, user string, size int) (ids []string, pages int) {
	t.Helper()
	for token := ""; ; {
		p := f.get(t, user, size, token)
		pages++
		for _, n := range p.Result.Data {
			ids = append(ids, n.NotificationID)
		}
		if token = p.Result.NextPageToken; token == "" {
			return ids, pages
		}
	}
}

// TestGetIsBounded checks that a template with repeated large values costs little more than its
// size, and that the list continues.
func TestGetIsBounded(t *testing.T) {
	f := newFixture(t)
	value, err := collab.EncodeJSON(strings.Repeat(`"`, 30_000))
	must.Do(t, err)
	for i := range 3 {
		f.give(t, i, collab.Notification{
			ID: fmt.Sprint("large", i), Headline: strings.Repeat("{a}", 20_000), TemplateData: map[string]collab.JSON{"a": value},
		})
	}
	var ids []string
	var pages int
	took := heaptest.Allocated(func() { ids, pages = f.walk(t, "ann", 2) })
	if diff := gocmp.Diff([]string{"large2", "large1", "large0"}, ids); diff != "" || pages != 2 {
		t.Errorf("%d pages, %s", pages, diff)
	}
	if took > 20_000_000 {
		t.Errorf("reading them took %d bytes", took)
	}
	if headline := f.get(t, "ann", 1, "").Result.Data[0].Headline; headline != strings.Repeat(`"`, collab.MaxHeadline) {
		t.Errorf("a headline of %d bytes", len(headline))
	}
}

// TestGetWalks walks both lists of an inbox in pages of every size, while newer notifications
// arrive.
func TestGetWalks(t *testing.T) {
	f := newFixture(t)
	var want []string
	for i := range 130 {
		id := fmt.Sprintf("n%03d", i)
		want = append([]string{id}, want...)
		if i%5 == 0 {
			f.give(t, i/2, collab.Notification{ID: id}) // two at the same time
		} else {
			f.give(t, i/2, collab.Notification{ID: id}, "ann")
		}
	}
	for _, size := range []int{1000, 129, 101, 100, 7} {
		if ids, _ := f.walk(t, "ann", size); !gocmp.Equal(want, ids) {
			t.Errorf("pages of %d: %s", size, gocmp.Diff(want, ids))
		}
	}
	first := f.get(t, "ann", 30, "")
	for i := range 110 {
		f.give(t, 1000+i, collab.Notification{ID: fmt.Sprintf("late%03d", i)}, "ann")
	}
	second := f.get(t, "ann", 5, first.Result.NextPageToken) // another size
	var got []string
	for _, n := range append(first.Result.Data, second.Result.Data...) {
		got = append(got, n.NotificationID)
	}
	if diff := gocmp.Diff(want[:35], got); diff != "" {
		t.Error(diff)
	}
}

// TestGetEndsPagesBySize walks notifications whose pages end by size, also if others arrive during
// the walk.
func TestGetEndsPagesBySize(t *testing.T) {
	f := newFixture(t)
	var want []string
	const n = 17
	for i := range n {
		id := fmt.Sprintf("n%02d", i)
		want = append([]string{id}, want...)
		f.give(t, i, collab.Notification{ID: id, Body: strings.Repeat(`"`, 150_000)}, "ann")
	}
	first := f.get(t, "ann", 1000, "")
	f.give(t, 100, collab.Notification{ID: "late"}, "ann")
	var got []string
	p, pages := first, 1
	for {
		for _, n := range p.Result.Data {
			got = append(got, n.NotificationID)
		}
		if p.Result.NextPageToken == "" {
			break
		}
		size := 1000
		if pages == 1 {
			size = 3 // smaller than the page before
		}
		p = f.get(t, "ann", size, p.Result.NextPageToken)
		pages++
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%d pages:\n%s", pages, diff)
	}
	if pages != 3 {
		t.Errorf("%d notifications of 600 KB as wrapped in %d pages", n, pages)
	}
}

// read marks notifications of a user as read, one by one.
func (f *fixture) read(t *testing.T, user string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		c := collab.NotificationChange{ID: id, Read: []string{user}}
		must.Do(t, f.Inbox.ChangeNotification(t.Context(), storetest.Request(noon), org, c))
	}
}

// TestUnreadCount reads the newest notifications one by one: older ones are counted exactly up to
// 99, on a page of any size.
func TestUnreadCount(t *testing.T) {
	f := newFixture(t)
	must.Do(t, storetest.AddDocuments(t.Context(), f.Directory, org, "empty"))
	const older, newer = 105, 230
	for i := range older + newer {
		id := fmt.Sprintf("n%03d", i)
		if i%50 == 0 {
			f.give(t, i, collab.Notification{ID: id})
		} else {
			f.give(t, i, collab.Notification{ID: id}, "bob")
		}
		if i >= older {
			f.read(t, "bob", id)
		}
	}
	for left := older; ; left -= 35 {
		want := fmt.Sprintf(`"unreadCount":{"count":%d}`, left)
		if left > 99 {
			want = `"unreadCount":{"count":99,"more":true}`
		}
		for _, more := range []string{
			`"pageSize":20`, `"pageSize":1000`, `"unreadOnly":true,"pageSize":1`, `"order":"asc"`, `"createdAfter":1`,
			`"documentId":"empty"`, `"documentId":"doc","locationId":"none"`, `"notificationIds":["n300"]`,
		} {
			if w := f.post("get", `"userId":"bob",`+more); !strings.Contains(w.Body.String(), want) {
				t.Fatalf("%s: of %d unread, the answer ends with %s", more, left, w.Body.String()[max(0, w.Body.Len()-100):])
			}
		}
		if left == 0 {
			break
		}
		var ids []string
		for i := range 35 {
			ids = append(ids, fmt.Sprintf("n%03d", left-i-1))
		}
		f.read(t, "bob", ids...)
	}
}

// TestUnreadBehindHidden checks that unread notifications are counted exactly after more hidden
// ones than the maximum.
func TestUnreadBehindHidden(t *testing.T) {
	f := newFixture(t)
	const shown, hidden = 30, 110
	for i := range shown {
		f.give(t, i, collab.Notification{ID: fmt.Sprintf("n%02d", i)}, "bob")
	}
	for i := range hidden {
		n := collab.Notification{
			ID: fmt.Sprintf("h%03d", i), DocumentID: "doc", AnnotationID: "gone",
			CreatedAt: noon.Add(time.Duration(shown+i) * time.Minute).UnixMilli(),
		}
		_, err := f.Inbox.Derive(t.Context(), org, n, []string{"bob"})
		if err == nil {
			err = f.Inbox.AddToInbox(t.Context(), org, n, storetest.Placed("bob"))
		}
		must.Do(t, err)
	}
	for _, size := range []int{1, 20, 30, 1000} {
		w := f.post("get", fmt.Sprintf(`"userId":"bob","pageSize":%d`, size))
		if !strings.Contains(w.Body.String(), `"unreadCount":{"count":30}`) {
			t.Errorf("a page of %d ends with %s", size, w.Body.String()[max(0, w.Body.Len()-100):])
		}
	}
}
