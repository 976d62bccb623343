package main

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"
)

//go:embed pages
var pageFiles embed.FS

// pages are what a browser sees of the local server.
type pages struct {
	url      string // of the server, without the slash at its end
	place    place
	mails    func(*http.Request) ([]mail, error)
	receiver *receiver
	openAPI  func() ([]byte, error)
	swagger  string // folder of the npm package swagger-ui-dist

	templates *template.Template
	static    http.Handler
}

// place tells where things are.
type place struct {
	Data, Admin, DynamoDB, SQS string
}

// link is an entry of the pages' header.
type link struct{ Path, Name string }

// view is what every page shows.
type view struct {
	Title, Path string
	Live        bool // it shows what is new by itself
	URL         string
	Nav         []link
}

func (p *pages) view(title, path string, live bool) view {
	return view{Title: title, Path: path, Live: live, URL: p.url, Nav: []link{
		{"/", "collabdata"}, {"/docs", "Reference"}, {"/mail", "Mail"}, {"/webhooks", "Webhooks"},
	}}
}

// handler returns what serves the pages, and everything else by the service.
func (p *pages) handler(service http.Handler) (http.Handler, error) {
	var err error
	if p.templates, err = template.ParseFS(pageFiles, "pages/*.html"); err != nil {
		return nil, err
	}
	files, err := fs.Sub(pageFiles, "pages")
	if err != nil {
		return nil, err
	}
	p.static = http.FileServerFS(files)

	mux := http.NewServeMux()
	mux.Handle("/", service)
	for pattern, h := range map[string]http.HandlerFunc{
		"GET /{$}":                        p.home,
		"GET /docs":                       p.docs,
		"GET /openapi.json":               p.description,
		"GET /mail":                       p.mailList,
		"GET /mail/{number}":              p.mailPage,
		"GET /mail/{number}/html":         p.mailHTML,
		"GET /webhooks":                   p.webhookList,
		"GET /webhooks/{name}":            p.webhookPlace,
		"POST /webhooks/{name}":           p.receiver.receive,
		"GET /pages/style.css":            p.file,
		"GET /pages/live.js":              p.file,
		"GET /pages/icon.svg":             p.file,
		"GET /pages/docs.js":              p.file,
		"GET /pages/docs.css":             p.file,
		"GET /pages/swagger-ui.css":       p.swaggerFile,
		"GET /pages/swagger-ui-bundle.js": p.swaggerFile,
	} {
		mux.Handle(pattern, onLoopback(h))
	}
	return mux, nil
}

// onLoopback serves those who know the server by a name of this machine, so that no page from elsewhere reads these by a name that it has
// led here.
func onLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if addr, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !addr.IsLoopback()) {
			http.Error(w, "open this page as http://localhost:PORT", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// What pages may load: from this server alone.
const (
	policy        = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	swaggerPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	mailPolicy    = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-popups"
)

func (p *pages) render(w http.ResponseWriter, name, policy string, data any) {
	var b bytes.Buffer
	if err := p.templates.ExecuteTemplate(&b, name, data); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	serve(w, "text/html; charset=utf-8", policy, b.Bytes())
}

func serve(w http.ResponseWriter, kind, policy string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	w.Write(body) // an error means that the reader is gone
}

func (p *pages) home(w http.ResponseWriter, r *http.Request) {
	type account struct{ ID, Key, Token string }
	list := make([]account, len(accounts))
	for i, a := range accounts {
		list[i] = account{a.id, a.key, a.token}
	}
	p.render(w, "home.html", policy, struct {
		view
		place
		Curl     string
		Accounts []account
	}{p.view("What is running", "/", false), p.place, firstCurl(p.url), list})
}

func (p *pages) docs(w http.ResponseWriter, r *http.Request) {
	p.render(w, "docs.html", swaggerPolicy, struct {
		view
		Key, Token string
	}{p.view("Reference", "/docs", false), accounts[0].key, accounts[0].token})
}

func (p *pages) description(w http.ResponseWriter, r *http.Request) {
	text, err := p.openAPI()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	serve(w, "application/json", policy, text)
}

func (p *pages) file(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.StripPrefix("/pages", p.static).ServeHTTP(w, r)
}

func (p *pages) swaggerFile(w http.ResponseWriter, r *http.Request) {
	name := filepath.Join(p.swagger, filepath.Base(r.URL.Path))
	if _, err := os.Stat(name); err != nil {
		http.Error(w, fmt.Sprintf("Swagger UI is not installed (%v): start the server again", err), http.StatusInternalServerError)
		return
	}
	http.ServeFile(w, r, name)
}

// clock is a time as the pages show it.
func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
