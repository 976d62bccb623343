package collab

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/language"
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
	MailDaily   MailFrequency = "daily"   // once a day, at a time of the user's choice
	MailWeekly  MailFrequency = "weekly"  // once a week, at a time of the user's choice
)

func (MailFrequency) Values() []string { return texts(MailInstant, MailHourly, MailDaily, MailWeekly) }

// Hours reports whether emails of a frequency have an hour.
func (f MailFrequency) Hours() bool { return f == MailDaily || f == MailWeekly }

const MailHour = 8

// Weekday is the name of a day of the week.
type Weekday string

const Monday Weekday = "monday"

var weekdays = []Weekday{"sunday", Monday, "tuesday", "wednesday", "thursday", "friday", "saturday"}

func (Weekday) Values() []string { return texts(append(slices.Clone(weekdays[1:]), weekdays[0])...) }

func (d Weekday) day() time.Weekday { return time.Weekday(max(slices.Index(weekdays, d), 0)) }

// QuietHours are the times at which a user gets no emails. The zero value is none.
type QuietHours struct {
	// Minutes of each day, from one before the other; none if they are equal.
	From int64 `dynamodbav:"qfr,omitempty"`
	To   int64 `dynamodbav:"qto,omitempty"`
	// Whole days: a bit for each time.Weekday.
	Days int64 `dynamodbav:"qdy,omitempty"`
}

// Quiet returns quiet hours on days, and of each day from one minute before another.
func Quiet(from, to int64, days []Weekday) (q QuietHours) {
	q.From, q.To = from, to
	for _, d := range days {
		q.Days |= 1 << d.day()
	}
	return q
}

// Weekdays returns the quiet days, Monday first.
func (q QuietHours) Weekdays() (days []Weekday) {
	for i := range 7 {
		if d := (i + 1) % 7; q.Days&(1<<d) != 0 {
			days = append(days, weekdays[d])
		}
	}
	return days
}

// MailTimes are a user's email times. The zero value is MailInstant.
type MailTimes struct {
	Frequency MailFrequency `dynamodbav:"mfr,omitempty"`
	// Day of MailWeekly.
	Day Weekday `dynamodbav:"mdy,omitempty"`
	// Hour of MailDaily and MailWeekly: 0 to 23, in Zone.
	Hour int64 `dynamodbav:"mhr,omitempty"`
	QuietHours
	// IANA name, such as Europe/Berlin; "" is UTC.
	Zone string `dynamodbav:"mtz,omitempty"`
}

// Due returns the time at which an email leaves that is due at a time by the account's settings:
// with the next hourly, daily or weekly one after now, or then, and not in quiet hours. An unknown
// zone is UTC.
func (m MailTimes) Due(now, due time.Time) time.Time {
	if next := m.next(now); !next.IsZero() {
		due = next
	}
	return m.Awake(due)
}

// next returns the time of the next hourly, daily or weekly email after a time, zero for
// MailInstant.
func (m MailTimes) next(now time.Time) time.Time {
	switch {
	case m.Frequency == MailHourly:
		return now.Truncate(time.Hour).Add(time.Hour)
	case !m.Frequency.Hours():
		return time.Time{}
	}
	zone := m.Location()
	year, month, day := now.In(zone).Date()
	for ; ; day++ {
		at := clock(year, month, day, 60*m.Hour, zone)
		if at.After(now) && (m.Frequency == MailDaily || time.Date(year, month, day, 12, 0, 0, 0, time.UTC).Weekday() == m.Day.day()) {
			return at
		}
	}
}

// clock returns the first time at a minute of a day, or after it if daylight saving time skips it.
func clock(year int, month time.Month, day int, minute int64, zone *time.Location) time.Time {
	at := time.Date(year, month, day, 0, int(minute), 0, 0, zone)
	if begin, end := at.ZoneBounds(); int64(60*at.Hour()+at.Minute()) != minute && !at.Equal(begin) {
		return end
	}
	return at
}

// Awake returns the first time from a time on that is not in quiet hours.
func (m MailTimes) Awake(at time.Time) time.Time {
	zone := m.Location()
	for {
		local := at.In(zone)
		year, month, day := local.Date()
		minute := int64(60*local.Hour() + local.Minute())
		end := m.To
		switch {
		case m.Days&(1<<local.Weekday()) != 0:
			day, end = day+1, 0
		case m.From <= m.To && (minute < m.From || minute >= m.To), m.From > m.To && minute < m.From && minute >= m.To:
			return at
		case minute >= m.To:
			day++
		}
		next := clock(year, month, day, end, zone)
		if !next.After(at) { // a clock that is set back shows the time again
			_, offset := local.Zone()
			next = time.Date(year, month, day, 0, int(end), 0, 0, time.FixedZone("", offset))
		}
		at = next
	}
}

// Location returns the user's time zone, UTC if it is unknown.
func (m MailTimes) Location() *time.Location {
	if zone, err := time.LoadLocation(m.Zone); err == nil {
		return zone
	}
	return time.UTC
}

// CheckLocale returns the rule that a locale breaks.
func CheckLocale(locale string) error {
	if _, err := language.Parse(locale); err != nil || len(locale) > 35 {
		return errors.New("must be a BCP 47 language tag, such as de or pt-BR")
	}
	return nil
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
	Link   string `json:"mailLink" rule:"notnull" doc:"URL in emails, with {organizationId}, {documentId}, {annotationId} and {commentId} in it; empty: the deployment's"`
	Logo   string `json:"mailLogo" rule:"notnull" doc:"The https URL of a picture above emails; empty: none"`
	Color  string `json:"mailColor" rule:"notnull" doc:"Button color in emails, such as #0b57d0; empty: blue"`
	Footer string `json:"mailFooter" rule:"notnull" doc:"A line at the end of emails; empty: none"`
	Locale string `json:"mailLocale" rule:"notnull,locale" doc:"Default language of emails and headlines, a BCP 47 tag such as pt-BR"`
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
