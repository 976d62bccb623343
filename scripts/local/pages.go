package main

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"strings"

	"collabdata/scripts/admin/console"
	"collabdata/shared/api/openapi"
	"collabdata/shared/app/operate"
)

//go:embed pages
var pageFiles embed.FS

// pages are the pages of the local server.
type pages struct {
	url       string // of the server, without a trailing slash
	place     place
	mails     func(*http.Request) ([]mail, error) // newest first
	receiver  *receiver
	demo      *demo
	console   http.Handler
	operator  *operate.Operator
	openAPI   func() ([]byte, error)
	reference string // path of the script that renders the reference
	readme    string // path of the README
	schema    string // path of the schema of imports

	templates *template.Template
	static    http.Handler
}

type place struct {
	Data, Admin, DynamoDB, SQS string
}

// link is an entry of the pages' header.
type link struct{ Path, Name string }

// header is the header of every page. To add a page, add an entry here, a route in routes.go, and a
// template in pages/. Templates share pages/page.js and the styles of the console.
var header = []link{
	{"/", "collabdata"},
	{"/demo", "Demo"},
	{"/docs", "Reference"},
	{"/mail", "Mail"},
	{"/webhooks", "Webhooks"},
	{console.Path, "Console"},
}

// view is the common data of pages.
type view struct {
	Title, Path string
	Live        bool // updates automatically
	URL         string
	Nav         []link
}

func (p *pages) view(title, path string, live bool) view {
	return view{Title: title, Path: path, Live: live, URL: p.url, Nav: header}
}

// Policies of two pages that load more than console.Policy allows.
const (
	docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	mailPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox"
)

func (p *pages) render(w http.ResponseWriter, status int, name string, data any) {
	p.renderUnder(console.Policy, w, status, name, data)
}

// renderUnder renders a page under another policy.
func (p *pages) renderUnder(policy string, w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := p.templates.ExecuteTemplate(&b, name, data); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	console.Serve(w, status, "text/html; charset=utf-8", policy, b.Bytes())
}

// problem responds with an error page.
func (p *pages) problem(w http.ResponseWriter, status int, title, text string) {
	p.render(w, status, "problem.html", struct {
		view
		Text string
	}{p.view(title, "", false), text})
}

func (p *pages) home(w http.ResponseWriter, _ *http.Request) {
	type account struct{ ID, Key, Token string }
	list := make([]account, len(devAccounts))
	for i, a := range devAccounts {
		list[i] = account{a.id, a.key, a.token}
	}
	key, token := headers.Names()
	p.render(w, http.StatusOK, "home.html", struct {
		view
		place
		Accounts               []account
		KeyHeader, TokenHeader string
	}{p.view("Start", "/", false), p.place, list, key, token})
}

func (p *pages) docs(w http.ResponseWriter, _ *http.Request) {
	p.renderUnder(docsPolicy, w, http.StatusOK, "docs.html", struct {
		view
		Key, Token string
	}{p.view("Reference", "/docs", false), devAccounts[0].key, devAccounts[0].token})
}

// description serves the OpenAPI description, or a part of it.
func (p *pages) description(part func([]byte) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		text, err := p.openAPI()
		if err == nil {
			text, err = part(text)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		console.Serve(w, http.StatusOK, "application/json", console.Policy, text)
	}
}

// markdown serves a page of the reference as Markdown.
func (p *pages) markdown(w http.ResponseWriter, r *http.Request) {
	text, err := p.openAPI()
	var pages map[string][]byte
	if err == nil {
		pages, err = openapi.Markdown(text)
	}
	page, ok := pages[r.URL.Path]
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case !ok:
		p.problem(w, http.StatusNotFound, "Page not found", "No page at "+r.URL.Path+".")
	default:
		console.Serve(w, http.StatusOK, "text/markdown; charset=utf-8", console.Policy, page)
	}
}

func (p *pages) file(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, ".html") { // a template
		p.problem(w, http.StatusNotFound, "Page not found", "No page at "+r.URL.Path+".")
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if _, err := fs.Stat(console.Style, r.URL.Path[1:]); err == nil {
		http.FileServerFS(console.Style).ServeHTTP(w, r)
		return
	}
	http.StripPrefix("/pages", p.static).ServeHTTP(w, r)
}
