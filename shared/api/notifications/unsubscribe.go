package notifications

import (
	"cmp"
	"context"
	_ "embed"
	"html"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/words"
)

// maxForm is the maximum size of a form, in bytes.
const maxForm = 4_096

// Unsubscribe is the page on which recipients unsubscribe from emails.
func Unsubscribe() rpc.Endpoint {
	page := func(s *Service, server *rpc.Server) http.Handler {
		return s.UnsubscribePage(server.Log, server.ReadOnly)
	}
	return rpc.Endpoint{Path: unsubscribe.Path, Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadMailSecrets, Public: true,
		Operation: rpc.PageOf(page), Description: "Unsubscribe from emails. A page for the recipient of an email."}
}

// UnsubscribePage serves the page on which the recipient of an email unsubscribes, authenticated by
// the token in the link. A GET shows a button and changes nothing, because mail programs follow
// links. A POST unsubscribes: from the button, or by one click in a mail program (RFC 8058). The
// response has a button to undo it. With readOnly, a POST returns 503.
func (s *Service) UnsubscribePage(log *slog.Logger, readOnly bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, page, err := http.StatusServiceUnavailable, unsubscribing{Words: words.In(nil)}.failed(), error(nil)
		if !readOnly || r.Method != http.MethodPost {
			status, page, err = s.unsubscribe(w, r)
		}
		level := slog.LevelInfo
		if err != nil {
			level = slog.LevelError
		}
		log.LogAttrs(r.Context(), level, "page", slog.String("requestId", collab.RequestIDOf(r.Context())), slog.String("path", unsubscribe.Path),
			slog.String("method", r.Method), slog.Int("status", status), slog.Any("cause", err))
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set(
			"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		)
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer") // the URL contains the token
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Robots-Tag", "noindex")
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			_, _ = io.WriteString(w, page) // the client may have gone
		}
	})
}

// unsubscribe handles a request to the page. err is only for the log.
func (s *Service) unsubscribe(w http.ResponseWriter, r *http.Request) (status int, page string, err error) {
	ctx := r.Context()
	p := unsubscribing{Words: words.In(nil, words.Accepted(r.Header.Get("Accept-Language")))}
	to, err := unsubscribe.Read(
		r.URL.Query().Get("token"), func(account string) ([]byte, error) { return s.Accounts.MailSecret(ctx, account) },
	)
	if unsubscribe.Invalid(err) {
		return http.StatusNotFound, p.page("invalidLinkTitle", p.Text("invalidLinkText"), ""), nil
	}
	var account collab.Account
	if err == nil {
		account, err = s.Accounts.Account(ctx, to.Account)
	}
	if err != nil {
		return http.StatusServiceUnavailable, p.failed(), err
	}
	p = unsubscribing{words.In(account.Settings.MailLook.Texts, to.Locale, account.Settings.MailLook.Locale), to}
	change := func(context.Context, unsubscribe.Recipient) error { return nil }
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		key := "unsubscribeText"
		if to.Sender != "" {
			key = "unsubscribeTextFrom"
		}
		page = p.page("unsubscribeTitle", p.about(key), "unsubscribe")
	case http.MethodPost:
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		action := r.PostFormValue("action")
		switch {
		case action == "unsubscribe", r.PostFormValue("List-Unsubscribe") == "One-Click":
			change = s.Accounts.Unsubscribe
			page = p.page("unsubscribedTitle", p.about("unsubscribedText"), "subscribe")
		case action == "subscribe":
			change = s.Accounts.Resubscribe
			page = p.page("subscribedTitle", p.about("subscribedText"), "unsubscribe")
		default:
			return http.StatusBadRequest, p.page("failedTitle", p.Text("invalidForm"), "unsubscribe"), nil
		}
	default:
		w.Header().Set("Allow", "GET, POST")
		return http.StatusMethodNotAllowed, p.failed(), nil
	}
	if err := change(ctx, to); err != nil {
		return http.StatusServiceUnavailable, p.failed(), err
	}
	return http.StatusOK, page, nil
}

// unsubscribing builds the pages for a recipient.
type unsubscribing struct {
	words.Words
	to unsubscribe.Recipient
}

// about returns a text that names the sender and the recipient.
func (p unsubscribing) about(key string) string {
	return p.Text(key, "organization", p.to.Organization, "address", cmp.Or(p.to.Email, p.to.User), "product", p.to.Sender)
}

func (p unsubscribing) failed() string { return p.page("failedTitle", p.Text("failedText"), "") }

//go:embed unsubscribe.html
var layout string

// page returns a page with a button for an action, or without one for "". It avoids html/template,
// which would slow down the start of every function.
func (p unsubscribing) page(title, text, action string) string {
	form := ""
	if action != "" {
		form = `<form method="post"><button name="action" value="` + action + `">` + html.EscapeString(p.Text(action)) + `</button></form>`
	}
	return strings.NewReplacer(
		"LANGUAGE", p.Language, "TITLE", html.EscapeString(p.Text(title)), "TEXT", html.EscapeString(text), "FORM", form,
	).Replace(layout)
}
