package operator

import (
	"context"
	"encoding/hex"
	"io"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
)

// AddKey makes an API key of an account with a token that does not expire, and returns both. The token is stored as its hash alone. It
// fails as directory.Store.AddAPIKey does.
func AddKey(ctx context.Context, d *directory.Store, random io.Reader, account string) (key, token string, err error) {
	if key, err = secret(random, "key-"); err != nil {
		return "", "", err
	}
	token, stored, err := NewToken(random, d.Now(), time.Time{})
	if err == nil {
		err = d.AddAPIKey(ctx, key, account, []collab.Token{stored})
	}
	return key, token, err
}

// NewToken returns a random token and what is stored of it. The zero time is never.
func NewToken(random io.Reader, now, expires time.Time) (string, collab.Token, error) {
	token, err := secret(random, "token-")
	if err != nil {
		return "", collab.Token{}, err
	}
	stored := collab.Token{Hash: collab.HashToken(token), CreatedAt: now.UnixMilli()}
	if !expires.IsZero() {
		stored.Expires = expires.UnixMilli()
	}
	return token, stored, nil
}

// Valid reports whether a token has not expired.
func Valid(t collab.Token, now time.Time) bool { return t.Expires == 0 || t.Expires > now.UnixMilli() }

// TokenName names a token: the beginning of its hash.
func TokenName(t collab.Token) string { return hex.EncodeToString(t.Hash[:6]) }

// secret returns a prefix and 16 random bytes in hexadecimal.
func secret(random io.Reader, prefix string) (string, error) {
	bytes := make([]byte, 16)
	if _, err := io.ReadFull(random, bytes); err != nil {
		return "", err
	}
	return prefix + hex.EncodeToString(bytes), nil
}
