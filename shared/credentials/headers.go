package credentials

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Default names of the credential headers.
const (
	KeyHeader   = "x-service-api-key"
	TokenHeader = "x-service-auth-token"
)

// Headers are the names of a stage's credential headers. The zero value is KeyHeader and
// TokenHeader.
type Headers struct{ Key, Token string }

// Environment variables that ReadHeaders reads.
const (
	KeyHeaderVariable   = "API_KEY_HEADER"
	TokenHeaderVariable = "AUTH_TOKEN_HEADER"
)

// ReadHeaders returns the names set in the environment.
func ReadHeaders(getenv func(string) string) (Headers, error) {
	h := Headers{Key: getenv(KeyHeaderVariable), Token: getenv(TokenHeaderVariable)}
	if err := h.Check(); err != nil {
		return Headers{}, fmt.Errorf("the environment variables %s and %s: %w", KeyHeaderVariable, TokenHeaderVariable, err)
	}
	return h, nil
}

func (h Headers) Names() (key, token string) {
	return cmp.Or(h.Key, KeyHeader), cmp.Or(h.Token, TokenHeader)
}

// Required returns the message for a request without one of them.
func (h Headers) Required() string {
	key, token := h.Names()
	return fmt.Sprintf("the headers %s and %s are required", key, token)
}

// HeaderRule is the rule for the names.
const HeaderRule = "1 to 64 small letters, digits and -, and no header that means something else"

// Check returns an error if a name breaks HeaderRule, or if both are equal.
func (h Headers) Check() error {
	key, token := h.Names()
	for _, name := range []string{key, token} {
		if len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || taken(name) {
			return fmt.Errorf("%q must be %s", name, HeaderRule)
		}
	}
	if key == token {
		return errors.New("the two must have different names")
	}
	return nil
}

// taken reports whether a header has another meaning to the service or its gateway.
func taken(name string) bool {
	return strings.HasPrefix(name, "x-amz") || strings.HasPrefix(name, "x-forwarded-") || slices.Contains([]string{
		"accept", "accept-encoding", "authorization", "connection", "content-encoding", "content-length", "content-type", "cookie", "expect",
		"host",
		"idempotency-key", "origin", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "via",
	}, name)
}
