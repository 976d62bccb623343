package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// journal writes what happens as short lines for a person at a terminal.
type journal struct {
	mu  sync.Mutex
	out io.Writer
	now func() time.Time
}

// line writes one line behind the time. What callers sent is written without control characters.
func (j *journal) line(format string, args ...any) {
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, fmt.Sprintf(format, args...))
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintf(j.out, "%s  %s\n", j.now().Format(time.TimeOnly), text)
}

// requests serves as next does, and writes a line for each operation that was called, with the reason where it was refused.
func (j *journal) requests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := j.now()
		watched := &watched{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(watched, r)
		if watched.status < 400 && r.Method == http.MethodGet {
			return // a page
		}
		reason := ""
		if text := watched.reason(); text != "" {
			reason = "  " + text
		}
		j.line("%-4s %-40s %d %4d ms%s", r.Method, r.URL.Path, watched.status, j.now().Sub(start).Milliseconds(), reason)
	})
}

// watched is an answer of which the status is kept, and the text where it is a failure.
type watched struct {
	http.ResponseWriter
	status  int
	failure bytes.Buffer
}

// WriteHeader notes the status.
func (w *watched) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write keeps the beginning of a failure.
func (w *watched) Write(p []byte) (int, error) {
	if room := 16<<10 - w.failure.Len(); w.status >= 400 && room > 0 {
		w.failure.Write(p[:min(len(p), room)])
	}
	return w.ResponseWriter.Write(p)
}

// reason is why the request was refused: the code with all mistakes; "" for a success, and where a page says it.
func (w *watched) reason() string {
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		return ""
	}
	var envelope struct {
		Error struct {
			Message string
			Status  string
			Details []struct{ Field, Message string }
		}
	}
	if json.Unmarshal(w.failure.Bytes(), &envelope) != nil || envelope.Error.Status == "" {
		return strings.TrimSpace(w.failure.String())
	}
	e := envelope.Error
	if len(e.Details) < 2 {
		return e.Status + ": " + e.Message
	}
	var mistakes []string
	for _, d := range e.Details {
		mistakes = append(mistakes, d.Field+" "+d.Message)
	}
	return e.Status + ": " + strings.Join(mistakes, "; ")
}

// Handle writes a record of the service's own log; those of requests have a line already.
func (j *journal) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "request" && r.Level < slog.LevelError {
		return nil
	}
	var b strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&b, "  %s=%v", a.Key, a.Value)
		return true
	})
	j.line("%s %s%s", r.Level, r.Message, b.String())
	return nil
}

// Enabled reports whether records of a level are written.
func (j *journal) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// WithAttrs returns the journal: the service's log has no attributes of its own.
func (j *journal) WithAttrs([]slog.Attr) slog.Handler { return j }

// WithGroup returns the journal.
func (j *journal) WithGroup(string) slog.Handler { return j }

// isTerminal reports whether a person reads what is written to a file.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
