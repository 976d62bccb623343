package collab

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// MailBatch says which events become one mail to a person.
type MailBatch string

// The batches.
const (
	BatchEvent  MailBatch = "event"  // each event is a mail, at once
	BatchThread MailBatch = "thread" // those on one thread
	BatchPerson MailBatch = "person" // all of the person's
)

// Values returns all batches.
func (MailBatch) Values() []string { return texts(BatchEvent, BatchThread, BatchPerson) }

// The delays of mails that an account may set, and the default, in seconds.
const (
	MinMailDelay = 10
	MailDelay    = 300
	MaxMailDelay = 180 * 24 * 60 * 60
)

// MailFrequency is how often a person gets mails.
type MailFrequency string

// The frequencies.
const (
	MailInstant MailFrequency = "instant" // as the account's settings say
	MailHourly  MailFrequency = "hourly"  // one each full hour
	MailDaily   MailFrequency = "daily"   // one a day, at an hour of the person's
)

// Values returns all frequencies.
func (MailFrequency) Values() []string { return texts(MailInstant, MailHourly, MailDaily) }

// MailHour is the hour of MailDaily where none is set.
const MailHour = 8

// MailTimes say when a person gets mails. The zero value is MailInstant.
type MailTimes struct {
	Frequency MailFrequency `json:"mailFrequency" dynamodbav:"mfr,omitempty"`
	Hour      int64         `json:"mailHour" dynamodbav:"mhr,omitempty"` // of MailDaily: 0 to 23, in Zone
	Zone      string        `json:"timeZone" dynamodbav:"mtz,omitempty"` // of the IANA database, such as Europe/Berlin; "" is UTC
}

// Next returns when the next hourly or daily mail after a time leaves; the zero time for MailInstant. A zone that is not known is UTC.
func (m MailTimes) Next(now time.Time) time.Time {
	switch m.Frequency {
	case MailHourly:
		return now.Truncate(time.Hour).Add(time.Hour)
	case MailDaily:
		zone := m.Location()
		year, month, day := now.In(zone).Date()
		for ; ; day++ {
			at := time.Date(year, month, day, int(m.Hour), 0, 0, 0, zone)
			if begin, end := at.ZoneBounds(); at.Hour() != int(m.Hour) && !at.Equal(begin) {
				at = end // summer time begins in place of the hour
			}
			if at.After(now) {
				return at
			}
		}
	}
	return time.Time{}
}

// Location returns the person's time zone; UTC where it is not known.
func (m MailTimes) Location() *time.Location {
	if zone, err := time.LoadLocation(m.Zone); err == nil {
		return zone
	}
	return time.UTC
}

// CheckZone reports the rule that the name of a time zone breaks.
func CheckZone(name string) error {
	if _, err := time.LoadLocation(name); err != nil || name == "" || name == "Local" || len(name) > 64 {
		return errors.New("must be a time zone of the IANA database, such as Europe/Berlin")
	}
	return nil
}

// MailLook is what an operator says about the mails of a deployment or of an account.
type MailLook struct {
	FromName string `json:"fromName,omitempty"` // the sender's name; "" for none
	Product  string `json:"product,omitempty"`  // the name of what the mails are about; "" for none
	Link     string `json:"link,omitempty"`     // where the mails lead: a URL with names in braces, see LinkTo; "" for nowhere
	Logo     string `json:"logo,omitempty"`     // the https URL of a picture above the mails; "" for none
	Color    string `json:"color,omitempty"`    // of their button: #rrggbb; "" for blue
	Footer   string `json:"footer,omitempty"`   // a line at their end; "" for none
	Locale   string `json:"locale,omitempty"`   // the language of people who have none of their own; "" for English
	Texts    Texts  `json:"texts,omitempty"`    // in place of some of the service's
}

// Texts are texts for people by language and key: see package words.
type Texts map[string]map[string]string

// Or returns the look with the sender's name, product and link taken from another where they are empty.
func (l MailLook) Or(other MailLook) MailLook {
	l.FromName, l.Product, l.Link = cmp.Or(l.FromName, other.FromName), cmp.Or(l.Product, other.Product), cmp.Or(l.Link, other.Link)
	return l
}

var color = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

// CheckMailColor reports the rule that a color breaks.
func CheckMailColor(text string) error {
	if text != "" && !color.MatchString(text) {
		return errors.New("must be a color such as #0b57d0")
	}
	return nil
}

// CheckMailLogo reports the rule that the address of a logo breaks.
func CheckMailLogo(text string) error {
	u, err := url.Parse(text)
	if text != "" && (err != nil || u.Scheme != "https" || u.Host == "" || len(text) > maxMailLink || strings.ContainsFunc(text, unicode.IsSpace)) {
		return fmt.Errorf("must be an https URL of at most %d bytes", maxMailLink)
	}
	return nil
}

// CheckMailFooter reports the rule that a footer breaks.
func CheckMailFooter(text string) error { return checkLine(text, maxMailLink) }

// maxMailName is how long the sender's name and that of the product may be, in bytes; maxMailLink that of a link or footer.
const (
	maxMailName = 100
	maxMailLink = 500
)

// CheckMailName reports the rule that the name of a sender or product breaks.
func CheckMailName(name string) error { return checkLine(name, maxMailName) }

func checkLine(text string, most int) error {
	if len(text) > most || strings.ContainsFunc(text, unicode.IsControl) || strings.TrimSpace(text) != text {
		return fmt.Errorf("must be at most %d bytes without line ends, and without spaces around it", most)
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
