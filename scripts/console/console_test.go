package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"collabdata/scripts/operator"
	"collabdata/scripts/page"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/queue"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/storetest"
	"collabdata/shared/webhook"

	"github.com/google/go-cmp/cmp"
)

// world is a table with pages over it.
type world struct {
	*Console
	accounts  *accounts.Store
	directory *directory.Store
	outbox    *outbox.Store
	inbox     *inbox.Store
	hooks     *hooks.Store
	threads   *threads.Store
	queues    map[string]*queue.Queue
	org       collab.OrganizationRef
	doc       collab.DocumentRef
}

// newWorld returns a table that has an account, an organization and a document. Its queues are made where they are asked for.
func newWorld(t *testing.T) *world {
	t.Helper()
	cfg := storetest.Config(t)
	service := app.New(app.Config{
		DynamoDB: cfg, SQS: cfg, Table: storetest.New(t).Name(), Log: slog.New(slog.DiscardHandler),
	})
	w := &world{accounts: service.Accounts, directory: service.Directory}
	w.outbox, w.hooks, w.inbox, w.threads = service.Outbox, service.Hooks, service.Inbox, service.Threads
	var err error
	w.Console, err = New(Config{Home: "/", Config: operator.Config{
		Service: service, CheckURL: webhook.NewGuard(nil).CheckURL, Random: rand.Reader,
		Queue: func(_ context.Context, name string) (*queue.Queue, error) { return w.queueOf(t, name), nil },
	}})
	check(t, err)
	acme := collab.Account{ID: "acct", Name: "Acme <b>", CreatedAt: 1}
	check(t, w.accounts.EnsureAccount(t.Context(), acme, "key-1", []collab.Token{{Hash: make([]byte, 32)}}))
	w.doc, err = w.directory.OpenDocument(t.Context(), "acct", "org", "doc", collab.CreateFlags{Organization: true, Document: true})
	check(t, err)
	w.org = w.doc.OrganizationRef
	return w
}

func (w *world) queueOf(t *testing.T, name string) *queue.Queue {
	t.Helper()
	if w.queues == nil {
		cfg := localstacktest.Config(localstacktest.MiniStack(t))
		urls, err := queue.Create(t.Context(), cfg, fmt.Sprintf("console-%d-", time.Now().UnixNano()))
		check(t, err)
		w.queues = map[string]*queue.Queue{}
		for name, at := range urls {
			w.queues[name] = queue.New(cfg, at, slog.New(slog.DiscardHandler))
		}
	}
	return w.queues[name]
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func text1(s string) *string { return &s }

// addThread adds a thread with comments of these texts, of which the first tells bob, and is posted to the webhook hook.
func (w *world) addThread(t *testing.T, id string, further collab.JSON, texts ...string) {
	t.Helper()
	at, ann := storetest.Request(time.Now()), collab.JSON(`{"userId":"ann","name":"Ann"}`)
	th := &collab.Thread{Document: w.doc.Document, Annotation: collab.Annotation{
		ID: id, Status: collab.JSON(`{"id":"OPEN"}`), StatusID: "OPEN", From: ann, CreatorID: "ann", Context: further,
		CreatedAt: at.Millis(), LastUpdated: at.Millis(),
	}}
	for i, s := range texts {
		th.Comments = append(th.Comments, collab.Comment{
			ID: int64(i + 1), Text: text1(s), From: ann, AuthorID: "ann", CreatedAt: at.Millis(), LastUpdated: at.Millis(),
			TaggedUserContacts: collab.JSON(`[{"userId":"yan","contact":{"userId":"yan","name":"Yan <Y>"}}]`),
		})
	}
	ev := collab.In(w.doc)
	ev.ID, ev.Time, ev.Notify = at.IDs.Next(), at.Millis(), true
	ev.Describe(collab.AnnotationAdded, &th.Annotation)
	check(t, w.threads.AddAnnotation(t.Context(), at, w.doc, th, collab.NewAnnotation{Field: "data", Comments: "commentData", Event: &ev}))
	n := collab.Notification{
		ID: ev.ID, DocumentID: w.doc.Document, Incarnation: w.doc.Incarnation, AnnotationID: id, Headline: "Ann <i>commented</i>",
		CreatedAt: ev.Time, Body: string(further),
	}
	_, err := w.inbox.AddAudience(t.Context(), w.org, n, ev.ID, "bob")
	check(t, err)
	check(t, w.inbox.AddToInbox(t.Context(), w.org, n, []string{"bob"}))
	bob := &inbox.RecipientPage{Recipients: []inbox.Recipient{{User: collab.User{UserID: "bob"}, Inbox: true}}}
	_, err = w.inbox.KeepRecipientPage(t.Context(), collab.EventRef{Account: "acct", ID: ev.ID}, "", bob)
	check(t, err)
	e := collab.EndpointRef{LaneRef: collab.LaneRef{Account: "acct", WebhookID: "hook"}, CreatedAt: 1}
	added := collab.Delivery{EventID: ev.ID, Type: ev.Type, State: collab.DeliveryPending, CreatedAt: ev.Time}
	check(t, w.hooks.AddDelivery(t.Context(), e, added))
	before, err := w.hooks.Delivery(t.Context(), e, ev.ID)
	check(t, err)
	after := before
	after.State, after.Tries = collab.DeliveryExhausted, 7
	after.Keep(collab.DeliveryAttempt{At: ev.Time, Status: 500, Reason: "answered 500 <script>", Duration: 12, Answer: "no <script>\nhere"})
	check(t, w.hooks.SaveDelivery(t.Context(), e, before, after))
}

func (w *world) addWebhook(t *testing.T) {
	t.Helper()
	check(t, w.hooks.AddWebhook(t.Context(), "acct", 10, collab.Webhook{
		ID: "hook", URL: "https://hooks.example/<x>", CreatedAt: 1, Secrets: []collab.WebhookSecret{{Secret: "whsec_hidden"}},
	}))
}

// quarantineOf puts the pending delivery of an event into the quarantine.
func (w *world) quarantineOf(t *testing.T, id string) {
	t.Helper()
	at, err := w.outbox.Pending(t.Context(), collab.EventRef{Account: "acct", ID: id}, collab.EventWork)
	check(t, err)
	check(t, w.outbox.Quarantine(t.Context(), *at, "it ends <b>the process</b>"))
}

// lastEvent is the newest event that was posted to the webhook.
func (w *world) lastEvent(t *testing.T) string {
	t.Helper()
	list, _, err := w.hooks.Deliveries(t.Context(), "acct", "hook", collab.DeliveryFilter{}, "", 1)
	check(t, err)
	return list[0].EventID
}

// answer is what a request was answered.
type answer struct {
	*httptest.ResponseRecorder
	text string
}

func serve(h http.Handler, r *http.Request) answer {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w, w.Body.String()}
}

func get(h http.Handler, path string) answer {
	return serve(h, httptest.NewRequest(http.MethodGet, path, nil))
}

// post sends a form as the pages of the console do.
func (w *world) post(name string, values ...string) answer {
	form := url.Values{"form": {w.form}, "from": {"/account?account=acct"}}
	for i := 0; i < len(values); i += 2 {
		form.Set(values[i], values[i+1])
	}
	return w.send(name, form)
}

func (w *world) send(name string, form url.Values) answer {
	r := httptest.NewRequest(http.MethodPost, Path+"/"+name, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return serve(w, r)
}

// call calls an operation of the API with members of its data.
func (w *world) call(t *testing.T, path, data string) {
	t.Helper()
	a := w.post("call", "account", "acct", "path", path, "body", `{"data": {`+data+`}}`, "confirmed", "yes")
	if a.Code != http.StatusOK || strings.Contains(html.UnescapeString(a.text), `"success": false`) {
		t.Fatalf("%s with %s: %s", path, data, a.text)
	}
}

// TestPages looks at one page of each kind.
func TestPages(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.addWebhook(t)
	at := storetest.Request(time.Now())
	folders := []collab.Folder{{ID: "above", Name: "Above", Parent: collab.RootFolder}, {ID: "below", Name: "Below", Parent: "above"}}
	check(t, errors.Join(w.directory.AddFolders(ctx, at, w.org, folders)...))
	check(t, storetest.ChangeDocument(ctx, w.directory, w.doc, func(d *collab.Document) { d.Folder = "below" }))
	all := collab.Resource{OrganizationRef: w.org}
	check(t, errors.Join(w.directory.ChangeMembers(ctx, at, all, []string{"bob"}, true, func(_ int, m *collab.Member) {
		m.Name = text1("Bob & Co")
	})...))
	folder, err := w.directory.OpenFolder(ctx, at, w.org, "above", false)
	check(t, err)
	above := collab.Resource{OrganizationRef: w.org, Folder: folder}
	check(t, w.directory.AddGrants(ctx, at, "bob", []collab.Resource{above}, []collab.Grant{{Role: collab.RoleViewer}}))
	check(t, w.directory.SetPreferences(ctx, w.org, []string{"bob"}, []string{"doc"}, collab.Preferences{Email: collab.PreferNone}))
	w.addThread(t, "thread", collab.JSON(`{"n":1}`), "{{yan}}: First </script><script>alert(1)</script>", "Second")
	first := w.lastEvent(t)
	w.addThread(t, "other", nil, "Other")
	w.quarantineOf(t, w.lastEvent(t))
	_, err = w.outbox.AddJob(ctx, outbox.Job{ID: "job-1", Account: "acct", SweepAt: 1})
	check(t, err)
	check(t, w.queueOf(t, "events").SendEvents(ctx)) // makes the queues
	dead, err := w.queues["events"].DeadLetters(ctx)
	check(t, err)
	check(t, dead.SendEvents(ctx, queue.Event{EventRef: collab.EventRef{Account: "acct", ID: "dead-event"}}))

	const gone = `"organizationId": "org", "documentId": "doc", `
	w.call(t, "/v2/commentannotations/add", gone+`"commentAnnotations": [{"annotationId": "gone-thread", "commentData": []}]`)
	w.call(t, "/v2/commentannotations/delete", gone+`"annotationIds": ["gone-thread"]`)
	const org, doc = "account=acct&organization=org", "account=acct&organization=org&document=doc"
	seen := map[string]bool{}
	for _, test := range []struct {
		path, address string
		want          []string
	}{
		{"/", "", []string{"Acme &lt;b&gt;", "/console/account?account=acct"}},
		{"/account", "account=acct", []string{
			"key-1", "Write units", "10000", "mails-per-day", "20000", "organizationPrivate", "How many mails may leave at once.",
		}},
		{"/keys", "account=acct", []string{"key-1"}},
		{"/settings", "account=acct", []string{"mails-per-day", "20000"}},
		{"/key", "key=key-1", []string{"000000000000", "valid"}},
		{"/organizations", "account=acct", []string{"/console/organization?account=acct&amp;organization=org"}},
		{"/organization", org, []string{"above", "Members"}},
		{"/folder", org + "&folder=above", []string{"below", "There is none."}},
		{"/folder", org + "&folder=below", []string{"/console/document?", "/console/folder?account=acct&amp;folder=above"}},
		{"/members", org, []string{"Bob &amp; Co"}},
		{"/user", org + "&user=bob&document=doc", []string{
			"may read it", "document doc", "NONE", "/console/folder?", "viewer", "Ann &lt;i&gt;commented&lt;/i&gt;", "/console/thread?",
		}},
		{"/user", org + "&user=zoe&document=doc", []string{"may not see it", "It is empty."}},
		{"/user", org + "&user=zoe&document=none", []string{"There is no document none."}},
		{"/document", doc, []string{"thread", "other", "OPEN", "Ann (ann)"}},
		{"/thread", doc + "&annotation=thread", []string{
			"Yan &lt;Y&gt;: First &lt;/script&gt;&lt;script&gt;alert(1)", "bob (inbox)", "{&#34;n&#34;:1}", "/console/event?account=acct&amp;event=" + first,
		}},
		{"/events", doc + "&annotation=thread", []string{
			first, "bob (inbox)", "/console/webhook?account=acct&amp;annotation=thread&amp;webhook=hook",
		}},
		{"/event", "account=acct&event=" + first, []string{"comment_annotation.added", "bob", "exhausted", "tried again in"}},
		{"/explain", "account=acct&event=" + first, []string{"in it since 20", "/console/explain?account=acct&amp;event=" + first + "&amp;user=bob"}},
		{"/explain", "account=acct&event=" + first + "&user=bob", []string{"as it was decided", "in it since 20"}},
		{"/explain", "account=acct&event=" + first + "&user=zoe", []string{"The event does not concern the user"}},
		{"/webhooks", "account=acct", []string{"https://hooks.example/&lt;x&gt;"}},
		{"/webhook", "account=acct&webhook=hook&state=exhausted&annotation=thread", []string{first, "answered 500 &lt;script&gt;"}},
		{"/webhook", "account=acct&webhook=hook&state=pending", []string{"None of those"}},
		{"/delivery", "account=acct&webhook=hook&event=" + first, []string{"answered 500", "12 ms", "no &lt;script&gt;\nhere", "&#34;annotationId&#34;: &#34;thread&#34;"}},
		{"/pending", "", []string{first, "job-1", "new"}},
		{"/quarantine", "", []string{"it ends &lt;b&gt;the process", w.lastEvent(t)}},
		{"/dead-letters", "", []string{"dead-event", "events"}},
		{"/job", "account=acct&job=job-1", []string{"waiting"}},
		{"/find", "", []string{"Which id?"}},
		{"/find", "id=acct", []string{"an account"}},
		{"/find", "id=key-1", []string{"an API key"}},
		{"/find", "account=acct&id=org", []string{"an organization"}},
		{"/find", "account=acct&id=hook", []string{"a webhook"}},
		{"/find", "account=acct&id=job-1", []string{"a job"}},
		{"/find", "account=acct&id=" + first, []string{"an event"}},
		{"/find", org + "&id=doc", []string{"a document"}},
		{"/find", org + "&id=below", []string{"a folder"}},
		{"/find", org + "&id=bob", []string{"a member"}},
		{"/find", org + "&id=thread", []string{"a thread in document doc"}},
		{"/find", org + "&id=gone-thread", []string{"annotation &#34;gone-thread&#34; does not exist", ": it was deleted at 20", " by request "}},
		{"/find", "id=nothing", []string{"Nothing that was looked at has it"}},
	} {
		seen[test.path] = true
		a := get(w, path.Join(Path, test.path)+"?"+test.address)
		if a.Code != http.StatusOK || a.Header().Get("Content-Security-Policy") != page.Policy || strings.Contains(a.text, "whsec_") {
			t.Errorf("%s?%s: %d %v\n%s", test.path, test.address, a.Code, a.Header(), a.text)
		}
		for _, want := range test.want {
			if !strings.Contains(a.text, want) {
				t.Errorf("%s?%s lacks %q:\n%s", test.path, test.address, want, a.text)
			}
		}
		if strings.Count(a.text, "<script") != 1 {
			t.Errorf("%s?%s has scripts:\n%s", test.path, test.address, a.text)
		}
	}
	for _, op := range operator.Operations() {
		if op.Page == "" {
			continue
		}
		if !seen[op.Page] {
			t.Errorf("%s was not looked at", op.Page)
		}
		var names []string
		for _, f := range reflect.VisibleFields(op.Params()) {
			if _, arg := f.Tag.Lookup("arg"); arg && !strings.Contains(string(f.Tag), "optional") {
				names = append(names, strings.ToLower(f.Name))
			}
		}
		for i := range names { // an address that lacks an id
			q := url.Values{}
			for _, name := range slices.Delete(slices.Clone(names), i, i+1) {
				q.Set(name, "x")
			}
			a := get(w, Path+op.Page+"?"+q.Encode())
			if a.Code != http.StatusBadRequest || !strings.Contains(a.text, names[i]+" must not be empty") {
				t.Errorf("%s without %s: %d %s", op.Page, names[i], a.Code, a.text)
			}
		}
	}
	for address, want := range map[string]string{
		"/nothing": "there is no page", "/account?account=x": "account &#34;x&#34; does not exist",
		"/organization?account=acct&organization=x":        "does not exist",
		"/organization?account=acct&organization=gone-org": "does not exist",
		"/document?" + org + "&document=gone-doc":          "does not exist",
		"/folder?" + org + "&folder=gone-folder":           "does not exist",
		"/document?" + org + "&document=x":                 "document &#34;x&#34; does not exist", "/thread?" + doc + "&annotation=x": "does not exist",
		"/thread?" + doc + "&annotation=gone-thread":  ": it was deleted at 20",
		"/folder?" + org + "&folder=x":                "folder &#34;x&#34; does not exist",
		"/delivery?account=acct&webhook=hook&event=x": "has no delivery of event",
	} {
		if a := get(w, Path+address); a.Code != http.StatusNotFound || !strings.Contains(a.text, want) {
			t.Errorf("%s: %d %s", address, a.Code, a.text)
		}
	}
	check(t, errors.Join(w.directory.ChangeOrganizations(ctx, at, []string{"org"}, false, func(_ int, o *collab.Organization) error {
		o.Disabled = true
		return nil
	})...))
	const inDoc = "?" + doc + "&annotation=thread"
	for _, address := range []string{"/organization?" + org, "/user?" + org + "&user=bob", "/thread" + inDoc, "/events" + inDoc} {
		if a := get(w, Path+address); a.Code != http.StatusOK {
			t.Errorf("%s of a disabled organization: %d %s", address, a.Code, a.text)
		}
	}
}

var (
	unitsRead = regexp.MustCompile(`has read ([0-9.]+) units`)
	moreLink  = regexp.MustCompile(`id="([a-z]+)-more"><a href="([^"]*)"`)
	oneRow    = regexp.MustCompile(`(?s)<tr><td.*?</tr>`)
)

// TestBounds looks at lists whose entries are as large as they can be: no page takes more than it may, and together they have each once.
func TestBounds(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.addWebhook(t)
	const many = 30
	large := collab.JSON(`"` + strings.Repeat("x", 340_000) + `"`)
	at := storetest.Request(time.Now())
	ids := make([]string, many)
	for i := range ids {
		ids[i] = fmt.Sprintf("entry-%02d", i)
		check(t, w.accounts.AddAccount(ctx, collab.Account{ID: ids[i]}))
		check(t, w.accounts.AddAPIKey(ctx, "key-"+ids[i], "acct", nil))
		check(t, w.directory.SetPreferences(ctx, w.org, []string{"bob"}, []string{ids[i]}, collab.Preferences{}))
		w.addThread(t, ids[i], large, "one")
		w.quarantineOf(t, w.lastEvent(t))
	}
	comments := make([]collab.Comment, 0, 10)
	for i := range 10 {
		text := fmt.Sprintf("entry-%02d%s", i, large)
		comments = append(comments, collab.Comment{ID: int64(1_000 + i), Text: &text, CreatedAt: at.Millis(), LastUpdated: at.Millis()})
	}
	for part := range slices.Chunk(comments, 5) {
		add := collab.NewComments{Field: "data.commentData", Comments: part}
		_, err := w.threads.AddComments(ctx, storetest.Request(time.Now()), w.doc, ids[0], add)
		check(t, err)
	}
	for _, errs := range [][]error{
		w.directory.ChangeOrganizations(ctx, at, ids, true, func(_ int, o *collab.Organization) error { o.Metadata = large; return nil }),
		w.directory.AddDocuments(ctx, at, w.org, collab.RootFolder, ids, func(_ int, d *collab.Document) error {
			d.Metadata = large
			return nil
		}),
		w.directory.ChangeMembers(ctx, at, collab.Resource{OrganizationRef: w.org}, ids, true, func(_ int, m *collab.Member) {
			m.Name = text1(string(large))
		}),
	} {
		for _, err := range errs {
			check(t, err)
		}
	}
	folders := make([]collab.Folder, many)
	for i, id := range ids {
		folders[i] = collab.Folder{ID: id, Name: strings.Repeat("n", 1_000), Parent: collab.RootFolder}
		in := []collab.Resource{{OrganizationRef: w.org, Document: w.org.Document(id)}}
		check(t, w.directory.AddGrants(ctx, at, "bob", in, []collab.Grant{{Role: collab.RoleEditor}}))
	}
	for _, err := range w.directory.AddFolders(ctx, at, w.org, folders) {
		check(t, err)
	}
	const org, doc = "account=acct&organization=org", "account=acct&organization=org&document=doc"
	for _, test := range []struct {
		address, list string
		want          int
	}{
		{"", "accounts", many + 1},
		{"/account?account=acct", "keys", many + 1},
		{"/keys?account=acct", "keys", many + 1},
		{"/organizations?account=acct", "organizations", many + 1},
		{"/organization?" + org, "folders", many},
		{"/organization?" + org, "documents", many + 1},
		{"/members?" + org, "members", many},
		{"/user?" + org + "&user=bob", "holdings", many},
		{"/user?" + org + "&user=bob", "inbox", many},
		{"/document?" + doc, "threads", many},
		{"/thread?" + doc + "&annotation=" + ids[0], "comments", 11},
		{"/events?" + doc + "&annotation=" + ids[3], "events", 1},
		{"/webhook?account=acct&webhook=hook", "deliveries", many},
		{"/webhook?account=acct&webhook=hook&annotation=" + ids[7], "deliveries", 1},
		{"/quarantine", "quarantine", many},
		{"/pending", "", 0},
		{"/event?account=acct&event=" + w.lastEvent(t), "", 0},
		{"/find?" + org + "&id=" + ids[0], "", 0},
	} {
		rows := map[string]bool{}
		dearest := 0.0
		for at, n := Path+test.address, 0; at != ""; n++ {
			a := get(w, at)
			m := unitsRead.FindStringSubmatch(a.text)
			if a.Code != http.StatusOK || m == nil || n > 2*many {
				t.Fatalf("%s: %d %.2000s", at, a.Code, a.text)
			}
			units, err := strconv.ParseFloat(m[1], 64)
			check(t, err)
			dearest = max(dearest, units)
			_, part, _ := strings.Cut(a.text, `<section id="`+test.list+`">`)
			part, _, _ = strings.Cut(part, "</section>")
			for _, row := range oneRow.FindAllString(part, -1) {
				if rows[row] && test.list != "comments" {
					t.Errorf("%s lists twice %.200s", at, row)
				}
				rows[row] = true
			}
			at = ""
			for _, m := range moreLink.FindAllStringSubmatch(part, -1) {
				at = html.UnescapeString(m[2])
			}
		}
		t.Logf("%s %s: up to %.1f units", test.address, test.list, dearest)
		if len(rows) != test.want && test.list != "" || dearest > operator.MaxUnits || dearest == 0 {
			t.Errorf("%s %s: %d rows, want %d; up to %.1f units", test.address, test.list, len(rows), test.want, dearest)
		}
	}
}

// TestChanges makes each change: it asks first, and does nothing before.
func TestChanges(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.addWebhook(t)
	w.addThread(t, "thread", nil, "one")
	first := w.lastEvent(t)
	w.quarantineOf(t, first)
	w.queueOf(t, "events")
	dead, err := w.queues["events"].DeadLetters(ctx)
	check(t, err)
	check(t, dead.SendEvents(ctx, queue.Event{EventRef: collab.EventRef{Account: "acct", ID: "dead-event"}}))
	account := func() collab.Account {
		a, err := w.accounts.Account(ctx, "acct")
		check(t, err)
		return a
	}
	keys := func() int {
		list, err := w.accounts.APIKeys(ctx, "acct", "", 0)
		check(t, err)
		return len(list)
	}
	disabled := func() any {
		list, err := w.directory.Organizations(ctx, "acct", []string{"org"})
		check(t, err)
		return list[0].Disabled
	}
	state := func() any {
		list, _, err := w.hooks.Deliveries(ctx, "acct", "hook", collab.DeliveryFilter{}, "", 1)
		check(t, err)
		return list[0].State
	}
	exhaust := func() {
		e := collab.EndpointRef{LaneRef: collab.LaneRef{Account: "acct", WebhookID: "hook"}, CreatedAt: 1}
		before, err := w.hooks.Delivery(ctx, e, first)
		check(t, err)
		after := before
		after.State = collab.DeliveryExhausted
		check(t, w.hooks.SaveDelivery(ctx, e, before, after))
	}
	tokens := func() any {
		k, err := w.accounts.APIKey(ctx, "key-2")
		check(t, err)
		return len(slices.DeleteFunc(k.Tokens, func(t collab.Token) bool { return t.Expires != 0 && t.Expires <= w.directory.Millis() }))
	}
	check(t, w.accounts.AddAPIKey(ctx, "key-2", "acct", []collab.Token{{Hash: make([]byte, 32)}}))
	done := map[string]bool{}
	for _, test := range []struct {
		name   string
		values []string
		ask    string // "" where it does not ask
		shown  string // "" where it leads to a page
		is     func() any
		want   any
	}{
		{"account/disable", []string{"account", "acct"}, "will be refused within 60 s", "", func() any { return account().Disabled }, true},
		{"account/enable", []string{"account", "acct"}, "", "", func() any { return account().Disabled }, false},
		{"settings/set", []string{"account", "acct", "setting", "mails-per-day", "value", "5"}, "from 20000 to 5", "", func() any {
			return account().Settings.MailsPerDay
		}, int64(5)},
		{"settings/set", []string{
			"account", "acct", "setting", "permission-provider", "value", "https://may.example/x", "secret", "s",
		}, "from none to https://may.example/x", "", func() any {
			p, err := w.accounts.PermissionProvider(ctx, "acct")
			check(t, err)
			return p != nil && p.Secret == "s"
		}, true},
		{"key/create", []string{"account", "acct"}, "The token is shown once", "token-", func() any { return keys() }, 3},
		{"key/delete", []string{"key", "key-1"}, "will be refused within 60 s, for good", "", func() any { return keys() }, 2},
		{"organization/disable", []string{"account", "acct", "organization", "org"}, "will be refused within 5 s", "", disabled, true},
		{"organization/enable", []string{"account", "acct", "organization", "org"}, "", "", disabled, false},
		{"call", []string{
			"account", "acct", "path", "/v2/organizations/add", "body", `{"data": {"organizations": [{"organizationId": "called"}]}}`,
		}, "", `"success": true`, func() any {
			list, err := w.directory.Organizations(ctx, "acct", []string{"called"})
			check(t, err)
			return len(list)
		}, 1},
		{"call", []string{
			"account", "acct", "path", "/v2/organizations/delete", "body", `{"data": {"organizationIds": ["called"]}}`,
		}, `of account "acct" deletes what is named here`, `"jobId"`, func() any {
			list, err := w.directory.Organizations(ctx, "acct", []string{"called"})
			check(t, err)
			return len(list)
		}, 0},
		{"account/create", []string{"id", "made", "name", "Made"}, "Account \"made\" is made", "token-", func() any {
			list, err := w.accounts.Accounts(ctx, "", 0)
			check(t, err)
			return len(list)
		}, 2},
		{"account/disable", []string{"account", "made"}, "will be refused within 60 s", "", func() any {
			a, err := w.accounts.Account(ctx, "made")
			check(t, err)
			return a.Disabled
		}, true},
		{"account/delete", []string{"account", "made"}, "for good", "", func() any {
			list, err := w.accounts.Accounts(ctx, "", 0)
			check(t, err)
			return len(list)
		}, 1},
		{"token/create", []string{"key", "key-2"}, "gets a further token", "token-", tokens, 2},
		{"token/revoke", []string{"key", "key-2", "hash", strings.Repeat("00", 6)}, "will be refused within 60 s", "", tokens, 1},
		{"token/rotate", []string{"key", "key-2", "grace", "1h"}, "", "token-", tokens, 2},
		{"token/rotate", []string{"key", "key-2", "grace", "0s"}, "another token of the API key will be refused", "token-", tokens, 1},
		{"delivery/replay", []string{
			"account", "acct", "webhook", "hook", "event", first,
		}, "whatever had become of it", "", state, collab.DeliveryPending},
		{"webhook/replay", []string{
			"account", "acct", "webhook", "hook", "since", "2026-01-31T12:00", "state", "exhausted",
		}, "since 2026-01-31 12:00:00 UTC", "1 delivery will be posted again", state, collab.DeliveryPending},
		{"quarantine/retry", []string{"account", "acct", "event", first}, "is delivered again", "", func() any {
			list, _, err := w.outbox.Quarantined(ctx, "", 0, func(err error) { t.Error(err) })
			check(t, err)
			return len(list)
		}, 0},
		{"dead-letters/redrive", []string{"queue", "events"}, `All dead letters of the queue "events"`, "", func() any {
			n, err := w.queues["events"].Waiting(ctx)
			check(t, err)
			return n
		}, 1},
	} {
		done[test.name] = true
		if test.name == "webhook/replay" {
			exhaust()
		}
		before := test.is()
		if cmp.Equal(before, test.want) {
			t.Fatalf("%s: it is %v before", test.name, before)
		}
		if test.ask != "" {
			a := w.post(test.name, test.values...)
			if !strings.Contains(a.text, `<a href="/console/account?account=acct">Cancel</a>`) {
				t.Errorf("%s cannot be canceled: %s", test.name, a.text)
			}
			if a.Code != http.StatusOK || !strings.Contains(html.UnescapeString(a.text), test.ask) || !cmp.Equal(test.is(), before) {
				t.Errorf("%s asks %d %s; it is %v", test.name, a.Code, a.text, test.is())
			}
		}
		a := w.post(test.name, append(test.values, "confirmed", "yes")...)
		leads := a.Code == http.StatusSeeOther
		if leads {
			at := a.Header().Get("Location")
			first, again := get(w, at), get(w, at)
			leads = first.Code == http.StatusOK && strings.Contains(first.text, `role="status"`) && !strings.Contains(again.text, `role="status"`)
		}
		if test.shown == "" && !leads || test.shown != "" && !strings.Contains(html.UnescapeString(a.text), test.shown) {
			t.Errorf("%s: %d to %s: %s", test.name, a.Code, a.Header().Get("Location"), a.text)
		}
		if got := test.is(); !cmp.Equal(got, test.want) {
			t.Errorf("%s: it is %v, want %v", test.name, got, test.want)
		}
	}
	for _, op := range operator.Operations() {
		if name := strings.ReplaceAll(op.Name, " ", "/"); op.Page == "" && !done[name] {
			t.Errorf("%s was not made", name)
		}
	}
	for name, test := range map[string][]string{
		"settings/set":         {"mails-per-day must be a number", "account", "acct", "setting", "mails-per-day", "value", "-1"},
		"key/delete":           {"the API key does not exist", "key", "key-x", "confirmed", "yes"},
		"webhook/replay":       {"is no time: write 2027-01-31", "account", "acct", "webhook", "hook", "since", "now", "state", "any"},
		"dead-letters/redrive": {"queue must be one of", "queue", "x", "confirmed", "yes"},
		"quarantine/retry":     {"is not in the quarantine", "account", "acct", "event", "x", "confirmed", "yes"},
	} {
		if a := w.post(name, test[1:]...); a.Code < 400 || !strings.Contains(html.UnescapeString(a.text), test[0]) {
			t.Errorf("%s %v: %d %s", name, test, a.Code, a.text)
		}
	}
	// the value that was refused stays in its field, the secret does not
	for _, test := range []struct{ setting, value, want string }{
		{"mails-per-day", "<many>", `name="value" value="&lt;many&gt;"`},
		{"events", "none", `role="alert">events must be triggered or all`},
		{"permission-provider", "http://x", `name="value" value="http://x" autocomplete="off" autofocus></label> <label><span>its bearer secret</span> ` +
			`<input type="password" name="secret" value="" `},
	} {
		a := w.post("settings/set", "account", "acct", "setting", test.setting, "value", test.value, "secret", "hidden")
		form, _, _ := strings.Cut(a.text, `role="alert"`)
		form = form[strings.LastIndex(form, "<form"):]
		if a.Code != http.StatusBadRequest || !strings.Contains(a.text, test.want) || strings.Contains(a.text, `value="hidden"`) ||
			!strings.Contains(form, `name="setting" value="`+test.setting+`"`) {
			t.Errorf("%s=%s: %d %s", test.setting, test.value, a.Code, a.text)
		}
	}
	for _, from := range []string{"", "//evil.example/", "https://evil.example/x", "/nothing", "%zz", "/find?id=%ff"} {
		a := w.send("settings/set", url.Values{
			"form": {w.form}, "from": {from}, "account": {"acct"}, "setting": {"mails-per-day"}, "value": {"0"},
		})
		if a.Code != http.StatusBadRequest || !strings.Contains(a.text, "mails-per-day must be a number") {
			t.Errorf("from %q: %d %s", from, a.Code, a.text)
		}
		a = w.send("account/enable", url.Values{"form": {w.form}, "from": {from}, "account": {"acct"}})
		if to := a.Header().Get("Location"); a.Code != http.StatusSeeOther || !strings.HasPrefix(to, Path) {
			t.Errorf("from %q it leads to %q", from, to)
		}
	}
	a := w.send("account/disable", url.Values{"account": {"acct"}, "confirmed": {"yes"}, "form": {"x"}})
	if a.Code != http.StatusForbidden || account().Disabled {
		t.Errorf("a form of another process: %d %s", a.Code, a.text)
	}
}

// TestSession holds who is let in.
func TestSession(t *testing.T) {
	w := newWorld(t)
	s, err := NewSession(w.Console, "8790")
	check(t, err)
	ask := func(method, target, host string, header ...string) answer {
		r := httptest.NewRequest(method, target, nil)
		r.Host = host
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return serve(s, r)
	}
	const here = "127.0.0.1:8790"
	address, err := url.Parse(s.Address())
	check(t, err)
	begin := address.RequestURI()
	for _, host := range []string{"evil.example:8790", "evil.example", "127.0.0.1:80", "192.0.2.1:8790", "127.0.0.1.evil.example:8790", ""} {
		if a := ask(http.MethodGet, begin, host); a.Code != http.StatusForbidden || a.Header().Get("Set-Cookie") != "" {
			t.Errorf("called as %q: %d %s", host, a.Code, a.text)
		}
	}
	for _, target := range []string{"", "/account?account=acct", "/begin?token=x", "/begin", "/begin?token="} {
		a := ask(http.MethodGet, Path+target, here)
		if a.Code != http.StatusForbidden || strings.Contains(a.text, "Acme") || a.Header().Get("Set-Cookie") != "" {
			t.Errorf("without a cookie %s: %d %s", target, a.Code, a.text)
		}
	}
	a := ask(http.MethodGet, begin, here)
	cookie := a.Header().Get("Set-Cookie")
	if a.Code != http.StatusSeeOther || a.Header().Get("Location") != Path ||
		!strings.Contains(cookie, "; Path=/console; HttpOnly; SameSite=Strict") {
		t.Fatalf("the address: %d %v", a.Code, a.Header())
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	if a := ask(http.MethodGet, "/", here); a.Code != http.StatusSeeOther || a.Header().Get("Location") != Path {
		t.Errorf("the root: %d %v", a.Code, a.Header())
	}
	if a := ask(http.MethodGet, begin, here); a.Code != http.StatusForbidden || a.Header().Get("Set-Cookie") != "" {
		t.Errorf("the address again: %d %v", a.Code, a.Header())
	}
	name, _, _ := strings.Cut(cookie, "=")
	const disable = "/console/account/disable"
	for _, test := range []struct {
		what, method, target string
		header               []string
		status               int
	}{
		{"the browser", http.MethodGet, "/console/account?account=acct", []string{"Cookie", cookie}, 200},
		{"a typed address", http.MethodGet, "/console/account?account=acct", []string{"Cookie", cookie, "Sec-Fetch-Site", "none"}, 200},
		{"its own page", http.MethodGet, "/console", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, 200},
		{"another cookie", http.MethodGet, "/console", []string{"Cookie", name + "=x"}, 403},
		{"another site", http.MethodGet, "/console/account?account=acct", []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, 403},
		{"another server here", http.MethodGet, "/console/account?account=acct", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-site"}, 403},
		{"a change by another site", http.MethodPost, disable, []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, 403},
		{"a change by another origin", http.MethodPost, disable, []string{"Cookie", cookie, "Origin", "http://evil.example"}, 403},
		{"a change by a sandbox", http.MethodPost, disable, []string{"Cookie", cookie, "Origin", "null"}, 403},
		{"a change without a form", http.MethodPost, disable, []string{"Cookie", cookie, "Origin", "http://" + here}, 403},
		{"a change by GET", http.MethodGet, "/console/account/disable?account=acct", []string{"Cookie", cookie}, 404},
	} {
		a := ask(test.method, test.target, here, test.header...)
		if a.Code != test.status || (test.status != 200) == strings.Contains(a.text, "Acme") {
			t.Errorf("%s: %d %s", test.what, a.Code, a.text)
		}
	}
}

// TestHTMX holds that the script is the one that npm's htmx.org 2.0.11 has as dist/htmx.min.js.
func TestHTMX(t *testing.T) {
	text, err := files.ReadFile("pages/htmx-2.0.11.min.js")
	check(t, err)
	sum := sha256.Sum256(text)
	if got := hex.EncodeToString(sum[:]); got != "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717" {
		t.Errorf("its SHA-256 is %s", got)
	}
	for file, status := range map[string]int{
		"htmx-2.0.11.min.js": 200, "theme.css": 200, "style.css": 200, "console.css": 200, "icon.svg": 200, "page.html": 404, "x": 404,
	} {
		if a := get(newFiles(t), Path+"/files/"+file); a.Code != status {
			t.Errorf("%s: %d", file, a.Code)
		}
	}
}

func newFiles(t *testing.T) http.Handler {
	t.Helper()
	c, err := New(Config{Config: operator.Config{Service: app.New(app.Config{}), Random: rand.Reader}})
	check(t, err)
	return c
}
