package rpc

import (
	"context"
	"io"
	"log/slog"
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

// take counts n actions of the call's person. It returns RESOURCE_EXHAUSTED beyond the limit.
func (c *Call) take(a action, n int) error {
	if c.Person == nil || n == 0 {
		return nil
	}
	wait := c.limiter.take(count{c.Account, c.Person.UserID, a}, n, c.Now)
	if wait == 0 {
		return nil
	}
	return &collab.Error{Code: collab.ResourceExhausted, Message: bounds[a].message, RetryAfter: wait}
}

// Mentions counts people mentioned by the call's person. It returns RESOURCE_EXHAUSTED beyond 200
// an hour.
func (c *Call) Mentions(n int) error { return c.take(mentions, n) }

// bound limits the capacity units of the request.
func (c *Call) bound(ctx context.Context) {
	b := &collab.Bound{Page: pageUnits}
	if c.Person != nil {
		unbound := collab.WithUsage(context.WithoutCancel(ctx), nil)
		b.Page, b.Read, b.Write = personPage, mostRead, mostWritten
		b.Reserve = func(units float64, force bool) error { return c.Quota.Reserve(unbound, units, force) }
	}
	collab.UsageOf(ctx).SetBound(b)
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

// Access controls calls of an endpoint by a person with a token.
//
// Tags of fields in the request and response types select the fields of a person:
//
//	person:"in"    a person's request can have the field; others are violations
//	person:"self"  the field is the person's id, or an array of it
//	person:"out"   the field of a response reaches a person; others are omitted
//
// A struct with fields of a person's request can implement Filler.
type Access int

const (
	BackEnd      Access = iota // no person can call the endpoint
	PersonReads                // the token covers all documents of the request, or if there are none, the organization
	PersonWrites               // the same, with the role editor

	// PersonInbox requires that the token covers the documents of the request, or if there are
	// none, anything in the organization. A removed person cannot write.
	PersonInbox
)

// Directory reads the resources of tokens.
type Directory interface {
	// Open returns an organization and its existing, enabled documents among those given. It
	// returns NOT_FOUND if the organization does not exist, and FAILED_PRECONDITION if it is
	// disabled.
	Open(ctx context.Context, account, organization, folder string, documents []string) (collab.OrganizationRef, []collab.DocumentRef, error)

	// IsRemoved reports whether a user was removed from an organization that Open returned, and
	// nothing in it is open to the user.
	IsRemoved(ctx context.Context, org collab.OrganizationRef, user string) (bool, error)

	// Profiles returns the profiles of the first users that it may read. With an error, it also
	// returns the ones read before.
	Profiles(ctx context.Context, users []collab.UserAt) (map[collab.Resource]collab.Profiles, error)

	// FoldersOf returns the folders above each document, nearest first. It omits missing documents.
	FoldersOf(ctx context.Context, org collab.OrganizationRef, documents []string) (map[string][]collab.FolderRef, error)
}

// IdempotencyStore stores the outcomes of requests with an Idempotency-Key. A key expires
// request.KeyExpiry after its last attempt began, compared with claim.Start.
type IdempotencyStore interface {
	// BeginIdempotent atomically claims the key for an attempt:
	//   - If the key is new, or was freed and claim has another body: it stores claim: Claimed.
	//   - If the key is finished: Finished with response and claim, or Mismatch if the body differs.
	//   - If the key was freed, or its lease ended before claim.Start, and the body is the same: the
	//     attempt takes it over with the new lease and the stored Seed and Start: Claimed.
	//   - If the key is held: Mismatch if the body differs, else Running with the holder's claim.
	BeginIdempotent(ctx context.Context, claim request.Claim) (request.Outcome, error)

	// FinishIdempotent stores the response until the key expires. It does nothing if the claim is
	// no longer held.
	FinishIdempotent(ctx context.Context, claim request.Claim, answer request.Answer) error

	// FreeIdempotent frees the key at once. It keeps Seed, Start and body hash, because the attempt
	// can have written something that a retry must recognize. It does nothing if the claim is no
	// longer held.
	FreeIdempotent(ctx context.Context, claim request.Claim) error
}
