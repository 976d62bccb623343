package app_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/keys"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// table returns a hash of every item of the table except quotas.
func (c *caller) table() map[keys.Key]string {
	is := map[keys.Key]string{}
	for _, it := range storetest.Scan(c, c.Outbox.Table) {
		var values map[string]any
		must.Do(c, it.Decode(&values))
		if !strings.Contains(it.Key().String(), "QUOTA") {
			is[it.Key()] = fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, values)))
		}
	}
	return is
}

// each returns forms of the numbers below n, joined.
func each(n int, form string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.ReplaceAll(form, "%d", fmt.Sprint(i))
	}
	return strings.Join(list, ", ")
}

// fill adds threads of the back end to the document plan, whose heads and comments have a size.
func (c *caller) fill(prefix string, n, head, comments, size int) {
	c.Helper()
	for i := range n {
		c.now = c.now.Add(10 * time.Second) // for the quota
		c.must("commentannotations/add", fmt.Sprintf(
			`"documentId": "plan", "commentAnnotations": [{"annotationId": "%s%d", "targetElement": {"targetText": %q}, "commentData": [%s]}]`,
			prefix, i, strings.Repeat("x", head), each(comments, `{"commentId": 1%d, "commentText": "`+strings.Repeat("y", size)+`", "from": {"userId": "ann"}}`),
		))
	}
}

// TestTooLargeForPerson sends requests of a person that are too large for one request, of each
// operation that writes more than one item. They fail with FAILED_PRECONDITION and change nothing.
// The largest single items can be changed.
func TestTooLargeForPerson(t *testing.T) {
	t.Parallel()
	c := newCaller(t, func(*app.Config) {})
	const plan = `"documentId": "plan", `
	c.fill("small", 30, 15_000, 1, 10)
	c.fill("huge", 3, 330_000, 1, 340_000)
	c.fill("head", 20, 330_000, 1, 10)
	c.fill("middle", 1, 200_000, 1, 200_000)
	c.fill("open", 1, 10, 9, 70_000)
	c.must("commentannotations/add", plan+fmt.Sprintf(`"commentAnnotations": [{"annotationId": "empty", "targetElement": {"targetText": %q}}]`, strings.Repeat("x", 330_000)))
	for i := range 3 {
		id := fmt.Sprint("followed", i)
		c.must("organizations/documents/add", `"documents": [{"documentId": "`+id+`"}]`)
		doc, err := c.Directory.OpenDocument(t.Context(), "acme", "acme", id, collab.CreateFlags{})
		must.Do(t, err)
		var users []string
		for n := range 900 {
			users = append(users, fmt.Sprintf("%0250d", n))
		}
		_, err = c.Threads.Follow(t.Context(), storetest.Request(c.now), doc, users, collab.LevelAll)
		must.Do(t, err)
	}
	c.token = c.sign(collab.ResourceOrganization, "acme") // after the documents
	text := func(n int) string { return `"` + strings.Repeat("z", n) + `"` }
	var before map[keys.Key]string
	for _, test := range []struct {
		path, data string
		fails      bool
	}{
		{"commentannotations/comments/add", plan + `"annotationId": "huge0", "commentData": [{"commentText": ` + text(100_000) + `}]`, true},
		{"commentannotations/comments/add", plan + `"annotationId": "empty", "commentData": [{"commentText": "x"}]`, true},
		{"commentannotations/comments/add", plan + `"annotationId": "huge0", "commentData": [{"commentText": ` + text(70_000) + `}]`, false},
		{"commentannotations/update", plan + `"annotationIds": [` + each(30, `"small%d"`) + `], "updatedData": {"status": {"id": "RESOLVED"}}`, true},
		{"commentannotations/update", plan + `"annotationIds": ["huge0", "huge1"], "updatedData": {"status": {"id": "RESOLVED"}}`, true},
		{"commentannotations/update", plan + `"annotationIds": ["huge0"], "updatedData": {"status": {"id": "RESOLVED"}}`, false},
		{"commentannotations/update", plan + `"annotationIds": [` + each(12, `"small%d"`) + `], "updatedData": {"status": {"id": "RESOLVED"}}`, false},
		{"commentannotations/comments/update", plan + `"annotationId": "open0", "commentIds": [` + each(9, `1%d`) + `], "updatedData": {"commentText": "x"}`, true},
		{"commentannotations/comments/update", plan + `"annotationId": "huge1", "commentIds": [10], "updatedData": {"commentText": "x"}`, true},
		{"commentannotations/comments/update", plan + `"annotationId": "middle0", "commentIds": [10], "updatedData": {"commentText": "x"}`, true},
		{"commentannotations/comments/delete", plan + `"annotationId": "middle0", "commentIds": [10]`, false},
		{"commentannotations/comments/update", plan + `"annotationId": "open0", "commentIds": [10], "updatedData": {"commentText": "x"}`, false},
		{"commentannotations/comments/reactions/add", plan + `"annotationId": "huge1", "commentId": 10, "emoji": "👍"`, false},
		{"commentannotations/comments/reactions/delete", plan + `"annotationId": "huge1", "commentId": 10, "emoji": "👍"`, false},
		{"commentannotations/comments/delete", plan + `"annotationId": "open0", "commentIds": [` + each(9, `1%d`) + `]`, true},
		{"commentannotations/comments/delete", plan + `"annotationId": "open0", "commentIds": [10, 11]`, false},
		{"commentannotations/read/set", plan + `"read": true, "annotationIds": [` + each(20, `"head%d"`) + `]`, true},
		{"notifications/config/set", `"documentIds": ["plan"], "level": "all", "annotationIds": ["huge0", "huge1"]`, true},
		{"notifications/config/set", `"documentIds": ["plan"], "level": "all", "annotationIds": [` + each(20, `"head%d"`) + `]`, true},
		{"notifications/config/set", `"documentIds": ["plan"], "level": "all", "annotationIds": ["huge0"]`, false},
		{"notifications/config/set", `"documentIds": [` + each(3, `"followed%d"`) + `], "level": "all", "config": {"email": "NONE"}`, true},
		{"notifications/config/set", `"documentIds": ["followed0"], "level": "default"`, false},
		{"commentannotations/delete", plan + `"annotationIds": [` + each(30, `"small%d"`) + `]`, true},
		{"commentannotations/delete", plan + `"annotationIds": ["huge2"]`, true},
		{"commentannotations/delete", plan + `"annotationIds": [` + each(6, `"small%d"`) + `]`, false},
	} {
		c.now = c.now.Add(time.Hour) // resets personal limits
		if test.fails && before == nil {
			before = c.table()
		}
		code, body := c.ann(test.path, test.data, "")
		if !test.fails {
			before = nil
			if code != http.StatusOK || strings.Contains(body, `"success":false`) {
				t.Errorf("%s %.200s: %d %.300s", test.path, test.data, code, body)
			}
			continue
		}
		if code != http.StatusBadRequest || !strings.Contains(body, string(collab.FailedPrecondition)) {
			t.Errorf("%s %.200s: %d %.300s", test.path, test.data, code, body)
		}
		if diff := cmp.Diff(before, c.table()); diff != "" {
			t.Errorf("%s %.200s fails, and changes something: %.500s", test.path, test.data, diff)
		}
	}
}

// TestSixAtOnce sends six requests of one person at once, which would use 2,000 write units
// together. The person's share is 1,000: some get 429 and change nothing, and the others change
// everything. Another person and the back end notice nothing.
func TestSixAtOnce(t *testing.T) {
	t.Parallel()
	c := newCaller(t, func(*app.Config) {})
	const requests, threads = 6, 10
	for i := range requests {
		c.fill(fmt.Sprintf("r%d-", i), threads, 15_000, 1, 10)
	}
	c.now = c.now.Add(time.Hour)
	codes := make([]int, requests)
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			codes[i], _ = c.ann("commentannotations/update", fmt.Sprintf(
				`"documentId": "plan", "annotationIds": [%s], "updatedData": {"status": {"id": "RESOLVED"}}`, each(threads, fmt.Sprintf(`"r%d-%%d"`, i)),
			), "")
		})
	}
	all.Wait()
	doc, err := c.Directory.OpenDocument(t.Context(), "acme", "acme", "plan", collab.CreateFlags{})
	must.Do(t, err)
	refused := 0
	for i, code := range codes {
		resolved := 0
		for n := range threads {
			a, err := c.Threads.Head(t.Context(), doc, fmt.Sprintf("r%d-%d", i, n))
			must.Do(t, err)
			if a.StatusID == "RESOLVED" {
				resolved++
			}
		}
		switch {
		case code == http.StatusTooManyRequests && resolved == 0:
			refused++
		case code != http.StatusOK || resolved != threads:
			t.Errorf("request %d: %d, and %d of %d threads are resolved", i, code, resolved, threads)
		}
	}
	if refused < 2 || refused > 4 {
		t.Errorf("%d of 6 are refused", refused)
	}
	c.must("commentannotations/update", `"documentId": "plan", "annotationIds": ["r0-0"], "updatedData": {"status": {"id": "OPEN"}}`)
	bob, err := credentials.Sign(c.key, "test", "acme", collab.Person{UserID: "bob", Resources: []collab.TokenResource{
		{Type: collab.ResourceOrganization, ID: "acme", AccessRole: collab.RoleEditor},
	}}, c.now, c.now.Add(collab.MaxTokenLife))
	must.Do(t, err)
	if code, body := c.send("commentannotations/update", `"documentId": "plan", "annotationIds": ["r0-0"], "updatedData": {"status": {"id": "RESOLVED"}}`,
		"Authorization", "Bearer "+bob); code != http.StatusOK {
		t.Errorf("another person: %d %s", code, body)
	}
}

// TestListsEndByUnits walks lists of threads, comments, read states and notifications of the
// greatest size, as a person and as a back end. Each page ends by the units that it reads, and all
// items come once.
func TestListsEndByUnits(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := newCaller(t, func(of *app.Config) { of.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	const threads = 24
	const plan = `"documentId": "plan"`
	c.fill("t", threads, 330_000, 1, 340_000)
	for i := range threads {
		c.now = c.now.Add(10 * time.Second) // for the quota
		c.must("commentannotations/comments/add", fmt.Sprintf(plan+`, "annotationId": "t0", "commentData": [{"commentId": 2%d, "commentText": "%s", "from": {"userId": "ann"}}]`, i, strings.Repeat("y", 340_000)))
		c.must("commentannotations/read/set", fmt.Sprintf(plan+`, "userId": "ann", "read": true, "annotationIds": ["t%d"]`, i))
	}
	doc, err := c.Directory.OpenDocument(t.Context(), "acme", "acme", "plan", collab.CreateFlags{})
	must.Do(t, err)
	for i := range threads {
		n := collab.Notification{
			ID: fmt.Sprint("n", i), DocumentID: "plan", Incarnation: doc.Incarnation, AnnotationID: fmt.Sprint("t", i), CommentIDs: []int64{10}, Event: collab.AnnotationAdded,
			ActionUser: collab.User{UserID: "bob"}, CreatedAt: c.now.UnixMilli(),
		}
		_, err := c.Inbox.Derive(t.Context(), doc.OrganizationRef, n, []string{"ann"})
		must.Do(t, err)
		must.Do(t, c.Inbox.AddToInbox(t.Context(), doc.OrganizationRef, n, storetest.Placed("ann")))
	}
	for _, test := range []struct {
		path, data, backEnd, item string
		items                     int
	}{
		{"commentannotations/get", plan, "", "annotationId", threads},
		{"commentannotations/get", plan + `, "order": "desc"`, "", "annotationId", threads},
		{"commentannotations/get", plan + `, "statusIds": ["none"]`, "", "annotationId", 0},
		{"commentannotations/get", plan + `, "annotationIds": [` + each(20, `"t%d"`) + `]`, "", "annotationId", 20},
		{"commentannotations/comments/get", plan + `, "annotationId": "t0"`, "", "commentId", threads + 1},
		{"commentannotations/comments/get", plan + `, "annotationId": "t0", "commentIds": [` + each(20, "2%d") + `]`, "", "commentId", 20},
		{"commentannotations/read/get", `"documentIds": ["plan"]`, "", "annotationId", threads},
		{"notifications/get", `"pageSize": 1000`, `, "userId": "ann"`, "notificationId", threads},
	} {
		for _, person := range []bool{true, false} {
			found, pages, token := map[string]int{}, 0, ""
			for first := true; first || token != ""; first = false {
				c.now = c.now.Add(time.Minute)
				log.Reset()
				data := test.data
				if token != "" {
					data += `, "pageToken": "` + token + `"`
				}
				send, most := func() (int, string) { return c.ann(test.path, data, "") }, 1_500.0
				if !person {
					most = 2_300 // a thread of 5 MB, and others read ahead
					send = func() (int, string) {
						return c.send(test.path, data+test.backEnd, credentials.KeyHeader, "key", credentials.TokenHeader, "token")
					}
				}
				code, body := send()
				var answer struct {
					Result struct {
						Data          []map[string]any `json:"data"`
						NextPageToken string           `json:"nextPageToken"`
					} `json:"result"`
				}
				var record struct {
					Read float64 `json:"read_units"`
				}
				must.Do(t, json.Unmarshal([]byte(body), &answer))
				must.Do(t, json.Unmarshal(bytes.Split(log.Bytes(), []byte("\n"))[0], &record))
				if pages++; code != http.StatusOK || record.Read > most || pages > threads {
					t.Fatalf("%s %.100s, person %v: page %d: %d, %.0f read units, %.300s", test.path, data, person, pages, code, record.Read, body)
				}
				for _, it := range answer.Result.Data {
					found[fmt.Sprint(it[test.item])]++
				}
				token = answer.Result.NextPageToken
			}
			t.Logf("%s %.100s, person %v: %d pages", test.path, test.data, person, pages)
			if len(found) != test.items {
				t.Errorf("%s %.100s, person %v: %d items, want %d", test.path, test.data, person, len(found), test.items)
			}
			for id, n := range found {
				if n != 1 {
					t.Errorf("%s %.100s, person %v: %s comes %d times", test.path, test.data, person, id, n)
				}
			}
		}
	}
}

// TestManyPeople walks the users of a document ten folders deep, which has others at each level.
// All users come once, in pages that end by the units that they read.
func TestManyPeople(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := newCaller(t, func(of *app.Config) { of.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	const people = 200 // at each level
	levels, in := []string{""}, "root"
	for i := range 10 {
		id := fmt.Sprint("f", i)
		c.must("organizations/folders/add", fmt.Sprintf(`"folders": [{"folderId": %q, "parentFolderId": %q}]`, id, in))
		levels, in = append(levels, `"folderId": "`+id+`", `), id
	}
	c.must("organizations/documents/add", `"folderId": "f9", "documents": [{"documentId": "deep"}]`)
	for i, level := range append(levels, `"documentId": "deep", `) {
		c.now = c.now.Add(time.Minute) // for the quota
		c.must("users/add", level+`"users": [`+each(people, fmt.Sprintf(`{"userId": "l%d-%%d", "name": "N %%d"}`, i))+`]`)
		c.must("users/add", level+`"users": [{"userId": "zoe", "name": "Zoe"}]`)
	}
	c.token = c.sign(collab.ResourceOrganization, "acme") // after the document
	for search, want := range map[string]int{"": 12*people + 3, "zoe": 1} {
		found, pages, token := map[string]int{}, 0, ""
		for first := true; first || token != ""; first = false {
			c.now = c.now.Add(time.Minute)
			log.Reset()
			data := `"documentId": "deep"`
			if search != "" {
				data += `, "searchKey": "` + search + `"`
			}
			if token != "" {
				data += `, "pageToken": "` + token + `"`
			}
			code, body := c.ann("users/get", data, "")
			var answer struct {
				Result struct {
					Data []struct {
						UserID string `json:"userId"`
					} `json:"data"`
					NextPageToken string `json:"nextPageToken"`
				} `json:"result"`
			}
			var record struct {
				Read float64 `json:"read_units"`
			}
			must.Do(t, json.Unmarshal([]byte(body), &answer))
			must.Do(t, json.Unmarshal(bytes.Split(log.Bytes(), []byte("\n"))[0], &record))
			if pages++; code != http.StatusOK || record.Read > mostRead || pages > 120 {
				t.Fatalf("%s: page %d: %d, %.0f read units, %.300s", data, pages, code, record.Read, body)
			}
			for _, u := range answer.Result.Data {
				found[u.UserID]++
			}
			token = answer.Result.NextPageToken
		}
		if len(found) != want {
			t.Errorf("%q: %d people, want %d", search, len(found), want)
		}
		for id, n := range found {
			if n != 1 {
				t.Errorf("%q: %s comes %d times", search, id, n)
			}
		}
	}
}

// TestManyNamed checks that a person names at most 50 other people in a request, in tags and
// visibility together, and that more change nothing.
func TestManyNamed(t *testing.T) {
	t.Parallel()
	c := newCaller(t, func(*app.Config) {})
	var ids, users []string
	for i := range 51 {
		ids = append(ids, fmt.Sprintf(`"u%02d"`, i))
		users = append(users, fmt.Sprintf(`{"userId": "u%02d"}`, i))
	}
	c.must("users/add", `"users": [`+strings.Join(users[:30], ",")+`]`)
	c.must("users/add", `"users": [`+strings.Join(users[30:], ",")+`]`)
	for _, test := range []struct{ visible, tagged, code int }{{51, 0, 400}, {50, 0, 200}, {49, 50, 200}, {49, 51, 400}} {
		code, text := c.ann("commentannotations/add", fmt.Sprintf(
			`"documentId": "plan", "commentAnnotations": [{"visibility": {"type": "restricted", "userIds": [%s]}, "commentData": [{"commentText": "x", "taggedUserContacts": [%s]}]}]`,
			strings.Join(ids[:test.visible], ","), strings.Join(users[:test.tagged], ",")), "")
		if code != test.code {
			t.Errorf("%+v: answered %d %.300s", test, code, text)
		}
		c.now = c.now.Add(2 * time.Hour)
	}
}
