package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
)

// tooDeep reports whether a text nests deeper than MaxDepth, as far as it can be read as JSON.
func tooDeep(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++
		case '{', '[':
			if !quoted {
				if depth++; depth > MaxDepth {
					return true
				}
			}
		case '}', ']':
			if !quoted {
				depth--
			}
		}
	}
	return false
}

// syntaxError words an error of the JSON reader for the caller.
func syntaxError(body []byte, err error) error {
	e := &collab.Error{Code: collab.InvalidArgument, Err: err}
	s, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case err == errTrailing:
		e.Message = "the body must be one JSON object and nothing behind it"
	case !ok || errors.Is(err, io.ErrUnexpectedEOF):
		e.Message = "the body is not valid JSON: it ends too early"
	case errors.Is(s.Err, jsontext.ErrDuplicateName):
		path := pointerPath(s.JSONPointer)
		e.Details = []collab.FieldError{{Field: path, Message: "must not be given twice"}}
		e.Message = path + " must not be given twice"
	default:
		line, column := position(body, s.ByteOffset)
		e.Message = fmt.Sprintf("the body is not valid JSON: %s at line %d, column %d", clip(s.Err.Error(), 200), line, column)
	}
	return e
}

// pointerPath returns a JSON pointer in the form that violations name fields in. Names that are numbers look like indexes.
func pointerPath(p jsontext.Pointer) string {
	path := ""
	for token := range p.Tokens() {
		if isIndex(token) {
			path += "[" + token + "]"
		} else {
			path = join(path, named(token))
		}
	}
	return path
}

func isIndex(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != "" && len(s) < 8
}

// position returns the line and the column, in characters, of an offset; both count from 1.
func position(text []byte, offset int64) (line, column int) {
	before := text[:min(offset, int64(len(text)))]
	line = bytes.Count(before, []byte("\n")) + 1
	column = utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return line, column
}
