// Package unsubscribe creates and verifies unsubscribe tokens. A token in an email lets its bearer
// unsubscribe the recipient without credentials. The package only imports the standard library.
package unsubscribe

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"unicode/utf8"
)

// Path is the path of the unsubscribe page, with the query parameter `token`.
const Path = "/v2/notifications/unsubscribe"

// SecretBytes is the length of the secret that signs an account's tokens.
const SecretBytes = 32

// Recipient is the content of a token: a user of an organization of an account, an address, and the
// sender.
type Recipient struct {
	Account      string
	Organization string
	User         string
	Email        string
	Sender       string // the product or sender name; "" for none
	Locale       string // of the email; "" for none
}

func (r Recipient) Address() Address { return AddressOf(r.Email) }

// parts are the parts of a token in order.
func (r *Recipient) parts() []*string {
	return []*string{&r.Account, &r.Organization, &r.User, &r.Email, &r.Sender, &r.Locale}
}

// Address is the case-insensitive hash of an email address.
type Address [16]byte

func AddressOf(email string) Address {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.TrimSpace(email))))
	return Address(sum[:len(Address{})])
}

// String returns the hash in hexadecimal.
func (a Address) String() string { return hex.EncodeToString(a[:]) }

const (
	version    = 3
	macBytes   = 16
	maxAccount = 256 // bytes of an account id
)

var errToken = errors.New("not a token to unsubscribe by")

// Token returns the recipient's token, signed with the secret of the account. It does not expire.
func (r Recipient) Token(secret []byte) string {
	text := r.text()
	return base64.RawURLEncoding.EncodeToString(append(mac(secret, text), text...))
}

func (r Recipient) text() []byte {
	text := []byte{version}
	for _, part := range r.parts() {
		text = binary.AppendUvarint(text, uint64(len(*part)))
		text = append(text, *part...)
	}
	return text
}

func mac(secret, text []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write(text)
	return h.Sum(nil)[:macBytes]
}

// Read returns the recipient of a token. secret returns the secret of an account, or nil if there
// is none. Its argument is not verified yet.
func Read(token string, secret func(account string) ([]byte, error)) (Recipient, error) {
	var r Recipient
	signed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || base64.RawURLEncoding.EncodeToString(signed) != token || len(signed) < macBytes+1 || signed[macBytes] != version {
		return r, errToken
	}
	text := signed[macBytes:]
	rest := text[1:]
	for _, part := range r.parts() {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(rest)-size) {
			return Recipient{}, errToken
		}
		*part = string(rest[size : size+int(n)])
		rest = rest[size+int(n):]
	}
	if len(rest) > 0 || !bytes.Equal(r.text(), text) {
		return Recipient{}, errToken
	}
	if r.Account == "" || len(r.Account) > maxAccount || !utf8.ValidString(r.Account) {
		return Recipient{}, errToken // do not trust the unsigned account
	}
	key, err := secret(r.Account)
	if err != nil {
		return Recipient{}, err
	}
	if len(key) != SecretBytes || !hmac.Equal(signed[:macBytes], mac(key, text)) {
		return Recipient{}, errToken
	}
	return r, nil
}

// Invalid reports whether Read returned an error because the token is invalid.
func Invalid(err error) bool { return errors.Is(err, errToken) }
