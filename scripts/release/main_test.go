package main

import (
	"strings"
	"testing"
)

func TestNotes(t *testing.T) {
	const changes = "# Changes\n\n## 0.2.0\n\nno date\n\n## 0.1.0 (2026-11-23)\n\nThe first.\n\n### Stable\n\n- All.\n\n## 0.0.1 (2026-11-01)\n\n- Older.\n"
	if got, err := notes(changes, "0.1.0"); err != nil || got != "The first.\n\n### Stable\n\n- All.\n" {
		t.Errorf("%q, %v", got, err)
	}
	for _, number := range []string{"0.2.0", "0.1", "1.0.0"} {
		if got, err := notes(changes, number); err == nil || !strings.Contains(err.Error(), "## "+number+" (2026-11-23)") {
			t.Errorf("%s: %q, %v", number, got, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for want, args := range map[string][]string{
		"which version? Say make release VERSION=":               {},
		"which version? Say make release VERSION=0.":             {""},
		"9.9.9 is not the version of this checkout, which is 0.": {"9.9.9"},
	} {
		if err := run(args, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}
