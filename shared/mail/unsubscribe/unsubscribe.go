// Package unsubscribe makes and checks the tokens by which the recipients of mails end them: the bearer of a mail may unsubscribe its
// recipient, without credentials, and nobody else can. It imports the standard library only.
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

// Path is where the page to unsubscribe by is served; the token is the query parameter `token`.
const Path = "/v2/notifications/unsubscribe"

// SecretBytes is the length of the secret that signs an account's tokens.
const SecretBytes = 32

// Recipient is who unsubscribes: a user of an organization of an account, at an address, and who wrote to them. It is all that a token
// tells.
type Recipient struct {
	Account      string
	Organization string
	User         string
	Email        string
	Sender       string // the product or the name that the mail came from, as people know it; "" for none
	Locale       string // of the mail; "" for none
}

// Address returns the hash of the recipient's address.
func (r Recipient) Address() Address { return AddressOf(r.Email) }

// parts are what stands in a token, in its order.
func (r *Recipient) parts() []*string {
	return []*string{&r.Account, &r.Organization, &r.User, &r.Email, &r.Sender, &r.Locale}
}

// Address is the hash of an e-mail address, whatever the case of its letters.
type Address [16]byte

// AddressOf returns the hash of an address.
func AddressOf(email string) Address {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.TrimSpace(email))))
	return Address(sum[:len(Address{})])
}

// String returns the hash in hexadecimal.
func (a Address) String() string { return hex.EncodeToString(a[:]) }

const (
	version    = 3
	macBytes   = 16
	maxAccount = 256 // bytes of an account's id
)

var errToken = errors.New("not a token to unsubscribe by")

// Token returns the recipient's token, signed with the secret of the account. It stays good as long as that.
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

// Read returns whom a token is about. secret returns the secret of the account that the token names, nil for none: until it has signed the
// token anybody may have written that.
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
		return Recipient{}, errToken // nobody has signed it yet: it may name anything
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

// Invalid reports whether an error of Read says that the token is none.
func Invalid(err error) bool { return errors.Is(err, errToken) }
