// Package console serves the operator's pages: what a deployment holds, by the ids that their addresses name, and the changes that the
// operator may make. It reads by the packages that operations read by, and changes by the operations and package operator.
package console

import (
	"bytes"
	"context"
	"crypto/subtle"
	"embed"
	"encoding/hex"
	"errors"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"collabdata/scripts/page"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/queue"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
)

// Path is where the pages are, and all below it.
const Path = "/console"

const (
	// MaxUnits is the most read capacity units that a page takes.
	MaxUnits = 1_000

	enoughUnits = 400 // end a list: no step of reading one takes more than what is left
	pageSize    = 25  // entries of a list
)

//go:embed pages
var files embed.FS

// Config is what the pages are about.
type Config struct {
	Directory *directory.Store
	Queue     func(ctx context.Context, name string) (*queue.Queue, error) // by its name in package keys
	CheckURL  func(string) error                                           // see operator.Rules
	Random    io.Reader
	Explain   func(ctx context.Context, err error) string // says what went wrong; nil for what the error says
	Home      string                                      // path of a page that leads here, "" for none
}

// Console serves the pages. Safe for concurrent use.
type Console struct {
	Config
	threads   *threads.Store
	outbox    *outbox.Store
	templates *template.Template
	form      string // what a change must bring, so that it comes from a page of this process
	mux       *http.ServeMux
}

// New returns the pages of a deployment. It fails where there is no randomness.
func New(c Config) (*Console, error) {
	o := outbox.New(c.Directory.Table, present{c.Directory})
	s := &Console{
		Config: c, outbox: o, threads: threads.New(c.Directory.Table, c.Directory, o), mux: http.NewServeMux(),
		templates: template.Must(template.ParseFS(files, "pages/*.html")),
	}
	var err error
	if s.form, err = newToken(c.Random); err != nil {
		return nil, err
	}
	for _, p := range pages {
		s.mux.HandleFunc("GET "+path.Join(Path, p.path), func(w http.ResponseWriter, r *http.Request) { s.show(w, r, p) })
	}
	for _, c := range changes {
		s.mux.HandleFunc("POST "+Path+"/"+c.name, func(w http.ResponseWriter, r *http.Request) { s.change(w, r, c) })
	}
	s.mux.HandleFunc("GET "+Path+"/files/{file}", serveFile)
	s.mux.HandleFunc(Path+"/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, s.newView(r.Context(), "", nil), collab.Errorf(collab.NotFound, "there is no page at %s", r.URL.Path))
	})
	return s, nil
}

// present is the directory for what also goes on while an organization or a document is disabled.
type present struct{ *directory.Store }

// Current returns which of the documents are there, in this incarnation.
func (d present) Current(
	ctx context.Context, org collab.OrganizationRef, documents []collab.DocumentRef,
) (map[collab.DocumentRef]bool, error) {
	ids := collab.Map(documents, func(doc collab.DocumentRef) string { return doc.Document })
	list, err := d.DocumentsByID(ctx, org, ids)
	current := make(map[collab.DocumentRef]bool, len(list))
	for _, found := range list {
		current[found.Ref(org)] = true
	}
	return current, err
}

func newToken(random io.Reader) (string, error) {
	b := make([]byte, 16)
	_, err := io.ReadFull(random, b)
	return hex.EncodeToString(b), err
}

func serveFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	text, err := page.Files.ReadFile(name)
	if err != nil && !strings.HasSuffix(name, ".html") {
		text, err = files.ReadFile("pages/" + name)
	}
	if err != nil {
		http.NotFound(w, r)
		return
	}
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	kind, ok := kinds[path.Ext(name)]
	if !ok {
		kind = "text/plain; charset=utf-8"
	}
	page.Serve(w, http.StatusOK, kind, page.Policy, text)
}

// timeOut bounds one page, and one change.
const timeOut = 60 * time.Second

// ServeHTTP serves the pages. It refuses what a page of another site, or of another server on this machine, asks for.
func (s *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), timeOut)
	defer cancel()
	r = r.WithContext(ctx)
	site := r.Header.Get("Sec-Fetch-Site")
	if http.NewCrossOriginProtection().Check(r) != nil || !slices.Contains([]string{"", "same-origin", "none"}, site) {
		v := s.newView(ctx, "", nil)
		v.Title = "Another page led here"
		v.add(&section{Note: "Pages of others may not read or change what is here. If the link is one that you were sent, go on yourself."})
		if r.Method == http.MethodGet {
			v.Sections[0].Rows = [][]cell{{link("Go on", r.URL.RequestURI())}}
		}
		s.render(w, http.StatusForbidden, v)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// show serves a page.
func (s *Console) show(w http.ResponseWriter, r *http.Request, p entry) {
	v := s.newView(r.Context(), p.path, r.URL.Query())
	v.Title = p.title
	err := v.check(strings.Fields(p.params))
	if err == nil {
		err = p.load(collab.WithUsage(r.Context(), v.usage), v)
	}
	if err != nil {
		s.fail(w, v, err)
		return
	}
	s.render(w, http.StatusOK, v)
}

// fail answers with a page that says what is wrong.
func (s *Console) fail(w http.ResponseWriter, v *view, err error) {
	status := rpc.HTTPStatus(collab.CodeOf(err))
	text := err.Error()
	if failure, ok := errors.AsType[*collab.Error](err); ok && failure.Err == nil {
		text = failure.Message
	}
	if s.Explain != nil {
		text = s.Explain(v.ctx, err)
	}
	v.Title, v.Sections = "It did not work", []*section{{Bad: text}}
	if collab.CodeOf(err) == collab.NotFound {
		v.Title = "Nothing is here"
	}
	s.render(w, status, v)
}

func (s *Console) render(w http.ResponseWriter, status int, v *view) {
	var b bytes.Buffer
	if err := s.templates.ExecuteTemplate(&b, "page.html", v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	page.Serve(w, status, "text/html; charset=utf-8", page.Policy, b.Bytes())
}

// Session lets in whoever opens an address that was printed, once, and that browser from then on.
type Session struct {
	Console *Console
	Port    string // the server's
	first   string // the token of the address
	cookie  string
	used    atomic.Bool
}

// NewSession returns a session of a server on a port of this machine's loopback address. It fails where there is no randomness.
func NewSession(c *Console, port string) (*Session, error) {
	s := &Session{Console: c, Port: port}
	var err error
	if s.first, err = newToken(c.Random); err == nil {
		s.cookie, err = newToken(c.Random)
	}
	return s, err
}

// Address is what to open, once.
func (s *Session) Address() string {
	return "http://" + net.JoinHostPort("127.0.0.1", s.Port) + Path + "/begin?" + url.Values{"token": {s.first}}.Encode()
}

// ServeHTTP serves the pages to the browser that has opened the address, as the server is called on this machine.
func (s *Session) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := "collabdata-console-" + s.Port // cookies know no ports
	host, port, err := net.SplitHostPort(r.Host)
	if ip, parseErr := netip.ParseAddr(host); err != nil || port != s.Port || host != "localhost" && (parseErr != nil || !ip.IsLoopback()) {
		http.Error(w, "this server is called by its address on this machine alone", http.StatusForbidden)
		return
	}
	if r.URL.Path == "/" {
		http.Redirect(w, r, Path, http.StatusSeeOther)
		return
	}
	token := r.URL.Query().Get("token")
	if r.URL.Path == Path+"/begin" && r.Method == http.MethodGet && same(token, s.first) && s.used.CompareAndSwap(false, true) {
		http.SetCookie(w, &http.Cookie{Name: name, Value: s.cookie, Path: Path, HttpOnly: true, SameSite: http.SameSiteStrictMode})
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, Path, http.StatusSeeOther)
		return
	}
	if c, err := r.Cookie(name); err != nil || !same(c.Value, s.cookie) {
		if strings.HasPrefix(r.URL.Path, Path+"/files/") { // of the page that says so
			s.Console.ServeHTTP(w, r)
			return
		}
		v := s.Console.newView(r.Context(), "", nil)
		v.Title = "Who is there?"
		v.add(&section{Note: "The address that `admin console` printed opens these pages, once, in one browser. " +
			"If it is this one, go on; else start `admin console` again."})
		if r.Method == http.MethodGet && r.URL.Path != Path+"/begin" {
			v.Sections[0].Rows = [][]cell{{link("Go on", r.URL.RequestURI())}}
		}
		s.Console.render(w, http.StatusForbidden, v)
		return
	}
	if r.URL.Path == Path+"/begin" {
		http.Redirect(w, r, Path, http.StatusSeeOther)
		return
	}
	s.Console.ServeHTTP(w, r)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
