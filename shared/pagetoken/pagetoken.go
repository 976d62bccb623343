// Package pagetoken writes and reads the tokens with which a caller asks for the next page of a list.
//
// A token is base64url without padding of one byte of version, 16 bytes of SHA-256 over scope and position, and the position. The hash
// finds mistakes: a token that was cut, or sent with another query. It grants nothing, as anyone can compute it: whoever reads a position
// builds keys from the caller's own account and filters.
package pagetoken

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
)

// version is that of the form; a change of the form or of what positions mean raises it, and older tokens become invalid.
const version = 1

const hashLen = 16

// ErrInvalid says that a text is no token, or not one of this scope.
var ErrInvalid = errors.New("the page token is not one of this query")

// Scope is the list that a position lies in.
type Scope struct {
	Account string
	Path    string // of the endpoint
	Filters []byte // what selects and orders the list, in a form that is the same for the same filters
}

// Encode returns the token for a position, which is opaque here.
func (s Scope) Encode(position []byte) string {
	sum := s.sum(position)
	token := make([]byte, 0, 1+hashLen+len(position))
	token = append(token, version)
	token = append(token, sum[:]...)
	token = append(token, position...)
	return base64.RawURLEncoding.EncodeToString(token)
}

// Decode returns the position of a token that Encode made in the same scope. The error wraps ErrInvalid.
func (s Scope) Decode(token string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || base64.RawURLEncoding.EncodedLen(len(raw)) != len(token) { // the decoder overlooks line ends
		return nil, fmt.Errorf("%w: it is not base64url", ErrInvalid)
	}
	if len(raw) < 1+hashLen || raw[0] != version {
		return nil, fmt.Errorf("%w: its form is unknown", ErrInvalid)
	}
	position := raw[1+hashLen:]
	if [hashLen]byte(raw[1:]) != s.sum(position) {
		return nil, fmt.Errorf("%w: account, path, filters or the token itself have changed", ErrInvalid)
	}
	return position, nil
}

func (s Scope) sum(position []byte) [hashLen]byte {
	h := sha256.New()
	for _, part := range [][]byte{{version}, []byte(s.Account), []byte(s.Path), s.Filters, position} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	return [hashLen]byte(h.Sum(nil))
}
