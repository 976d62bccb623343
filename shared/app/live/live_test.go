package live_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/app/live"
	"collabdata/shared/app/local/sockets"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	rules "collabdata/shared/live"
	"collabdata/shared/store"
	"collabdata/shared/store/connections"
	"collabdata/shared/store/directory"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
)

// world is a deployment with the accounts acme and other, each with the organization org and the
// documents plan and budget.
type world struct {
	service  *app.Service
	kept     connections.Store
	handlers map[string]http.Handler // by account
	hub      *sockets.Hub
	gateway  *faultyGateway
	pages    *rules.Pages
	hints    *rules.Hints
	written  *written
	clock    *clock
}

// clock is a manual clock.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// written holds the keys of written items.
type written struct {
	mu   sync.Mutex
	keys []keys.Key
}

func (w *written) add(list ...keys.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keys = append(w.keys, list...)
}

// take returns the keys written since the last call.
func (w *written) take() []keys.Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.keys
	w.keys = nil
	return list
}

// faultyGateway is a hub that records posts and may fail.
type faultyGateway struct {
	*sockets.Hub
	mu     sync.Mutex
	fail   func(id string) error
	posted []string
}

func (g *faultyGateway) Close(ctx context.Context, id string) error { return g.Post(ctx, id, "") }

func (g *faultyGateway) Post(ctx context.Context, id, text string) error {
	g.mu.Lock()
	fail := g.fail
	g.posted = append(g.posted, text)
	g.mu.Unlock()
	if fail != nil {
		if err := fail(id); err != nil {
			return err
		}
	}
	return g.Hub.Post(ctx, id, text)
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{hub: &sockets.Hub{}, handlers: map[string]http.Handler{}, clock: &clock{}, written: &written{}}
	w.gateway = &faultyGateway{Hub: w.hub}
	server := httptest.NewServer(w.hub)
	t.Cleanup(server.Close)
	t.Cleanup(w.hub.End)
	var db aws.Config
	w.service = apitest.Start(t, func(c *app.Config) {
		db = c.DynamoDB
		c.DynamoDB, c.LiveURL, c.Now = store.Observe(db, w.written.add), "ws"+strings.TrimPrefix(server.URL, "http"), w.clock.now
	})
	c := w.service.Config()
	w.kept = connections.Store{Table: w.service.Directory.Table}
	w.pages, w.hints = live.New(live.Config{DynamoDB: db, Table: c.Table, Gateway: w.gateway, Log: c.Log, Now: c.Now, PrivateRanges: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	w.hub.Pages, w.hints.Lap = w.pages, 0
	must.Do(t, w.service.Accounts.AddAccount(t.Context(), collab.Account{ID: "other"}))
	for _, account := range []string{"acme", "other"} {
		w.handlers[account] = w.service.HandlerFor(collab.Identity{Account: account})
		w.post(t, account, "/v2/organizations/add", `{"organizations": [{"organizationId": "org", "organizationName": "Org"}]}`)
		w.post(t, account, "/v2/organizations/documents/add", `{"organizationId": "org", "documents": [{"documentId": "plan", "documentName": "P"},
			{"documentId": "budget", "documentName": "B"}]}`)
	}
	w.written.take()
	return w
}

// send sends a request of an account, and returns the response's status and body.
func (w *world) send(account, path, data string) (int, string) {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(`{"data": `+data+`}`))
	r.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	w.handlers[account].ServeHTTP(answer, r)
	return answer.Code, answer.Body.String()
}

func (w *world) post(t testing.TB, account, path, data string) string {
	t.Helper()
	code, body := w.send(account, path, data)
	if code != http.StatusOK || strings.Contains(body, `"success":false`) {
		t.Fatalf("%s: %d %s", path, code, body)
	}
	return body
}

// ticket returns the address of a ticket.
func (w *world) ticket(t testing.TB, account, user, watches string) string {
	t.Helper()
	var answer struct {
		Result struct{ Data struct{ URL string } }
	}
	body := w.post(t, account, "/v2/live/tickets/add", `{"organizationId": "org", "userId": "`+user+`", `+watches+`}`)
	must.Do(t, json.Unmarshal([]byte(body), &answer))
	return answer.Result.Data.URL
}

// page is the connection of a page.
type page struct{ *websocket.Conn }

func dial(t testing.TB, url string) (page, error) {
	conn, _, err := websocket.Dial(t.Context(), url, nil)
	if err == nil {
		t.Cleanup(func() { _ = conn.CloseNow() })
	}
	return page{conn}, err
}

func (w *world) connect(t testing.TB, account, user, watches string) page {
	t.Helper()
	p, err := dial(t, w.ticket(t, account, user, watches))
	must.Do(t, err)
	return p
}

// read returns the next message, or "" if the connection has ended.
func (p page) read(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, text, err := p.Read(ctx)
	if ctx.Err() != nil {
		t.Fatal("no message within 20 s")
	}
	if err != nil {
		return ""
	}
	return string(text)
}

func (p page) write(t testing.TB, text string) {
	t.Helper()
	must.Do(t, p.Write(t.Context(), websocket.MessageText, []byte(text)))
}

// expect reports a different message.
func (p page) expect(t testing.TB, want ...string) {
	t.Helper()
	for _, text := range want {
		if got := p.read(t); got != text {
			t.Errorf("read %q, want %q", got, text)
		}
	}
}

// still reports a message or an ended connection.
func (p page) still(t testing.TB) {
	t.Helper()
	p.write(t, `{"ping": true}`)
	p.expect(t, pong)
}

// take sends hints about the writes.
func (w *world) take(t testing.TB) {
	t.Helper()
	must.Do(t, w.hints.Take(t.Context(), w.written.take()))
}

// comment adds a thread with a comment.
func (w *world) comment(t testing.TB, document string) {
	t.Helper()
	w.post(t, "acme", "/v2/commentannotations/add", `{"organizationId": "org", "documentId": "`+document+`", "commentAnnotations": [
		{"commentData": [{"commentText": "Hello", "from": {"userId": "ann"}}]}]}`)
}

const (
	plan  = `{"changed":{"documentId":"plan"}}`
	inbox = `{"changed":{"inbox":true}}`
	pong  = `{"pong":true}`
)

// TestHints checks that pages get hints about their documents, one for many changes, about their
// read states, and about their inbox.
func TestHints(t *testing.T) {
	w := newWorld(t)
	ann := w.connect(t, "acme", "ann", `"documentIds": ["plan", "budget"], "inbox": true`)
	bob := w.connect(t, "acme", "bob", `"documentIds": ["plan"]`)
	carl := w.connect(t, "acme", "carl", `"documentIds": ["budget"], "inbox": true`)
	theirs := w.connect(t, "other", "ann", `"documentIds": ["plan", "budget"], "inbox": true`)
	everyone := []page{ann, bob, carl, theirs}
	heard := func(said map[string][]page) {
		t.Helper()
		w.take(t)
		for text, pages := range said {
			for _, p := range pages {
				p.expect(t, text)
			}
		}
		for _, p := range everyone {
			p.still(t)
		}
	}
	for range 3 {
		w.comment(t, "plan")
	}
	heard(map[string][]page{plan: {ann, bob}})
	w.post(t, "acme", "/v2/commentannotations/delete", `{"organizationId": "org", "documentId": "plan", "userIds": ["ann"]}`)
	heard(map[string][]page{plan: {ann, bob}})
	w.comment(t, "budget")
	heard(map[string][]page{`{"changed":{"documentId":"budget"}}`: {ann, carl}})
	const read = `{"organizationId": "org", "documentId": "plan", "userId": "bob", "read": true}`
	w.post(t, "acme", "/v2/commentannotations/read/set", read)
	heard(map[string][]page{`{"changed":{"documentId":"plan","read":true}}`: {bob}})
	w.post(t, "acme", "/v2/commentannotations/read/set", read)
	w.comment(t, "plan")
	heard(map[string][]page{plan: {ann, bob}})

	org := collab.OrganizationRef{Account: "acme", Organization: "org"}
	take := func(said map[string][]page, written ...keys.Key) {
		t.Helper()
		must.Do(t, w.hints.Take(t.Context(), written))
		heard(said)
	}
	toAnn := keys.UserNotification(org, "ann", 1<<40, "n")
	take(map[string][]page{inbox: {ann}}, toAnn, toAnn, keys.UserNotification(org, "bob", 1<<40, "n"))
	take(map[string][]page{inbox: {ann, carl}}, keys.AllNotification(org, 1<<40, "n"), toAnn)
	take(nil, keys.Task(collab.TaskRef{Kind: collab.EventTask, Account: "acme", ID: "e"}), keys.Key{}, keys.Key{PK: "A#%#O", SK: "ANN#"}, keys.Notification(org, "n"))

	must.Do(t, ann.Close(websocket.StatusNormalClosure, ""))
	everyone = everyone[1:]
	w.await(t, "ann is forgotten", func() bool { return len(w.connections(t, "ann")) == 0 })
	w.comment(t, "plan")
	heard(map[string][]page{plan: {bob}})
}

// TestSpread checks that a hint to many pages contains a time to spread their polls, and that the
// next hint about the document follows later.
func TestSpread(t *testing.T) {
	w := newWorld(t)
	for i := range 150 {
		must.Do(t, w.kept.Connect(t.Context(), collab.Connection{
			ID: fmt.Sprint("c", i), At: w.clock.now().UnixMilli(),
			Watch: collab.Watch{Account: "acme", Organization: "org", User: fmt.Sprint("u", i/10), Documents: []string{"plan"}},
		}))
	}
	ann := w.connect(t, "acme", "ann", `"documentIds": ["plan", "budget"]`)
	w.comment(t, "plan")
	began := time.Now()
	w.take(t)
	if took := time.Since(began); took < 503*time.Millisecond {
		t.Errorf("telling 151 pages took %v", took)
	}
	w.comment(t, "budget")
	w.take(t)
	ann.expect(t, `{"changed":{"documentId":"plan","within":503}}`, `{"changed":{"documentId":"budget"}}`)
}

// await waits for a condition.
func (w *world) await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within 20 s: ", what)
		}
	}
}

func (w *world) connections(t testing.TB, user string) []collab.Connection {
	t.Helper()
	list, err := w.kept.Connections(t.Context(), "acme", "org", user)
	must.Do(t, err)
	return list
}

// TestTickets checks that a ticket allows one connection, in time, by authorized users.
func TestTickets(t *testing.T) {
	w := newWorld(t)
	refused := func(what, url string) {
		t.Helper()
		if p, err := dial(t, url); err == nil {
			t.Errorf("%s connects: %q", what, p.read(t))
		}
	}
	url := w.ticket(t, "acme", "ann", `"documentIds": ["plan"]`)
	var wins sync.Map
	var wg sync.WaitGroup
	for i := range 4 { // concurrently
		wg.Go(func() {
			if _, err := dial(t, url); err == nil {
				wins.Store(i, true)
			}
		})
	}
	wg.Wait()
	n := 0
	wins.Range(func(any, any) bool { n++; return true })
	if n != 1 || len(w.connections(t, "ann")) != 1 {
		t.Errorf("one ticket gives %d connections, %d are kept", n, len(w.connections(t, "ann")))
	}
	refused("a used one", url)
	base, id, _ := strings.Cut(w.ticket(t, "acme", "ann", `"documentIds": ["plan"]`), "=")
	w.written.take()
	refused("one with another seal", base+"="+id[:len(id)-1]+string('0'+(id[len(id)-1]-'0'+1)%10))
	refused("one of another account", base+"="+strings.Replace(id, "acme", "other", 1))
	refused("one of no account", base+"="+strings.Replace(id, "acme", "none", 1))
	refused("a forged one", base+"="+strings.Repeat("0", len(id)))
	refused("a part of one", base+"="+id[:len(id)-1])
	refused("none", base+"=")
	refused("one that is no key of the table", base+"="+strings.Repeat("x", 3_000))
	if written := w.written.take(); len(written) > 0 {
		t.Errorf("made-up tickets wrote %v", written)
	}
	late := w.ticket(t, "acme", "ann", `"documentIds": ["plan"]`)
	w.clock.move(time.Minute)
	refused("a late one", late)

	const lag = 10 * time.Second // lifetime of caches in other processes
	before := w.ticket(t, "acme", "ann", `"documentIds": ["plan", "budget"]`)
	w.post(t, "acme", "/v2/organizations/documents/access/disablestate/update", `{"organizationId": "org", "documentIds": ["budget"], "disabled": true}`)
	w.clock.move(lag)
	refused("one for what was disabled since", before)
	before = w.ticket(t, "acme", "ann", `"inbox": true`)
	w.post(t, "acme", "/v2/organizations/access/disablestate/update", `{"organizationIds": ["org"], "disabled": true}`)
	w.clock.move(lag)
	refused("one for an organization that was disabled since", before)
	before = w.ticket(t, "other", "ann", `"inbox": true`)
	if _, err := w.service.Accounts.ChangeAccount(t.Context(), "other", func(a *collab.Account) error { a.Disabled = true; return nil }); err != nil {
		t.Fatal(err)
	}
	refused("one of an account that was disabled since", before)
	if n := len(w.connections(t, "")); n != 1 {
		t.Errorf("%d connections are kept, want the first", n)
	}

	off := app.New(app.Config{Log: slog.New(slog.DiscardHandler)}).HandlerFor(collab.Identity{Account: "acme"})
	w.handlers["off"] = off
	if code, body := w.send("off", "/v2/live/tickets/add", `{"organizationId": "org", "userId": "ann", "inbox": true}`); code != 400 ||
		!strings.Contains(body, `"FAILED_PRECONDITION"`) || !strings.Contains(body, "live is switched off") {
		t.Errorf("where live is off: %d %s", code, body)
	}
}

// TestPages checks that messages other than pings end a connection, and that unresponsive or
// half-closed pages do not delay others.
func TestPages(t *testing.T) {
	w := newWorld(t)
	watch := `"documentIds": ["plan"]`
	good := w.connect(t, "acme", "ann", watch)
	for _, text := range []string{
		`{"ping": false}`, `{"ping": 1}`, `{"ping": null}`, `{"ping": [true]}`, `[]`, `null`, `true`, `ping`, ``,
		`{"changed": {"documentId": "plan"}}`, strings.Repeat("x", 40_000),
	} {
		p := w.connect(t, "acme", "bad", watch)
		// the server may close it early
		_ = p.Write(t.Context(), websocket.MessageText, []byte(text))
		p.expect(t, "")
	}
	binary := w.connect(t, "acme", "bad", watch)
	must.Do(t, binary.Write(t.Context(), websocket.MessageBinary, []byte(`{"ping": true}`)))
	binary.expect(t, "")
	w.await(t, "those that are gone are forgotten", func() bool { return len(w.connections(t, "bad")) == 0 })

	w.connect(t, "acme", "deaf", watch) // never reads
	half := w.connect(t, "acme", "half", watch)
	must.Do(t, half.CloseNow())
	for range 200 {
		must.Do(t, w.hints.Take(t.Context(), []keys.Key{keys.Annotation(collab.OrganizationRef{Account: "acme", Organization: "org"}.Document("plan"), "a")}))
		good.expect(t, plan)
	}
	good.still(t)
	w.await(t, "the half closed one is forgotten", func() bool { return len(w.connections(t, "half")) == 0 })
}

// TestGatewayFails checks that a failed post only affects its connection. An ended connection is
// deleted, unless it is so new that the gateway may not know it yet.
func TestGatewayFails(t *testing.T) {
	w := newWorld(t)
	good := w.connect(t, "acme", "ann", `"documentIds": ["plan"]`)
	w.connect(t, "acme", "bob", `"documentIds": ["plan"]`)
	bob := w.connections(t, "bob")[0].ID
	answer := func(err error) {
		w.gateway.mu.Lock()
		defer w.gateway.mu.Unlock()
		w.gateway.fail = func(id string) error {
			if id == bob {
				return err
			}
			return nil
		}
	}
	for _, err := range []error{errors.New("429"), errors.New("500"), context.DeadlineExceeded, rules.ErrGone} {
		answer(err)
		w.comment(t, "plan")
		w.take(t)
		good.expect(t, plan)
		if len(w.connections(t, "bob")) != 1 {
			t.Errorf("after %v it is forgotten", err)
		}
	}
	w.clock.move(time.Minute)
	w.comment(t, "plan")
	w.take(t)
	good.expect(t, plan)
	if len(w.connections(t, "bob")) != 0 {
		t.Error("it is not forgotten")
	}
}

type kept = rules.Connections

// unreadable wraps the connections with a table that fails while err is set.
type unreadable struct {
	kept
	err error
}

func (u *unreadable) Watchers(ctx context.Context, acct, org, doc, user string) ([]collab.Connection, error) {
	if u.err != nil {
		return nil, u.err
	}
	return u.kept.Watchers(ctx, acct, org, doc, user)
}

func (u *unreadable) TakeTicket(ctx context.Context, acct, id string) (collab.Watch, bool, error) {
	if u.err != nil {
		return collab.Watch{}, false, u.err
	}
	return u.kept.TakeTicket(ctx, acct, id)
}

// noAccounts is a table whose accounts cannot be read.
type noAccounts struct{}

var errNoAccounts = errors.New("throttled")

func (noAccounts) Account(context.Context, string) (collab.Account, error) {
	return collab.Account{}, errNoAccounts
}

// TestRepeated checks lost, failed and repeated batches: they send no hints, are retried, and send
// hints twice.
func TestRepeated(t *testing.T) {
	w := newWorld(t)
	p := w.connect(t, "acme", "ann", `"documentIds": ["plan"]`)
	table := &unreadable{kept: w.hints.Connections, err: errors.New("throttled")}
	w.hints.Connections = table
	written := []keys.Key{keys.Annotation(collab.OrganizationRef{Account: "acme", Organization: "org"}.Document("plan"), "a")}
	if err := w.hints.Take(t.Context(), written); !errors.Is(err, table.err) {
		t.Errorf("where the table cannot be read: %v", err)
	}
	p.still(t)
	table.err = nil
	accounts := w.hints.Accounts
	w.hints.Accounts = noAccounts{}
	if err := w.hints.Take(t.Context(), written); !errors.Is(err, errNoAccounts) {
		t.Errorf("where rights cannot be read: %v", err)
	}
	p.still(t)
	w.hints.Accounts = accounts
	for range 2 {
		must.Do(t, w.hints.Take(t.Context(), written))
		p.expect(t, plan)
	}
	p.still(t)
}

// TestKilled kills the process that sends hints at each call. After another process handles the
// batch, watchers have their hint, ended connections get no more, and none is subtracted twice.
func TestKilled(t *testing.T) {
	w := newWorld(t)
	plans := collab.OrganizationRef{Account: "acme", Organization: "org"}.Document("plan")
	watch := collab.Watch{Account: "acme", Organization: "org", Documents: []string{"plan"}}
	connected := func() collab.Connected {
		t.Helper()
		n, err := w.kept.Connected(t.Context(), collab.Settings{}, watch, true)
		must.Do(t, err)
		return n
	}
	kills := 0
	for done := false; !done; kills++ {
		ann := w.connect(t, "acme", fmt.Sprint("ann", kills), `"documentIds": ["plan"]`)
		bob := fmt.Sprint("bob", kills)
		w.connect(t, "acme", bob, `"documentIds": ["plan"]`)
		w.clock.move(time.Minute)
		gone, before := w.connections(t, bob)[0].ID, connected()
		w.gateway.mu.Lock()
		w.gateway.fail = func(id string) error {
			if id == gone {
				return rules.ErrGone
			}
			return nil
		}
		w.gateway.mu.Unlock()
		dying := *w.hints
		dying.Connections = connections.Store{Table: storetest.Killed(t, w.kept.Table, kills)}
		err := dying.Take(t.Context(), []keys.Key{keys.Annotation(plans, "a")})
		done = err == nil && connected().Account == before.Account-1 // it has completed
		must.Do(t, w.hints.Take(t.Context(), []keys.Key{keys.Annotation(plans, "a")}))
		ann.expect(t, plan)
		after := connected()
		if after.Documents["plan"] != before.Documents["plan"]-1 {
			t.Errorf("killed after %d calls: %d watch, %d before one was gone", kills, after.Documents["plan"], before.Documents["plan"])
		}
		// A process killed before counting leaves an extra connection until the end of its maximum
		// lifetime.
		if after.Account != before.Account-1 && after.Account != before.Account || done && after.Account != before.Account-1 {
			t.Errorf("killed after %d calls: %d are counted, %d before one was gone", kills, after.Account, before.Account)
		}
	}
	if kills < 6 { // a query, a read of the connection, three deletes, the count
		t.Errorf("it was over after %d calls", kills)
	}
}

// TestBounds checks that above the limits, there are no tickets, and no connections with earlier
// tickets. Lost connections count only for their maximum lifetime.
func TestBounds(t *testing.T) {
	w := newWorld(t)
	put := func(n int, user func(i int) string, document string) {
		t.Helper()
		err := store.Each(t.Context(), n, func(ctx context.Context, i int) error {
			return w.kept.Connect(ctx, collab.Connection{ID: rand.Text(), At: w.clock.now().UnixMilli(), Watch: collab.Watch{
				Account: "acme", Organization: "org", User: user(i), Documents: []string{document},
			}})
		})
		must.Do(t, err)
	}
	exhausted := func(account, user, watches, says string) {
		t.Helper()
		code, body := w.send(account, "/v2/live/tickets/add", `{"organizationId": "org", "userId": "`+user+`", `+watches+`}`)
		if code != 429 || !strings.Contains(body, "RESOURCE_EXHAUSTED") || !strings.Contains(body, says) {
			t.Errorf("%d %s, want %s", code, body, says)
		}
	}
	put(19, func(int) string { return "ann" }, "plan")
	first, second := w.ticket(t, "acme", "ann", `"inbox": true`), w.ticket(t, "acme", "ann", `"inbox": true`)
	last, err := dial(t, first)
	must.Do(t, err)
	exhausted("acme", "ann", `"inbox": true`, "the user has 20 connections")
	if _, err := dial(t, second); err == nil {
		t.Error("the 21st connects")
	}
	w.ticket(t, "acme", "anna", `"inbox": true`)
	must.Do(t, last.Close(websocket.StatusNormalClosure, ""))
	w.await(t, "room again", func() bool { return len(w.connections(t, "ann")) == 19 })
	w.ticket(t, "acme", "ann", `"inbox": true`)

	put(1_000, func(i int) string { return fmt.Sprint("u", i) }, "budget")
	exhausted("acme", "bob", `"documentIds": ["plan", "budget"]`, `document \"budget\" has 1000 connections`)
	w.ticket(t, "acme", "bob", `"documentIds": ["plan"]`)
	w.handlers["wide"] = w.service.HandlerFor(collab.Identity{Account: "acme", Settings: collab.Settings{DocumentConnections: 1_001}})
	w.ticket(t, "wide", "bob", `"documentIds": ["budget"]`)

	w.handlers["few"] = w.service.HandlerFor(collab.Identity{Account: "acme", Settings: collab.Settings{LiveConnections: 1_019}})
	w.handlers["more"] = w.service.HandlerFor(collab.Identity{Account: "acme", Settings: collab.Settings{LiveConnections: 1_020}})
	exhausted("few", "bob", `"inbox": true`, "the account has 1019 connections")
	w.ticket(t, "more", "bob", `"inbox": true`)
	w.clock.move(collab.ConnectionLifetime + 10*time.Minute)
	w.ticket(t, "few", "ann", `"documentIds": ["budget"]`)
	got, err := w.kept.Connected(t.Context(), collab.Settings{}, collab.Watch{Account: "acme", Organization: "org", User: "ann", Documents: []string{"budget"}}, true)
	if diff := cmp.Diff(collab.Connected{Documents: map[string]int{"budget": 0}}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestFlood checks that concurrent use of many tickets cannot exceed the limit of connections.
func TestFlood(t *testing.T) {
	w := newWorld(t)
	urls := make([]string, 60)
	for i := range urls {
		urls[i] = w.ticket(t, "acme", "ann", `"documentIds": ["plan"]`)
	}
	var connected atomic.Int64
	var all sync.WaitGroup
	for _, url := range urls {
		all.Go(func() {
			if _, err := dial(t, url); err == nil {
				connected.Add(1)
			}
		})
	}
	all.Wait()
	if n := connected.Load(); n > collab.MaxUserConnections || int64(len(w.connections(t, "ann"))) != n {
		t.Errorf("%d connections, %d are kept", n, len(w.connections(t, "ann")))
	}
}

// TestRemoved checks that a person whose access is taken away gets no hint after that, and that
// their connections end: with the next hint, or when the change of access is read. Others, and the
// person elsewhere, keep theirs.
func TestRemoved(t *testing.T) {
	w := newWorld(t)
	w.post(t, "acme", "/v2/organizations/folders/add", `{"organizationId": "org", "folders": [{"folderId": "f", "folderName": "F"}]}`)
	w.post(t, "acme", "/v2/organizations/documents/add", `{"organizationId": "org", "folderId": "f", "documents": [{"documentId": "filed", "documentName": "F"}]}`)
	w.post(t, "acme", "/v2/organizations/documents/access/update", `{"organizationId": "org", "documentIds": ["filed", "budget"], "accessType": "restricted"}`)
	const (
		organization = `{"type": "organization", "id": "org"}`
		folder       = `{"type": "folder", "id": "f", "organizationId": "org"}`
		budget       = `{"type": "document", "id": "budget", "organizationId": "org"}`
	)
	deleted := func(user, from string) (path, data string) {
		return "/v2/users/delete", `{"organizationId": "org", ` + from + `"userIds": ["` + user + `"]}`
	}
	ungranted := func(user, resource string) (path, data string) {
		return "/v2/auth/permissions/remove", `{"userId": "` + user + `", "permissions": {"resources": [` + resource + `]}}`
	}
	for i, test := range []struct {
		granted, document string
		remove            func(user, from string) (path, data string)
		from              string
		all               bool // of the organization
	}{
		{organization, "plan", deleted, "", true},
		{budget, "budget", deleted, "", true},
		{folder, "filed", deleted, `"folderId": "f", `, false},
		{budget, "budget", deleted, `"documentId": "budget", `, false},
		{folder, "filed", ungranted, folder, false},
		{budget, "budget", ungranted, budget, false},
	} {
		for _, hinted := range []bool{false, true} { // the first removal of the organization is not cached
			user, other := fmt.Sprint("ann", i, hinted), fmt.Sprint("bob", i, hinted)
			for _, u := range []string{user, other} {
				w.post(t, "acme", "/v2/auth/permissions/add", `{"user": {"userId": "`+u+`"}, "permissions": {"resources": [`+test.granted+`]}}`)
			}
			w.take(t)
			watch := `"documentIds": ["` + test.document + `"]`
			ends, stays := []page{w.connect(t, "acme", user, watch)}, []page{w.connect(t, "acme", other, watch)}
			for _, elsewhere := range []string{`"inbox": true`, `"documentIds": ["plan"]`} {
				if p := w.connect(t, "acme", user, elsewhere); test.all {
					ends = append(ends, p)
				} else {
					stays = append(stays, p)
				}
			}
			path, data := test.remove(user, test.from)
			w.post(t, "acme", path, data)
			if hinted {
				w.clock.move(directory.CacheTTL)
				w.written.take()
				must.Do(t, w.hints.Take(t.Context(), []keys.Key{
					keys.Annotation(w.document(t, test.document), "a"), keys.Annotation(w.document(t, "plan"), "a"),
					keys.UserNotification(w.document(t, "plan").OrganizationRef, user, 1<<40, "n"),
				}))
				stays[0].expect(t, `{"changed":{"documentId":"`+test.document+`"}}`)
				if !test.all {
					stays[1].expect(t, inbox)
					stays[2].expect(t, plan)
				}
			} else {
				w.take(t)
			}
			for j, p := range ends {
				if got := p.read(t); got != "" {
					t.Errorf("%s %s, hinted %v: connection %d reads %q", path, data, hinted, j, got)
				}
			}
			for _, p := range stays {
				p.still(t)
			}
			if n := len(w.connections(t, user)); n != len(stays)-1 {
				t.Errorf("%s %s, hinted %v: %d connections are kept, want %d", path, data, hinted, n, len(stays)-1)
			}
		}
	}
}

// document returns a document of acme.
func (w *world) document(t testing.TB, id string) collab.DocumentRef {
	t.Helper()
	doc, err := w.service.Directory.OpenDocument(t.Context(), "acme", "org", id, collab.CreateFlags{})
	must.Do(t, err)
	return doc
}

// TestRefused checks that the next hint ends the connections to something disabled or deleted.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct{ path, data string }{
		{"/v2/organizations/documents/access/disablestate/update", `{"organizationId": "org", "documentIds": ["plan"], "disabled": %v}`},
		{"/v2/organizations/access/disablestate/update", `{"organizationIds": ["org"], "disabled": %v}`},
		{"", ""},
	} {
		disable := func(off bool) {
			t.Helper()
			if test.path != "" {
				w.post(t, "acme", test.path, fmt.Sprintf(test.data, off))
			} else if _, err := w.service.Accounts.ChangeAccount(t.Context(), "acme", func(a *collab.Account) error { a.Disabled = off; return nil }); err != nil {
				t.Fatal(err)
			}
			w.clock.move(directory.CacheTTL)
		}
		written := []keys.Key{keys.Annotation(w.document(t, "plan"), "a")}
		p := w.connect(t, "acme", "ann", `"documentIds": ["plan"]`)
		disable(true)
		must.Do(t, w.hints.Take(t.Context(), written))
		p.expect(t, "")
		disable(false)
	}
	p, written := w.connect(t, "acme", "ann", `"documentIds": ["plan"]`), []keys.Key{keys.Annotation(w.document(t, "plan"), "a")}
	w.post(t, "acme", "/v2/organizations/documents/delete", `{"organizationId": "org", "documentIds": ["plan"]}`)
	w.clock.move(directory.CacheTTL)
	must.Do(t, w.hints.Take(t.Context(), written))
	p.expect(t, "")
}

// TestSilentProvider checks that connections stay, with hints, while the permission provider gives
// no answer, except those of a person who was removed. Its answer ends them, also if it gives none
// about others.
func TestSilentProvider(t *testing.T) {
	w := newWorld(t)
	var answers atomic.Value
	answers.Store(`{"userIds": ["ann", "bob"]}`)
	provider := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err != nil || strings.Contains(string(body), `"u49"`) {
			return
		}
		_, _ = out.Write([]byte(answers.Load().(string)))
	}))
	defer provider.Close()
	must.Do(t, w.service.Accounts.SetPermissionProvider(t.Context(), "acme", &collab.PermissionProvider{URL: provider.URL, Secret: "s"}))
	ann, bob := w.connect(t, "acme", "ann", `"documentIds": ["plan"]`), w.connect(t, "acme", "bob", `"documentIds": ["plan"]`)
	removed, stays := w.connect(t, "acme", "ann", `"documentIds": ["budget"]`), w.connect(t, "acme", "bob", `"documentIds": ["budget"]`)
	w.post(t, "acme", "/v2/users/add", `{"organizationId": "org", "documentId": "budget", "users": [{"userId": "ann"}]}`)
	answers.Store("no JSON")
	w.comment(t, "plan")
	w.take(t)
	ann.expect(t, plan)
	bob.expect(t, plan)
	w.post(t, "acme", "/v2/users/delete", `{"organizationId": "org", "documentId": "budget", "userIds": ["ann"]}`)
	w.clock.move(directory.CacheTTL)
	w.written.take()
	must.Do(t, w.hints.Take(t.Context(), []keys.Key{keys.Annotation(w.document(t, "budget"), "a")}))
	removed.expect(t, "")
	stays.expect(t, `{"changed":{"documentId":"budget"}}`)
	ann.still(t)
	bob.still(t)
	answers.Store(`{"userIds": ["bob"]}`)
	for i := range 50 { // with ann and bob, of two questions
		must.Do(t, w.kept.Connect(t.Context(), collab.Connection{ID: rand.Text(), At: w.clock.now().UnixMilli(), Watch: collab.Watch{
			Account: "acme", Organization: "org", User: fmt.Sprintf("u%02d", i), Documents: []string{"plan"},
		}}))
	}
	w.comment(t, "plan")
	w.take(t)
	ann.expect(t, "")
	bob.expect(t, plan)
}

// TestSlowProvider checks that a permission provider of one account that answers slowly, but
// without time-outs, delays the hints of others by few seconds. Removed users get no hint then.
func TestSlowProvider(t *testing.T) {
	w := newWorld(t)
	var slow atomic.Bool
	provider := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if slow.Load() {
			select {
			case <-time.After(1500 * time.Millisecond):
			case <-r.Context().Done():
			}
		}
		_, _ = out.Write([]byte(`{"userIds": ["ann"]}`))
	}))
	defer provider.Close()
	must.Do(t, w.service.Accounts.SetPermissionProvider(t.Context(), "acme", &collab.PermissionProvider{URL: provider.URL, Secret: "s"}))
	theirs := w.connect(t, "other", "ann", `"documentIds": ["plan"]`)
	written := []keys.Key{}
	for i := range 160 {
		id := fmt.Sprint("d", i)
		w.post(t, "acme", "/v2/organizations/documents/add", `{"organizationId": "org", "documents": [{"documentId": "`+id+`", "documentName": "D"}]}`)
		for _, user := range []string{"ann", "bob"} {
			must.Do(t, w.kept.Connect(t.Context(), collab.Connection{ID: rand.Text(), At: w.clock.now().UnixMilli(), Watch: collab.Watch{
				Account: "acme", Organization: "org", User: user, Documents: []string{id},
			}}))
		}
		written = append(written, keys.Annotation(w.document(t, id), "a"))
	}
	other, err := w.service.Directory.OpenDocument(t.Context(), "other", "org", "plan", collab.CreateFlags{})
	must.Do(t, err)
	w.post(t, "acme", "/v2/users/add", `{"organizationId": "org", "users": [{"userId": "bob"}]}`)
	w.post(t, "acme", "/v2/users/delete", `{"organizationId": "org", "userIds": ["bob"]}`)
	w.clock.move(directory.CacheTTL)
	slow.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if w.hints.Take(ctx, written[:1]) == nil {
		t.Error("a call that ended early must be repeated")
	}
	began := time.Now()
	must.Do(t, w.hints.Take(t.Context(), append(written, keys.Annotation(other, "a"))))
	theirs.expect(t, plan)
	if took := time.Since(began); took > 10*time.Second { // 160 answers, 16 at once, would take 15
		t.Errorf("others got their hints after %v", took)
	}
	ended := len(w.gateway.posted) - len(slices.DeleteFunc(w.gateway.posted, func(text string) bool { return text == "" }))
	if ended != len(written) {
		t.Errorf("%d connections of the removed user ended, want %d", ended, len(written))
	}
}

// TestLifetime checks that a connection older than two hours gets no hints.
func TestLifetime(t *testing.T) {
	w := newWorld(t)
	old := w.connect(t, "acme", "ann", `"documentIds": ["plan"]`)
	w.clock.move(collab.ConnectionLifetime)
	w.comment(t, "plan")
	w.take(t)
	old.still(t)
}

// TestUnits checks that a write without watchers costs half a read unit and no write, and the cost
// of a hint's rights. TestCosts of package app covers the write itself.
func TestUnits(t *testing.T) {
	w := newWorld(t)
	org := collab.OrganizationRef{Account: "acme", Organization: "org"}
	doc := org.Document("plan")
	for what, written := range map[string][]keys.Key{
		"a comment":  {keys.Annotation(doc, "a"), keys.Comment(doc, "a", 1), keys.Task(collab.TaskRef{Kind: collab.EventTask, Account: "acme", ID: "e"}), keys.AnnotationID(doc, "a")},
		"read state": {keys.ReadState(doc, "ann")},
		"an inbox":   {keys.UserNotification(org, "ann", 1<<40, "n")},
		"a document": {keys.Document(org, "plan")},
		"a user":     {keys.Member(org, "ann")},
		"an event":   {keys.Task(collab.TaskRef{Kind: collab.EventTask, Account: "acme", ID: "e"})},
	} {
		usage := new(collab.Usage)
		must.Do(t, w.hints.Take(collab.WithUsage(t.Context(), usage), written))
		if read, write, _ := usage.Total(); read > 0.5 || write > 0 {
			t.Errorf("%s: %v read units, %v write units", what, read, write)
		}
	}
	w.connect(t, "acme", "ann", `"documentIds": ["plan"]`)
	usage := new(collab.Usage)
	w.clock.move(directory.CacheTTL)
	must.Do(t, w.hints.Take(collab.WithUsage(t.Context(), usage), []keys.Key{keys.Annotation(doc, "a")}))
	if read, write, _ := usage.Total(); read > 3.5 || write > 0 {
		t.Errorf("a hint: %v read units, %v write units", read, write)
	} else {
		t.Logf("a hint: %v read units", read)
	}
}

// TestLap checks that there are at most three hints per second about a document.
func TestLap(t *testing.T) {
	w := newWorld(t)
	_, hints := live.New(live.Config{})
	w.hints.Lap = hints.Lap
	p := w.connect(t, "acme", "ann", `"documentIds": ["plan"]`)
	began := time.Now()
	for range 2 {
		for range 5 {
			w.comment(t, "plan")
		}
		w.take(t)
		p.expect(t, plan)
	}
	if took := time.Since(began); took < 2*time.Second/3 {
		t.Errorf("two hints and what lies between take %v", took)
	}
	p.still(t)
}
