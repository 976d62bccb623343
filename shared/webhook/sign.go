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

// NewSecret returns a signing secret: `whsec_` and the base64 of 32 random bytes.
func NewSecret(random io.Reader) (string, error) {
	key := make([]byte, secretBytes)
	if _, err := io.ReadFull(random, key); err != nil {
		return "", fmt.Errorf("webhook secret: %w", err)
	}
	return secretPrefix + base64.StdEncoding.EncodeToString(key), nil
}

// sign returns the Standard Webhooks headers of one attempt, with one signature for each secret, in
// order.
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

// parseSecret decodes a secret. The library accepts any text, even "", but the specification
// requires 24 to 64 bytes. The error does not contain the secret.
func parseSecret(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("webhook: a secret is not whsec_ and the base64 of 24 to 64 bytes")
	}
	return key, nil
}
