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
// any other name. Other fields can be
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
//	locale, zone      string: collab.CheckLocale, collab.CheckZone
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
	"cmp"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/quota"
)

// readOnlyRetryAfter is the retry delay if ReadOnly refuses a request.
const readOnlyRetryAfter = time.Minute

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
		quotas := []quota.Kind{quota.Reads}
		if o.Idempotent {
			quotas = append(quotas, quota.Writes)
		}
		if err := x.Quota.Admit(quotas...); err != nil && !o.AlwaysOn {
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
