// Package rpc is the common envelope of all operations. It checks method, content type and size,
// decodes `{"data": …}` into the request type, collects all violations and runs the operation. It
// writes `{"result": …}` or `{"error": …}`, and one record of the access log.
//
// # Request types
//
// A request type is a struct with json tags. Rule tags add constraints; a method
// Validate(*Violations) on any level adds others:
//
//	type addRequest struct {
//		OrganizationID     string          `json:"organizationId" rule:"required,id"`
//		CommentAnnotations []newAnnotation `json:"commentAnnotations" rule:"required,nonempty,max=500"`
//	}
//
// Unexported fields and fields with the tag json:"-" are ignored. An embedded Open takes members of
// any other name, and an embedded Given the names of the fields that were sent. Other fields can be
//
//	string, bool, int64     and pointers to them, to distinguish absent from the zero value
//	a struct, *struct       other fields are violations; embedded structs are flattened
//	[]T                     of any kind listed here
//	collab.JSON             the compact text of any value, or with rule "object" of an object
//	a json.Unmarshaler      whose error is the rule that the text breaks
//	Opt[T]                  distinguishes absent, null and a value, and has the sent text
//	One[T]                  T, or an array of exactly one T
//
// An integer can be written as 5.0 or 1.7e12. Except for Opt and rule "notnull", null is the same
// as absent; in an array it is a violation. The rules:
//
//	required          absent, null and an empty string are violations
//	notnull           null is a violation
//	exact             unknown fields within are violations, even if the account drops them
//	id, docid         string: collab.CheckID with 256, 600 bytes
//	notificationid    string: collab.CheckNotificationID
//	url               string: not empty; the operation checks the address
//	nonempty          string, array: not empty; struct: at least one field is sent, or null
//	min=N, max=N      integer: bounds, by default ±(2^53-1); array: items; string: bytes
//	rest=PATH         array: the operation for items beyond max, for the message
//	time              integer: milliseconds since epoch, 0 to collab.MaxMillis
//	commentid         integer: 1 to 2^53-1
//	true              bool: not false
//	object, number    collab.JSON: an object, a number, as sent
//	partial           struct: required fields are optional, and Validate is not called
//	each=RULE         array: a rule of its elements; can be repeated
//
// A string type with a method Values() []string allows only these values. A doc tag describes a
// field: see package openapi.
//
// Handle panics if a request type breaks these conventions.
package rpc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/quota"
	"collabdata/shared/request"
)

// MaxBody is the maximum body size in bytes, by WrappedLen. The gateway passes the body to the
// function as a JSON string in an event of at most 6,291,456 bytes, which has the headers twice.
const MaxBody = 5_000_000

// BodyRule describes MaxBody to callers.
const BodyRule = "the body must be at most 5000000 bytes; quotes, backslashes and line breaks count twice"

// MediaRule describes the media type and the compression of bodies to callers.
const MediaRule = "the Content-Type must be application/json in UTF-8, and the body must match its Content-Encoding: gzip, deflate or identity"

// MaxDepth is the maximum nesting of arrays and objects. The body itself counts as 1.
const MaxDepth = 32

// Operation implements an endpoint: it takes a request without violations and returns
// `result.data`. A nil slice is encoded as `[]`. An error without a collab.Code is INTERNAL.
type Operation[Req, Data any] func(ctx context.Context, call *Call, req *Req) (Data, error)

// Call is one request except for its data: its unit of work, and properties of its response.
type Call struct {
	*request.Request

	Path string // of the endpoint, such as /v2/commentannotations/add

	// Again reports a retry of a completed request whose response was not stored because of a
	// Secret. The operation returns the same response from stored data, and writes nothing. Its
	// earlier writes have this call's ids.
	Again bool

	Writes   bool // the operation writes
	ReadOnly bool // the operation is AlwaysOn, and must not write: see Server.ReadOnly

	Message       string  // result.message; set by the operation or its Page
	NextPageToken string  // set by the operation or its Page if there are more items: see PageToken
	JobID         string  // result.jobId; set by the operation
	Unread        *Unread // result.unreadCount; set if the endpoint CountsUnread
	Secret        bool    // set by the operation if the response must not be stored; see Again
	Items         int     // number of read or written items, for the access log; set by the operation or its Page

	Sight collab.Sight // of the person, cached for the request; set by the operation

	limiter    *limiter  // of persons
	directory  Directory // see Covered
	org        collab.OrganizationRef
	bothTokens bool   // see Page.BothTokens
	failed     int    // items
	unfinished bool   // a failed item can succeed in a retry
	cause      error  // of an internal failure, for the log
	body       []byte // as sent
}

// Unread is the number of a user's unread notifications.
type Unread struct {
	Count int  `json:"count"`
	More  bool `json:"more,omitempty"` // there are more than Count
}

// Server holds the shared state of all handlers. Set its fields before the first request.
type Server struct {
	Now         func() time.Time
	Random      io.Reader        // seeds of generated ids
	Log         *slog.Logger     // one record per request
	Idempotency IdempotencyStore // can be nil if no operation is Idempotent
	Quotas      *quota.Ledger    // of accounts; nil means unlimited
	ReadOnly    bool             // refuse operations that write with UNAVAILABLE
	Directory   Directory        // of the resources of tokens

	// Audit stores an act, or replaces it if its account, time and id are the same. nil means no
	// audit log.
	Audit func(context.Context, collab.Act) error

	// Send sends messages about recorded events, and about jobs that continue a request. It never
	// fails: the relay sends lost messages. It can be nil if no operation leaves tasks.
	Send func(ctx context.Context, tasks ...collab.TaskRef)

	limiter limiter
	warm    atomic.Bool // a request was served before
}

// readOnlyRetryAfter is the retry delay if ReadOnly refuses a request.
const readOnlyRetryAfter = time.Minute

// Options control how an operation is served.
type Options struct {
	// Idempotent marks operations that write: Idempotency-Key (see IdempotencyStore), quotas and
	// ReadOnly apply.
	Idempotent bool
	AlwaysOn   bool
	Requires   collab.Feature // requests fail with FAILED_PRECONDITION if the account has it off; "" for none
	Accepted   bool           // success is 202: see Endpoint.Status
	Person     Access
	Audited    bool   // each call is in the audit log
	Changes    bool   // each call of an operator is in the audit log
	Counts     action // the limit that a person's request counts toward
}

// run processes a request after its body was read.
type run func(*exchange) (response, error)

// runner returns the run of op.
func runner[Req, Data any](s *Server, op Operation[Req, Data], o Options) run {
	if o.Idempotent && s.Idempotency == nil {
		panic("rpc: Idempotent needs Server.Idempotency")
	}
	type envelope struct {
		Data Req `json:"data" rule:"required" person:"in"`
	}
	shape := ShapeOf(reflect.TypeFor[envelope]())
	fields := shape.Object.Fields[0].Shape.Object
	var toPerson Fields
	if o.Person != BackEnd {
		toPerson = Received(reflect.TypeFor[Data]())
	}
	return func(x *exchange) (response, error) {
		x.Writes, x.ReadOnly = o.Idempotent, s.ReadOnly
		if x.Person != nil {
			if err := o.Person.admitPerson(&x.Call, o.Counts); err != nil {
				return response{}, err
			}
		}
		var e envelope
		var dropped *[]string
		if x.Settings.UnknownFields == collab.DropUnknown && x.Person == nil {
			dropped = new([]string)
		}
		err := decode(x.body, shape, reflect.ValueOf(&e).Elem(), x.Person, dropped)
		if list := collab.Deref(dropped); len(list) > 0 {
			x.header.Set(DroppedFields, strings.Join(list, ", "))
		}
		data := reflect.ValueOf(&e.Data).Elem()
		if fields != nil {
			x.organization = strings.Join(fields.texts(data, "organizationId"), "")
		}
		if err == nil && o.Idempotent && s.ReadOnly && !o.AlwaysOn {
			err = &collab.Error{
				Code:       collab.Unavailable,
				Message:    "writes are currently off: try again later",
				RetryAfter: readOnlyRetryAfter,
			}
		}
		if err == nil && x.Settings.Off(o.Requires) {
			err = collab.Errorf(collab.FailedPrecondition, "the setting %q of the account is off", o.Requires)
		}
		if err != nil {
			return response{}, err
		}
		x.Quota = s.Quotas.Account(x.ctx, x.Account, x.Settings)
		if x.Person != nil {
			x.Quota = x.Quota.UsedBy(x.Person.UserID)
		}
		x.bound(x.ctx)
		asked := []quota.Kind{quota.Reads}
		if o.Idempotent {
			asked = append(asked, quota.Writes)
		}
		if err := x.Quota.Admit(asked...); err != nil && !o.AlwaysOn {
			return response{}, err
		}
		if x.Person != nil { // reads have a limit
			if err := o.Person.covers(x.ctx, &x.Call, fields, data); err != nil {
				return response{}, err
			}
		}
		operate := func() (response, error) {
			data, err := op(x.ctx, &x.Call, &e.Data)
			if tasks := x.Tasks(); len(tasks) > 0 {
				s.Send(x.ctx, tasks...)
			}
			if err = cmp.Or(err, x.usage.Refused()); err != nil {
				return response{}, err
			}
			if x.Person != nil {
				x.JobID = ""
				document := strings.Join(fields.texts(reflect.ValueOf(&e.Data).Elem(), "documentId"), "")
				return successResponse(&x.Call, toPerson.toPerson(x.ctx, &x.Call, data, document), o.Accepted), nil
			}
			return successResponse(&x.Call, data, o.Accepted), nil
		}
		if o.auditing(x.Identity) {
			unaudited := operate
			operate = func() (response, error) { return s.audited(x, data, fields, unaudited) }
		}
		if o.Idempotent && !x.ReadOnly && strings.Join(x.keys, "") != "" {
			return s.once(x, operate)
		}
		seed, err := s.seed()
		if err != nil {
			return response{}, err
		}
		x.IDs = collab.NewIDs(x.Now, seed)
		return operate()
	}
}

// handler serves requests with a collab.Identity in the context.
func (s *Server) handler(run run) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		identity, ok := collab.IdentityOf(r.Context())
		if !ok {
			s.Fail(w, r, errors.New("the request has no identity"))
			return
		}
		s.serve(w, r, identity, func(x *exchange) (a response, err error) {
			if x.Person != nil {
				if err := checkOrigin(x, r); err != nil {
					return response{}, err
				}
			}
			if x.body, err = readBody(w, r); err != nil {
				return response{}, err
			}
			x.keys = r.Header.Values("Idempotency-Key")
			return run(x)
		})
	})
}

// Handle returns the handler that serves op. The request's context must carry a collab.Identity.
func Handle[Req, Data any](s *Server, op Operation[Req, Data], o Options) http.Handler {
	return s.handler(runner(s, op, o))
}

// Result is the result of an operation called in process.
type Result struct {
	Data          collab.JSON `json:"data"`
	Message       string      `json:"message"`
	NextPageToken string      `json:"nextPageToken"`
	JobID         string      `json:"jobId"`
}

// Call calls an endpoint in process as an identity. The request is its data. The error is that of
// the operation, with its cause. Nothing is logged.
func (s *Server) Call(ctx context.Context, e Endpoint, services Services, identity collab.Identity, request any) (*Result, error) {
	body, err := collab.EncodeJSON(map[string]any{"data": request})
	if err != nil {
		return nil, err
	}
	x := s.exchange(ctx, e.Path, identity)
	x.body, x.header = body, http.Header{}
	a, err := recovered(func() (response, error) { return e.runner(s, services)(x) })
	x.spend()
	if err != nil {
		return nil, err
	}
	var answer struct{ Result *Result }
	if err := json.Unmarshal(bytes.Join(a.body, nil), &answer); err != nil {
		return nil, err
	}
	return answer.Result, nil
}

// NoOperation describes a wrong path or method to callers.
const NoOperation = "there is no such operation; every operation is a POST"

// NotFound returns NOT_FOUND for every request.
func (s *Server) NotFound() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Fail(w, r, collab.Errorf(collab.NotFound, NoOperation))
	})
}

// Fail responds to a request that is rejected before its handler, and logs it.
func (s *Server) Fail(w http.ResponseWriter, r *http.Request, err error) {
	if origin(r) != "" {
		allowOrigin(w.Header(), "*") // so that a page can read that its token expired
	}
	s.serve(w, r, collab.Identity{}, func(*exchange) (response, error) { return response{}, err })
}

func (s *Server) seed() ([]byte, error) {
	seed := make([]byte, 16)
	if _, err := io.ReadFull(s.Random, seed); err != nil {
		return nil, &collab.Error{Code: collab.Internal, Err: err}
	}
	return seed, nil
}
