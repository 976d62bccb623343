package client

import (
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// WebhookEvent is the body of a webhook.
type WebhookEvent struct {
	// the header webhook-id: the same at every attempt, to detect duplicates
	ID        string    `json:"-"`
	Type      EventType `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      EventData `json:"data"` // its fields depend on the event type
}

// minSecret is the minimum length of a secret in Standard Webhooks: 24 bytes as base64 after
// whsec_. The library accepts an empty one.
const minSecret = len("whsec_") + 32

// VerifyWebhook returns the event in a webhook that the service signed within the last five
// minutes. secret is the secret in the response that added the endpoint or rotated its secret. If
// VerifyWebhook returns an error, respond with 401 and do not trust the request.
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
