package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	secretPrefix = "whsec_"
	secretBytes  = 32
)

// NewSecret returns a signing secret: `whsec_` and the base64 of 32 bytes of random.
func NewSecret(random io.Reader) (string, error) {
	key := make([]byte, secretBytes)
	if _, err := io.ReadFull(random, key); err != nil {
		return "", fmt.Errorf("webhook secret: %w", err)
	}
	return secretPrefix + base64.StdEncoding.EncodeToString(key), nil
}

// sign returns the headers of Standard Webhooks for one attempt: one signature for each secret, in their order.
func sign(id string, at time.Time, body []byte, secrets []string) (http.Header, error) {
	if len(secrets) == 0 {
		return nil, errors.New("webhook: no secret to sign with")
	}
	var signatures []string
	for _, secret := range secrets {
		key, err := parseSecret(secret)
		if err != nil {
			return nil, err
		}
		webhook, err := standardwebhooks.NewWebhookRaw(key)
		if err != nil {
			return nil, err
		}
		signature, err := webhook.Sign(id, at, body)
		if err != nil {
			return nil, err
		}
		signatures = append(signatures, signature)
	}
	header := make(http.Header)
	header.Set(standardwebhooks.HeaderWebhookID, id)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return header, nil
}

// parseSecret returns the key of a secret. The library would take any text for one, even the empty one; the specification asks for 24
// to 64 bytes. The error does not repeat the secret.
func parseSecret(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("webhook: a secret is not whsec_ and the base64 of 24 to 64 bytes")
	}
	return key, nil
}
