package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Position is how far a file of an export goes that did not come to its end.
type Position struct {
	Offset int64 // where the next line begins: what is after it in the file is written again
	Lines  int64 // before it

	documents map[string]bool // that are in the file with all their threads
}

// Resume reads a file whose export of an organization was ended at any place, and returns where another goes on: cut the file there, and
// write to its end. It is nil, to begin from the beginning, where there is nothing yet to go on from. It fails where the file is another's.
func Resume(r io.Reader, organization string) (*Position, error) {
	in := newLines(r)
	p := &Position{documents: map[string]bool{}}
	var last map[string]bool // documents whose threads may be missing
	var before Kind
	for {
		from := in.offset
		text, err := in.next()
		if err == io.EOF || errors.Is(err, errTorn) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("line %d %w", in.number, err)
		}
		l, err := parseLine(in.number, text)
		if err == nil && in.number == 1 && (l.kind != Organization || l.id != organization) {
			err = errNotOurs
		}
		if err != nil {
			return nil, err
		}
		if l.kind == Document && before != Document {
			for id := range last {
				p.documents[id] = true
			}
			last, p.Offset, p.Lines = map[string]bool{}, from, in.number-1
		}
		if l.kind == Document {
			last[l.id] = true
		}
		before = l.kind
	}
	if last == nil {
		return nil, nil
	}
	return p, nil
}

// errTorn is that of a last line that was not written to its end.
var errTorn = errors.New("ends in its middle: the export did not come to its end, and can be resumed")

// lines reads the lines of a file.
type lines struct {
	r      *bufio.Reader
	number int64 // of the last line, from 1
	offset int64 // after it
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, MaxLine)} }

// next returns the next line without its end, until next is called again. It fails with io.EOF after the last, and with errTorn, beside the
// text, where that has no end.
func (l *lines) next() (text []byte, err error) {
	text, err = l.r.ReadSlice('\n')
	if len(text) == 0 {
		return nil, err
	}
	l.number++
	l.offset += int64(len(text))
	switch err {
	case nil:
		return text[:len(text)-1], nil
	case io.EOF:
		return text, errTorn
	case bufio.ErrBufferFull:
		err = fmt.Errorf("has more than %d bytes", MaxLine)
	}
	return nil, err
}
