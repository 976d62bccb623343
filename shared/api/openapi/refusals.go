package openapi

import (
	"net/http"
	"reflect"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// refusal is an answer that is no success.
type refusal struct {
	status int
	name   string
	codes  []collab.Code // that of the example first
	later  bool          // Retry-After may say when a repetition helps
	when   string
	sample string // a message
}

// refusalTable is every refusal there is, but those of another method than POST (405, after the gateway 404) and of unknown paths.
var refusalTable = []refusal{
	{http.StatusBadRequest, "BadRequest", []collab.Code{collab.InvalidArgument, collab.FailedPrecondition}, false,
		"INVALID_ARGUMENT: the request breaks rules of form, and `details` names each mistake. FAILED_PRECONDITION: a setting is off, the organization " +
			"or the endpoint is disabled, or more is asked for than one request, one answer or one account may have.",
		missing.Field + " " + missing.Message},
	{http.StatusUnauthorized, "Unauthorized", []collab.Code{collab.Unauthenticated}, false,
		"A credential header is missing, or a person's token has expired or does not hold.",
		"the headers x-service-api-key and x-service-auth-token are required"},
	{http.StatusForbidden, "Forbidden", []collab.Code{collab.PermissionDenied}, false,
		"The credentials are not valid, or a person may not do this.",
		"the credentials are not valid"},
	{http.StatusNotFound, "NotFound", []collab.Code{collab.NotFound}, false,
		"What the request names does not exist in this account: organization, document, folder, annotation, webhook endpoint or delivery.",
		`document "plan" does not exist in organization "acme"`},
	{http.StatusConflict, "Conflict", []collab.Code{collab.Aborted, collab.AlreadyExists}, true,
		"ALREADY_EXISTS: something has this id. ABORTED: others wrote the same thing at the same time, or a request with this Idempotency-Key is " +
			"still running; send it again.",
		"a request with this Idempotency-Key is still running"},
	{http.StatusRequestEntityTooLarge, "TooLarge", []collab.Code{collab.InvalidArgument}, false,
		"The body is larger than 5,000,000 bytes, quotes, backslashes and line breaks counted twice.",
		rpc.BodyRule},
	{http.StatusUnsupportedMediaType, "UnsupportedMediaType", []collab.Code{collab.InvalidArgument}, false,
		"The Content-Type is not application/json in UTF-8, or the body is compressed.",
		"the Content-Type must be application/json in UTF-8"},
	{http.StatusTooManyRequests, "TooManyRequests", []collab.Code{collab.ResourceExhausted}, true,
		"Too many requests, or the account's quota is used up: send it again later.",
		"the account has used more than its quota of 10000 write units in 10 s: send this again in 4 s"},
	{http.StatusInternalServerError, "Internal", []collab.Code{collab.Internal}, false,
		"A fault of the service; its log has the cause.",
		"internal error"},
	{http.StatusServiceUnavailable, "Unavailable", []collab.Code{collab.Unavailable}, true,
		"Something that the service needs does not answer: send it again.",
		"the service is busy: try again"},
	{http.StatusGatewayTimeout, "DeadlineExceeded", []collab.Code{collab.DeadlineExceeded}, false,
		"The time of the request ran out, after 28 s at most. Parts of it may have been done: send it again with the same Idempotency-Key.",
		"the time of the request ran out; parts of it may have been done"},
}

// missing is an example of a mistake.
var missing = collab.FieldError{Field: "data.organizationId", Message: "is required"}

// example is the body of a refusal.
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

// failure makes the components of an answer that is no success.
func (s *schemas) failure() {
	mistakes := with(listOf(s.answer("", reflect.TypeFor[collab.FieldError]())), "maxItems", rpc.MaxViolations)
	details := obj("anyOf", []object{mistakes, open()}, "description",
		"Every mistake of the request, where the status is INVALID_ARGUMENT; what permissions/get would answer, where it is NOT_FOUND there")
	code := s.answer("", reflect.TypeFor[collab.Code]())
	properties := obj("message", text("What is wrong, for people"), "status", with(code, "description", "For programs"), "details", details)
	s.named(
		"ErrorResponse", structure(obj("error", s.named("Error", structure(properties, []string{"message", "status"}))), []string{"error"}),
	)
}
