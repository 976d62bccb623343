package access_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/access"
	"collabdata/shared/collab"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/directory"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
	"collabdata/shared/webhook"

	"github.com/google/go-cmp/cmp"
)

// TestViewersByProvider: a permission provider replaces access types and grants, except for
// removals and disabled documents. Without an answer nobody has access, and the caller receives an
// error.
func TestViewersByProvider(t *testing.T) {
	org := collab.OrganizationRef{Account: "acct", Organization: "org", Incarnation: 1}
	a := accounts.New(storetest.New(t))
	d := directory.New(a.Table)
	must.Do(t, a.AddAccount(t.Context(), collab.Account{ID: "acct"}))
	must.Do(t, storetest.AddDocuments(t.Context(), d, org, "open", "closed", "off", "broken", "long"))
	docs := []collab.DocumentRef{org.Document("open"), org.Document("closed"), org.Document("off"), org.Document("gone")}
	must.Do(t, storetest.ChangeDocument(t.Context(), d, docs[1], func(d *collab.Document) { d.Access = collab.AccessRestricted }))
	must.Do(t, storetest.ChangeDocument(t.Context(), d, docs[2], func(d *collab.Document) { d.Disabled = true }))
	in, r := collab.Resource{OrganizationRef: org}, storetest.Request(time.Now())
	must.Do(t, d.ChangeMembers(t.Context(), r, in, []string{"cid"}, true, func(int, *collab.Member) {})[0])
	must.Do(t, d.DeleteMembers(t.Context(), storetest.Request(time.Now()), in, []string{"cid"})[0])

	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var q struct {
			DocumentID string
			UserIDs    []string
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("%v, %v", err, r.Header)
		}
		if slices.Contains(q.UserIDs, "cid") {
			t.Error("it was asked about somebody who was removed")
		}
		if len(q.UserIDs) > 50 {
			t.Errorf("it was asked about %d users at once", len(q.UserIDs))
		}
		if q.DocumentID == "broken" || slices.Contains(q.UserIDs, "last") {
			w.WriteHeader(http.StatusBadGateway)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"userIds": []string{"ann", "cid", "last", "somebody else"}})
		if q.DocumentID == "long" {
			_, _ = io.WriteString(w, strings.Repeat(" ", 100_000))
		}
	}))
	defer server.Close()
	local, err := webhook.ParseRanges("127.0.0.0/8")
	must.Do(t, err)
	c := access.New(d, a, webhook.NewGuard(local), webhook.ClientOptions{}, time.Now, slog.New(slog.DiscardHandler))
	users := []string{"ann", "bob", "cid"}
	may := func(viewers [][]collab.Viewer) (names [][]string) {
		for _, of := range viewers {
			var list []string
			for _, v := range of {
				if v.May {
					list = append(list, v.User)
				}
			}
			names = append(names, list)
		}
		return names
	}
	view := func(what string, settings collab.Settings, want [][]string) {
		t.Helper()
		viewers, err := c.Viewers(t.Context(), settings, docs, users, false)
		if diff := cmp.Diff(want, may(viewers)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
		}
	}
	view("no provider", collab.Settings{}, [][]string{{"ann", "bob"}, nil, nil, nil})
	must.Do(t, a.SetPermissionProvider(t.Context(), "acct", &collab.PermissionProvider{URL: server.URL, Secret: "s3cret"}))
	view("settings from before", collab.Settings{}, [][]string{{"ann", "bob"}, nil, nil, nil})
	if n := asked.Load(); n != 0 {
		t.Errorf("%d questions", n)
	}
	provided := collab.Settings{PermissionProvider: true}
	view("a provider", provided, [][]string{{"ann"}, {"ann"}, nil, nil})

	before, people := asked.Load(), c.People(provided, users...)
	for _, until := range []time.Time{time.Now(), {}, {}} {
		found, err := people.Viewers(t.Context(), docs, until)
		want := map[bool]int{true: len(docs)}[until.IsZero()]
		if err != nil || len(found) != want {
			t.Errorf("until %v: %v, %v", until, found, err)
		}
	}
	if n := asked.Load() - before; n != 2 {
		t.Errorf("%d questions about the documents that are there, want one of each", n)
	}

	docs = []collab.DocumentRef{org.Document("open"), org.Document("broken"), org.Document("long")}
	viewers, err := c.Viewers(t.Context(), provided, docs, users, false)
	var none *access.NoAnswer
	if diff := cmp.Diff([][]string{{"ann"}, nil, nil}, may(viewers)); diff != "" || !errors.As(err, &none) || none.Users != 4 || collab.CodeOf(err) != collab.Unavailable {
		t.Errorf("no answer: %v (-want +got):\n%s", err, diff)
	}
	if _, err := c.People(provided, users...).Viewers(t.Context(), docs, time.Time{}); !errors.As(err, &none) {
		t.Errorf("no answer: %v", err)
	}
	many := append(slices.Repeat([]string{"bob"}, 49), "ann", "last") // the second question has no answer
	for doc, want := range map[int]map[string]bool{0: {"ann": true}, 1: {}} {
		seers, err := c.MaySee(t.Context(), provided, docs[doc], many)
		if diff := cmp.Diff(want, seers); diff != "" || !errors.As(err, &none) {
			t.Errorf("no answer for some of many users: %v (-want +got):\n%s", err, diff)
		}
	}
}

// TestWriters checks that nobody sees or writes in a disabled or missing document, or without the
// account's default access, and that a membership that has ended is none.
func TestWriters(t *testing.T) {
	org := collab.OrganizationRef{Account: "acct", Organization: "org", Incarnation: 1}
	a := accounts.New(storetest.New(t))
	d := directory.New(a.Table)
	must.Do(t, storetest.AddDocuments(t.Context(), d, org, "open", "off", "default"))
	for _, doc := range []string{"open", "off"} {
		must.Do(t, storetest.ChangeDocument(t.Context(), d, org.Document(doc), func(d *collab.Document) { d.Access, d.Disabled = collab.AccessPublic, doc == "off" }))
	}
	ends := map[string]int64{"ann": 0, "bob": time.Now().Add(-time.Hour).Unix()}
	users := []string{"ann", "bob"}
	for _, err := range d.ChangeMembers(t.Context(), storetest.Request(time.Now()), collab.Resource{OrganizationRef: org}, users, true, func(i int, m *collab.Member) { m.Expires = ends[users[i]] }) {
		must.Do(t, err)
	}
	c := access.New(d, a, webhook.NewGuard(nil), webhook.ClientOptions{}, time.Now, slog.New(slog.DiscardHandler))
	for doc, want := range map[string]map[string]collab.Viewer{
		"open":    {"ann": {User: "ann", May: true, Member: true}, "bob": {User: "bob", May: true}},
		"off":     {},
		"gone":    {},
		"default": {"ann": {User: "ann", May: true, Member: true}},
	} {
		writers, err := c.Writers(t.Context(), collab.Settings{}, org.Document(doc), users)
		if diff := cmp.Diff(want, writers); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", doc, err, diff)
		}
		seers, err := c.MaySee(t.Context(), collab.Settings{}, org.Document(doc), users)
		if len(seers) != len(want) || err != nil {
			t.Errorf("%s: %v see it, %v", doc, seers, err)
		}
	}
}

// TestPerson checks that documents added after a person's token was issued are hidden, and that a
// request that writes reads grants in the first round trip.
func TestPerson(t *testing.T) {
	org := collab.OrganizationRef{Account: "acct", Organization: "org", Incarnation: 1}
	a := accounts.New(storetest.New(t))
	d := directory.New(a.Table)
	must.Do(t, storetest.AddDocuments(t.Context(), d, org, "early", "late"))
	early, late := org.Document("early"), org.Document("late")
	late.Incarnation = time.Now().UnixMilli()
	must.Do(t, storetest.ChangeDocument(t.Context(), d, early, func(d *collab.Document) { d.Access = collab.AccessRestricted }))
	must.Do(t, storetest.ChangeDocument(t.Context(), d, late, func(d *collab.Document) { d.Incarnation = late.Incarnation }))
	must.Do(t, d.AddGrants(t.Context(), storetest.Request(time.Now()), "ann", []collab.Resource{early.Resource()}, []collab.Grant{{}}))
	c := access.New(d, a, webhook.NewGuard(nil), webhook.ClientOptions{}, time.Now, slog.New(slog.DiscardHandler))
	for writes, want := range map[bool]int{false: 2, true: 1} {
		calls := storetest.Calls(t, func(ctx context.Context) {
			sight := c.Person(collab.Settings{}, &collab.Person{UserID: "ann", IssuedAt: late.Incarnation - 60_000}, writes)
			found, err := sight.Viewers(ctx, []collab.DocumentRef{early, late}, time.Time{})
			if err != nil || len(found) != 2 || !found[early].May() || found[late].May() {
				t.Errorf("%+v, %v", found, err)
			}
		})
		if calls != want {
			t.Errorf("%d calls, want %d, for a request that writes: %v", calls, want, writes)
		}
	}
}
