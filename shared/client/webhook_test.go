package client_test

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"collabdata/shared/client"
	"collabdata/shared/testing/must"
	"collabdata/shared/webhook"
)

// TestVerifyWebhook signs like the service, and breaks each part.
func TestVerifyWebhook(t *testing.T) {
	secret, err := webhook.NewSecret(rand.Reader)
	must.Do(t, err)
	const body = `{"type":"comment.added","timestamp":"2026-03-01T12:00:00.250Z","data":{"organizationId":"acme"}}`
	signed := func(at time.Time) http.Header {
		library, err := standardwebhooks.NewWebhook(secret)
		must.Do(t, err)
		signature, err := library.Sign("msg-1", at, []byte(body))
		must.Do(t, err)
		h := http.Header{}
		h.Set("webhook-id", "msg-1")
		h.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		h.Set("webhook-signature", signature)
		return h
	}
	event, err := client.VerifyWebhook(secret, signed(time.Now()), []byte(body))
	if err != nil || event.ID != "msg-1" || event.Type != client.EventTypeCommentAdded || event.Data.OrganizationID != "acme" ||
		!event.Timestamp.Equal(time.Date(2026, 3, 1, 12, 0, 0, 250e6, time.UTC)) {
		t.Errorf("%+v, %v", event, err)
	}
	for name, test := range map[string]struct {
		secret, body string
		at           time.Time
		want         client.Code
	}{
		"another body":   {secret, body + " ", time.Now(), client.CodePermissionDenied},
		"another secret": {"whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", body, time.Now(), client.CodePermissionDenied},
		"an old one":     {secret, body, time.Now().Add(-time.Hour), client.CodePermissionDenied},
		"no secret":      {"", body, time.Now(), client.CodeFailedPrecondition},
		"an empty one":   {"whsec_", body, time.Now(), client.CodeFailedPrecondition},
	} {
		if _, err := client.VerifyWebhook(test.secret, signed(test.at), []byte(test.body)); client.CodeOf(err) != test.want {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}
