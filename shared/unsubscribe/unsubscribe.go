// Package unsubscribe makes and checks the tokens by which the recipients of mails end them: whoever has a mail may unsubscribe its recipient,
// without credentials, and nobody else can. It imports the standard library only.
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
)

// Path is where the page to unsubscribe by is served; the token is the query parameter `token`.
const Path = "/v2/notifications/unsubscribe"

// SecretBytes is the length of the secret that signs an account's tokens.
const SecretBytes = 32

// Recipient is who unsubscribes: a user of an organization of an account, at an address. It is all that a token tells.
type Recipient struct {
	Account      string
	Organization string
	User         string
	Address      Address
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
	version  = 1
	macBytes = 16
)

var errToken = errors.New("not a token to unsubscribe by")

// Token returns the recipient's token, signed with the secret of the account. It stays good as long as that.
func (r Recipient) Token(secret []byte) string {
	text := r.text()
	return base64.RawURLEncoding.EncodeToString(append(mac(secret, text), text...))
}

func (r Recipient) text() []byte {
	text := append([]byte{version}, r.Address[:]...)
	for _, part := range []string{r.Account, r.Organization, r.User} {
		text = binary.AppendUvarint(text, uint64(len(part)))
		text = append(text, part...)
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
	if err != nil || base64.RawURLEncoding.EncodeToString(signed) != token || len(signed) < macBytes+1+len(r.Address) || signed[macBytes] != version {
		return r, errToken
	}
	text := signed[macBytes:]
	rest := text[1+copy(r.Address[:], text[1:]):]
	for _, part := range []*string{&r.Account, &r.Organization, &r.User} {
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
