// Package proxy lets the browsers of an application use the service through the application's own server, as the elements of
// shared/client/elements do. The application says who asks; the handler sets author and user itself, refuses what is not one's own, and calls
// the service with credentials that never leave the server:
//
//	mux.Handle("/collab/", proxy.New(proxy.Config{
//		Client: client.New(client.Config{BaseURL: url, APIKey: key, AuthToken: token}),
//		Who: func(r *http.Request) (*proxy.Caller, error) {
//			s := sessions.Of(r)
//			return &proxy.Caller{User: proxy.User{ID: s.User, Name: s.Name}, OrganizationID: s.Company, CanRead: s.MayRead, CanWrite: s.MayWrite}, nil
//		},
//	}))
//
// PROTOCOL.md describes the requests. The handler of the TypeScript client takes the same ones.
package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/client"
)

// MaxBody is the size of the largest request, in bytes. A comment of 20,000 characters fits into it, whatever they are.
const MaxBody = 128 << 10

// maxSkipped is how many bytes of a larger request are read, and not kept: a
// browser that is still sending would not see the answer.
const maxSkipped = 4 << 20

// timeout is how long a request takes at most once it has arrived.
const timeout = 10 * time.Second

// User is a person of the application. The e-mail address goes to the service, which sends mail to it, and never to a browser.
type User struct {
	ID       string `json:"userId"`
	Name     string `json:"name,omitempty"`
	Email    string `json:"email,omitempty"`
	PhotoURL string `json:"photoUrl,omitempty"`
}

// Caller is who asks, and what that person may do. Both functions must be set. The application vouches for a document that it lets write:
// the service makes it where it is missing.
type Caller struct {
	User              User
	OrganizationID    string
	CanRead, CanWrite func(ctx context.Context, documentID string) (bool, error)
}

// Config says how to ask the application, and how to reach the service.
type Config struct {
	Client *client.Client
	// Who returns who sent a request, nil where nobody is signed in. An error is answered as INTERNAL.
	Who func(*http.Request) (*Caller, error)
	// People returns those whom the caller may mention in a document: all, at most 1,000, where ids is nil, else those of at most 30 ids.
	// A nil People asks the service for the users of the organization and of the document, whom users/add makes. Nobody mentions themselves:
	// the caller may be among them, and is left out.
	People func(ctx context.Context, c *Caller, documentID string, ids []string) ([]User, error)
	// DocumentName returns how a document is called in mails, "" for its id. It is asked when the first thread of a document that the service
	// does not know is begun. A nil DocumentName makes such documents without a name.
	DocumentName func(ctx context.Context, c *Caller, documentID string) (string, error)
	// Limits bounds what one person may ask for.
	Limits Limits
	// Log gets why requests failed that should not have; nil for slog.Default.
	Log *slog.Logger

	limiter *limiter
}

// New returns a handler of the requests that PROTOCOL.md describes. It goes by the last element of the path, so that it can be mounted
// anywhere.
func New(c Config) http.Handler {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.limiter = newLimiter(c.Limits)
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		err := origins.Check(r)
		if err != nil {
			err = client.Errorf(client.CodePermissionDenied, "requests from other sites are refused")
		} else {
			answer, err = c.answer(r)
		}
		c.write(w, r, answer, err)
	})
}

// answer returns the answer to a request of the application's own pages.
func (c *Config) answer(r *http.Request) (any, error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); r.Method != http.MethodPost || kind != "application/json" {
		return nil, client.Errorf(client.CodeInvalidArgument, "the request must be a POST of application/json")
	}
	asked, ok := requests[path.Base(r.URL.Path)]
	if !ok {
		return nil, client.Errorf(client.CodeNotFound, "there is no such request")
	}
	who, err := c.Who(r)
	if err != nil {
		return nil, err
	}
	if who == nil {
		return nil, client.Errorf(client.CodeUnauthenticated, "nobody is signed in")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	if err != nil || len(body) > MaxBody {
		_, _ = io.CopyN(io.Discard, r.Body, maxSkipped)
		return nil, client.Errorf(client.CodeInvalidArgument, "the body must arrive whole, and have at most %d bytes", MaxBody)
	}
	var sent map[string]jsontext.Value
	var req request
	err = errors.Join(json.Unmarshal(body, &sent), json.Unmarshal(body, &req, json.RejectUnknownMembers(true)))
	for name := range sent {
		if !slices.Contains(strings.Fields(asked.fields), name) {
			return nil, mistake(name, "is not a field of this request")
		}
	}
	if err != nil || sent == nil {
		return nil, &client.Error{
			Code:    client.CodeInvalidArgument,
			Message: "the body must be a JSON object with these fields: " + asked.fields,
			Err:     err,
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	x := &exchange{Config: c, ctx: ctx, who: who}
	counted := looks
	if asked.writes || req.Config != nil {
		counted = writes
	}
	if err := x.take(counted, 1); err != nil {
		return nil, err
	}
	if asked.right == nil {
		return asked.do(x, &req)
	}
	if req.DocumentID == "" {
		return nil, mistake("documentId", "is required")
	}
	may, err := asked.right(who)(x.ctx, req.DocumentID)
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, client.Errorf(client.CodePermissionDenied, "you may not do this in this document")
	}
	return asked.do(x, &req)
}

func (c *Config) write(w http.ResponseWriter, r *http.Request, answer any, err error) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if err == nil {
		_ = json.MarshalWrite(w, answer) // an error means that the reader is gone
		return
	}
	code := client.CodeOf(err)
	if code == client.CodeInternal {
		c.Log.ErrorContext(r.Context(), "a browser's request failed", "request", path.Base(r.URL.Path), "err", err)
	}
	if e, ok := errors.AsType[*client.Error](err); ok && e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	w.WriteHeader(code.HTTPStatus())
	_ = json.MarshalWrite(w, fields{"error": fields{"status": string(code), "message": client.MessageOf(err)}}, json.Deterministic(true))
}

// mistake returns the failure of one field of a browser's request, by the rule that it breaks.
func mistake(field, format string, args ...any) error {
	return client.Errorf(client.CodeInvalidArgument, "%s %s", field, fmt.Sprintf(format, args...))
}

// fields are those of an object on its way to the service or to the browser.
type fields map[string]any

// exchange is one request of a caller.
type exchange struct {
	*Config
	ctx context.Context
	who *Caller
}

// call calls an operation of the service, with the caller's organization. That the service refuses the server's credentials is no business
// of the browser's.
func call[Data any](x *exchange, path string, request fields, options ...client.Option) (data Data, nextPageToken string, err error) {
	request["organizationId"] = x.who.OrganizationID
	data, nextPageToken, err = client.Call[Data](x.ctx, x.Client, path, request, options...)
	if code := client.CodeOf(err); code == client.CodeUnauthenticated || code == client.CodePermissionDenied {
		err = &client.Error{Code: client.CodeInternal, Err: err}
	}
	return data, nextPageToken, err
}

// find is call, and no data for what does not exist.
func find[Data any](x *exchange, path string, request fields) (data Data, nextPageToken string, err error) {
	data, nextPageToken, err = call[Data](x, path, request)
	if client.CodeOf(err) == client.CodeNotFound {
		err = nil
	}
	return data, nextPageToken, err
}

// item is what became of one thing that an operation on many changed.
type item struct {
	Success      bool        `json:"success"`
	Message      string      `json:"message"`
	Code         client.Code `json:"code"`
	AnnotationID string      `json:"annotationId"`
}

// change calls an operation that changes a single item, and returns the id of the annotation where the operation answers one.
func (x *exchange) change(path string, request fields, options ...client.Option) (annotationID string, err error) {
	items, _, err := call[map[string]item](x, path, request, options...)
	if err != nil {
		return "", err
	}
	for _, i := range items {
		if !i.Success {
			return "", &client.Error{Code: i.Code, Message: i.Message}
		}
		return i.AnnotationID, nil
	}
	return "", client.Errorf(client.CodeNotFound, "there is nothing to change")
}

// key returns the Idempotency-Key of what the caller asks for under an id of the browser's: no other person's request has the same.
func (x *exchange) key(name string, r *request) client.Option {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{x.who.OrganizationID, x.who.User.ID, name, r.RequestID}))
	return client.IdempotencyKey(hex.EncodeToString(sum[:]))
}
