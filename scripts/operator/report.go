package operator

import (
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"
	"time"

	"collabdata/shared/collab"
)

// Report is what an operation says of what it has found or done.
type Report struct {
	Title string // of its page; "" for the operation's name
	Parts []*Part
	Above []Cell   // links to what the page is in
	Done  string   // what was done
	Next  []string // commands with which to go on
	Then  string   // address of the page to show after what was done; "" for the one where it was asked for
	Stay  bool     // the report itself is shown then: it has what is not shown again
}

// Part is a list, facts, or a text. What is not set is not there.
type Part struct {
	Title     string
	Note, Bad string   // what a reader should know of it, what went wrong
	Columns   []string // of a list; nil for facts, whose rows are names and values
	Rows      [][]Cell
	Empty     string // said where a list has no rows; "" is that there is none
	ID, More  string // of a list that goes on: its name, and the address of what follows
	Text      string // shown as it is
	Links     []Cell // to pages that have more of it
	Offers    []*Offer
}

// Cell is a value of a report: a text, a number, or a Time.
type Cell struct {
	Value any
	Href  string // address of a page about it, below the console's
	Kind  Kind
	Offer *Offer // with which it can be changed
	Note  string // says what it is
}

// Further reports whether rows have a value that has no column: an offer.
func (p *Part) Further() bool { return len(p.Rows) > 0 && len(p.Rows[0]) > len(p.Columns) }

// Offers returns the report's offers, also those of its values.
func (r *Report) Offers() (all []*Offer) {
	for _, p := range r.Parts {
		all = append(all, p.Offers...)
		for _, row := range p.Rows {
			for _, c := range row {
				if c.Offer != nil {
					all = append(all, c.Offer)
				}
			}
		}
	}
	return all
}

// Kind is how a value is to be taken.
type Kind string

// The kinds.
const (
	Good Kind = "good"
	Bad  Kind = "bad"
	Soft Kind = "soft" // it says little
)

// Time is a time of a report; 0 is never.
type Time collab.Millis

// String writes the time for programs; `never` for 0.
func (t Time) String() string {
	if t == 0 {
		return "never"
	}
	return time.UnixMilli(int64(t)).UTC().Format(time.RFC3339)
}

// MarshalText writes the time as String does.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Clock writes the time for people, in UTC.
func (t Time) Clock() string {
	if t == 0 {
		return "–"
	}
	return time.UnixMilli(int64(t)).UTC().Format("2006-01-02 15:04:05")
}

// Offer is a form for another operation.
type Offer struct {
	Operation string // its name
	Label     string // of the button
	Given     [][2]string
	Inputs    []Input
	Bad       string // why it was refused
}

// Input is a field of a form.
type Input struct {
	Name, Label, Value string
	Kind               string   // of the element; "" is text
	Values             []string // those that there are
}

const (
	// MaxUnits is the most read capacity units that a page takes.
	MaxUnits = 1_000

	enoughUnits = 400 // end a list: no step of reading one takes more than what is left
	pageSize    = 25  // entries of a list
)

// Run is one run of an operation.
type Run struct {
	*Operator
	Report
	values url.Values // what the page was asked for, with where its lists begin; nil where lists are whole
	until  time.Time  // when to stop and offer to go on; zero for never
	usage  *collab.Usage
}

// Command begins a run whose lists are whole.
func (o *Operator) Command() *Run { return &Run{Operator: o, usage: new(collab.Usage)} }

// Page begins a run for a page, whose lists have up to 25 entries, and links to what follows. It takes no more than MaxUnits. A change
// stops at the time until, and offers to go on.
func (o *Operator) Page(values url.Values, until time.Time) *Run {
	return &Run{Operator: o, values: values, until: until, usage: new(collab.Usage)}
}

// Units returns how many read units of the table the run has taken.
func (r *Run) Units() float64 {
	read, _, _ := r.usage.Total()
	return read
}

// enough reports whether a page has read so much that its lists end.
func (r *Run) enough() bool { return r.values != nil && r.Units() >= enoughUnits }

func (r *Run) add(p *Part) { r.Parts = append(r.Parts, p) }

// facts adds a part of facts, given as name and value in turn.
func (r *Run) facts(namesAndValues ...any) *Part {
	p := &Part{Rows: facts(namesAndValues...)}
	r.add(p)
	return p
}

// facts are rows of names and values, given in turn.
func facts(namesAndValues ...any) (rows [][]Cell) {
	for pair := range slices.Chunk(namesAndValues, 2) {
		rows = append(rows, row(pair...))
	}
	return rows
}

func (r *Run) done(format string, args ...any) { r.Done = fmt.Sprintf(format, args...) }

func (r *Run) next(format string, args ...any) { r.Next = append(r.Next, fmt.Sprintf(format, args...)) }

// row is a row of values, which may be cells.
func row(values ...any) []Cell {
	return collab.Map(values, func(v any) Cell {
		if c, ok := v.(Cell); ok {
			return c
		}
		return Cell{Value: v}
	})
}

func link(text, href string) Cell { return Cell{Value: text, Href: href} }
func soft(text string) Cell       { return Cell{Value: text, Kind: Soft} }
func good(text string) Cell       { return Cell{Value: text, Kind: Good} }
func bad(text string) Cell        { return Cell{Value: text, Kind: Bad} }

// state says whether something is disabled.
func state(disabled bool) Cell {
	if disabled {
		return bad("disabled")
	}
	return good("enabled")
}

// address is that of a page, with names and values in turn.
func address(path string, namesAndValues ...string) string {
	q := url.Values{}
	for i := 0; i < len(namesAndValues); i += 2 {
		q.Set(namesAndValues[i], namesAndValues[i+1])
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

// given returns names and values: of the names those that the page was given, and then the further ones.
func (r *Run) given(names string, namesAndValues []string) (all []string) {
	for name := range strings.FieldsSeq(names) {
		all = append(all, name, r.values.Get(name))
	}
	return append(all, namesAndValues...)
}

// at is the address of a page that is given of what this one was given, and further names and values.
func (r *Run) at(path, names string, namesAndValues ...string) string {
	return address(path, r.given(names, namesAndValues)...)
}

// offer returns a form that is given of what the page was given, and further names and values.
func (r *Run) offer(operation, label, names string, namesAndValues ...string) *Offer {
	f := &Offer{Operation: operation, Label: label}
	for pair := range slices.Chunk(r.given(names, namesAndValues), 2) {
		f.Given = append(f.Given, [2]string(pair))
	}
	return f
}

// more is the address of what follows a position of a list, "" for none.
func (r *Run) more(list, position string) string {
	if position == "" {
		return ""
	}
	q := url.Values{list: {position}}
	for name := range r.values {
		if name != list {
			q.Set(name, r.values.Get(name))
		}
	}
	return "?" + q.Encode()
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

// reader returns up to n entries of a list after a position, and the position after them, "" at the end.
type reader[T any] func(after string, n int) ([]T, string, error)

// after is the reader of a list that goes on after the id of its last entry.
func after[T any](read func(after string, n int) ([]T, error), id func(T) string) reader[T] {
	return func(after string, n int) ([]T, string, error) {
		list, err := read(after, n)
		if err != nil || len(list) < n {
			return list, "", err
		}
		return list, id(list[n-1]), nil
	}
}

// lazily is the reader of a list that is read as it is asked for.
func lazily[T any](r *Run, from func(after string) iter.Seq2[T, error], id func(T) string) reader[T] {
	return func(after string, n int) (list []T, next string, err error) {
		for x, err := range from(after) {
			if err != nil {
				return nil, "", err
			}
			if k := len(list); k > 0 && (k == n || r.enough()) {
				return list, id(list[k-1]), nil
			}
			list = append(list, x)
		}
		return list, "", nil
	}
}

// list adds a list: whole, or on a page as many entries as a page has, or until that has read enough. It begins after the position that the
// page was given under its name. It is read in steps of n, each of which takes no more units than MaxUnits and enoughUnits leave. show
// returns nil for an entry that is passed over.
func list[T any](r *Run, id string, p *Part, n int, read reader[T], show func(T) ([]Cell, error)) error {
	r.add(p)
	p.ID = id
	for next := r.values.Get(id); ; {
		if r.values == nil {
			n = collab.MaxPageSize
		} else {
			n = min(n, pageSize-len(p.Rows))
		}
		entries, after, err := read(next, n)
		if err != nil {
			return err
		}
		for _, x := range entries {
			cells, err := show(x)
			if err != nil {
				return err
			}
			if cells != nil {
				p.Rows = append(p.Rows, cells)
			}
		}
		next = after
		if next == "" || r.values != nil && len(p.Rows) >= pageSize || r.enough() {
			p.More = r.more(id, next)
			return nil
		}
	}
}

// always is show of list where nothing fails.
func always[T any](show func(T) []Cell) func(T) ([]Cell, error) {
	return func(x T) ([]Cell, error) { return show(x), nil }
}
