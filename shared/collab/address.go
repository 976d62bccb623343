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

// EmailState is the reason why an address accepts no email.
type EmailState string

const (
	EmailBounced    EmailState = "bounced"    // its server refused an email for good
	EmailComplained EmailState = "complained" // the person reported an email as spam
)

func (EmailState) Values() []string { return texts(EmailBounced, EmailComplained) }

// Undeliverable states that the address of a user accepts no email.
type Undeliverable struct {
	UserID string     `json:"userId"`
	Email  string     `json:"email"`
	Reason EmailState `json:"reason"`
	Time   Millis     `json:"time"` // of the report
	Sent   Millis     `json:"sent"` // time of the email that it is about
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}
