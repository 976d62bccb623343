package console

import (
	"context"
	"encoding/json"
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
	values   url.Values
	usage    *collab.Usage
	title    string
	crumbs   []cell
	Sections []*section
}

// section is a part of a page: what is not set is not there.
type section struct {
	Title   string
	Note    string // what a reader should know of it
	Bad     string // what went wrong
	Good    string // what was done
	Columns []string
	Rows    [][]cell
	Empty   string // said where there are no rows
	More    string // address of the page behind it
	ID      string // of a list that goes on
	Text    string // shown as it is
	Forms   []form
}

// cell is a text of a table, with where it leads.
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

func (s *Console) newView(ctx context.Context, values url.Values) *view {
	return &view{Console: s, ctx: ctx, values: values, usage: new(collab.Usage)}
}

// Title is the page's.
func (v *view) Title() string { return v.title }

// Crumbs lead to what the page is in.
func (v *view) Crumbs() []cell { return v.crumbs }

// HomePath leads out of the console, "" for nowhere.
func (v *view) HomePath() string { return v.Home }

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
	switch len(v.Scope()) {
	case 0:
		return "Id of an account or API key"
	case 1:
		return "Id of an organization, event, webhook or job"
	}
	return "Id of a document, folder, thread, user or event"
}

// Units is what was read of the table.
func (v *view) Units() string {
	read, _, _ := v.usage.Total()
	return strconv.FormatFloat(read, 'f', -1, 64)
}

// Most is what may be read.
func (v *view) Most() int { return MaxUnits }

// Get returns an id of the address, or a value of a form.
func (v *view) Get(name string) string { return v.values.Get(name) }

func (v *view) add(s *section) { v.Sections = append(v.Sections, s) }

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

// with is the address of the page with another value of a name.
func (v *view) with(path, name, value string) string {
	if value == "" {
		return ""
	}
	q := url.Values{}
	for n := range v.values {
		q.Set(n, v.Get(n))
	}
	q.Set(name, value)
	return Path + path + "?" + q.Encode()
}

// crumb adds what the page is in.
func (v *view) crumb(text, href string) { v.crumbs = append(v.crumbs, link(text, href)) }

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

func text(s string) cell           { return cell{Text: s} }
func link(s, href string) cell     { return cell{Text: s, Href: href} }
func soft(s string) cell           { return cell{Text: s, Class: "soft"} }
func number(n int) cell            { return cell{Text: strconv.Itoa(n)} }
func button(f form) cell           { return cell{Form: &f} }
func row(cells ...cell) []cell     { return cells }
func fact(n string, c cell) []cell { return []cell{{Text: n, Class: "name"}, c} }

// state says whether something is disabled.
func state(disabled bool) cell {
	if disabled {
		return cell{Text: "disabled", Class: "bad"}
	}
	return cell{Text: "enabled", Class: "good"}
}

// clock is a time as the pages show it, in UTC.
func clock(ms collab.Millis) cell {
	if ms == 0 {
		return soft("–")
	}
	return cell{Text: time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05"), Class: "time"}
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

// collect reads a list in steps, from behind the position that the address has under a name, until the page is full or has read enough. read returns
// up to n entries behind a position, and the position behind them, "" at the end.
func collect[T any](v *view, name string, step int, read func(after string, n int) ([]T, string, error)) (list []T, next string, err error) {
	next = v.Get(name)
	for {
		part, behind, err := read(next, min(step, pageSize-len(list)))
		if err != nil {
			return nil, "", err
		}
		list, next = append(list, part...), behind
		if next == "" || len(list) >= pageSize || v.enough() {
			return list, next, nil
		}
	}
}

// take reads a list that is read as it is asked for, until the page is full or has read enough.
func take[T any](v *view, list iter.Seq2[T, error], id func(T) string) (taken []T, next string, err error) {
	for x, err := range list {
		if err != nil {
			return nil, "", err
		}
		if n := len(taken); n > 0 && (n == pageSize || v.enough()) {
			return taken, id(taken[n-1]), nil
		}
		taken = append(taken, x)
	}
	return taken, "", nil
}

// last is the position behind a list of up to n entries.
func last[T any](list []T, n int, id func(T) string) string {
	if len(list) < n {
		return ""
	}
	return id(list[n-1])
}
