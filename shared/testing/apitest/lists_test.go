package apitest_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/app/operate"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	gocmp "github.com/google/go-cmp/cmp"
)

var listRuns = flag.Int("lists", 1, "how many random worlds TestLists walks")

// TestLists reads every list of the interface in pages of random sizes, with random filters over
// random data, as a back end, an operator, and a person if allowed. Each walk must end and return
// the same items, once and in the same order, as one with the largest pages.
func TestLists(t *testing.T) {
	clock := time.Now().Truncate(time.Second)
	s := apitest.Start(t, func(c *app.Config) { c.Now, c.Stage = func() time.Time { return clock }, "test" })
	keys, err := s.Accounts.RotateSigningKeys(t.Context(), "acme")
	must.Do(t, err)
	o := operate.New(operate.Config{App: s.Config(), CheckURL: s.Guard.CheckURL})
	for i := range 40 {
		must.Do(t, s.Accounts.AddAccount(t.Context(), collab.Account{ID: fmt.Sprint("account-", i*7%40), Name: "x"}))
	}
	for seed := range *listRuns {
		w := &world{T: t, Rand: rand.New(rand.NewPCG(uint64(seed), 1)), clock: &clock, service: s, back: s.Handler(), operator: o, org: fmt.Sprint("org", seed), found: map[string]int{}, sent: map[string]bool{}}
		w.build()
		w.end, w.person = clock.UnixMilli(), w.token(keys[0])
		for _, e := range slices.Concat(api.Endpoints(), operate.Endpoints()) {
			if e.Public || !slices.Contains(fields(e.Operation.Request), "pageToken") {
				continue
			}
			list, ok := listed[e.Path]
			if !ok {
				t.Errorf("%s is a list of which this test has no requests", e.Path)
				continue
			}
			covered := func() bool {
				return !slices.ContainsFunc(fields(e.Operation.Request), func(name string) bool {
					return !w.sent[e.Path+" "+name] && name != "pageSize" && name != "pageToken" && name != list.alone
				})
			}
			for n := 0; n < cmp.Or(list.draws, 4) || (!covered() || w.found[e.Path] == 0) && n < 100; n++ {
				w.compare(e, list, "")
				if e.Person != rpc.BackEnd {
					w.compare(e, list, w.person)
				}
			}
			if t.Failed() {
				return
			}
			if w.found[e.Path] == 0 {
				t.Errorf("%s: no request of this test finds anything", e.Path)
			}
			if !covered() {
				t.Errorf("%s: this test has no requests with some of %v", e.Path, slices.DeleteFunc(fields(e.Operation.Request), func(name string) bool { return w.sent[e.Path+" "+name] }))
			}
		}
	}
	for path := range listed {
		if !slices.ContainsFunc(slices.Concat(api.Endpoints(), operate.Endpoints()), func(e rpc.Endpoint) bool { return e.Path == path }) {
			t.Errorf("%s is no operation", path)
		}
	}
}

// fields returns the names of the fields of a request.
func fields(request reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(request) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// list describes the requests of a list.
type list struct {
	draws   int    // requests per world; 0 means 4
	alone   string // a field of requests without pages
	request func(*world) map[string]any
	// of a response; nil for an array or an object of arrays
	items func(data json.RawMessage) []string
	want  func(*world, map[string]any) []string // all items, for a list without pageSize
}

// compare reads one list in two ways, as a person if token is not "".
func (w *world) compare(e rpc.Endpoint, l list, token string) {
	w.Helper()
	var data map[string]any
	var want []string
	for tries := 0; ; tries++ {
		if tries == 50 {
			w.Fatalf("%s: 50 random requests are refused: the last was %v", e.Path, data)
		}
		data = l.request(w)
		if token != "" {
			sends := rpc.Sent(rpc.ShapeOf(e.Operation.Request))
			maps.DeleteFunc(data, func(name string, _ any) bool { _, may := sends[name]; return !may })
		}
		if code, _ := w.call(e.Path, data, token); code == http.StatusOK {
			break
		}
	}
	for name := range data {
		w.sent[e.Path+" "+name] = true
	}
	size := 1 + w.IntN(one(w, []int{5, 50, 100}))
	got := w.walk(e, l, data, size, token)
	if l.want == nil {
		want = w.walk(e, l, data, 1_000, token)
	} else {
		want = slices.Sorted(slices.Values(l.want(w, data)))
		slices.Sort(got)
	}
	who := map[bool]string{true: "back end", false: "person"}[token == ""]
	if diff := gocmp.Diff(want, got); diff != "" {
		text, _ := json.Marshal(data)
		w.Errorf("%s of a %s, %s, in pages of %d: %d items of %d: %s", e.Path, who, text, size, len(got), len(want), diff)
	}
	w.found[e.Path] += len(got)
}

// walk returns the items of all pages of a list.
func (w *world) walk(e rpc.Endpoint, l list, data map[string]any, size int, token string) []string {
	w.Helper()
	all := []string{}
	asked := maps.Clone(data)
	if slices.Contains(fields(e.Operation.Request), "pageSize") {
		asked["pageSize"] = size
	}
	for pages := 0; ; pages++ {
		code, body := w.call(e.Path, asked, token)
		var answer struct {
			Result struct {
				Data          json.RawMessage
				NextPageToken string
			}
		}
		must.Do(w, json.Unmarshal(body, &answer))
		of := l.items
		if of == nil {
			of = array
		}
		items := of(answer.Result.Data)
		if code != http.StatusOK || len(items) > size && l.want == nil {
			w.Fatalf("%s %v: page %d has %d items of at most %d: %d %.300s", e.Path, asked, pages, len(items), size, code, body)
		}
		all = append(all, items...)
		if answer.Result.NextPageToken == "" {
			// items are ordered by key, keys are unordered
			if bytes.HasPrefix(answer.Result.Data, []byte("{")) && l.items == nil {
				key := func(item string) string { return item[:strings.Index(item, " ")] }
				slices.SortStableFunc(all, func(a, b string) int { return strings.Compare(key(a), key(b)) })
			}
			break
		}
		if pages > 20+2_000/size {
			w.Fatalf("%s %v does not end: %d items in %d pages", e.Path, asked, len(all), pages)
		}
		asked["pageToken"] = answer.Result.NextPageToken
	}
	once := map[string]bool{}
	for _, item := range all {
		if once[item] && item != "null" && item != "" {
			w.Errorf("%s %v has more than once: %s", e.Path, asked, item)
		}
		once[item] = true
	}
	return all
}

// array returns the items of an array, or those of an object of arrays with their keys.
func array(data json.RawMessage) (items []string) {
	if bytes.HasPrefix(data, []byte("{")) {
		for key, list := range collab.JSON(data).Members() {
			for _, item := range array(json.RawMessage(list)) {
				items = append(items, key+" "+item)
			}
		}
		return items
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		return []string{"no list: " + string(data)}
	}
	return collab.Map(list, func(item json.RawMessage) string { return string(item) })
}

// world is the random data of an organization and account.
type world struct {
	*testing.T
	*rand.Rand
	clock    *time.Time
	service  *app.Service
	back     http.Handler
	operator http.Handler
	person   string // the token of user

	org                                                string
	users, documents, folders, groups, threads, events []string
	notes, comments                                    []string
	loud, hook                                         string
	// fields of successful requests, by path and name
	sent  map[string]bool
	end   int64          // when it was built
	found map[string]int // items, by path
	// ids of comments and threads, by user
	wrote, made map[string][]string
}

const (
	user = "u03"  // has the inbox, and calls as a person
	busy = "busy" // a thread with many comments, in the document d00
)

// call calls an operation, as a person with a token, or else as the account acme or its operator.
func (w *world) call(path string, data map[string]any, token string) (int, []byte) {
	body, err := json.Marshal(map[string]any{"data": data})
	must.Do(w, err)
	r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	h := w.back
	switch {
	case token != "":
		r.Header.Set("Authorization", "Bearer "+token)
		*w.clock = w.clock.Add(11 * time.Second) // resets personal limits
	case strings.HasPrefix(path, "/operator/"):
		h = w.operator
	default:
		r.Header.Set(credentials.KeyHeader, "key")
		r.Header.Set(credentials.TokenHeader, "token")
	}
	a := httptest.NewRecorder()
	h.ServeHTTP(a, r)
	return a.Code, a.Body.Bytes()
}

// do calls an operation in the organization, which must succeed.
func (w *world) do(path string, data map[string]any) {
	w.Helper()
	data["organizationId"] = w.org
	if code, body := w.call("/v2/"+path, data, ""); code != http.StatusOK || bytes.Contains(body, []byte(`"success":false`)) {
		w.Fatalf("%s %v: %d %s", path, data, code, body)
	}
}

// token returns a token of the user for the whole organization.
func (w *world) token(key collab.SigningKey) string {
	p := collab.Person{UserID: user, Resources: []collab.TokenResource{
		{Type: collab.ResourceOrganization, ID: w.org, AccessRole: collab.RoleEditor},
	}}
	text, err := credentials.Sign(key, "test", "acme", p, *w.clock, w.clock.Add(1_000*time.Hour))
	must.Do(w, err)
	return text
}

// chance returns true one time in n.
func (w *world) chance(n int) bool { return w.IntN(n) == 0 }

func one[T any](w *world, list []T) T { return list[w.IntN(len(list))] }

// some returns a few random elements, possibly repeated.
func some[T any](w *world, list []T) []T {
	few := make([]T, 1+w.IntN(6))
	for i := range few {
		few[i] = one(w, list)
	}
	return few
}

// optional returns each field of all with a chance of one in n.
func (w *world) optional(n int, all map[string]any) map[string]any {
	picked := map[string]any{"organizationId": w.org}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if w.chance(n) {
			picked[name] = all[name]
		}
	}
	return picked
}

// time returns a random time in the world's history.
func (w *world) time() int64 { return w.end - w.Int64N(3_000_000) }

func ids(letter string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s%02d", letter, i)
	}
	return list
}

// build fills the organization.
func (w *world) build() {
	w.users, w.documents, w.folders, w.groups = ids("u", 50), ids("d", 24), ids("f", 12), ids("g", 40)
	w.wrote, w.made = map[string][]string{}, map[string][]string{}
	w.do("organizations/documents/add", map[string]any{"createOrganization": true, "documents": []any{map[string]any{"documentId": "d00"}}})
	for i, f := range w.folders {
		folder := map[string]any{"folderId": f, "folderName": "Folder " + f}
		if i > 4 {
			folder["parentFolderId"] = w.folders[w.IntN(4)]
		}
		w.do("organizations/folders/add", map[string]any{"folders": []any{folder}})
	}
	for _, d := range w.documents[1:] {
		data := map[string]any{"documents": []any{map[string]any{"documentId": d}}}
		if w.chance(2) {
			data["folderId"] = one(w, w.folders)
		}
		w.do("organizations/documents/add", data)
	}
	names := []string{"Ann", "José", "Ned Müller", "Straße"}
	for i, u := range w.users {
		levels := []map[string]any{{}, {"documentId": one(w, w.documents)}, {"folderId": one(w, w.folders)}, {"documentId": "d00"}}
		for j, level := range levels {
			if j == 0 && u == user || w.chance(2) {
				level["users"] = []any{map[string]any{"userId": u, "name": fmt.Sprint(names[i%4], " ", i), "email": u + "@example.com"}}
				w.do("users/add", level)
			}
		}
	}
	for i, g := range w.groups {
		w.do("organizations/usergroups/add", map[string]any{"organizationUserGroups": []any{map[string]any{"groupId": g, "groupName": names[i%4]}}})
		w.do("organizations/usergroups/users/add", map[string]any{"organizationUserGroupId": g, "userIds": rpc.Distinct(some(w, w.users))})
	}
	w.addThreads()
	w.addNotifications()
	for range 25 {
		data := map[string]any{"userIds": rpc.Distinct(some(w, w.users)), "config": map[string]any{"inbox": "ALL", "email": one(w, []string{"NONE", "MINE"})}}
		if w.chance(2) {
			data["documentIds"] = rpc.Distinct(some(w, w.documents))
		}
		w.do("notifications/config/set", data)
	}
	for _, d := range w.documents {
		if w.chance(2) {
			w.do("commentannotations/read/set", map[string]any{"documentId": d, "userId": user, "read": w.chance(2)})
		}
	}
	w.do("organizations/documents/access/update", map[string]any{"documentIds": w.documents[20:22], "accessType": "restricted"})
	w.do("organizations/documents/delete", map[string]any{"documentIds": w.documents[23:]})
	w.addDeliveries()
}

// addThreads adds threads with comments to the documents, and events to some of them.
func (w *world) addThreads() {
	w.threads = append(ids("t", 60), busy)
	last := 0
	comment := func(by string) any {
		last++
		w.comments = append(w.comments, fmt.Sprint(last))
		w.wrote[by] = append(w.wrote[by], fmt.Sprint(last))
		c := map[string]any{"commentId": last, "commentText": "x", "from": map[string]any{"userId": by}, "triggerNotification": w.chance(2)}
		if w.chance(3) {
			c["agent"] = map[string]any{"agentId": "checker", "executionId": "checker", "agentType": "checker", "agentSource": "checker"}
		}
		if tagged := one(w, w.users); w.chance(2) && tagged != by {
			c["taggedUserContacts"] = []any{map[string]any{"userId": tagged}}
			w.wrote[tagged] = append(w.wrote[tagged], fmt.Sprint(last))
		}
		return c
	}
	for _, t := range w.threads {
		document, by, n := one(w, w.documents[:23]), one(w, w.users), w.IntN(4)
		if t == busy {
			document, by, n = "d00", user, 115
		}
		a := map[string]any{"annotationId": t}
		comments := []any{}
		for range n {
			comments = append(comments, comment(by))
			if t == busy {
				by = one(w, w.users[:6])
			}
		}
		if n > 0 {
			creator := comments[0].(map[string]any)["from"].(map[string]any)["userId"].(string)
			w.made[creator] = append(w.made[creator], t)
		}
		a["commentData"] = comments[:min(n, 5)]
		if w.chance(2) {
			a["location"] = map[string]any{"id": one(w, []string{"top", "end"})}
		}
		if w.chance(4) && t != busy {
			a["visibility"] = map[string]any{"type": "restricted", "userIds": rpc.Distinct(some(w, w.users[:6]))}
		}
		w.do("commentannotations/add", map[string]any{"documentId": document, "commentAnnotations": []any{a}})
		for part := range slices.Chunk(comments[min(n, 5):], 5) {
			w.do("commentannotations/comments/add", map[string]any{"documentId": document, "annotationId": t, "commentData": part})
		}
		if w.chance(3) {
			changed := map[string]any{"status": map[string]any{"id": "RESOLVED"}, "resolvedByUserId": one(w, w.users[:5])}
			w.do("commentannotations/update", map[string]any{"documentId": document, "annotationIds": []string{t}, "updatedData": changed})
		}
		*w.clock = w.clock.Add(time.Duration(w.IntN(3)) * 10 * time.Second) // some at the same time
	}
	tags := collab.Map(w.users[:40], func(u string) any { return map[string]any{"userId": u} })
	w.do("commentannotations/add", map[string]any{"documentId": "d00", "commentAnnotations": []any{map[string]any{"annotationId": "loud", "commentData": []any{
		map[string]any{"commentId": 999, "commentText": "x", "from": map[string]any{"userId": "boss"}, "triggerNotification": true, "taggedUserContacts": tags},
	}}}})
	w.made["boss"] = []string{"loud"}
	for _, u := range append([]string{"boss"}, w.users[:40]...) {
		w.wrote[u] = append(w.wrote[u], "999")
	}
}

// addNotifications adds events and a back end's notifications to inboxes. The user reads and
// deletes some.
func (w *world) addNotifications() {
	org, err := w.service.Directory.OpenOrganization(w.Context(), "acme", w.org)
	must.Do(w, err)
	// give adds a notification to the inboxes of users, or of all. Some have a twin in both, and some
	// are only for an email, in which case the inbox hides them.
	give := func(n collab.Notification, users ...string) {
		_, err := w.service.Inbox.Derive(w.Context(), org, n, users)
		must.Do(w, err)
		to := storetest.Placed(users...)
		if len(users) == 0 {
			must.Do(w, w.service.Inbox.AddToInboxOfAll(w.Context(), org, n))
			if w.chance(2) {
				to = storetest.Placed(user)
			}
		}
		for i := range to {
			to[i].Hidden = w.chance(2) && len(users) < 2
		}
		must.Do(w, w.service.Inbox.AddToInbox(w.Context(), org, n, to))
		w.notes = append(w.notes, n.ID)
	}
	for _, work := range storetest.Waiting(w.T, w.service.Outbox.Waiting) {
		if work.Kind != collab.EventTask {
			continue
		}
		ev, err := w.service.Outbox.Event(w.Context(), "acme", work.ID)
		must.Do(w, err)
		if ev.OrganizationID != w.org {
			continue
		}
		if ev.AnnotationID == busy || ev.AnnotationID == "loud" {
			w.events = append(w.events, ev.ID)
		}
		if ev.AnnotationID == "loud" {
			w.loud = ev.ID
		}
		give(collab.NotificationOf(ev, "top"), user, one(w, w.users))
	}
	start := w.clock.Add(-30 * time.Minute).UnixMilli()
	for i := range 120 {
		doc, err := w.service.Directory.OpenDocument(w.Context(), "acme", w.org, one(w, w.documents), collab.CreateFlags{})
		must.Do(w, err)
		n := collab.Notification{
			ID: fmt.Sprintf("%s-n%03d", w.org, i), DocumentID: doc.Document, Incarnation: doc.Incarnation, Headline: "x",
			ActionUser: collab.User{UserID: one(w, w.users[:6])}, CreatedAt: start + w.Int64N(300)*6_000,
		}
		if w.chance(3) {
			n.Location = collab.JSON(`{"id": "top"}`)
		}
		if w.chance(4) {
			give(n)
		} else {
			give(n, user)
		}
	}
	for _, id := range w.notes {
		mark := map[string]any{"id": id}
		switch w.IntN(6) {
		case 0, 1:
			mark["readByUserIds"] = []string{user}
		case 2:
			mark["clickedByUserIds"] = []string{user}
		case 3:
			switch w.IntN(5) {
			case 0:
				w.call("/v2/notifications/delete", map[string]any{"organizationId": w.org, "userId": user, "notificationIds": []string{id}}, "")
			case 1:
				w.call("/v2/notifications/delete", map[string]any{"organizationId": w.org, "notificationIds": []string{id}}, "")
			}
			continue
		default:
			continue
		}
		w.call("/v2/notifications/update", map[string]any{"organizationId": w.org, "userId": user, "notifications": []any{mark}}, "")
	}
	if w.chance(2) {
		w.do("notifications/update", map[string]any{"userId": user, "readUntil": start + w.Int64N(200)*6_000})
		for _, id := range some(w, w.notes) {
			unread := map[string]any{"id": id, "readByUserIds": []string{}}
			w.call("/v2/notifications/update", map[string]any{"organizationId": w.org, "userId": user, "notifications": []any{unread}}, "")
		}
	}
}

func (w *world) addDeliveries() {
	w.hook = w.org + "-hook"
	hook := collab.Webhook{ID: w.hook, URL: "https://hooks.example.com/", CreatedAt: w.clock.UnixMilli()}
	must.Do(w, w.service.Hooks.AddWebhook(w.Context(), "acme", collab.MaxWebhooks, hook))
	e := collab.EndpointRef{Account: "acme", WebhookID: w.hook, CreatedAt: hook.CreatedAt}
	for i := range 60 {
		at := w.clock.Add(time.Duration(i-100) * time.Minute)
		d := collab.Delivery{
			EventID: collab.NewIDs(at, []byte("seed")).Next(), Type: one(w, []collab.EventType{collab.CommentAdded, collab.AnnotationAdded}),
			State: collab.DeliveryPending, CreatedAt: at.UnixMilli(), LastUpdated: at.UnixMilli(),
		}
		must.Do(w, w.service.Hooks.AddDelivery(w.Context(), e, d))
		if w.chance(2) {
			before, err := w.service.Hooks.Delivery(w.Context(), e, d.EventID)
			must.Do(w, err)
			after := before
			after.State = one(w, []collab.DeliveryState{collab.DeliveryDelivered, collab.DeliveryExhausted})
			must.Do(w, w.service.Hooks.SaveDelivery(w.Context(), e, before, after))
			if w.chance(2) { // a twin
				must.Do(w, w.service.Hooks.AddDelivery(w.Context(), e, d))
			}
		}
	}
}

// listed are the lists by path.
var listed = map[string]list{
	"/v2/commentannotations/get": {draws: 10, request: func(w *world) map[string]any {
		data := w.optional(6, map[string]any{
			"locationIds": some(w, []string{"top", "end", "none"}), "annotationId": one(w, w.threads), "annotationIds": rpc.Distinct(some(w, w.threads)), "userIds": some(w, w.users[:10]),
			"statusId": "RESOLVED", "statusIds": []string{"OPEN"}, "mentionedUserIds": some(w, w.users), "resolvedBy": one(w, w.users[:5]),
			"unreadFor": user, "unreadOnly": true, "order": one(w, []string{"asc", "desc"}), "updatedAfter": w.time(), "updatedBefore": w.time(),
			"createdAfter": w.time(), "createdBefore": w.time(), "includeDeleted": true, "groupByDocumentId": true, "asUserId": one(w, w.users[:6]),
		})
		agent := one(w, []string{"agentId", "executionId", "agentType", "agentSource"})
		switch w.IntN(6) {
		case 0:
			data[agent] = "checker"
		case 1:
			data["agentSuggestions"] = true
		case 2:
			data["agentComments"] = true
		}
		switch w.IntN(4) {
		case 0:
			data["documentIds"] = some(w, w.documents)
		case 1:
			data["documentId"] = "d00"
		case 2:
			data["folderId"] = one(w, append(w.folders, "root"))
		}
		if data["includeDeleted"] != nil {
			delete(data, "documentIds")
			delete(data, "folderId")
			data["documentId"], data["updatedAfter"] = "d00", w.time()
		}
		return data
	}},
	"/v2/commentannotations/comments/get": {request: func(w *world) map[string]any {
		data := w.optional(3, map[string]any{"userIds": some(w, w.users[:6]), "asUserId": user})
		if w.chance(5) {
			data["commentIds"] = collab.Map(rpc.Distinct(some(w, w.comments)), func(id string) json.Number { return json.Number(id) })
		}
		data["documentId"], data["annotationId"] = "d00", busy
		return data
	}},
	"/v2/commentannotations/read/get": {request: func(w *world) map[string]any {
		return map[string]any{"organizationId": w.org, "documentIds": rpc.Distinct(slices.Concat(some(w, w.documents), some(w, w.documents), w.documents[:8]))}
	}},
	"/v2/notifications/get": {draws: 8, request: func(w *world) map[string]any {
		data := w.optional(4, map[string]any{
			"documentId": one(w, w.documents), "locationId": "top", "createdAfter": w.time(), "unreadOnly": true, "locale": one(w, []string{"de", "pt-BR"}), "order": one(w, []string{"asc", "desc"}),
			"notificationIds": rpc.Distinct(slices.Concat(some(w, w.notes), some(w, w.notes), []string{"none"})), "userId": user, "asUserId": user,
		})
		if w.chance(2) {
			data["userId"] = user
		}
		return data
	}},
	"/v2/notifications/config/users/get": {request: func(w *world) map[string]any { return map[string]any{"organizationId": w.org} }},
	"/v2/organizations/get": {request: func(w *world) map[string]any {
		if w.chance(2) {
			return map[string]any{}
		}
		return map[string]any{"organizationIds": []string{w.org, "none", "org0"}}
	}},
	"/v2/organizations/folders/get": {request: func(w *world) map[string]any {
		return w.optional(3, map[string]any{"rootFoldersOnly": true, "folderId": one(w, w.folders), "maxDepth": 1 + w.IntN(4)})
	}},
	"/v2/organizations/documents/get": {request: func(w *world) map[string]any {
		return w.optional(3, map[string]any{"documentIds": some(w, w.documents), "folderId": one(w, append(w.folders, "root"))})
	}},
	"/v2/organizations/usergroups/get": {request: func(w *world) map[string]any {
		return w.optional(2, map[string]any{"searchKey": one(w, []string{"jose", "MÜLLER", "strasse", "none"})})
	}},
	"/v2/users/get": {draws: 10, request: func(w *world) map[string]any {
		data := w.optional(3, map[string]any{
			"userIds": some(w, w.users), "organizationUserGroupIds": some(w, w.groups), "searchKey": one(w, []string{"jose", "MÜLLER", "strasse", "u0"}), "ownFields": true,
		})
		switch w.IntN(4) {
		case 0:
			data["documentId"] = "d00"
		case 1:
			data["folderId"] = one(w, w.folders)
		case 2:
			data["allDocuments"] = true
			data["groupByDocumentId"] = w.chance(2)
		}
		if w.chance(3) {
			data["documentId"] = one(w, w.documents)
		}
		return data
	}},
	"/v2/users/data/get": {
		request: func(w *world) map[string]any {
			return map[string]any{"organizationId": w.org, "userId": one(w, slices.Concat(w.users[:6], []string{user, "boss"}))}
		},
		items: func(data json.RawMessage) (items []string) {
			var of struct {
				Annotations []struct{ AnnotationID string }
				Comments    []struct{ CommentID json.Number }
			}
			if err := json.Unmarshal(data, &of); err != nil {
				return []string{err.Error()}
			}
			for _, a := range of.Annotations {
				items = append(items, a.AnnotationID)
			}
			for _, c := range of.Comments {
				items = append(items, c.CommentID.String())
			}
			return items
		},
		want: func(w *world, data map[string]any) []string {
			of := data["userId"].(string)
			return slices.Concat(w.made[of], w.wrote[of])
		},
	},
	"/v2/webhooks/deliveries/get": {request: func(w *world) map[string]any {
		data := w.optional(3, map[string]any{
			"state": one(w, []string{"pending", "delivered", "exhausted"}), "eventType": "comment.added",
			"createdAfter": w.end - w.Int64N(5_000_000), "createdBefore": w.end - w.Int64N(5_000_000),
		})
		delete(data, "organizationId")
		data["webhookId"] = w.hook
		return data
	}},
	"/v2/webhooks/deliveries/replay": {draws: 2, alone: "eventId",
		request: func(w *world) map[string]any {
			return map[string]any{"webhookId": w.hook, "since": w.end - w.Int64N(5_000_000)}
		},
		items: func(data json.RawMessage) []string {
			var of struct{ Replayed int }
			if err := json.Unmarshal(data, &of); err != nil {
				return []string{err.Error()}
			}
			return make([]string, of.Replayed)
		},
	},
	"/operator/accounts/get": {draws: 8, request: func(w *world) map[string]any {
		if w.chance(2) {
			return map[string]any{}
		}
		accounts := collab.Map(w.Perm(12), func(i int) string { return fmt.Sprint("account-", i) })
		return map[string]any{"accountIds": append(accounts, "none", "acme", "acme")}
	}},
	"/operator/audit/get": {draws: 8, request: func(w *world) map[string]any {
		data := w.optional(3, map[string]any{"actor": one(w, []string{"key", "local"}), "since": w.time(), "until": w.time()})
		data["accountId"] = "acme"
		delete(data, "organizationId")
		return data
	}},
	"/operator/events/get": {request: func(w *world) map[string]any {
		if w.chance(3) {
			return map[string]any{"accountId": "acme", "eventIds": some(w, w.events)}
		}
		return map[string]any{"accountId": "acme", "organizationId": w.org, "documentId": "d00", "annotationId": busy}
	}},
	"/operator/events/explain": {request: func(w *world) map[string]any {
		data := map[string]any{"accountId": "acme", "eventId": w.loud}
		if w.chance(4) {
			data["eventId"], data["userId"] = one(w, w.events), one(w, w.users)
		}
		return data
	}},
}
