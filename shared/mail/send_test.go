package mail

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/collab"
	"collabdata/shared/platform"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// wire is a transport that records request bodies, and may replace or lose responses.
type wire struct {
	bodies  [][]byte
	answers []fault // to the first requests
}

type fault struct {
	status int
	code   string
	lost   bool // the server gets the request, its response is lost
}

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.bodies = append(w.bodies, body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if n := len(w.bodies); n <= len(w.answers) {
		f := w.answers[n-1]
		if f.lost {
			res, err := platform.AWSClient{Next: http.DefaultClient}.Do(r)
			if err != nil {
				return nil, err
			}
			res.Body.Close()
			return nil, io.ErrUnexpectedEOF
		}
		return &http.Response{
			StatusCode: f.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{"X-Amzn-Errortype": {f.code}, "Content-Type": {"application/json"}},
			Body:   io.NopCloser(strings.NewReader(`{"message":"as the test wants it"}`)),
		}, nil
	}
	return platform.AWSClient{Next: http.DefaultClient}.Do(r)
}

func config(url string, client aws.HTTPClient) aws.Config {
	cfg := localstacktest.Config(url)
	if client != nil {
		cfg.HTTPClient = client
	}
	return cfg
}

// sender returns a mailer with a unique, verified sender.
func sender(t *testing.T, url string, w *wire, unsubscribe string) (*Mailer, string) {
	t.Helper()
	address := strings.ToLower(rand.Text()) + "@collab.example"
	m, err := New(config(url, w), Options{From: "Größe & Co <" + address + ">", Unsubscribe: unsubscribe})
	must.Do(t, err)
	must.Do(t, CreateIdentity(t.Context(), config(url, nil), m.from.String()))
	return m, m.from.String()
}

func sentBy(t *testing.T, url, from string) []localstack.Mail {
	t.Helper()
	mails, err := localstack.Emails(t.Context(), url, localstack.Account)
	must.Do(t, err)
	var own []localstack.Mail
	for _, mail := range mails {
		if mail.From == from {
			mail.At = 0 // differs in each run
			own = append(own, mail)
		}
	}
	return own
}

func TestSend(t *testing.T) {
	url, w := localstacktest.MiniStack(t), new(wire)
	m, from := sender(t, url, w, "https://api.example/unsubscribe")
	n := notice(Event{
		Time: noon, Headline: "Zoë commented",
		Comments: []*collab.Comment{comment(1, "", "<p>Hello <b>you</b></p>")},
	})
	n.Account, n.Threads[0].AnnotationID, n.Unsubscribe = "acct/1", "thread", "TOKEN"
	n.Threads[0].Quote = "Sales\r\nBcc: victim@example.com"
	m.options.ConfigurationSet = "mails"
	content, err := m.Render(n)
	must.Do(t, err)
	must.Do(t, m.Send(t.Context(), n))
	want := []localstack.Mail{{
		From: from, To: []string{"bob@example.com"}, Subject: "Quarterly report · Sales Bcc: victim@example.com", Text: content.Text, HTML: content.HTML,
	}}
	if diff := cmp.Diff(want, sentBy(t, url, from), cmpopts.IgnoreFields(localstack.Mail{}, "At")); diff != "" {
		t.Errorf("mails of the sender (-want +got):\n%s", diff)
	}

	type header struct{ Name, Value string }
	var sent struct {
		FromEmailAddress     string
		ConfigurationSetName string
		EmailTags            []header
		Content              struct{ Simple struct{ Headers []header } }
	}
	if len(w.bodies) != 1 {
		t.Fatalf("%d requests, want 1", len(w.bodies))
	}
	must.Do(t, json.Unmarshal(w.bodies[0], &sent))
	sum := sha256.Sum256([]byte(n.Account + "\x00" + n.OrganizationID + "\x00\x00" + "thread"))
	thread := hex.EncodeToString(sum[:16])
	wantHeaders := []header{
		{"Auto-Submitted", "auto-generated"},
		{"References", "<" + thread + m.from.Address[strings.IndexByte(m.from.Address, '@'):] + ">"},
		{"List-Unsubscribe", "<https://api.example/unsubscribe?token=TOKEN>"},
		{"List-Unsubscribe-Post", "List-Unsubscribe=One-Click"},
	}
	if diff := cmp.Diff(wantHeaders, sent.Content.Simple.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if want := "=?utf-8?b?R3LDtsOfZSAmIENv?= <" + m.from.Address + ">"; sent.FromEmailAddress != want {
		t.Errorf("from %q, want %q", sent.FromEmailAddress, want)
	}
	if diff := cmp.Diff([]header{{"account", "sha256-82b84b82f40a78b61571f1e40425e307"}}, sent.EmailTags); diff != "" ||
		sent.ConfigurationSetName != "mails" {
		t.Errorf("configuration set %q, tags (-want +got):\n%s", sent.ConfigurationSetName, diff)
	}

	n.Account, n.Look.FromName = "acct_1-A", "Evil <evil@example.com>, x"
	m.options.ConfigurationSet = ""
	must.Do(t, m.Send(t.Context(), n))
	sent.EmailTags, sent.ConfigurationSetName = nil, ""
	must.Do(t, json.Unmarshal(w.bodies[1], &sent))
	if want := `"Evil <evil@example.com>, x" <` + m.from.Address + ">"; sent.FromEmailAddress != want || sent.ConfigurationSetName != "" {
		t.Errorf("from %q, want %q; configuration set %q", sent.FromEmailAddress, want, sent.ConfigurationSetName)
	}
	if diff := cmp.Diff([]header{{"account", "acct_1-A"}}, sent.EmailTags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func TestSendFaults(t *testing.T) {
	throttled, limited := fault{status: 429, code: "TooManyRequestsException"}, fault{status: 400, code: "LimitExceededException"}
	for _, test := range []struct {
		name     string
		faults   []fault
		requests int
		sent     int
		fails    bool
		rejected bool
		later    bool
	}{
		{name: "throttled twice", faults: []fault{throttled, throttled}, requests: 3, sent: 1},
		{name: "throttled without end", faults: []fault{throttled, throttled, throttled, throttled}, requests: 4, fails: true, later: true},
		{name: "beyond the limit of a day", faults: []fault{limited, limited, limited, limited}, requests: 4, fails: true, later: true},
		{name: "internal error", faults: []fault{{status: 500, code: "InternalServiceErrorException"}}, requests: 1, fails: true},
		{name: "unavailable", faults: []fault{{status: 503, code: "ServiceUnavailable"}}, requests: 1, fails: true},
		// not sent twice
		{name: "answer lost", faults: []fault{{lost: true}}, requests: 1, sent: 1, fails: true},
		{name: "account suspended", faults: []fault{{status: 400, code: "AccountSuspendedException"}}, requests: 1, fails: true},
		{name: "sending paused", faults: []fault{{status: 400, code: "SendingPausedException"}}, requests: 1, fails: true},
		{name: "domain not verified", faults: []fault{{status: 400, code: "MailFromDomainNotVerifiedException"}}, requests: 1, fails: true},
		{name: "no right to send", faults: []fault{{status: 403, code: "AccessDeniedException"}}, requests: 1, fails: true},
		{name: "message rejected", faults: []fault{{status: 400, code: "MessageRejected"}}, requests: 1, fails: true, rejected: true},
		{name: "bad request", faults: []fault{{status: 400, code: "BadRequestException"}}, requests: 1, fails: true, rejected: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url, w := localstacktest.MiniStack(t), &wire{answers: test.faults}
			m, from := sender(t, url, w, "")
			err := m.Send(t.Context(), notice(Event{Headline: "a"}))
			if (err != nil) != test.fails || errors.Is(err, ErrRejected) != test.rejected || errors.Is(err, ErrThrottled) != test.later {
				t.Errorf("error %v, want one: %t, rejected: %t, throttled: %t", err, test.fails, test.rejected, test.later)
			}
			if len(w.bodies) != test.requests {
				t.Errorf("%d requests, want %d", len(w.bodies), test.requests)
			}
			if n := len(sentBy(t, url, from)); n != test.sent {
				t.Errorf("%d mails sent, want %d", n, test.sent)
			}
		})
	}
}

func TestSendEndsWithItsContext(t *testing.T) {
	throttled := fault{status: 429, code: "TooManyRequestsException"}
	w := &wire{answers: []fault{throttled, throttled, throttled, throttled}}
	m, _ := sender(t, localstacktest.MiniStack(t), w, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := m.Send(ctx, notice(Event{Headline: "a"})); err == nil || errors.Is(err, ErrRejected) {
		t.Errorf("error %v, want one that is not a rejection", err)
	}
}

// TestUnverifiedSender checks that an email from an unverified sender is kept, because the operator
// can fix it.
func TestUnverifiedSender(t *testing.T) {
	m, err := New(config(localstacktest.MiniStack(t), nil), Options{From: "Nobody <nobody@unverified.example>"})
	must.Do(t, err)
	if err := m.Send(t.Context(), notice(Event{Headline: "a"})); err == nil || errors.Is(err, ErrRejected) {
		t.Errorf("error %v, want one that is not a rejection", err)
	}
}

// TestUnverifiedRecipient checks that in the sandbox of SES, an unverified recipient never gets an
// email.
func TestUnverifiedRecipient(t *testing.T) {
	server, err := localstack.StartMiniStack(t.Context(), localstack.MiniStackOptions{})
	must.Do(t, err)
	t.Cleanup(func() { server.Stop() })
	m, from := sender(t, server.URL, new(wire), "")
	_, err = sesv2.NewFromConfig(config(server.URL, nil)).PutAccountDetails(t.Context(), &sesv2.PutAccountDetailsInput{
		MailType: "TRANSACTIONAL", WebsiteURL: aws.String("https://collab.example"), ProductionAccessEnabled: aws.Bool(false),
	})
	must.Do(t, err)
	if err := m.Send(t.Context(), notice(Event{Headline: "a"})); !errors.Is(err, ErrRejected) {
		t.Errorf("error %v, want a rejection", err)
	}
	if mails := sentBy(t, server.URL, from); len(mails) != 0 {
		t.Errorf("mails %v, want none", mails)
	}
}

func TestSendToNoAddress(t *testing.T) {
	url, w := localstacktest.MiniStack(t), new(wire)
	m, _ := sender(t, url, w, "")
	for _, address := range []string{
		"", "bob", "@example.com", "bob@", "bob@example.com, eve@example.com", "Bob <bob@example.com>", "bob@example.com\r\nBcc: eve@example.com",
		"bob@exa\nmple.com", "bób@example.com", "bob@-exämple.com", "bob@exämple..com",
		"bob(comment)@example.com", "\"a b\"@example.com", "<bob@example.com>",
		strings.Repeat("b", 320) + "@example.com",
	} {
		n := notice(Event{Headline: "a"})
		n.To.Email = &address
		if err := m.Send(t.Context(), n); !errors.Is(err, ErrRejected) {
			t.Errorf("%q: error %v, want a rejection", address, err)
		}
	}
	n := notice(Event{Headline: "a"})
	n.To.Email = nil
	if err := m.Send(t.Context(), n); !errors.Is(err, ErrRejected) {
		t.Errorf("no address: error %v, want a rejection", err)
	}
	if len(w.bodies) != 0 {
		t.Errorf("%d requests, want none", len(w.bodies))
	}
}

// TestSendNormalizes checks that email is sent to an address without surrounding space and with an
// ASCII domain.
func TestSendNormalizes(t *testing.T) {
	url, w := localstacktest.MiniStack(t), new(wire)
	m, from := sender(t, url, w, "")
	for address, want := range map[string]string{
		" bob@example.com \n": "bob@example.com", "Bob@Bücher.example": "Bob@xn--bcher-kva.example", "bob@例え.jp": "bob@xn--r8jz45g.jp",
	} {
		n := notice(Event{Headline: "a"})
		n.To.Email = &address
		must.Do(t, m.Send(t.Context(), n))
		mails := sentBy(t, url, from)
		if got := mails[len(mails)-1].To; !slices.Contains(got, want) {
			t.Errorf("%q: to %q, want %q", address, got, want)
		}
	}
}

func TestCreateIdentityAgain(t *testing.T) {
	// response of AWS, but not of MiniStack
	w := &wire{answers: []fault{{status: 400, code: "AlreadyExistsException"}}}
	if err := CreateIdentity(t.Context(), config(localstacktest.MiniStack(t), w), "service@collab.example"); err != nil {
		t.Error(err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, o := range []Options{
		{},
		{From: "nobody"},
		{From: "a@example.com, b@example.com"},
		{From: "a@example.com\r\nBcc: b@example.com"},
		{From: "ä@example.com"},
		{From: "a@example.com", Unsubscribe: "http://example.com"},
		{From: "a@example.com", Unsubscribe: "example.com"},
		{From: "a@example.com", Unsubscribe: "mailto:b@example.com"},
		{From: "a@example.com", Unsubscribe: "https://example.com/?a=b"},
		{From: "a@example.com", Unsubscribe: "https://example.com/>\r\nBcc: b@example.com"},
		{From: "a@example.com", Unsubscribe: "https://example.com/, <https://b.example>"},
		{From: "a@example.com", Unsubscribe: "https://example.com/ä"},
		{From: "a@example.com", Unsubscribe: "https://example.com/" + strings.Repeat("a", maxPage)},
		{From: "a@example.com", Look: collab.MailLook{FromName: "a\r\nBcc: b@example.com"}},
		{From: "a@example.com", Look: collab.MailLook{Product: strings.Repeat("a", 101)}},
		{From: "a@example.com", Look: collab.MailLook{Link: "javascript:alert(1)"}},
	} {
		if _, err := New(aws.Config{}, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	if err := CreateIdentity(t.Context(), aws.Config{}, "nobody"); err == nil {
		t.Error("an identity was made of what is no address")
	}
}
