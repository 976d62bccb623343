// Package rpc is the envelope of every operation, in one place: it checks method, content type and size, decodes `{"data": …}` into
// the operation's request type by its tags, collects every violation, runs the operation, and writes `{"result": …}` or
// `{"error": …}` and one access-log record.
//
// # Request types
//
// A request type is a struct with json tags. What JSON cannot say is in a rule tag; what a rule cannot say, in a method
// Validate(*Violations) of the struct, on any level:
//
//	type addRequest struct {
//		OrganizationID     string          `json:"organizationId" rule:"required,id"`
//		CommentAnnotations []newAnnotation `json:"commentAnnotations" rule:"required,nonempty,max=500"`
//	}
//
// Unexported fields, and those with the tag json:"-", are the struct's own; an embedded Open takes members of any other name. The others
// may be
//
//	string, bool, int64     and pointers to them, where absent must be told from the zero value
//	a struct, *struct       its fields are known: any other is a violation; embedded structs are flattened
//	[]T                     of any kind listed here
//	collab.JSON             the text of any value, compact, numbers as written; with rule "object" only of an object
//	Opt[T]                  absent, null and value told apart, with the text as sent
//	One[T]                  T, or an array of exactly one T
//
// An integer may be written 5.0 or 1.7e12 where it is exactly whole. null is as absent, but for Opt and rule "notnull"; in an array
// it is a violation. The rules:
//
//	required          absent and null are violations
//	notnull           null is a violation
//	exact             unknown fields within are violations, even if the account has unknown fields dropped
//	id, docid         string: collab.CheckID with 256, 600 bytes
//	notificationid    string: collab.CheckNotificationID
//	url               string: not empty; the operation says what addresses it takes
//	nonempty          string, array: not empty; struct: at least one of its fields is sent, be it as null
//	min=N, max=N      integer: bounds (±(2^53-1) without); max for an array: items; max for a string: bytes
//	rest=PATH         array: which operation takes what is beyond max, for the violation to say
//	time              integer: milliseconds since epoch, 0 to collab.MaxMillis
//	commentid         integer: 1 to 2^53-1
//	true              bool: not false
//	object, number    collab.JSON: an object, a number, as written
//	partial           struct: its required fields may be left out, and its Validate is not called
//	each=RULE         array: the rule of its elements; may be repeated
//
// A string type with a method Values() []string takes those values alone. The meaning of a field is in a doc tag: see package openapi.
//
// Handle panics on a request type that breaks these conventions, so that a test that builds the handlers finds it.
package rpc

import (
	"bytes"
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

// MaxBody is the largest body accepted, in bytes by WrappedLen: the gateway hands it to the function as a JSON string, in an event of at
// most 6,291,456 bytes that holds the headers twice.
const MaxBody = 5_000_000

// BodyRule says to callers what MaxBody is.
const BodyRule = "the body must be at most 5000000 bytes; quotes, backslashes and line breaks count twice"

// MaxDepth is how deep the body's arrays and objects may nest, the body itself counted as 1.
const MaxDepth = 32

// Operation is the rule of an endpoint: it takes a request free of violations of form and returns what `result.data` holds. A nil slice
// is answered as `[]`. Its error is answered by its collab.Code; an error that is no collab.Error is INTERNAL.
type Operation[Req, Data any] func(ctx context.Context, call *Call, req *Req) (Data, error)

// Call is one request beside its data: its unit of work, and what is said of its answer.
type Call struct {
	*request.Request

	Path string // of the endpoint, such as /v2/commentannotations/add

	// Again reports that this same request was carried out before, and that its answer was not kept as it showed a Secret. The operation
	// answers as then, from what is there, and writes nothing. Its earlier writes carry its ids.
	Again bool

	Writes   bool // the operation writes
	ReadOnly bool // the operation is AlwaysOn, and must write nothing: see Server.ReadOnly

	Message       string  // set by the operation, or its Page: result.message
	NextPageToken string  // set by the operation, or its Page, where there is more: see PageToken
	JobID         string  // set by the operation where it leaves a job: result.jobId
	Unread        *Unread // set by the operation of an endpoint that CountsUnread: result.unreadCount
	Secret        bool    // set by the operation: the answer shows what must not be kept; see Again
	Items         int     // set by the operation, or its Page: how many items it answered or wrote, for the access log

	Sight collab.Sight // of the person, asked once in a request; the operation sets it
	Ahead any          // reads of the operation that have begun: see MethodAhead

	limiter    *limiter  // of persons
	directory  Directory // see Covered
	bothTokens bool      // see Page.BothTokens
	failed     int       // items
	unfinished bool      // an item failed that a repetition of the request may carry out
	cause      error     // of a failure that the caller cannot mend, for the log
	body       []byte    // as it was sent
}

// Unread says how much a user has not read.
type Unread struct {
	Count int  `json:"count"`
	More  bool `json:"more,omitempty"` // there are more than Count
}

// Server is what all handlers of a process share. Its fields are set before the first request.
type Server struct {
	Now         func() time.Time
	Random      io.Reader        // seeds of generated ids
	Log         *slog.Logger     // one record per request
	Idempotency IdempotencyStore // may be nil where no operation is Idempotent
	Quotas      *quota.Ledger    // of accounts; nil for none
	ReadOnly    bool             // operations that write are refused with UNAVAILABLE
	Directory   Directory        // of what tokens cover

	// Send takes recorded events to their delivery. It never fails: what it loses is sent again from the outbox. May be nil where no operation
	// records events.
	Send func(ctx context.Context, events ...collab.EventRef)

	// SendJobs is Send for jobs that go on with a request at once.
	SendJobs func(ctx context.Context, jobs ...collab.EventRef)

	limiter limiter
	warm    atomic.Bool // a request was served before
}

// readOnlyRetryAfter is when to try again what ReadOnly refuses: an operator ends it, not time.
const readOnlyRetryAfter = time.Minute

// Options say how an operation is served.
type Options struct {
	// for operations that write: they honour the Idempotency-Key header (see IdempotencyStore), the account's quotas, and ReadOnly
	Idempotent bool
	AlwaysOn   bool
	Requires   collab.Feature // accounts that have it switched off are refused with FAILED_PRECONDITION; "" for none
	Accepted   bool           // success is 202: see Endpoint.Status
	Person     Access
	Counts     action // as what a person's request counts
}

// run carries out a request whose body was read.
type run func(*exchange) (response, error)

// runner returns the way to run op. ahead may be nil: see MethodAhead.
func runner[Req, Data any](s *Server, ahead func(context.Context, *Call, *Req), op Operation[Req, Data], o Options) run {
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
				Message:    "nothing can be written at the moment; try again later",
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
		asked := []quota.Kind{quota.Reads}
		if o.Idempotent {
			asked = append(asked, quota.Writes)
		}
		if err := x.Quota.Admit(asked...); err != nil && !o.AlwaysOn {
			return response{}, err
		}
		if x.Person != nil { // it reads, which counts
			if err := o.Person.covers(x.ctx, &x.Call, fields, data); err != nil {
				return response{}, err
			}
			if ahead != nil {
				ahead(x.ctx, &x.Call, &e.Data)
			}
		}
		operate := func() (response, error) {
			data, err := op(x.ctx, &x.Call, &e.Data)
			if events := x.Events(); len(events) > 0 {
				s.Send(x.ctx, events...)
			}
			if jobs := x.Jobs(); len(jobs) > 0 && s.SendJobs != nil {
				s.SendJobs(x.ctx, jobs...)
			}
			if err != nil {
				return response{}, err
			}
			if x.Person != nil {
				x.JobID = ""
				return successResponse(&x.Call, toPerson.toPerson(data), o.Accepted), nil
			}
			return successResponse(&x.Call, data, o.Accepted), nil
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

// handler returns what serves requests whose context carries a collab.Identity.
func (s *Server) handler(run run) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		identity, ok := collab.IdentityOf(r.Context())
		if !ok {
			s.Fail(w, r, errors.New("the request carries no identity"))
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
	return s.handler(runner(s, nil, op, o))
}

// Result is the answer of an operation that was called in process.
type Result struct {
	Data          collab.JSON `json:"data"`
	Message       string      `json:"message"`
	NextPageToken string      `json:"nextPageToken"`
	JobID         string      `json:"jobId"`
}

// Call calls an endpoint in process, in the name of an identity. The request is its data. The error is
// that of the operation, with its cause. Nothing is logged.
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

// NoOperation says to callers that a path, or another method than POST at one, leads nowhere.
const NoOperation = "there is no such operation; every operation is a POST"

// NotFound answers every request with NOT_FOUND, for the paths that no endpoint has.
func (s *Server) NotFound() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Fail(w, r, collab.Errorf(collab.NotFound, NoOperation))
	})
}

// Fail answers a request that is refused before it reaches its handler, and logs it.
func (s *Server) Fail(w http.ResponseWriter, r *http.Request, err error) {
	if origin(r) != "" {
		allowOrigin(w.Header(), "*") // so that a page learns that its token has expired
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
