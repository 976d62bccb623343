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
	e := &collab.Error{Code: collab.InvalidArgument, Message: "the body is not valid JSON: it ends too early"}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(s.Err, jsontext.ErrDuplicateName) {
		e = collab.FieldErrorf(pointerPath("", s.JSONPointer), "must not be given twice")
	} else if ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		line, column := position(body, s.ByteOffset)
		e.Message = fmt.Sprintf("the body is not valid JSON: %s at line %d, column %d", clip(s.Err.Error(), 200), line, column)
	}
	e.Err = err
	return e
}

// position returns the line and the column, in characters, of an offset; both count from 1.
func position(text []byte, offset int64) (line, column int) {
	before := text[:min(offset, int64(len(text)))]
	line = bytes.Count(before, []byte("\n")) + 1
	column = utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return line, column
}
