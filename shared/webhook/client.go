package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Limits on one request.
const (
	DefaultTimeout = 15 * time.Second
	MaxAnswer      = 16 << 10 // bytes of an answer's body that are read, unless ClientOptions say otherwise, and bytes of its headers
)

// Client posts to servers that others have chosen. It reaches what its Guard allows: the address is checked when it is dialled, so a name
// that changes its answer gains nothing. It uses no proxy, follows no redirect, and speaks HTTP/1.1. Safe for concurrent use.
type Client struct {
	guard   *Guard
	timeout time.Duration
	answer  int64 // bytes of a body
	posted  func(string, Answer, error)
	https   *http.Transport
	http    *http.Transport
}

// ClientOptions says how a Client differs from the usual one.
type ClientOptions struct {
	Answer   int            // bytes of an answer's body that are read; 0 is MaxAnswer
	Timeout  time.Duration  // of one request, from the resolution of the name to the end of the answer; 0 is DefaultTimeout
	Resolver *net.Resolver  // nil: the system's
	RootCAs  *x509.CertPool // nil: the system's

	Posted func(url string, a Answer, err error) // called after each post, by several goroutines; nil for nothing
}

// NewClient returns a client that reaches what the guard allows.
func NewClient(guard *Guard, o ClientOptions) *Client {
	transport := func(plain bool) *http.Transport {
		dialer := &net.Dialer{
			Resolver: o.Resolver,
			Control: func(_, address string, _ syscall.RawConn) error {
				target, err := netip.ParseAddrPort(address)
				if err != nil {
					return err
				}
				return guard.checkAddr(target.Addr(), plain)
			},
		}
		return &http.Transport{
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
			DisableCompression:     true, // no answer grows when it is unpacked
			MaxResponseHeaderBytes: MaxAnswer,
			MaxIdleConns:           200,
			MaxIdleConnsPerHost:    50, // as many as a quick endpoint gets posts at a time, which would connect anew otherwise
			IdleConnTimeout:        30 * time.Second,
		}
	}
	c := &Client{
		guard:   guard,
		timeout: cmp.Or(o.Timeout, DefaultTimeout),
		answer:  int64(cmp.Or(o.Answer, MaxAnswer)),
		posted:  o.Posted,
		https:   transport(false),
		http:    transport(true),
	}
	if c.posted == nil {
		c.posted = func(string, Answer, error) {}
	}
	return c
}

// Answer is what a server answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // its first bytes, as many as are read
}

// PostError says that there was no complete answer.
type PostError struct {
	Reason string // for the owner of the endpoint: without addresses, resolvers, and why a name led nowhere
	Err    error  // for the log
}

// Error is the text for the log.
func (e *PostError) Error() string { return e.Reason + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *PostError) Unwrap() error { return e.Err }

// Post sends JSON to a URL that CheckURL accepts and reads the answer, whatever its status. The error is a *PostError when the server is
// to blame, and the context's cause when the context ended first. A request may arrive twice: a connection that has gone stale is
// replaced by a new one.
func (c *Client) Post(ctx context.Context, url string, header http.Header, body []byte) (Answer, error) {
	if err := c.guard.CheckURL(url); err != nil {
		return Answer{}, &PostError{Reason: "the URL " + err.Error(), Err: err}
	}
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.roundTrip(bounded, url, header, body)
	c.posted(url, answer, err)
	if err == nil {
		return answer, nil
	}
	if ctx.Err() != nil {
		return Answer{}, context.Cause(ctx)
	}
	return Answer{}, &PostError{Reason: c.reason(bounded, err), Err: err}
}

func (c *Client) roundTrip(ctx context.Context, url string, header http.Header, body []byte) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "collabdata")
	req.Header["Idempotency-Key"] = nil // not sent: with it the transport sends again when a kept connection has gone stale

	transport := c.https
	if req.URL.Scheme == "http" {
		transport = c.http
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, c.answer))
	if err == nil {
		err = ctx.Err() // the end of an answer that came because we hung up is no end
	}
	if err != nil {
		return Answer{}, err
	}
	return Answer{Status: res.StatusCode, Header: res.Header, Body: text}, nil
}

// reason says why there was no answer, for the endpoint's owner. A name that does not resolve, one that leads to a refused address and
// one where nothing listens read the same, so that nobody learns the names of a private network.
func (c *Client) reason(bounded context.Context, err error) string {
	dial, dialling := errors.AsType[*net.OpError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case bounded.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("no complete answer within %v", c.timeout)
	case certificate:
		return "its TLS certificate is not valid"
	case dialling && dial.Op == "dial":
		return "could not connect: the host must lead to a public address that accepts connections"
	}
	return "the connection ended without a complete answer"
}

// statusText is a status for people: `503 Service Unavailable`.
func statusText(status int) string {
	text := strconv.Itoa(status)
	if name := http.StatusText(status); name != "" {
		text += " " + name
	}
	return text
}
