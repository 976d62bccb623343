package console

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"

	"collabdata/shared/collab"
)

// view is a page with what it shows, of what it was asked for.
type view struct {
	*Console
	ctx      context.Context // for Explain alone
	path     string          // below Path
	values   url.Values
	usage    *collab.Usage
	Title    string
	Crumbs   []cell // lead to what the page is in
	Sections []*section
}

// section is a part of a page: what is not set is not there.
type section struct {
	Title     string
	Note      string // what a reader should know of it
	Bad, Good string // what went wrong, what was done
	Columns   []string
	Rows      [][]cell
	Empty     string // said where there are no rows; "" is that there is none
	ID, More  string // of a list that goes on: its name, and the address of what is behind it
	Text      string // shown as it is
	Forms     []form
}

// cell is a text of a table, with where it leads, or a form.
type cell struct {
	Text, Href, Class string
	Form              *form
}

// form asks for a change, or with Get for a page.
type form struct {
	Action, Label string
	Get           bool
	Hidden        [][2]string
	Inputs        []input
}

// input is one field of a form.
type input struct {
	Name, Label, Value string
	Kind               string   // of the element; "" is text
	Values             []string // those that there are
}

func (s *Console) newView(ctx context.Context, path string, values url.Values) *view {
	return &view{Console: s, ctx: ctx, path: path, values: values, usage: new(collab.Usage)}
}

// Get returns an id of the address, or a value of a form.
func (v *view) Get(name string) string { return v.values.Get(name) }

// Units says what the page took.
func (v *view) Units() string {
	read, _, _ := v.usage.Total()
	return fmt.Sprintf("This page has read %v units of the table; none reads more than %d.", read, MaxUnits)
}

// Scope names what of the address says where an id is looked for.
func (v *view) Scope() (names []string) {
	for _, name := range []string{"account", "organization"} {
		if v.Get(name) != "" {
			names = append(names, name)
		}
	}
	return names
}

// ScopeText says what an id may be of.
func (v *view) ScopeText() string {
	return [...]string{
		"Id of an account or API key", "Id of an organization, event, webhook or job", "Id of a document, folder, thread, user or event",
	}[len(v.Scope())]
}

func (v *view) add(s *section) { v.Sections = append(v.Sections, s) }

// facts adds a section of names and values.
func (v *view) facts(rows [][]cell, forms ...form) { v.add(&section{Rows: rows, Forms: forms}) }

// crumb adds what the page is in.
func (v *view) crumb(text, href string) { v.Crumbs = append(v.Crumbs, link(text, href)) }

// check fails unless the address names what the page is about.
func (v *view) check(params []string) error {
	for _, name := range params {
		if err := collab.CheckID(v.Get(name), collab.MaxDocumentID); err != nil {
			return collab.Errorf(collab.InvalidArgument, "%s of the address %v", name, err)
		}
	}
	return nil
}

// at is the address of a page, with names and values in turn.
func at(path string, namesAndValues ...string) string {
	q := url.Values{}
	for i := 0; i < len(namesAndValues); i += 2 {
		q.Set(namesAndValues[i], namesAndValues[i+1])
	}
	if len(q) == 0 {
		return Path + path
	}
	return Path + path + "?" + q.Encode()
}

// at is the address of a page that names of what the view names, and further names and values.
func (v *view) at(path string, names string, namesAndValues ...string) string {
	for name := range strings.FieldsSeq(names) {
		namesAndValues = append(namesAndValues, name, v.Get(name))
	}
	return at(path, namesAndValues...)
}

// more is the address of what is behind a position of a list, "" for none.
func (v *view) more(list, position string) string {
	if position == "" {
		return ""
	}
	q := url.Values{}
	for name := range v.values {
		q.Set(name, v.Get(name))
	}
	q.Set(list, position)
	return Path + v.path + "?" + q.Encode()
}

// ask returns a form for a change, which brings what the view names, and further names and values.
func (v *view) ask(action, label, names string, namesAndValues ...string) form {
	f := form{Action: Path + "/" + action, Label: label, Hidden: [][2]string{{"form", v.form}}}
	for name := range strings.FieldsSeq(names) {
		f.Hidden = append(f.Hidden, [2]string{name, v.Get(name)})
	}
	for i := 0; i < len(namesAndValues); i += 2 {
		f.Hidden = append(f.Hidden, [2]string{namesAndValues[i], namesAndValues[i+1]})
	}
	return f
}

// filter returns a form that shows the page with other values beside what the view names.
func (v *view) filter(names string, inputs ...input) form {
	f := form{Action: Path + v.path, Label: "Show", Get: true, Inputs: inputs}
	for name := range strings.FieldsSeq(names) {
		f.Hidden = append(f.Hidden, [2]string{name, v.Get(name)})
	}
	return f
}

func text(s string) cell             { return cell{Text: s} }
func link(s, href string) cell       { return cell{Text: s, Href: href} }
func soft(s string) cell             { return cell{Text: s, Class: "soft"} }
func good(s string) cell             { return cell{Text: s, Class: "good"} }
func bad(s string) cell              { return cell{Text: s, Class: "bad"} }
func number[T int | int64](n T) cell { return cell{Text: fmt.Sprint(n)} }
func row(cells ...cell) []cell       { return cells }
func fact(n string, c cell) []cell   { return row(cell{Text: n, Class: "name"}, c) }

// state says whether something is disabled.
func state(disabled bool) cell {
	if disabled {
		return bad("disabled")
	}
	return good("enabled")
}

// clock is a time as the pages show it, in UTC.
func clock(ms collab.Millis) cell {
	if ms == 0 {
		return soft("–")
	}
	return cell{Text: time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05"), Class: "time"}
}

// span is a length of time as people say it.
func span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.0f hours", d.Hours())
	case d >= 2*time.Minute:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	}
	return fmt.Sprintf("%.0f seconds", d.Seconds())
}

// person names a user of the contract by name and id.
func person(object collab.JSON) string {
	var u collab.User
	if len(object) == 0 || json.Unmarshal(object, &u) != nil {
		return ""
	}
	return named(u)
}

func named(u collab.User) string {
	if name := u.DisplayName(); name != u.UserID {
		return name + " (" + u.UserID + ")"
	}
	return u.UserID
}

// enough reports whether the page has read so much that its lists end.
func (v *view) enough() bool {
	read, _, _ := v.usage.Total()
	return read >= enoughUnits
}

// reader returns up to n entries of a list behind a position, and the position behind them, "" at the end.
type reader[T any] func(after string, n int) ([]T, string, error)

// behind is the reader of a list that goes on behind the id of its last entry.
func behind[T any](read func(after string, n int) ([]T, error), id func(T) string) reader[T] {
	return func(after string, n int) ([]T, string, error) {
		list, err := read(after, n)
		if err != nil || len(list) < n {
			return list, "", err
		}
		return list, id(list[n-1]), nil
	}
}

// lazily is the reader of a list that is read as it is asked for.
func lazily[T any](v *view, from func(after string) iter.Seq2[T, error], id func(T) string) reader[T] {
	return func(after string, n int) (list []T, next string, err error) {
		for x, err := range from(after) {
			if err != nil {
				return nil, "", err
			}
			if k := len(list); k > 0 && (k == n || v.enough()) {
				return list, id(list[k-1]), nil
			}
			list = append(list, x)
		}
		return list, "", nil
	}
}

// addList adds a list, of as many entries as a page has, or until the page has read enough. It begins behind the position that the address
// has under its name. It is read in steps of n, each of which takes no more units than MaxUnits and enoughUnits leave. show returns nil for
// an entry that is passed over.
func addList[T any](v *view, name string, s *section, n int, read reader[T], show func(T) ([]cell, error)) error {
	v.add(s)
	s.ID = name
	for next := v.Get(name); ; {
		list, behind, err := read(next, min(n, pageSize-len(s.Rows)))
		if err != nil {
			return err
		}
		for _, x := range list {
			cells, err := show(x)
			if err != nil {
				return err
			}
			if cells != nil {
				s.Rows = append(s.Rows, cells)
			}
		}
		if next = behind; next == "" || len(s.Rows) == pageSize || v.enough() {
			s.More = v.more(name, next)
			return nil
		}
	}
}

// always is show of addList where nothing fails.
func always[T any](show func(T) []cell) func(T) ([]cell, error) {
	return func(x T) ([]cell, error) { return show(x), nil }
}

// eventAt is the address of an event.
func eventAt(account, event string) string { return at("/event", "account", account, "event", event) }

// atoi reads a position that is a number; 0 for any other.
func atoi(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
