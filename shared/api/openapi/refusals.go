package openapi

import (
	"net/http"
	"reflect"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// refusal is a failed response.
type refusal struct {
	status int
	name   string
	codes  []collab.Code // that of the example first
	later  bool          // Retry-After can be set
	when   string
	sample string // a message
}

// refusalTable lists all failures except those of other methods than POST and of unknown paths.
var refusalTable = []refusal{
	{http.StatusBadRequest, "BadRequest", []collab.Code{collab.InvalidArgument, collab.FailedPrecondition}, false,
		"INVALID_ARGUMENT: the request is invalid, and `details` lists every violation. FAILED_PRECONDITION: a setting is off, the organization " +
			"or the endpoint is disabled, or a limit of the request, the response or the account is exceeded.",
		missing.Field + " " + missing.Message},
	{http.StatusUnauthorized, "Unauthorized", []collab.Code{collab.Unauthenticated}, false,
		"A credential header is missing, or a person's token has expired or is not valid.",
		"the headers x-service-api-key and x-service-auth-token are required"},
	{http.StatusForbidden, "Forbidden", []collab.Code{collab.PermissionDenied}, false,
		"The credentials are not valid, or a person cannot do this.",
		"the credentials are not valid"},
	{http.StatusNotFound, "NotFound", []collab.Code{collab.NotFound}, false,
		"An organization, document, folder, annotation, webhook endpoint or delivery of the request does not exist in this account.",
		`document "plan" does not exist in organization "acme"`},
	{http.StatusConflict, "Conflict", []collab.Code{collab.Aborted, collab.AlreadyExists}, true,
		"ALREADY_EXISTS: the id already exists. ABORTED: another request wrote the same data at the same time, or a request with this Idempotency-Key is " +
			"still running; retry.",
		"a request with this Idempotency-Key is still running"},
	{http.StatusRequestEntityTooLarge, "TooLarge", []collab.Code{collab.InvalidArgument}, false,
		"The body is larger than 5,000,000 bytes, quotes, backslashes and line breaks counted twice.",
		rpc.BodyRule},
	{http.StatusUnsupportedMediaType, "UnsupportedMediaType", []collab.Code{collab.InvalidArgument}, false,
		"The Content-Type is not application/json in UTF-8, or the body does not match its Content-Encoding.",
		rpc.MediaRule},
	{http.StatusTooManyRequests, "TooManyRequests", []collab.Code{collab.ResourceExhausted}, true,
		"Too many requests, or the account's quota is used up: retry later.",
		"the account has used more than its quota of 10000 write units in 10 s: send this again in 4 s"},
	{http.StatusInternalServerError, "Internal", []collab.Code{collab.Internal}, false,
		"An internal error; the cause is in the service's log.",
		"internal error"},
	{http.StatusServiceUnavailable, "Unavailable", []collab.Code{collab.Unavailable}, true,
		"A dependency of the service is unavailable: retry.",
		"the service is busy: try again"},
	{http.StatusGatewayTimeout, "DeadlineExceeded", []collab.Code{collab.DeadlineExceeded}, false,
		"The request exceeded its deadline of at most 28 s. Parts of it can be done: retry with the same Idempotency-Key.",
		"the time of the request ran out; parts of it may have been done"},
}

// missing is an example of a violation.
var missing = collab.FieldError{Field: "data.organizationId", Message: "is required"}

func (r *refusal) example() object {
	failure := obj("message", r.sample, "status", r.codes[0])
	if r.status == http.StatusBadRequest {
		failure = with(failure, "details", []collab.FieldError{missing})
	}
	return obj("error", failure)
}

// refusals are the components of the table.
func refusals() object {
	list := object{}
	for _, r := range refusalTable {
		response := obj("description", r.when)
		if r.later {
			response = with(response, "headers", obj("Retry-After", ref("headers/RetryAfter")))
		}
		list = with(list, r.name, with(response, "content", content(ref("schemas/ErrorResponse"), "example", r.example())))
	}
	return list
}

// failure adds the components of a failed response.
func (s *schemas) failure() {
	mistakes := with(listOf(s.answer("", reflect.TypeFor[collab.FieldError]())), "maxItems", rpc.MaxViolations)
	details := obj("anyOf", []object{mistakes, open()}, "description",
		"All violations if the status is INVALID_ARGUMENT; the data of permissions/get if it is NOT_FOUND")
	code := s.answer("", reflect.TypeFor[collab.Code]())
	properties := obj("message", text("Description, for people"), "status", with(code, "description", "For programs"), "details", details)
	s.named(
		"ErrorResponse", structure(obj("error", s.named("Error", structure(properties, []string{"message", "status"}))), []string{"error"}),
	)
}
