package collab

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// MailBatch selects the events that share an email.
type MailBatch string

const (
	BatchEvent  MailBatch = "event"  // each event, at once
	BatchThread MailBatch = "thread" // events on one thread
	BatchPerson MailBatch = "person" // all of the user's events
)

func (MailBatch) Values() []string { return texts(BatchEvent, BatchThread, BatchPerson) }

// MailChannel is how an account's emails are sent.
type MailChannel string

const (
	MailByEmail   MailChannel = "email"   // by the service
	MailByWebhook MailChannel = "webhook" // by the product, which receives NotificationDue
)

func (MailChannel) Values() []string { return texts(MailByEmail, MailByWebhook) }

// MailDelay is the default delay of emails, in seconds.
const MailDelay = 300

// MailFrequency is how often a user receives emails.
type MailFrequency string

const (
	MailInstant MailFrequency = "instant" // by the account's settings
	MailHourly  MailFrequency = "hourly"  // every full hour
	MailDaily   MailFrequency = "daily"   // once a day, at an hour of the user's choice
)

func (MailFrequency) Values() []string { return texts(MailInstant, MailHourly, MailDaily) }

const MailHour = 8

// MailTimes are a user's email times. The zero value is MailInstant.
type MailTimes struct {
	Frequency MailFrequency `json:"mailFrequency" dynamodbav:"mfr,omitempty"`
	// Hour of MailDaily: 0 to 23, in Zone.
	Hour int64 `json:"mailHour" dynamodbav:"mhr,omitempty"`
	// IANA name, such as Europe/Berlin; "" is UTC.
	Zone string `json:"timeZone" dynamodbav:"mtz,omitempty"`
}

// Next returns the time of the next hourly or daily email after a time, zero for MailInstant. An
// unknown zone is UTC.
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
				at = end // daylight saving time skips the hour
			}
			if at.After(now) {
				return at
			}
		}
	}
	return time.Time{}
}

// Location returns the user's time zone, UTC if it is unknown.
func (m MailTimes) Location() *time.Location {
	if zone, err := time.LoadLocation(m.Zone); err == nil {
		return zone
	}
	return time.UTC
}

// CheckZone returns the rule that the name of a time zone breaks.
func CheckZone(name string) error {
	if _, err := time.LoadLocation(name); err != nil || name == "" || name == "Local" || len(name) > 64 {
		return errors.New("must be a time zone of the IANA database, such as Europe/Berlin")
	}
	return nil
}

// MailLook is the appearance of a deployment's or an account's emails.
type MailLook struct {
	FromName string `json:"mailFromName" rule:"notnull" doc:"Sender name of emails; empty: the deployment's, else the product's name"`
	Product  string `json:"mailProduct" rule:"notnull" doc:"Product name in emails; empty: the deployment's"`
	// See LinkTo.
	Link   string `json:"mailLink" rule:"notnull" doc:"URL in emails, with {organizationId}, {documentId} and {annotationId}; empty: the deployment's"`
	Logo   string `json:"mailLogo" rule:"notnull" doc:"The https URL of a picture above emails; empty: none"`
	Color  string `json:"mailColor" rule:"notnull" doc:"Button color in emails, such as #0b57d0; empty: blue"`
	Footer string `json:"mailFooter" rule:"notnull" doc:"A line at the end of emails; empty: none"`
	Locale string `json:"mailLocale" rule:"notnull" doc:"Default language of emails and headlines, a BCP 47 tag such as pt-BR"`
	Texts  Texts  `json:"mailTexts" rule:"notnull,object" doc:"Custom texts by language and key, such as {\"en\": {\"replied\": \"{actionUser} answered\"}}; replaced as a whole"`
}

// Texts are user-facing texts by language and key: see package words.
type Texts map[string]map[string]string

// UnmarshalJSON replaces the texts. Its error is the rule that the text breaks.
func (t *Texts) UnmarshalJSON(text []byte) error {
	var texts map[string]map[string]string
	if json.Unmarshal(text, &texts) != nil {
		return errors.New("must be an object of objects of texts: by language, by key")
	}
	*t = texts
	return nil
}

// Or returns the look with empty sender name, product and link taken from another.
func (l MailLook) Or(other MailLook) MailLook {
	l.FromName, l.Product, l.Link = cmp.Or(l.FromName, other.FromName), cmp.Or(l.Product, other.Product), cmp.Or(l.Link, other.Link)
	return l
}

var color = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

// CheckMailColor returns the rule that a color breaks.
func CheckMailColor(text string) error {
	if text != "" && !color.MatchString(text) {
		return errors.New("must be a color such as #0b57d0")
	}
	return nil
}

// CheckMailLogo returns the rule that the URL of a logo breaks.
func CheckMailLogo(text string) error {
	u, err := url.Parse(text)
	if text != "" && (err != nil || u.Scheme != "https" || u.Host == "" || len(text) > maxMailLink || strings.ContainsFunc(text, unicode.IsSpace)) {
		return fmt.Errorf("must be an https URL of at most %d bytes", maxMailLink)
	}
	return nil
}

// CheckMailFooter returns the rule that a footer breaks.
func CheckMailFooter(text string) error { return checkLine(text, maxMailLink) }

// maxMailName limits the names of sender and product, maxMailLink a link or footer, in bytes.
const (
	maxMailName = 100
	maxMailLink = 500
)

// CheckMailName returns the rule that the name of a sender or product breaks.
func CheckMailName(name string) error { return checkLine(name, maxMailName) }

func checkLine(text string, limit int) error {
	if len(text) > limit || strings.ContainsFunc(text, unicode.IsControl) || strings.TrimSpace(text) != text {
		return fmt.Errorf("must be at most %d bytes without line ends, and without spaces around it", limit)
	}
	return nil
}

// CheckMailLink returns the rule that a link in emails breaks.
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

// LinkTo replaces `{organizationId}`, `{documentId}`, `{annotationId}` and `{commentId}` in the
// link with ids, escaped for any part of a URL. A missing id becomes "". It returns "" if there is
// no link.
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
