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
)

// maxForm is the largest form that the page takes, in bytes.
const maxForm = 4_096

// Unsubscribe is the page by which the recipients of mails end them.
func Unsubscribe() rpc.Endpoint {
	page := func(s *Service, server *rpc.Server) http.Handler {
		return s.UnsubscribePage(server.Log, server.ReadOnly)
	}
	return rpc.Endpoint{Path: unsubscribe.Path, Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadMailSecrets, Public: true,
		Operation: rpc.PageOf(page), Description: "Ends the mails to the person whose token the link has: a page for people."}
}

// UnsubscribePage serves the page by which the recipient of a mail ends such mails: whoever has its token, without credentials. A GET shows
// a button and changes nothing, as programs that look at mails follow their links. A POST unsubscribes: of the button, or of a mail
// program's one click (RFC 8058). The page that answers it has a button that undoes it. With readOnly a POST is answered with 503.
func (s *Service) UnsubscribePage(log *slog.Logger, readOnly bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, page, err := http.StatusServiceUnavailable, failedPage(), error(nil)
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
		h.Set("Referrer-Policy", "no-referrer") // the address holds the token
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Robots-Tag", "noindex")
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			_, _ = io.WriteString(w, page) // who does not read it misses nothing
		}
	})
}

// unsubscribe does what a request to the page asks for, and returns the answer; err is for the log alone.
func (s *Service) unsubscribe(w http.ResponseWriter, r *http.Request) (status int, page string, err error) {
	ctx := r.Context()
	recipient, err := unsubscribe.Read(
		r.URL.Query().Get("token"), func(account string) ([]byte, error) { return s.Accounts.MailSecret(ctx, account) },
	)
	if unsubscribe.Invalid(err) {
		return http.StatusNotFound, pageOf("This link is not valid", "Please use the whole link of a mail that you got.", ""), nil
	}
	if err != nil {
		return http.StatusServiceUnavailable, failedPage(), err
	}
	change := func(context.Context, unsubscribe.Recipient) error { return nil }
	mails := mailsTo(recipient)
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		page = pageOf("Unsubscribe?", mails+" will end.", button("unsubscribe", "Unsubscribe"))
	case http.MethodPost:
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		action := r.PostFormValue("action")
		switch {
		case action == "unsubscribe", r.PostFormValue("List-Unsubscribe") == "One-Click":
			change = s.Accounts.Unsubscribe
			page = pageOf("You are unsubscribed", mails+" have ended.", button("subscribe", "Subscribe again"))
		case action == "subscribe":
			change = s.Accounts.Resubscribe
			page = pageOf("You are subscribed again", mails+" go on.", button("unsubscribe", "Unsubscribe"))
		default:
			return http.StatusBadRequest, pageOf(
				"That did not work", "The form that was sent is not this page's.", button("unsubscribe", "Unsubscribe"),
			), nil
		}
	default:
		w.Header().Set("Allow", "GET, POST")
		return http.StatusMethodNotAllowed, failedPage(), nil
	}
	if err := change(ctx, recipient); err != nil {
		return http.StatusServiceUnavailable, failedPage(), err
	}
	return http.StatusOK, page, nil
}

// mailsTo says which mails it is about: who sends them, and where to.
func mailsTo(r unsubscribe.Recipient) string {
	from := ""
	if r.Sender != "" {
		from = " from " + r.Sender
	}
	return "Mails" + from + " about comments and notifications in " + r.Organization + " to " + cmp.Or(r.Email, "you")
}

func button(action, label string) string {
	return `<form method="post"><button name="action" value="` + action + `">` + label + `</button></form>`
}

func failedPage() string { return pageOf("That did not work", "Please try again in a minute.", "") }

//go:embed unsubscribe.html
var layout string

// pageOf returns a page. Its text may be anybody's; its title and form are the program's own. html/template would make every function of
// this package start later.
func pageOf(title, text, form string) string {
	return strings.NewReplacer("TITLE", title, "TEXT", html.EscapeString(text), "FORM", form).Replace(layout)
}
