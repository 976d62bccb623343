package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/lmittmann/tint"
)

// newLog returns the service's log in a form.
func newLog(form string, out io.Writer, colored bool) (*slog.Logger, error) {
	switch form {
	case "short":
		return slog.New(tint.NewTextHandler(out, &tint.Options{TimeFormat: time.TimeOnly, NoColor: !colored, ReplaceAttr: withoutEscapes})), nil
	case "logfmt":
		return slog.New(slog.NewTextHandler(out, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, nil)), nil
	}
	return nil, fmt.Errorf("-log is %q: use short, logfmt or json", form)
}

// withoutEscapes escapes control characters, because tint writes callers' escape sequences
// unchanged.
func withoutEscapes(_ []string, a slog.Attr) slog.Attr {
	if text := a.Value.String(); strings.ContainsRune(text, '\x1b') {
		a.Value = slog.StringValue(strings.ReplaceAll(text, "\x1b", "␛"))
	}
	return a
}

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
