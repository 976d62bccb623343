package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/testing/must"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"golang.org/x/net/dns/dnsmessage"
)

// brief is the timeout of requests that must time out.
const brief = 100 * time.Millisecond

func loopback() *Guard { return NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}) }

// receive starts a TLS receiver and returns it with options that trust its certificate.
func receive(t *testing.T, handle http.HandlerFunc) (*httptest.Server, ClientOptions) {
	t.Helper()
	server := httptest.NewUnstartedServer(handle)
	server.Config.ErrorLog = log.New(t.Output(), "receiver: ", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return server, ClientOptions{RootCAs: roots}
}

func deliver(t *testing.T, c *Client, url string) Attempt {
	t.Helper()
	attempt, err := c.Deliver(
		t.Context(), time.Now(), Message{URL: url, ID: "event1", Secrets: []string{published.secret}, Body: []byte(`{"a":1}`)},
	)
	must.Do(t, err)
	return attempt
}

func TestDeliver(t *testing.T) {
	var got http.Header
	var verified error
	server, options := receive(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.String() != "/hooks?a=b" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		got = r.Header
		receiver, err := standardwebhooks.NewWebhook(published.secret)
		if err != nil {
			t.Error(err)
			return
		}
		verified = receiver.Verify(body, r.Header)
	})
	attempt := deliver(t, NewClient(loopback(), options), server.URL+"/hooks?a=b")
	if attempt != (Attempt{Outcome: Delivered, Status: 200}) {
		t.Errorf("attempt %+v", attempt)
	}
	if verified != nil {
		t.Errorf("signature: %v", verified)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Webhook-Id": "event1", "User-Agent": "collabdata", "Idempotency-Key": "",
	} {
		if got.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Get(name), want)
		}
	}
}

func TestDeliverOutcomes(t *testing.T) {
	hijack := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			io.WriteString(conn, answer)
			conn.Close()
		}
	}
	const broken = "the connection ended without a complete answer"
	for _, test := range []struct {
		name   string
		handle http.HandlerFunc
		want   Attempt
	}{
		{"fails", answering(500, nil), Attempt{Outcome: Failed, Status: 500, Reason: "answered 500 Internal Server Error"}},
		{"redirects", answering(302, http.Header{"Location": {"https://example.com/"}}),
			Attempt{Outcome: Failed, Status: 302, Reason: "answered 302 Found: redirects are not followed"}},
		{"redirects to nowhere", answering(307, http.Header{"Location": {"https://%zz/"}}),
			Attempt{Outcome: Failed, Status: 307, Reason: "answered 307 Temporary Redirect: redirects are not followed"}},
		{"is gone", answering(410, nil), Attempt{Outcome: Gone, Status: 410, Reason: "answered 410 Gone"}},
		{"is busy", answering(429, http.Header{"Retry-After": {"120"}}),
			Attempt{Outcome: Failed, Status: 429, Reason: "answered 429 Too Many Requests", RetryAfter: 2 * time.Minute}},
		{"fails with a text", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			io.WriteString(w, "\x1b"+strings.Repeat("x", MaxAnswer))
		}, Attempt{
			Outcome: Failed, Status: 400, Reason: "answered 400 Bad Request", Answer: "\uFFFD" + strings.Repeat("x", collab.MaxDeliveryAnswer-3),
		}},
		{"succeeds with a text", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }, Attempt{Outcome: Delivered, Status: 200}},
		{"hangs", hang, Attempt{Outcome: Failed, Reason: "no complete answer within 100ms"}},
		{"hangs in its answer", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			hang(w, r)
		}, Attempt{Outcome: Failed, Reason: "no complete answer within 100ms"}},
		{"closes", hijack(""), Attempt{Outcome: Failed, Reason: broken}},
		{"resets", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			tcp := conn.(interface{ NetConn() net.Conn }).NetConn().(*net.TCPConn)
			tcp.SetLinger(0)
			tcp.Close()
		}, Attempt{Outcome: Failed, Reason: broken}},
		{"breaks off", hijack("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), Attempt{Outcome: Failed, Reason: broken}},
		{"speaks no HTTP", hijack("220 mail.example ESMTP\r\n"), Attempt{Outcome: Failed, Reason: broken}},
		{"sends endless headers", hijack("HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 64<<10) + "\r\n\r\n"), Attempt{Outcome: Failed, Reason: broken}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server, options := receive(t, test.handle)
			if strings.Contains(test.want.Reason, "within") {
				options.Timeout = brief
			}
			got := deliver(t, NewClient(loopback(), options), server.URL)
			if (got.Err != nil) != (got.Status == 0) {
				t.Errorf("status %d with error %v", got.Status, got.Err)
			}
			got.Err = nil
			if got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

// hang waits until the sender disconnects, which the server detects only after reading the request.
func hang(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func answering(status int, header http.Header) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
	}
}

func TestDeliverReadsLittle(t *testing.T) {
	sent := make(chan int, 1)
	server, options := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		n, chunk := 0, make([]byte, 1<<20)
		for n < 100<<20 {
			k, err := w.Write(chunk)
			if n += k; err != nil {
				break
			}
		}
		sent <- n
	})
	if got := deliver(t, NewClient(loopback(), options), server.URL); got.Outcome != Delivered {
		t.Errorf("attempt %+v", got)
	}
	if n := <-sent; n > 20<<20 { // maximum that the system buffers for a local connection
		t.Errorf("the receiver got rid of %d MB", n>>20)
	}

	answer, err := NewClient(loopback(), options).Post(t.Context(), server.URL, nil, nil)
	if err != nil || len(answer.Body) != MaxAnswer {
		t.Errorf("%d bytes of body, error %v; want %d", len(answer.Body), err, MaxAnswer)
	}
	<-sent
}

func TestDeliverTimesOutBeforeAnswer(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	must.Do(t, err)
	defer listener.Close() // accepts connections and never responds
	deaf, err := net.ListenPacket("udp4", "127.0.0.1:0")
	must.Do(t, err)
	defer deaf.Close()
	for name, test := range map[string]struct {
		url      string
		resolver *net.Resolver
	}{
		"in TLS": {"https://" + listener.Addr().String(), nil},
		"in DNS": {"https://receiver.example/", resolverAt(deaf.LocalAddr().String())},
	} {
		got := deliver(t, NewClient(loopback(), ClientOptions{Timeout: brief, Resolver: test.resolver}), test.url)
		if got.Outcome != Failed || got.Reason != "no complete answer within 100ms" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestDeliverChecksCertificates(t *testing.T) {
	server, _ := receive(t, answering(200, nil))
	got := deliver(t, NewClient(loopback(), ClientOptions{}), server.URL)
	if got.Outcome != Failed || got.Reason != "its TLS certificate is not valid" {
		t.Errorf("%+v", got)
	}
}

// TestDeliverAfterStaleConnection uses a receiver that keeps each connection open after one
// response, and closes it at the next request.
func TestDeliverAfterStaleConnection(t *testing.T) {
	var connections sync.Map
	server, options := receive(t, func(_ http.ResponseWriter, r *http.Request) {
		if _, stale := connections.LoadOrStore(r.RemoteAddr, true); stale {
			panic(http.ErrAbortHandler)
		}
	})
	client := NewClient(loopback(), options)
	for i := range 3 {
		if got := deliver(t, client, server.URL); got.Outcome != Delivered {
			t.Errorf("delivery %d: %+v", i, got)
		}
	}
}

func TestDeliverEndsWithItsContext(t *testing.T) {
	arrived := make(chan bool)
	server, options := receive(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		hang(w, r)
	})
	shutdown := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-arrived
		cancel(shutdown)
	}()
	attempt, err := NewClient(
		loopback(), options,
	).Deliver(ctx, time.Now(), Message{URL: server.URL, ID: "a", Secrets: []string{published.secret}})
	if err != shutdown || attempt != (Attempt{}) {
		t.Errorf("attempt %+v, error %v; the endpoint is not to blame", attempt, err)
	}
}

// TestNoProxy sends from a separate process, because a process reads the variables once. It sends
// to a name, because the default transport uses no proxy for 127.0.0.1.
func TestNoProxy(t *testing.T) {
	if os.Getenv("WEBHOOK_BEHIND_PROXY") != "" {
		receiver := httptest.NewServer(answering(204, nil))
		defer receiver.Close()
		client := NewClient(loopback(), ClientOptions{Resolver: serveDNS(t, "127.0.0.1").resolver()})
		if got := deliver(t, client, "http://receiver.example:"+portOf(t, receiver.URL)); got.Status != 204 {
			t.Errorf("%+v", got)
		}
		return
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the proxy got %s", r.URL) }))
	defer proxy.Close()
	child := exec.Command(os.Args[0], "-test.run=^TestNoProxy$")
	child.Env = append(
		os.Environ(), "WEBHOOK_BEHIND_PROXY=1", "HTTP_PROXY="+proxy.URL, "HTTPS_PROXY="+proxy.URL, "ALL_PROXY="+proxy.URL, "NO_PROXY=",
	)
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestRefusedWhenDialled calls names with refused addresses, and literal addresses. A receiver
// listens on 127.0.0.1.
func TestRefusedWhenDialled(t *testing.T) {
	secure, options := receive(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the receiver got %s", r.URL) })
	plain := httptest.NewServer(secure.Config.Handler)
	defer plain.Close()
	const unreachable = "could not connect: the host must lead to a public address that accepts connections"

	for _, addr := range []string{
		"127.0.0.1", "0.0.0.0", "169.254.169.254", "10.0.0.1", "::1", "::ffff:127.0.0.1", "::7f00:1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1",
		"2002:7f00:1::", "2001:0:7f00:1::", "2600::5efe:7f00:1", "fd00:ec2::254", "fe80::1",
	} {
		dns := serveDNS(t, addr)
		options.Resolver = dns.resolver()
		got := deliver(t, NewClient(NewGuard(nil), options), "https://receiver.example:"+portOf(t, secure.URL))
		if got.Outcome != Failed || got.Reason != unreachable || !errors.Is(got.Err, errRefusedAddress) {
			t.Errorf("a name for %s: %+v", addr, got)
		}
	}

	options.Resolver = serveDNS(t, "127.0.0.1").resolver()
	listed := NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")})
	if got := deliver(t, NewClient(listed, options), "http://receiver.example:"+portOf(t, plain.URL)); !errors.Is(got.Err, errRefusedAddress) {
		t.Errorf("http to a name outside the list: %+v", got)
	}
	if got := deliver(t, NewClient(listed, options), "https://receiver.example:"+portOf(t, secure.URL)); !errors.Is(
		got.Err, errRefusedAddress,
	) {
		t.Errorf("https to a name outside the list: %+v", got)
	}

	got := deliver(t, NewClient(NewGuard(nil), options), secure.URL)
	if want := "the URL must not name a private, local or reserved address"; got.Outcome != Failed || got.Reason != want {
		t.Errorf("a literal address: %+v, want %q", got, want)
	}
}

// TestNameThatChangesItsAnswer checks that the address of a name at registration is irrelevant.
func TestNameThatChangesItsAnswer(t *testing.T) {
	secure, options := receive(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the receiver got %s", r.URL) })
	url := "https://receiver.example:" + portOf(t, secure.URL)
	dns := serveDNS(t, "93.184.215.14", "127.0.0.1")
	options.Resolver = dns.resolver()
	guard := NewGuard(nil)

	must.Do(t, guard.CheckURL(url))
	registered, err := options.Resolver.LookupNetIP(t.Context(), "ip4", "receiver.example")
	if err != nil || len(registered) != 1 || guard.checkAddr(registered[0], false) != nil {
		t.Fatalf("at first the name leads to %v, error %v; want a public address", registered, err)
	}
	if got := deliver(t, NewClient(guard, options), url); !errors.Is(got.Err, errRefusedAddress) {
		t.Errorf("%+v", got)
	}
	if n := dns.answered.Load(); n != 2 {
		t.Errorf("%d answers for the address of the name, want 2: one when registered, one when dialled", n)
	}
}

// TestReasonsTellNoResolverDetail checks that unknown names, refused addresses and closed ports
// give the same reason.
func TestReasonsTellNoResolverDetail(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	must.Do(t, err)
	listener.Close() // no server listens there anymore
	url := "https://db.internal.example:" + portOf(t, "http://"+listener.Addr().String())
	reasons := make(map[string][]string)
	for name, client := range map[string]*Client{
		"no such name":    NewClient(loopback(), ClientOptions{Resolver: serveDNS(t).resolver()}),
		"refused address": NewClient(loopback(), ClientOptions{Resolver: serveDNS(t, "10.0.0.7").resolver()}),
		"nothing listens": NewClient(loopback(), ClientOptions{Resolver: serveDNS(t, "127.0.0.1").resolver()}),
	} {
		got := deliver(t, client, url)
		if got.Err == nil {
			t.Errorf("%s: the log learns no cause", name)
		}
		reasons[got.Reason] = append(reasons[got.Reason], name)
	}
	if len(reasons) != 1 {
		t.Errorf("reasons differ: %v", reasons)
	}
}

func portOf(t *testing.T, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	must.Do(t, err)
	return u.Port()
}

// dnsServer answers for every name with its addresses in order, one per question of a family, then
// repeats the last.
type dnsServer struct {
	at       string
	addrs    []netip.Addr
	answered atomic.Int32
}

func (s *dnsServer) resolver() *net.Resolver { return resolverAt(s.at) }

// resolverAt returns a resolver that uses the server at a UDP address.
func resolverAt(address string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp4", address)
	}}
}

// serveDNS starts a name server on 127.0.0.1. Without addresses, no name exists.
func serveDNS(t *testing.T, addrs ...string) *dnsServer {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	must.Do(t, err)
	s := &dnsServer{at: conn.LocalAddr().String()}
	for _, addr := range addrs {
		s.addrs = append(s.addrs, netip.MustParseAddr(addr))
	}
	done := make(chan error)
	go func() { done <- s.serve(conn) }()
	t.Cleanup(func() {
		conn.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Errorf("name server: %v", err)
		}
	})
	return s
}

func (s *dnsServer) serve(conn net.PacketConn) error {
	buf := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return err
		}
		answer, err := s.answer(buf[:n])
		if err != nil {
			return fmt.Errorf("question of %d bytes: %w", n, err)
		}
		if _, err := conn.WriteTo(answer, from); err != nil {
			return err
		}
	}
}

func (s *dnsServer) answer(question []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return nil, err
	}
	m.Header.Response, m.Header.RCode, m.Additionals = true, dnsmessage.RCodeSuccess, nil
	if len(s.addrs) == 0 {
		m.Header.RCode = dnsmessage.RCodeNameError
		return m.Pack()
	}
	addr := s.addrs[min(int(s.answered.Load()), len(s.addrs)-1)]
	q := m.Questions[0]
	header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
	switch {
	case q.Type == dnsmessage.TypeA && addr.Is4():
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}}}
	case q.Type == dnsmessage.TypeAAAA && addr.Is6():
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}}}
	default:
		return m.Pack()
	}
	s.answered.Add(1)
	return m.Pack()
}
