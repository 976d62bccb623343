package main

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strconv"
	"strings"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store/directory"

	"github.com/alecthomas/kong"
)

// id is an identifier on the command line.
type id string

// Validate reports the rule that the id breaks.
func (i id) Validate() error { return collab.CheckID(string(i), collab.MaxID) }

// newID is an identifier that is being given: one that stands in a shell, a URL and a log as it is. Those that are there may be any id.
type newID string

// Validate reports the rule that the id breaks.
func (i newID) Validate() error {
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	if i == "" || len(i) > 64 || strings.Trim(string(i), characters) != "" || i[0] == '-' {
		return errors.New("must be 1 to 64 letters, digits, _ and -, and not begin with -")
	}
	return nil
}

// documentID is the identifier of a document on the command line.
type documentID string

// Validate reports the rule that the id breaks.
func (i documentID) Validate() error { return collab.CheckID(string(i), collab.MaxDocumentID) }

// email is an address on the command line, "" for none.
type email string

// Validate reports an address that mail could not be sent to.
func (e email) Validate() error {
	if e == "" {
		return nil
	}
	if a, err := mail.ParseAddress(string(e)); err != nil || a.Address != string(e) || len(e) > 320 {
		return errors.New("must be a plain address such as ann@example.com")
	}
	return nil
}

// name is a display name on the command line.
type name string

// Validate reports a name that is too long to be stored beside an address.
func (n name) Validate() error {
	if len(n) > maxName {
		return fmt.Errorf("must be at most %d bytes", maxName)
	}
	return nil
}

const maxName = 680 // with an address of 320 bytes the most that the interface takes for a user, too

// moment is a time on the command line: a date, a time in RFC 3339, or a span such as 90d or 12h from now, whose direction the command
// knows.
type moment struct {
	at   time.Time
	span time.Duration // instead of at, when not 0
}

// Decode reads the moment from the command line.
func (m *moment) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			m.at = at
			return nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n > 0 {
			m.span = time.Duration(n) * 24 * time.Hour
			return nil
		}
	}
	if span, err := time.ParseDuration(text); err == nil && span > 0 {
		m.span = span
		return nil
	}
	return fmt.Errorf("%q is no time: write 2027-01-31, 2027-01-31T12:00:00Z, 90d or 12h", text)
}

// after is the moment, a span counted from now on.
func (m moment) after(now time.Time) time.Time {
	if m.span != 0 {
		return now.Add(m.span)
	}
	return m.at
}

// before is the moment, a span counted back from now.
func (m moment) before(now time.Time) time.Time {
	if m.span != 0 {
		return now.Add(-m.span)
	}
	return m.at
}

// stamp writes a time as results show it; `never` for 0.
func stamp(ms collab.Millis) string {
	if ms == 0 {
		return "never"
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

// organization names an organization of an account on the command line.
type organization struct {
	Account      id `arg:"" help:"Account."`
	Organization id `arg:"" help:"Organization."`
}

func (o organization) ref() collab.OrganizationRef {
	return collab.OrganizationRef{Account: string(o.Account), Organization: string(o.Organization)}
}

// check fails when the account or the organization does not exist.
func (o organization) check(ctx context.Context, s *directory.Store) error {
	if err := checkAccount(ctx, s, o.Account); err != nil {
		return err
	}
	found, err := s.Organizations(ctx, string(o.Account), []string{string(o.Organization)})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf(
			"organization %q does not exist: make it by `admin organization put %s %s`", o.Organization, word(o.Account), word(o.Organization),
		)
	}
	return err
}

// open returns the organization, disabled or not. It fails when the account or the organization does not exist.
func (o organization) open(ctx context.Context, s *directory.Store) (collab.OrganizationRef, error) {
	if err := o.check(ctx, s); err != nil {
		return collab.OrganizationRef{}, err
	}
	return s.FindOrganization(ctx, string(o.Account), string(o.Organization), false)
}

// checkAccount fails when the account does not exist.
func checkAccount(ctx context.Context, s *directory.Store, account id) error {
	_, err := s.Account(ctx, string(account))
	return accountError(err)
}

// accountError adds to an error about a missing account where the accounts are listed.
func accountError(err error) error {
	if collab.CodeOf(err) == collab.NotFound {
		return fmt.Errorf("%s: see `admin account list`", collab.MessageOf(err))
	}
	return err
}

// word returns a text as one word of a shell's command line.
func word[T ~string](text T) string {
	s := string(text)
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/@-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
