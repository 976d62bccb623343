//go:build e2e

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"collabdata/shared/client"
	"collabdata/shared/collab"
)

// attack is an attempt by one account to slow down, stop or crash the service for others.
type attack struct {
	name     string
	webhooks string             // target of its endpoints: "" for none, slow or closed
	prepare  func(*arena) error // may be nil
	calls    []call             // repeated
	clients  int                // concurrent callers
}

type call struct{ path, data string }

// Targets of endpoints.
const (
	slow   = "slow"   // responds after slowAnswer
	closed = "closed" // no server listens
)

const (
	slowAnswer   = 12 * time.Second
	mostResident = 400_000_000 // bytes
	maxEndpoint  = collab.MaxWebhooks
)

// attacks lists attacks that once succeeded. Updates use twenty times as many threads as one call
// adds.
func attacks(threads int) []attack {
	var bolds strings.Builder
	for i := range 500 {
		fmt.Fprintf(&bolds, "<b %d>", i)
	}
	html := strconv.Quote("<p>" + bolds.String() + strings.Repeat("<p>x", 1_000))
	comments := func(id string, n int) call {
		list := slices.Repeat([]string{`{"commentHtml":` + html + `,"from":{"userId":"ann"},"triggerNotification":true,
			"taggedUserContacts":[{"userId":"bob","contact":{"userId":"bob","email":"bob@example.com"}}]}`}, n)
		return call{"/v2/commentannotations/add", `{` + target + `,"commentAnnotations":[{"commentData":[` + strings.Join(list, ",") + `]}]}`}
	}
	readers := make([]string, 10)
	for i := range readers {
		readers[i] = fmt.Sprintf(`{"userId":"reader%d","email":"reader%d@example.com"}`, i, i)
	}
	notification := func(template, value int, to string) call {
		return call{"/v2/notifications/add", `{` + target + `,"actionUser":{"userId":"ann"},"displayHeadlineMessageTemplate":` +
			strconv.Quote(
				strings.Repeat("{a}", template),
			) + `,"displayHeadlineMessageTemplateData":{"a":` + strconv.Quote(strings.Repeat("v", value)) + `},` + to + `}`}
	}
	inbox := notification(20_000, 30_000, `"notifyAll":true`)
	thread := `{"commentData":[{"commentText":"x","from":{"userId":"ann"},"triggerNotification":true}]}`
	events := call{
		"/v2/commentannotations/add",
		`{` + target + `,"commentAnnotations":[` + strings.Join(slices.Repeat([]string{thread}, threads), ",") + `]}`,
	}
	return []attack{
		{
			name:    "template",
			clients: 8,
			calls:   []call{notification(4_333, 13_000, `"notifyAll":false,"notifyUsers":[`+strings.Join(readers, ",")+`]`)},
		},
		{name: "html", clients: 8, calls: []call{comments("a", 10), comments("b", 32)}},
		{
			name:    "inbox",
			clients: 4,
			calls:   []call{{"/v2/notifications/get", `{"organizationId":"acme","userId":"bob"}`}},
			prepare: func(a *arena) error {
				return a.addAll(slices.Repeat([]call{inbox}, 50))
			},
		},
		{name: "slow-endpoints", clients: 1, webhooks: slow, calls: []call{events}},
		{name: "closed-ports", clients: 1, webhooks: closed, calls: []call{events}},
		{name: "update-all", clients: 1, webhooks: closed,
			calls: []call{
				{
					"/v2/commentannotations/update",
					`{"organizationId":"acme","documentId":"plan","triggerNotification":true,"updatedData":{"priority":{"id":"high","name":"High"}}}`,
				},
			},
			prepare: func(a *arena) error {
				quiet := call{events.path, strings.ReplaceAll(events.data, `,"triggerNotification":true`, "")}
				return a.addAll(slices.Repeat([]call{quiet}, 20))
			}},
	}
}

const target = `"organizationId":"acme","documentId":"plan","createOrganization":true,"createDocument":true`

// arena is a server with an attacking account and a victim.
type arena struct {
	*server
	t                testing.TB
	attacker, victim *client.Client
	admin            func(args ...string)

	mu      sync.Mutex
	arrived map[string]chan time.Time // by notification, at the victim's endpoint
	codes   map[int]int               // the attacker's responses by HTTP status
	strange string                    // a response other than 200 or 429
}

// newArena builds and starts the server. The test binary is unsuitable, because the race detector
// takes memory.
func newArena(t testing.TB) *arena {
	t.Helper()
	data := t.TempDir()
	programs := build(t, ".", "../admin")
	cmd := command(t, data)
	cmd.Path = filepath.Join(programs, "local")
	a := &arena{server: launch(t, cmd), t: t, arrived: map[string]chan time.Time{}, codes: map[int]int{}}
	a.attacker = client.New(client.Config{BaseURL: a.url, APIKey: "dev-key", AuthToken: "dev-token"})
	a.victim = client.New(client.Config{BaseURL: a.url, APIKey: "dev-key-2", AuthToken: "dev-token-2"})
	a.admin = func(args ...string) { runAdmin(t, programs, data, args...) }
	hook := httptest.NewServer(http.HandlerFunc(a.receive))
	t.Cleanup(hook.Close)
	a.must(a.victim, call{"/v2/webhooks/add", `{"webhookId":"crm","url":"` + hook.URL + `"}`})
	a.must(
		a.victim,
		call{
			"/v2/commentannotations/add",
			`{` + target + `,"commentAnnotations":[{"commentData":[{"commentText":"x","from":{"userId":"ann"}}]}]}`,
		},
	)
	return a
}

// build builds programs, and returns their folder.
func build(t testing.TB, packages ...string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", dir + "/"}, packages...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// runAdmin runs the operator's program on the server of a data folder.
func runAdmin(t testing.TB, programs, data string, args ...string) {
	t.Helper()
	args = append([]string{"-c", `. "$0" && exec "$@"`, filepath.Join(data, "env"), filepath.Join(programs, "admin")}, args...)
	if out, err := exec.CommandContext(t.Context(), "sh", args...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
}

// receive is the victim's endpoint.
func (a *arena) receive(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, got := range a.arrived {
		if bytes.Contains(body, []byte(`"`+id+`"`)) {
			got <- time.Now()
			delete(a.arrived, id) // it may be repeated
		}
	}
}

func (a *arena) must(c *client.Client, call call) []byte {
	a.t.Helper()
	status, body, err := send(a.t.Context(), c, call)
	if err != nil || status != http.StatusOK {
		a.t.Fatalf("%s: %d %.300s %v", call.path, status, body, err)
	}
	return body
}

// patient sends a call of the attacker, again each second while the quota refuses it.
func (a *arena) patient(call call) (status int, body []byte) {
	a.t.Helper()
	for {
		status, body, err := send(a.t.Context(), a.attacker, call)
		if err != nil {
			a.t.Fatalf("%s: %v", call.path, err)
		}
		if status != http.StatusTooManyRequests {
			return status, body
		}
		select {
		case <-a.t.Context().Done():
		case <-time.After(time.Second):
		}
	}
}

func send(ctx context.Context, c *client.Client, call call) (status int, body []byte, err error) {
	answer, err := c.Send(ctx, http.MethodPost, call.path, nil, []byte(`{"data":`+call.data+`}`))
	if err != nil {
		return 0, nil, err
	}
	return answer.Status, answer.Body, nil
}

// attack makes one of the attacker's calls, and counts the response.
func (a *arena) attack(ctx context.Context, c call) (status int) {
	status, body, err := send(ctx, a.attacker, c)
	if err != nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.codes[status]++
	if refused := status == http.StatusTooManyRequests && bytes.Contains(body, []byte(`"RESOURCE_EXHAUSTED"`)); status != http.StatusOK &&
		!refused {
		a.strange = fmt.Sprintf("%s: %d %.300s", c.path, status, body)
	}
	return status
}

// addAll makes calls before the attack. It ignores refusals for the quota.
func (a *arena) addAll(calls []call) error {
	for _, c := range calls {
		if status := a.attack(a.t.Context(), c); status != http.StatusOK && status != http.StatusTooManyRequests {
			return fmt.Errorf("%s", a.strange)
		}
	}
	return nil
}

// endpoints adds the maximum number of endpoints for the attacker.
func (a *arena) endpoints(which string) (n int) {
	if which == "" {
		return 0
	}
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // otherwise the end of the request is not detected
		select {
		case <-time.After(slowAnswer):
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	a.t.Cleanup(server.Close)
	a.t.Cleanup(func() { close(ended) })
	for i := range maxEndpoint {
		url := fmt.Sprintf("%s/%d", server.URL, i)
		if which == closed {
			l, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				a.t.Fatal(err)
			}
			url = "http://" + l.Addr().String()
			l.Close()
		}
		status, body := a.patient(call{"/v2/webhooks/add", fmt.Sprintf(`{"webhookId":"h%d","url":%q}`, i, url)})
		switch {
		case status == http.StatusOK:
			n++
		case !bytes.Contains(body, []byte(`"FAILED_PRECONDITION"`)):
			a.t.Fatalf("an endpoint: %d %s", status, body)
		}
	}
	return n
}

// forget deletes the attacker's endpoints.
func (a *arena) forget(n int) {
	a.t.Helper()
	for i := range n {
		if status, body := a.patient(call{"/v2/webhooks/delete", fmt.Sprintf(`{"webhookId":"h%d"}`, i)}); status != http.StatusOK {
			a.t.Fatalf("a deletion: %d %s", status, body)
		}
	}
}

// pass holds the victim's measurements.
type pass struct{ inbox, webhook, read time.Duration }

// patience limits the wait for required results.
const patience = 2 * time.Minute

// notify notifies a user of the victim. It returns the times until the notification is readable and
// the webhook arrives, and the slowest read meanwhile. A read without a response counts as
// patience. It fails if a request is refused.
func (a *arena) notify(id string) (p pass) {
	a.t.Helper()
	got := make(chan time.Time, 1)
	a.mu.Lock()
	a.arrived[id] = got
	a.mu.Unlock()
	start := time.Now()
	a.must(a.victim, call{"/v2/notifications/add", `{` + target + `,"notificationId":"` + id + `","actionUser":{"userId":"ann"},
		"displayHeadlineMessageTemplate":"Lunch","notifyAll":false,"notifyUsers":[{"userId":"bob"}]}`})
	for p.inbox == 0 || p.webhook == 0 {
		if time.Since(start) > patience {
			p.inbox, p.webhook = cmp.Or(p.inbox, patience), cmp.Or(p.webhook, patience)
			break
		}
		for _, c := range []call{{"/v2/commentannotations/get", `{"organizationId":"acme"}`}, {"/v2/notifications/get", `{"organizationId":"acme","userId":"bob"}`}} {
			began := time.Now()
			body := a.must(a.victim, c)
			p.read = max(p.read, time.Since(began))
			if p.inbox == 0 && bytes.Contains(body, []byte(`"notificationId":"`+id+`"`)) {
				p.inbox = time.Since(start)
			}
		}
		select {
		case at := <-got:
			p.webhook = at.Sub(start)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return p
}

var peak = regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`)

// resident returns the server's peak resident memory in bytes.
func (a *arena) resident() int {
	a.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.Process.Pid))
	if err != nil {
		a.t.Fatal(err)
	}
	m := peak.FindSubmatch(status)
	if m == nil {
		a.t.Fatalf("no peak in %s", status)
	}
	kilobytes, err := strconv.Atoi(string(m[1]))
	if err != nil {
		a.t.Fatal(err)
	}
	return kilobytes << 10
}

// raise gives the attacker the maximum quotas.
func (a *arena) raise() {
	a.admin("settings", "update", "dev", "--write-units-per-second=-1", "--events-per-minute=-1", "--mails-per-day=-1",
		fmt.Sprintf("--webhook-endpoints=%d", maxEndpoint))
}

// TestAttacks checks that the attacker gets responses, that the victim's notifications and webhooks
// arrive during each attack, and that the server's memory stays small.
func TestAttacks(t *testing.T) {
	a := newArena(t)
	a.raise()
	for i, k := range attacks(5) {
		t.Run(k.name, func(t *testing.T) {
			a.t = t
			if k.prepare != nil {
				if err := k.prepare(a); err != nil {
					t.Fatal(err)
				}
			}
			defer a.forget(a.endpoints(k.webhooks))
			for _, c := range k.calls {
				var wg sync.WaitGroup
				for range k.clients {
					wg.Go(func() { a.attack(t.Context(), c) })
				}
				wg.Wait()
			}
			if p := a.notify(fmt.Sprint("n", i)); p.inbox >= patience || p.webhook >= patience {
				t.Errorf("not everything came: %+v", p)
			}
			if a.strange != "" || a.codes[http.StatusOK] == 0 {
				t.Errorf("answers %v %s", a.codes, a.strange)
			}
			if got := a.resident(); got > mostResident {
				t.Errorf("%d MB were resident", got/1e6)
			}
		})
	}
}
