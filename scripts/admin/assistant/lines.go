package assistant

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine is the maximum length of a message on standard input, in bytes.
const maxLine = 256 << 10

// Lines are messages on a reader and a writer, one a line. A line that is no message gets an error
// as its answer, and the reader continues with the next.
type Lines struct {
	in   *bufio.Reader
	rest []byte // of the current line

	mu  sync.Mutex
	out io.Writer
}

// NewLines returns the messages of a reader and a writer.
func NewLines(in io.Reader, out io.Writer) *Lines { return &Lines{in: bufio.NewReader(in), out: out} }

// Read reads messages.
func (l *Lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, long, err := l.line()
		if len(bytes.TrimSpace(line)) == 0 && err != nil {
			return 0, err
		}
		switch _, invalid := jsonrpc.DecodeMessage(line); {
		case len(bytes.TrimSpace(line)) == 0:
			continue
		case long:
			err = l.refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("a message must be at most %d bytes", maxLine))
		case !json.Valid(line):
			err = l.refuse(jsonrpc.CodeParseError, "a line must be JSON")
		case invalid != nil:
			err = l.refuse(jsonrpc.CodeInvalidRequest, "a line must be one message of JSON-RPC 2.0")
		default:
			l.rest, err = append(bytes.TrimSpace(line), '\n'), nil
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line returns the next line, or the beginning of a longer one.
func (l *Lines) line() (line []byte, long bool, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; !long {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// refuse answers a line that is no request.
func (l *Lines) refuse(code int64, message string) error {
	_, err := fmt.Fprintf(l, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n", code, message)
	return err
}

// Write writes a message.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

// Close does nothing.
func (l *Lines) Close() error { return nil }
