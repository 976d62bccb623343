//go:build e2e

package main

import "testing"

// TestMail notifies a user of a thread that they open before its email is due, and of one that they
// do not open. It takes a screenshot of emails in a product's look:
// .local/screenshots/mail-look.png.
func TestMail(t *testing.T) {
	t.Parallel()
	data, programs := t.TempDir(), build(t, "../admin")
	s := start(t, data)
	runAdmin(t, programs, data, "settings", "update", "dev", "--mail-delay-seconds", "20", "--mail-product", "Northwind", "--mail-color", "#0a7d4f",
		"--mail-logo", "https://northwind.example/logo.svg", "--mail-link", "https://northwind.example/docs/{documentId}#collab-thread={annotationId}&comment={commentId}", "--mail-footer", "Northwind GmbH, Hafenstraße 1, Hamburg",
		"--mail-texts", `{"de": {"openThread": "In Northwind antworten"}}`)
	browse(t, s, "mail.cjs", nil)
}
