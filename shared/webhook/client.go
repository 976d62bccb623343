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

// Limits of one request.
const (
	DefaultTimeout = 15 * time.Second
	// bytes of a response's headers, and of its body unless ClientOptions say otherwise
	MaxAnswer = 16 << 10
)

// Client posts to servers chosen by users. It only connects to addresses that its Guard allows, and
// checks them when it dials, so changing DNS answers do not bypass the guard. It uses no proxy,
// follows no redirects, and speaks HTTP/1.1. It is safe for concurrent use.
type Client struct {
	guard   *Guard
	timeout time.Duration
	answer  int64 // bytes of a body
	posted  func(string, Answer, error)
	https   *http.Transport
	http    *http.Transport
}

// ClientOptions configure a Client.
type ClientOptions struct {
	Answer   int            // bytes of a response body to read; 0 means MaxAnswer
	Timeout  time.Duration  // of one request, including name resolution; 0 means DefaultTimeout
	Resolver *net.Resolver  // nil means the system's
	RootCAs  *x509.CertPool // nil means the system's

	Posted func(url string, a Answer, err error) // called after each post, concurrently; may be nil
}

// NewClient returns a client that connects to addresses allowed by the guard.
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
			DisableCompression:     true, // limits the size of a response
			MaxResponseHeaderBytes: MaxAnswer,
			MaxIdleConns:           200,
			MaxIdleConnsPerHost:    50, // the concurrent posts of a quick endpoint
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

// Answer is a server's response.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // first bytes, up to the limit
}

// PostError means that no complete response arrived.
type PostError struct {
	// for the endpoint's owner: without addresses, resolvers and details of the network
	Reason string
	Err    error // for the log
}

// Error returns the text for the log.
func (e *PostError) Error() string { return e.Reason + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *PostError) Unwrap() error { return e.Err }

// Post sends JSON to a URL that CheckURL accepts, and returns the response with any status. It
// returns a *PostError if the server failed, and the context's cause if the context ended first. A
// request may arrive twice, because a stale connection is replaced.
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
	req.Header["Idempotency-Key"] = nil // not sent: makes the transport retry on a stale connection

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
		err = ctx.Err() // we closed the connection
	}
	if err != nil {
		return Answer{}, err
	}
	return Answer{Status: res.StatusCode, Header: res.Header, Body: text}, nil
}

// reason returns why there was no response, for the endpoint's owner. Unknown names, refused
// addresses and closed ports give the same text, so that names of private networks do not leak.
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

// statusText formats a status: `503 Service Unavailable`.
func statusText(status int) string {
	text := strconv.Itoa(status)
	if name := http.StatusText(status); name != "" {
		text += " " + name
	}
	return text
}
