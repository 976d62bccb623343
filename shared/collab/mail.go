package collab

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
)

// MailLook is what an operator says about the mails of a deployment or of an account.
type MailLook struct {
	FromName string `json:"fromName,omitempty"` // the sender's name; "" for none
	Product  string `json:"product,omitempty"`  // the name of what the mails are about; "" for none
	Link     string `json:"link,omitempty"`     // where the mails lead: a URL with names in braces, see LinkTo; "" for nowhere
}

// Or returns the look with what it leaves empty taken from another.
func (l MailLook) Or(other MailLook) MailLook {
	return MailLook{cmp.Or(l.FromName, other.FromName), cmp.Or(l.Product, other.Product), cmp.Or(l.Link, other.Link)}
}

// maxMailName is how long the sender's name and that of the product may be, in bytes; maxMailLink the same of the link.
const (
	maxMailName = 100
	maxMailLink = 500
)

// CheckMailName reports the rule that the name of a sender or product breaks.
func CheckMailName(name string) error {
	if len(name) > maxMailName || strings.ContainsFunc(name, unicode.IsControl) || strings.TrimSpace(name) != name {
		return fmt.Errorf("must be at most %d bytes without line ends, and without spaces around it", maxMailName)
	}
	return nil
}

// CheckMailLink reports the rule that a link of mails breaks.
func CheckMailLink(link string) error {
	l := MailLook{Link: link}
	plain := l.LinkTo("x", "x", "x", 1)
	u, err := url.Parse(plain)
	other, otherErr := url.Parse(l.LinkTo("y", "y", "y", 2))
	switch {
	case link == "":
		return nil
	case len(link) > maxMailLink || err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsFunc(plain, unicode.IsSpace):
		return fmt.Errorf("must be an https or http URL of at most %d bytes", maxMailLink)
	case strings.ContainsAny(plain, "{}"):
		return errors.New("may hold {organizationId}, {documentId}, {annotationId} and {commentId}, and no other names in braces")
	case otherErr != nil || u.Host != other.Host:
		return errors.New("must name its host without a name in braces")
	}
	return nil
}

// LinkTo returns the link with ids in the place of `{organizationId}`, `{documentId}`, `{annotationId}` and `{commentId}`, escaped for any
// part of a URL; nothing in the place of one that is empty. It is "" where there is no link.
func (l MailLook) LinkTo(organization, document, annotation string, comment int64) string {
	escape := func(id string) string { return strings.ReplaceAll(url.QueryEscape(id), "+", "%20") }
	number := ""
	if comment != 0 {
		number = fmt.Sprint(comment)
	}
	return strings.NewReplacer(
		"{organizationId}", escape(organization), "{documentId}", escape(document), "{annotationId}", escape(annotation), "{commentId}", number,
	).Replace(l.Link)
}
