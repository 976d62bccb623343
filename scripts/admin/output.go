package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"collabdata/scripts/operator"
	"collabdata/shared/api/rpc"
)

// words are a name as words without capitals: of FAILING SINCE, Failing since and failing-since.
func words(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == ' ' || r == '-' })
}

// camel is a name as members of JSON have it: failingSince for Failing since.
func camel(name string) string {
	list := words(name)
	for i := 1; i < len(list); i++ {
		list[i] = strings.ToUpper(list[i][:1]) + list[i][1:]
	}
	return strings.Join(list, "")
}

// printJSON prints a report as JSON: a list as an array of objects, facts as one object, several parts as one object, and nothing where
// there is nothing. A text is printed as it is.
func printJSON(out io.Writer, r *operator.Report) error {
	var all rpc.Keyed[any]
	for _, p := range r.Parts {
		if p.Text != "" && len(r.Parts) == 1 {
			_, err := fmt.Fprintln(out, p.Text)
			return err
		}
		name := camel(p.Title)
		switch {
		case p.Text != "":
			all = append(all, rpc.Member[any]{Key: name, Value: p.Text})
		case p.Columns == nil:
			for _, row := range p.Rows {
				all = append(all, rpc.Member[any]{Key: camel(fmt.Sprint(row[0].Value)), Value: row[1].Value})
			}
		default:
			list := make([]rpc.Keyed[any], len(p.Rows))
			for i, row := range p.Rows {
				for j, column := range p.Columns {
					list[i] = append(list[i], rpc.Member[any]{Key: camel(column), Value: row[j].Value})
				}
			}
			if len(r.Parts) == 1 {
				return encode(out, list)
			}
			all = append(all, rpc.Member[any]{Key: name, Value: list})
		}
	}
	if all == nil {
		return nil
	}
	return encode(out, all)
}

func encode(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// shown reports whether a command shows a part: forms alone are the console's.
func shown(p *operator.Part) bool { return p.Columns != nil || p.Rows != nil || p.Text != "" }

// printLines prints a report as lines: aligned, or with tabs between the values. Of several parts each has its title above it.
func printLines(out io.Writer, r *operator.Report, aligned bool) error {
	for i, p := range r.Parts {
		var w interface {
			io.Writer
			Flush() error
		} = bufio.NewWriter(out)
		if aligned {
			w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		}
		if !shown(p) {
			continue
		}
		if i > 0 && p.Title != "" {
			fmt.Fprintf(w, "\n%s\n", p.Title)
		}
		if p.Columns != nil {
			fmt.Fprintln(w, strings.ToUpper(strings.Join(p.Columns, "\t"))) // Flush returns an error
		}
		for _, row := range p.Rows {
			n := len(p.Columns) // what has no column is an offer
			if p.Columns == nil {
				n = 2
				row[0].Value = strings.Join(words(fmt.Sprint(row[0].Value)), "-")
			}
			fmt.Fprintln(w, joined(row[:n]))
		}
		if p.Text != "" {
			fmt.Fprintln(w, p.Text)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// joined returns values with tabs between them, and without those and ends of lines within.
func joined(row []operator.Cell) string {
	texts := make([]string, len(row))
	for i, c := range row {
		texts[i] = strings.NewReplacer("\t", " ", "\n", " ", "\r", " ").Replace(fmt.Sprint(c.Value))
	}
	return strings.Join(texts, "\t")
}
