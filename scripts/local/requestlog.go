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
	"time"

	"github.com/lmittmann/tint"
)

// newLog returns the service's log in a form. If the form is short, people is a second log for
// terminals, with requests, refusal reasons, emails and webhooks. Otherwise people is nil.
func newLog(form string, out io.Writer, colored bool) (log, people *slog.Logger, err error) {
	switch form {
	case "short":
		h := tint.NewTextHandler(out, &tint.Options{TimeFormat: time.TimeOnly, NoColor: !colored, ReplaceAttr: withoutEscapes})
		return slog.New(withoutRequests{h}), slog.New(h), nil
	case "logfmt":
		return slog.New(slog.NewTextHandler(out, nil)), nil, nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, nil)), nil, nil
	}
	return nil, nil, fmt.Errorf("-log is %q: use short, logfmt or json", form)
}

// withoutEscapes escapes control characters, because tint writes callers' escape sequences
// unchanged.
func withoutEscapes(_ []string, a slog.Attr) slog.Attr {
	if text := a.Value.String(); strings.ContainsRune(text, '\x1b') {
		a.Value = slog.StringValue(strings.ReplaceAll(text, "\x1b", "␛"))
	}
	return a
}

// withoutRequests drops the service's own records of requests, except those of faults.
type withoutRequests struct{ slog.Handler }

// Handle writes a record.
func (h withoutRequests) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "request" && r.Level < slog.LevelError {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// logRequests logs each called operation, with the reason if it was refused.
func logRequests(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		watched := &watched{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(watched, r)
		if watched.status < 400 && r.Method == http.MethodGet {
			return // a page
		}
		attrs := []slog.Attr{
			slog.String("path", r.URL.Path), slog.Int("status", watched.status), slog.Int64("ms", time.Since(start).Milliseconds()),
		}
		if reason := watched.reason(); reason != "" {
			attrs = append(attrs, slog.String("reason", reason))
		}
		log.LogAttrs(r.Context(), slog.LevelInfo, r.Method, attrs...)
	})
}

// watched records the status of a response, and the text of a failure.
type watched struct {
	http.ResponseWriter
	status  int
	failure bytes.Buffer
}

// Unwrap supports http.ResponseController.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader records the status.
func (w *watched) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write records the beginning of a failure.
func (w *watched) Write(p []byte) (int, error) {
	if room := 16<<10 - w.failure.Len(); w.status >= 400 && room > 0 {
		w.failure.Write(p[:min(len(p), room)])
	}
	return w.ResponseWriter.Write(p)
}

// reason returns the code and all mistakes of a refused request. It returns "" for a success or a
// page.
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

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
