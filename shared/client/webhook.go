package client

import (
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// WebhookEvent is what the service posts to an endpoint.
type WebhookEvent struct {
	ID        string    `json:"-"` // the header webhook-id: the same at every attempt, so that repeats can be found
	Type      EventType `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      EventData `json:"data"` // its fields are those of the event type
}

// minSecret is the length of the shortest secret that Standard Webhooks allows, 24 bytes as base64 after whsec_. The library takes an
// empty one.
const minSecret = len("whsec_") + 32

// VerifyWebhook returns the event that a webhook carries, once it is sure that the service sent it within the last five minutes: the
// secret is the one that adding the endpoint, or rotating its secret, answered. Any error means that the request is not to be believed:
// answer it with 401.
func VerifyWebhook(secret string, header http.Header, body []byte) (*WebhookEvent, error) {
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil || !strings.HasPrefix(secret, "whsec_") || len(secret) < minSecret {
		return nil, &Error{
			Code:    CodeFailedPrecondition,
			Message: "the secret of the webhook is not one that the service gave",
			Err:     err,
		}
	}
	if err := verifier.Verify(body, header); err != nil {
		return nil, &Error{Code: CodePermissionDenied, Message: "the webhook is not signed with this secret", Err: err}
	}
	event := &WebhookEvent{ID: header.Get(standardwebhooks.HeaderWebhookID)}
	if err := json.Unmarshal(body, event, decoding); err != nil {
		return nil, &Error{Code: CodeInvalidArgument, Message: "the body of the webhook is no event", Err: err}
	}
	return event, nil
}
