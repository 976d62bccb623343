package rpc

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
)

// tokenVersion is the version of the form and of positions. Raise it to invalidate older tokens.
const tokenVersion = 1

const tokenHashLen = 16

// ErrPageToken means that a text is not a token of this scope.
var ErrPageToken = errors.New("the page token is not one of this query")

// PageScope identifies the list of a position. A token is unpadded base64url of a version byte, 16
// bytes of SHA-256 over scope and position, and the position. The hash detects truncated tokens and
// other queries. It is no protection: anyone can compute it, so build keys from the caller's own
// account and filters.
type PageScope struct {
	Account string
	Path    string // of the endpoint
	Filters []byte // filters and order of the list, in canonical form
}

// Encode returns the token of an opaque position.
func (s PageScope) Encode(position []byte) string {
	sum := s.sum(position)
	token := make([]byte, 0, 1+tokenHashLen+len(position))
	token = append(token, tokenVersion)
	token = append(token, sum[:]...)
	token = append(token, position...)
	return base64.RawURLEncoding.EncodeToString(token)
}

// Decode returns the position of a token of the same scope. The error wraps ErrPageToken.
func (s PageScope) Decode(token string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || base64.RawURLEncoding.EncodedLen(len(raw)) != len(token) { // the decoder ignores line breaks
		return nil, fmt.Errorf("%w: it is not base64url", ErrPageToken)
	}
	if len(raw) < 1+tokenHashLen || raw[0] != tokenVersion {
		return nil, fmt.Errorf("%w: its form is unknown", ErrPageToken)
	}
	position := raw[1+tokenHashLen:]
	if [tokenHashLen]byte(raw[1:]) != s.sum(position) {
		return nil, fmt.Errorf("%w: account, path, filters or the token itself have changed", ErrPageToken)
	}
	return position, nil
}

func (s PageScope) sum(position []byte) [tokenHashLen]byte {
	h := sha256.New()
	for _, part := range [][]byte{{tokenVersion}, []byte(s.Account), []byte(s.Path), s.Filters, position} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	return [tokenHashLen]byte(h.Sum(nil))
}
