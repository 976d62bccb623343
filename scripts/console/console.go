// Package console serves the table of package operator as pages: what shows something has an address, and what changes something a form,
// which asks before.
package console

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"collabdata/scripts/operator"
	"collabdata/scripts/page"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Path is where the pages are, and all below it.
const Path = "/console"

//go:embed pages
var files embed.FS

// Config is what the pages are about.
type Config struct {
	operator.Config
	Explain func(ctx context.Context, err error) string // says what went wrong; nil for what the error says
	Home    string                                      // path of a page that leads here, "" for none
}

// Console serves the pages. Safe for concurrent use.
type Console struct {
	Config
	operator  *operator.Operator
	byPage    map[string]operator.Operation
	byName    map[string]operator.Operation
	templates *template.Template
	form      string // what a change must bring, so that it comes from a page of this process
	mux       *http.ServeMux

	mu   sync.Mutex
	done map[string]string // what was done, until a page has said it
}

// New returns the pages of a deployment. It fails where there is no randomness.
func New(c Config) (*Console, error) {
	form, err := newToken(c.Random)
	if err != nil {
		return nil, err
	}
	s := &Console{
		Config: c, operator: operator.New(c.Config), form: form, mux: http.NewServeMux(),
		byPage: map[string]operator.Operation{}, byName: map[string]operator.Operation{}, done: map[string]string{},
	}
	functions := template.FuncMap{"text": text, "class": class, "action": s.action, "reads": s.reads}
	s.templates = template.Must(template.New("").Funcs(functions).ParseFS(files, "pages/*.html"))
	for _, op := range operator.Operations() {
		s.byName[op.Name] = op
		if op.Page != "" {
			s.byPage[op.Page] = op
			s.mux.HandleFunc("GET "+path.Join(Path, op.Page), func(w http.ResponseWriter, r *http.Request) { s.show(w, r, op) })
		} else {
			s.mux.HandleFunc("POST "+s.action(op.Name), func(w http.ResponseWriter, r *http.Request) { s.change(w, r, op) })
		}
	}
	s.mux.HandleFunc("GET "+Path+"/files/{file}", serveFile)
	s.mux.HandleFunc(Path+"/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, s.newView(r.Context(), "", nil), collab.Errorf(collab.NotFound, "there is no page at %s", r.URL.Path))
	})
	return s, nil
}

// action is where a form asks for an operation.
func (s *Console) action(name string) string {
	if op := s.byName[name]; op.Page != "" {
		return path.Join(Path, op.Page)
	}
	return Path + "/" + strings.ReplaceAll(name, " ", "/")
}

// reads reports whether an operation shows a page.
func (s *Console) reads(name string) bool { return s.byName[name].Page != "" }

// text is a value as the pages show it.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case operator.Time:
		return v.Clock()
	}
	return fmt.Sprint(v)
}

// class is how a cell looks.
func class(c operator.Cell) string {
	if t, ok := c.Value.(operator.Time); ok && t != 0 {
		return "time"
	} else if ok {
		return "soft"
	}
	return string(c.Kind)
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

// timeOut bounds one page, and one change. A change that goes on for changeTime offers to go on.
const (
	timeOut    = 60 * time.Second
	changeTime = 40 * time.Second
)

// ServeHTTP serves the pages. It refuses what a page of another site, or of another server on this machine, asks for.
func (s *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), timeOut)
	defer cancel()
	r = r.WithContext(ctx)
	site := r.Header.Get("Sec-Fetch-Site")
	if http.NewCrossOriginProtection().Check(r) != nil || !slices.Contains([]string{"", "same-origin", "none"}, site) {
		s.refuse(w, r, "Another page led here",
			"Pages of others may not read or change what is here. If the link is one that you were sent, go on yourself.")
		return
	}
	s.mux.ServeHTTP(w, r)
}

// refuse answers with a page that says why, and on which a person goes on to where a link led.
func (s *Console) refuse(w http.ResponseWriter, r *http.Request, title, why string) {
	v := s.newView(r.Context(), "", nil)
	v.Title = title
	part := &operator.Part{Note: why}
	if r.Method == http.MethodGet && r.URL.Path != Path+"/begin" {
		part.Links = []operator.Cell{{Value: "Go on", Href: strings.TrimPrefix(r.URL.RequestURI(), Path)}}
	}
	v.Parts = []*operator.Part{part}
	s.render(w, http.StatusForbidden, v)
}

// view is a page: a run of an operation with its report.
type view struct {
	*operator.Run
	*Console
	ctx       context.Context // for Explain alone
	path      string          // below Path
	values    url.Values
	Good, Bad string // what was done, what went wrong
	Question  string // whether to do it
}

func (s *Console) newView(ctx context.Context, path string, values url.Values) *view {
	return &view{Run: s.operator.Page(values, time.Now().Add(changeTime)), Console: s, ctx: ctx, path: path, values: values}
}

// Get returns a value that the page was asked for with.
func (v *view) Get(name string) string { return v.values.Get(name) }

// Base is the page's path.
func (v *view) Base() string { return path.Join(Path, v.path) }

// From is the page's address, for a form that leads back to it.
func (v *view) From() string {
	if v.path == "" { // it has been led to by one
		return v.Get("from")
	}
	return strings.TrimSuffix(v.path, "/") + "?" + v.values.Encode()
}

// With is an offer on this page, for its template.
func (v *view) With(o *operator.Offer) any {
	return struct {
		View  *view
		Offer *operator.Offer
	}{v, o}
}

// Form is what a change must bring.
func (v *view) Form() string { return v.form }

// Footer says what the page took.
func (v *view) Footer() string {
	unit := "units"
	if v.Units() == 1 {
		unit = "unit"
	}
	return fmt.Sprintf("This page has read %v %s of the table; none reads more than %d.", v.Units(), unit, operator.MaxUnits)
}

// Scope names what of the address says where an id is looked for.
func (v *view) Scope() []string {
	return slices.DeleteFunc([]string{"account", "organization"}, func(name string) bool { return v.Get(name) == "" })
}

// ScopeText says what an id may be of.
func (v *view) ScopeText() string {
	return [...]string{
		"Id of an account or API key", "Id of an organization, event, webhook or job", "Id of a document, folder, thread, user or event",
	}[len(v.Scope())]
}

// load runs the operation of a page.
func (s *Console) load(ctx context.Context, op operator.Operation, values url.Values) (*view, error) {
	v := s.newView(ctx, op.Page, values)
	params := reflect.New(op.Params()).Interface()
	err := operator.Bind(params, values)
	if err == nil {
		err = op.Run(ctx, v.Run, params)
	}
	return v, err
}

// loadAddress runs the operation of the page at an address below Path.
func (s *Console) loadAddress(ctx context.Context, address string) (*view, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	op, ok := s.byPage[cmp.Or(u.Path, "/")]
	if !ok {
		return nil, fmt.Errorf("there is no page %q", u.Path)
	}
	return s.load(ctx, op, u.Query())
}

// show serves a page.
func (s *Console) show(w http.ResponseWriter, r *http.Request, op operator.Operation) {
	values := r.URL.Query()
	done := values.Get("done")
	values.Del("done")
	v, err := s.load(r.Context(), op, values)
	if err != nil {
		s.fail(w, v, err)
		return
	}
	s.mu.Lock()
	v.Good = s.done[done]
	delete(s.done, done)
	s.mu.Unlock()
	s.render(w, http.StatusOK, v)
}

// maxForm bounds what a form holds, in bytes.
const maxForm = 6 << 20

// change asks whether to make a change, and once that is confirmed makes it.
func (s *Console) change(w http.ResponseWriter, r *http.Request, op operator.Operation) {
	v := s.newView(r.Context(), "", nil)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.fail(w, v, collab.Errorf(collab.InvalidArgument, "the form cannot be read: %v", err))
		return
	}
	v = s.newView(r.Context(), "", r.PostForm)
	if !same(v.Get("form"), s.form) {
		s.fail(w, v, collab.Errorf(collab.PermissionDenied, "the form is not of a page of this run of the console: load that page again"))
		return
	}
	params := reflect.New(op.Params()).Interface()
	err := operator.Bind(params, v.values)
	if err == nil && v.Get("confirmed") == "" {
		var question string
		if question, err = op.Ask(r.Context(), v.Run, params); err == nil && question != "" {
			s.ask(w, v, op, question)
			return
		}
	}
	if err == nil {
		err = op.Run(r.Context(), v.Run, params)
	}
	switch {
	case err != nil:
		s.refused(w, v, op, err)
	case v.Stay:
		v.Good = v.Done
		s.render(w, http.StatusOK, v)
	default:
		http.Redirect(w, r, s.after(v), http.StatusSeeOther)
	}
}

// ask asks whether to do it.
func (s *Console) ask(w http.ResponseWriter, v *view, op operator.Operation, question string) {
	offer := &operator.Offer{Operation: op.Name, Label: "Do it", Given: [][2]string{{"confirmed", "yes"}}}
	for name := range v.values {
		if name != "form" && name != "from" {
			offer.Given = append(offer.Given, [2]string{name, v.Get(name)})
		}
	}
	cancel := operator.Cell{Value: "Cancel", Href: v.Get("from")}
	v.Title, v.Question = "Do it?", question
	v.Parts = []*operator.Part{{Offers: []*operator.Offer{offer}, Links: []operator.Cell{cancel}}}
	s.render(w, http.StatusOK, v)
}

// after is the address of the page to show after a change, which says what was done.
func (s *Console) after(v *view) string {
	to := v.Then
	if to == "" {
		to = v.Get("from")
	}
	u, err := url.Parse(to)
	if err != nil {
		return Path
	}
	q := u.Query()
	if token, err := newToken(s.Random); err == nil {
		q.Set("done", token)
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.done) >= 100 { // that nobody has looked at
			clear(s.done)
		}
		s.done[token] = v.Done
	}
	return path.Join(Path, path.Clean("/"+u.Path)) + "?" + q.Encode()
}

// refused shows the page with the form that was refused, which keeps what was given in it.
func (s *Console) refused(w http.ResponseWriter, v *view, op operator.Operation, err error) {
	from, bad := s.loadAddress(v.ctx, v.Get("from"))
	if bad != nil {
		s.fail(w, v, err)
		return
	}
	from.Bad = s.explain(v.ctx, err)
	for _, offer := range from.Offers() {
		given := func(pair [2]string) bool { return v.Get(pair[0]) != pair[1] }
		if offer.Operation != op.Name || slices.ContainsFunc(offer.Given, given) {
			continue
		}
		offer.Bad, from.Bad = from.Bad, ""
		for i, input := range offer.Inputs {
			if input.Kind != "password" {
				offer.Inputs[i].Value = v.Get(input.Name)
			}
		}
		break
	}
	s.render(w, rpc.HTTPStatus(collab.CodeOf(err)), from)
}

func (s *Console) explain(ctx context.Context, err error) string {
	if s.Explain != nil {
		return s.Explain(ctx, err)
	}
	return operator.Cause(err)
}

// fail answers with a page that says what is wrong.
func (s *Console) fail(w http.ResponseWriter, v *view, err error) {
	v.Title, v.Parts, v.Bad = "It did not work", nil, s.explain(v.ctx, err)
	if collab.CodeOf(err) == collab.NotFound {
		v.Title = "Nothing is here"
	}
	s.render(w, rpc.HTTPStatus(collab.CodeOf(err)), v)
}

func (s *Console) render(w http.ResponseWriter, status int, v *view) {
	var b bytes.Buffer
	if err := s.templates.ExecuteTemplate(&b, "page.html", v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	page.Serve(w, status, "text/html; charset=utf-8", page.Policy, b.Bytes())
}
