package collab

import (
	"errors"
	netmail "net/mail"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const maxAddress = 320

var errAddress = errors.New("must be an address that email can reach, such as bob@example.com")

// MailAddress returns the normal form of an email address: trimmed, with the domain in ASCII. The
// error is the rule that the address breaks.
func MailAddress(address string) (string, error) {
	address = strings.TrimSpace(address)
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return "", errAddress
	}
	local, domain := address[:at], address[at+1:]
	if !isASCII(local) {
		return "", errors.New("must be an email address with only ASCII characters before the @")
	}
	if !isASCII(domain) {
		ascii, err := idna.Lookup.ToASCII(domain)
		if err != nil {
			return "", errors.New("must be an email address with a valid domain")
		}
		address = local + "@" + ascii
	}
	parsed, err := netmail.ParseAddress(address)
	if err != nil || parsed.Name != "" || parsed.Address != address || len(address) > maxAddress {
		return "", errAddress
	}
	return address, nil
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}
