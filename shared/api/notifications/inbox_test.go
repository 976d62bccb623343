package notifications_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
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

// give puts a notification into the inbox of users, or of everyone where there are none, a minute after the one with the number before.
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
		th := &collab.Thread{Annotation: collab.Annotation{ID: n.AnnotationID, Status: collab.JSON(`{"id":"OPEN"}`), StatusID: "OPEN"}}
		must.Do(t, f.threads.AddAnnotation(t.Context(), storetest.Request(noon), org.Document("doc"), th, collab.NewAnnotation{}))
	}
	_, err := f.inbox.Derive(t.Context(), org, n, users)
	if err == nil && len(users) > 0 {
		err = f.inbox.AddToInbox(t.Context(), org, n.CreatedAt, n.ID, users)
	} else if err == nil {
		err = f.inbox.AddToInboxOfAll(t.Context(), org, n.CreatedAt, n.ID)
	}
	must.Do(t, err)
}

// page is an answer of notifications get; size is that of its body as Lambda wraps it.
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
	body := fmt.Sprintf(`{"data":{"organizationId":"org","userId":%q,"pageSize":%d,"pageToken":%q}}`, user, size, token)
	r := httptest.NewRequest(http.MethodPost, "/v2/notifications/get", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	ctx := collab.WithIdentity(t.Context(), collab.Identity{Account: "acct", APIKey: "key"})
	rpc.Handle(f.server, f.Get, rpc.Options{}).ServeHTTP(w, r.WithContext(ctx))
	p := page{code: w.Code, size: rpc.WrappedLen(w.Body.Bytes())}
	must.Do(t, json.Unmarshal(w.Body.Bytes(), &p))
	if p.code != http.StatusOK || p.size > 5_000_000 || len(p.Result.Data) > size {
		t.Fatalf("%d %s: %d notifications, %d bytes", p.code, p.Error.Message, len(p.Result.Data), p.size)
	}
	return p
}

// walk returns the ids of all of a user's notifications in pages of size, and how many pages it were.
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

func TestGet(t *testing.T) {
	f := newFixture(t)
	in := collab.Resource{OrganizationRef: org}
	must.Do(t, f.directory.ChangeMembers(t.Context(), storetest.Request(time.Now()), in, []string{"ann"}, true, func(_ int, m *collab.Member) {
		m.Name = new("Ann")
	})[0])
	f.give(t, 0, collab.Notification{
		ID: "full", AnnotationID: "a1", ActionUser: collab.User{UserID: "bob", Name: new("<Bob>")},
		Headline: "{actionUser} told {recipientUser}: {what} {nobody}", TemplateData: map[string]collab.JSON{"what": collab.JSON(`"{x}"`)},
		Body: "body & soul", SourceData: collab.JSON(`{"n":1.50}`),
	}, "ann", "cid")
	f.give(t, 1, collab.Notification{ID: "all"})

	nobody := map[string]bool{}
	metadata := collab.JSON(`{"apiKey":"key","organizationId":"org","documentId":"doc"}`)
	want := []notifications.Notification{{
		ID: "all", NotificationID: "all", DocumentID: "doc", ActionUser: collab.User{UserID: "boss"}, Source: "custom", Metadata: metadata, NotifyAll: true,
		NotifyUsers: nobody, NotifyUsersByID: nobody, Timestamp: noon.UnixMilli() + 60_000, CreatedAt: at("2026-03-04T12:01:00.000Z"),
		Read: new(false), Clicked: new(false),
	}, {
		ID: "full", NotificationID: "full", DocumentID: "doc", AnnotationID: "a1", ActionUser: collab.User{UserID: "bob", Name: new("<Bob>")},
		Headline: "<Bob> told Ann: {x} {nobody}", Template: "{actionUser} told {recipientUser}: {what} {nobody}",
		TemplateData: map[string]collab.JSON{"what": collab.JSON(`"{x}"`)}, Body: "body & soul", SourceData: collab.JSON(`{"n":1.50}`),
		Source: "custom", Metadata: metadata, NotifyUsers: map[string]bool{"ann": true, "cid": true}, NotifyUsersByID: map[string]bool{"ann": true, "cid": true},
		Timestamp: noon.UnixMilli(), CreatedAt: at("2026-03-04T12:00:00.000Z"), Read: new(false), Clicked: new(false),
	}}
	if diff := gocmp.Diff(want, f.get(t, "ann", 1000, "").Result.Data); diff != "" {
		t.Error(diff)
	}
	want[1].Headline = "<Bob> told cid: {x} {nobody}" // no member: the id is all that is known
	if diff := gocmp.Diff(want, f.get(t, "cid", 1000, "").Result.Data); diff != "" {
		t.Error(diff)
	}
	if ids, _ := f.walk(t, "boss", 10); ids != nil {
		t.Errorf("who sent it to all has %v", ids)
	}
	if ids, _ := f.walk(t, "dan", 10); !gocmp.Equal(ids, []string{"all"}) {
		t.Errorf("anyone has %v", ids)
	}
}

// TestGetIsBounded: a notification whose values would be large in each place of its template costs little more than its size, and the list
// goes on behind it.
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

// TestGetWalks walks an inbox of both lists in pages of every kind, while newer notifications arrive.
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
	second := f.get(t, "ann", 5, first.Result.NextPageToken) // of another size
	var got []string
	for _, n := range append(first.Result.Data, second.Result.Data...) {
		got = append(got, n.NotificationID)
	}
	if diff := gocmp.Diff(want[:35], got); diff != "" {
		t.Error(diff)
	}
}

// TestGetEndsPagesBySize walks notifications that fill pages before pageSize does, also where others arrive before the first page's
// end is passed.
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
			size = 3 // less than the page before it
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

// TestUpdate holds what a user's reading and clicking records.
func TestUpdate(t *testing.T) {
	f := newFixture(t)
	f.give(t, 0, collab.Notification{ID: "mine", AnnotationID: "a1", SourceData: collab.JSON(`{"go":"there"}`)}, "ann")
	f.give(t, 1, collab.Notification{ID: "all"})
	f.give(t, 2, collab.Notification{ID: "theirs"}, "bob")
	type result struct {
		Success bool
		ID      string
		Code    collab.Code
	}
	update := func(user, list string) map[string]result {
		t.Helper()
		a := post(t, f, f.Update, fmt.Sprintf(`"userId":%q,"notifications":[%s]`, user, list))
		if a.code != http.StatusOK {
			t.Fatalf("%d %s", a.code, a.Error.Message)
		}
		var results map[string]result
		must.Do(t, json.Unmarshal(a.Result.Data, &results))
		return results
	}
	marks := func(user string) string {
		text := ""
		for _, n := range f.get(t, user, 10, "").Result.Data {
			text += fmt.Sprintf("%s %t %t %t %t; ", n.NotificationID, *n.Read, n.ReadAt != 0, *n.Clicked, n.ClickedAt != 0)
		}
		return text
	}

	got := update(
		"ann", `{"id":"mine","readByUserIds":["ann"]},{"id":"theirs","readByUserIds":["ann"]},{"id":"nothing","readByUserIds":["ann"]}`,
	)
	want := map[string]result{
		"mine": {true, "mine", ""}, "theirs": {false, "theirs", collab.NotFound}, "nothing": {false, "nothing", collab.NotFound},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, want := marks("ann"), "all false false false false; mine true true false false; "; got != want {
		t.Errorf("ann has %s, want %s", got, want)
	}
	if len(f.sent) != 0 {
		t.Errorf("reading sent %v", f.sent)
	}

	update("ann", `{"id":"mine","clickedByUserIds":["ann"]},{"id":"all","clickedByUserIds":["bob","ann"]}`)
	update("ann", `{"id":"all","readByUserIds":["ann"],"clickedByUserIds":["ann"]},{"id":"mine","clickedByUserIds":["ann"]}`)
	if got, want := marks("ann"), "all true true true true; mine true true true true; "; got != want {
		t.Errorf("ann has %s, want %s", got, want)
	}
	if got, want := marks("bob"), "theirs false false false false; all true true true true; "; got != want {
		t.Errorf("bob has %s, want %s", got, want)
	}
	var events []collab.Event
	for _, ref := range f.sent {
		ev, err := f.outbox.Event(t.Context(), ref.Account, ref.ID)
		must.Do(t, err)
		ev.ID = ""
		events = append(events, *ev)
	}
	click := func(user, id, annotation string) collab.Event {
		return collab.Event{
			Type: collab.NotificationClicked, Account: "acct", OrganizationID: "org", DocumentID: "doc", AnnotationID: annotation,
			Time: noon.UnixMilli(), Actor: &collab.User{UserID: user}, NotificationID: id,
		}
	}
	wantEvents := []collab.Event{
		click("ann", "mine", "a1"), click("ann", "all", ""), click("bob", "all", ""),
	}
	slices.SortFunc(events, func(a, b collab.Event) int {
		return cmp.Or(-strings.Compare(a.NotificationID, b.NotificationID), strings.Compare(a.Actor.UserID, b.Actor.UserID))
	})
	if diff := gocmp.Diff(wantEvents, events); diff != "" {
		t.Errorf("events (- want, + got):\n%s", diff)
	}
}

// at returns the time of a text.
func at(text string) (t collab.Timestamp) {
	if err := t.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return t
}
