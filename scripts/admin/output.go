package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"collabdata/scripts/admin/answer"
	"collabdata/shared/api/rpc"
)

func printJSON(out io.Writer, r *rpc.Result) error {
	var b bytes.Buffer
	if err := json.Indent(&b, r.Data, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, b.String())
	return err
}

// printTables prints the data of a response as tables: aligned, or else tab-separated.
func printTables(out io.Writer, key string, r *rpc.Result, aligned bool) error {
	v := answer.Parse(r.Data)
	if v.Empty() {
		return nil
	}
	for i, p := range answer.Parts("", key, v) {
		if i > 0 {
			fmt.Fprintf(out, "\n%s\n", p.Title)
		}
		var w interface {
			io.Writer
			Flush() error
		} = bufio.NewWriter(out)
		if aligned {
			w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		}
		printPart(w, p)
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func printPart(w io.Writer, p answer.Part) {
	if len(p.Columns) > 0 {
		fmt.Fprintln(w, strings.Join(p.Columns, "\t"))
	}
	for _, row := range p.Rows {
		texts := make([]string, len(row))
		for i, v := range row {
			texts[i] = line(v)
		}
		fmt.Fprintln(w, strings.Join(texts, "\t"))
	}
	for _, f := range p.Facts {
		fmt.Fprintf(w, "%s\t%s\n", f.Name, line(f.Value))
	}
}

// line formats a value as one line without tabs.
func line(v answer.Value) string {
	return strings.NewReplacer("\t", " ", "\n", " ", "\r", " ").Replace(v.String())
}
