package openapi

import (
	"net/http"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// refusal is an answer that is no success.
type refusal struct {
	status int
	name   string
	codes  []collab.Code
	when   string
	later  bool // Retry-After may say when a repetition helps
}

// refusalTable is every refusal there is, but those of another method than POST (405, behind the gateway 404) and of unknown paths.
var refusalTable = []refusal{
	{http.StatusBadRequest, "BadRequest", []collab.Code{collab.InvalidArgument, collab.FailedPrecondition},
		"INVALID_ARGUMENT: the request breaks rules of form, and `details` names each mistake. FAILED_PRECONDITION: a setting is off, the organization " +
			"or the endpoint is disabled, or more is asked for than one request, one answer or one account may have.", false},
	{http.StatusUnauthorized, "Unauthorized", []collab.Code{collab.Unauthenticated}, "A credential header is missing.", false},
	{http.StatusForbidden, "Forbidden", []collab.Code{collab.PermissionDenied}, "The credentials are not valid.", false},
	{http.StatusNotFound, "NotFound", []collab.Code{collab.NotFound},
		"What the request names does not exist in this account: organization, document, folder, annotation, webhook endpoint or delivery.", false},
	{http.StatusConflict, "Conflict", []collab.Code{collab.AlreadyExists, collab.Aborted},
		"ALREADY_EXISTS: something has this id. ABORTED: others wrote the same thing at the same time, or a request with this Idempotency-Key is " +
			"still running; send it again.", true},
	{http.StatusRequestEntityTooLarge, "TooLarge", []collab.Code{collab.InvalidArgument}, "The body is larger than 5,000,000 bytes.", false},
	{http.StatusUnsupportedMediaType, "UnsupportedMediaType", []collab.Code{collab.InvalidArgument},
		"The Content-Type is not application/json in UTF-8, or the body is compressed.", false},
	{http.StatusTooManyRequests, "TooManyRequests", []collab.Code{collab.ResourceExhausted},
		"Too many requests, or the account's quota is used up: send it again later.", true},
	{http.StatusInternalServerError, "Internal", []collab.Code{collab.Internal}, "A fault of the service; its log has the cause.", false},
	{http.StatusServiceUnavailable, "Unavailable", []collab.Code{collab.Unavailable}, "Something that the service needs does not answer: send it again.", true},
	{http.StatusGatewayTimeout, "DeadlineExceeded", []collab.Code{collab.DeadlineExceeded},
		"The time of the request ran out, after 28 s at most. Parts of it may have been done: send it again with the same Idempotency-Key.", false},
}

// refusals are the components of the table. mistake is the schema of one of the details.
func refusals(mistake rpc.Schema) object {
	list := object{}
	var all []collab.Code
	for _, code := range collab.Code("").Values() {
		all = append(all, collab.Code(code))
	}
	other := refusal{0, "Other", all, "An answer to what is no operation: 404, or 405 for another method than POST where no gateway stands before.", false}
	for _, r := range append(slices.Clone(refusalTable), other) {
		properties := object{
			member("message", object{{Key: "type", Value: "string"}, {Key: "minLength", Value: 1}, {Key: "description", Value: "What is wrong, for people"}}),
			member("status", object{{Key: "type", Value: "string"}, {Key: "enum", Value: r.codes}}),
		}
		if r.status == http.StatusBadRequest {
			properties = append(properties, member("details", object{
				{Key: "type", Value: "array"}, {Key: "items", Value: mistake}, {Key: "maxItems", Value: rpc.MaxMistakes},
				{Key: "description", Value: "Every mistake of the request"},
			}))
		}
		inner := object{
			{Key: "type", Value: "object"}, {Key: "properties", Value: properties}, {Key: "required", Value: []string{"message", "status"}},
		}
		response := object{{Key: "description", Value: r.when}}
		if r.later {
			response = append(response, member("headers", object{member("Retry-After", object{{Key: "$ref", Value: "#/components/headers/RetryAfter"}})}))
		}
		list = append(list, member(r.name, append(response, member("content", object{member(jsonType, object{{Key: "schema", Value: object{
			{Key: "type", Value: "object"}, {Key: "properties", Value: object{member("error", inner)}}, {Key: "required", Value: []string{"error"}},
		}}})}))))
	}
	return list
}
