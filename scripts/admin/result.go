package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"collabdata/shared/api/rpc"
)

// result is what a command answers: a list, or the fields of one thing. A person reads it as a table, a program as lines with tabs between
// the values, or as JSON: an array of objects, or one object.
type result struct {
	columns []string // of a list; nil for the fields of one thing
	rows    [][]any  // of a list
	fields  rpc.Keyed[any]
	lines   [][]any // fields as lines
}

// list begins a list, with the names of its columns as in AN EXAMPLE.
func (r *result) list(columns ...string) { r.columns = columns }

// row adds a row to the list.
func (r *result) row(values ...any) { r.rows = append(r.rows, values) }

// field adds a field, which has a line of its own.
func (r *result) field(name string, value any) {
	r.fields = append(r.fields, rpc.Member[any]{Key: camel(name), Value: value})
	r.lines = append(r.lines, []any{name, value})
}

// record adds fields, given as name and value in turn, whose values are one line.
func (r *result) record(namesAndValues ...any) {
	var line []any
	for pair := range slices.Chunk(namesAndValues, 2) {
		r.fields = append(r.fields, rpc.Member[any]{Key: camel(fmt.Sprint(pair[0])), Value: pair[1]})
		line = append(line, pair[1])
	}
	r.lines = append(r.lines, line)
}

// camel is a name as members of JSON have it: failingSince for FAILING SINCE and failing-since.
func camel(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == ' ' || r == '-' })
	for i := 1; i < len(words); i++ {
		words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
	}
	return strings.Join(words, "")
}

// printJSON prints the result as JSON, nothing where there is none.
func (r *result) printJSON(out io.Writer) error {
	var v any = r.fields
	if r.columns != nil {
		list := make([]rpc.Keyed[any], len(r.rows))
		for i, row := range r.rows {
			for j, value := range row {
				list[i] = append(list[i], rpc.Member[any]{Key: camel(r.columns[j]), Value: value})
			}
		}
		v = list
	} else if r.fields == nil {
		return nil
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// printLines prints the result as lines: aligned, or with tabs between the values.
func (r *result) printLines(out io.Writer, aligned bool) error {
	lines := r.lines
	if r.columns != nil {
		header := make([]any, len(r.columns))
		for i, c := range r.columns {
			header[i] = c
		}
		lines = append([][]any{header}, r.rows...)
	}
	var w interface {
		io.Writer
		Flush() error
	} = bufio.NewWriter(out)
	if aligned {
		w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	}
	for _, line := range lines {
		fmt.Fprintln(w, joined(line)) // Flush tells of an error
	}
	return w.Flush()
}

// joined returns the values of a line with tabs between them, and without those and ends of lines within.
func joined(line []any) string {
	texts := make([]string, len(line))
	for i, value := range line {
		texts[i] = strings.NewReplacer("\t", " ", "\n", " ", "\r", " ").Replace(fmt.Sprint(value))
	}
	return strings.Join(texts, "\t")
}
