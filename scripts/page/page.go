// Package page is what the project's pages have in common: how they look, and how they are served.
package page

import (
	"embed"
	"net/http"
)

// Files are the colours and the header of every page (theme.css), what stands on them (style.css), and their icon.
//
//go:embed theme.css style.css icon.svg
var Files embed.FS

// Policy is what pages may load: from their own server alone.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Serve answers with a body that nobody keeps or frames, and that may load what the policy allows.
func Serve(w http.ResponseWriter, status int, kind, policy string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the reader is gone
}
