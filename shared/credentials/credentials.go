// Package credentials verifies the credentials of requests, and signs tokens of users.
package credentials

import (
	"context"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"collabdata/shared/collab"
)

// MaxCredential is the maximum length of an API key or auth token, in bytes.
const MaxCredential = 128

// KeyStore provides the API keys.
type KeyStore interface {
	// APIKey returns a key with its account and tokens. It returns collab.NotFound if the key does
	// not exist.
	APIKey(ctx context.Context, key string) (collab.APIKey, error)

	// Signing returns the keys that verify the tokens of an account's users. It returns
	// collab.NotFound if the account does not exist.
	Signing(ctx context.Context, account string) (collab.Signing, error)
}

// Checker checks credentials.
type Checker struct {
	Keys    KeyStore
	Now     func() time.Time
	Headers Headers
	Stage   string // issuer of user tokens
}

// Check returns the identity in the headers: an API key with its token for a back end, or a user's
// token as `Authorization: Bearer`. It returns Unauthenticated if a credential is missing or empty,
// if both kinds are sent, or if a user's token is invalid. It returns PermissionDenied, always with
// the same text, if key and token are invalid, and Unavailable if the store fails.
func (c *Checker) Check(ctx context.Context, h http.Header) (collab.Identity, error) {
	keyHeader, tokenHeader := c.Headers.Names()
	key, token := h.Values(keyHeader), h.Values(tokenHeader)
	if bearer := h.Values("Authorization"); len(bearer) > 0 {
		if len(key) > 0 || len(token) > 0 {
			return collab.Identity{}, collab.Errorf(collab.Unauthenticated, "send either %s and %s, or Authorization: not both", keyHeader, tokenHeader)
		}
		scheme, text, _ := strings.Cut(bearer[0], " ")
		if len(bearer) > 1 || !strings.EqualFold(scheme, "Bearer") || len(text) > MaxToken {
			return collab.Identity{}, collab.Errorf(collab.Unauthenticated, "the header Authorization must be Bearer and a token of at most %d bytes", MaxToken)
		}
		return c.checkToken(ctx, text)
	}
	if missing(key) || missing(token) {
		return collab.Identity{}, collab.Errorf(collab.Unauthenticated, "%s", c.Headers.Required())
	}
	if !wellFormed(key) || !wellFormed(token) {
		return collab.Identity{}, errDenied()
	}
	record, err := c.Keys.APIKey(ctx, key[0])
	if collab.CodeOf(err) == collab.NotFound {
		return collab.Identity{}, errDenied()
	}
	if err != nil {
		return collab.Identity{}, errUnavailable(err)
	}
	if !holds(record.Tokens, token[0], c.Now()) || record.Disabled {
		return collab.Identity{}, errDenied()
	}
	return collab.Identity{Account: record.Account, APIKey: record.Key, Settings: record.Settings}, nil
}

func errUnavailable(err error) error {
	return &collab.Error{Code: collab.Unavailable, Message: "credentials cannot be checked at the moment", Err: err}
}

func errDenied() error {
	return collab.Errorf(collab.PermissionDenied, "the credentials are not valid")
}

func missing(values []string) bool { return len(values) == 0 || len(values) == 1 && values[0] == "" }

// wellFormed reports whether a header was sent once, with 1 to MaxCredential characters of A-Z a-z
// 0-9 _ . ~ and -.
func wellFormed(values []string) bool {
	if len(values) != 1 || len(values[0]) < 1 || len(values[0]) > MaxCredential {
		return false
	}
	for i := range len(values[0]) {
		c := values[0][i]
		if !('A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '~' || c == '-') {
			return false
		}
	}
	return true
}

// holds reports whether token is an unexpired one of tokens, in constant time.
func holds(tokens []collab.Token, token string, now time.Time) bool {
	hash := collab.HashToken(token)
	found := 0
	for _, t := range tokens {
		same := subtle.ConstantTimeCompare(hash, t.Hash)
		if t.Expires == 0 || now.UnixMilli() < t.Expires {
			found |= same
		}
	}
	return found == 1
}
