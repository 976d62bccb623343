package openapi

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// width is the maximum length of a breakable line in openapi.json.
const width = 140

// layout writes a value: on one line if it fits, else with each member or item on its own lines.
func layout(b *bytes.Buffer, text jsontext.Value, depth int) error {
	line := jsontext.Value(bytes.Clone(text))
	if err := line.Format(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true)); err != nil {
		return err
	}
	column := b.Len() - bytes.LastIndexByte(b.Bytes(), '\n') - 1
	if kind := text.Kind(); column+len(line) <= width || kind != '{' && kind != '[' {
		b.Write(line)
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	open, err := dec.ReadToken()
	if err != nil {
		return err
	}
	b.WriteString(open.String())
	for n := 0; dec.PeekKind() != '}' && dec.PeekKind() != ']'; n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + strings.Repeat(" ", depth+1))
		if open.Kind() == '{' {
			key, err := dec.ReadValue()
			if err != nil {
				return err
			}
			b.Write(key)
			b.WriteString(": ")
		}
		value, err := dec.ReadValue()
		if err == nil {
			err = layout(b, bytes.Clone(value), depth+1)
		}
		if err != nil {
			return err
		}
	}
	end, err := dec.ReadToken()
	b.WriteString("\n" + strings.Repeat(" ", depth) + end.String())
	return err
}
