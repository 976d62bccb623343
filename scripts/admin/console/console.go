// Package console serves the operations that an operator may call as pages: any answer as tables and facts, with links by the names of ids,
// and any request as a form. Views show several answers about one thing.
package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"collabdata/scripts/admin/answer"
	"collabdata/scripts/admin/request"
	"collabdata/shared/api/rpc"
	"collabdata/shared/app/operator"
	"collabdata/shared/collab"
)

// Path is that of the first page; all pages are below it.
const Path = "/console"

//go:embed pages
var files embed.FS

// Style is what all pages of the project have in common: colours and header (theme.css), elements (style.css), and their icon.
//
//go:embed pages/theme.css pages/style.css pages/icon.svg
var Style embed.FS

// Policy lets pages load from their own server alone.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

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

// Link is an entry of the header of every page.
type Link struct{ Path, Name string }

// Config is what the pages are about.
type Config struct {
	Operator *operator.Operator
	Explain  func(ctx context.Context, err error) string // says what went wrong
	Header   []Link                                      // to pages of others on the same server
}

// Console serves the pages. Safe for concurrent use.
type Console struct {
	Config
	templates *template.Template
	form      string // a change comes with it, so that it is of a page of this process
	mux       *http.ServeMux
}

// New returns the pages of a deployment.
func New(c Config) *Console {
	s := &Console{Config: c, form: rand.Text(), mux: http.NewServeMux()}
	s.templates = template.Must(template.New("").Funcs(template.FuncMap{"words": answer.Words}).ParseFS(files, "pages/*.html"))
	s.mux.HandleFunc("GET "+Path, s.overview)
	for _, v := range views {
		s.mux.HandleFunc("GET "+path.Join(Path, v.name), func(w http.ResponseWriter, r *http.Request) { s.view(w, r, v) })
	}
	s.mux.HandleFunc("GET "+path.Join(Path, "find"), s.find)
	for _, e := range operator.Endpoints() {
		s.mux.HandleFunc("GET "+Path+e.Path, func(w http.ResponseWriter, r *http.Request) { s.operation(w, r, e) })
		s.mux.HandleFunc("POST "+Path+e.Path, func(w http.ResponseWriter, r *http.Request) { s.change(w, r, e) })
	}
	s.mux.HandleFunc("GET "+Path+"/files/{file}", serveFile)
	s.mux.HandleFunc(Path+"/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, s.newPage(r, nil), collab.Errorf(collab.NotFound, "there is no page at %s", r.URL.Path))
	})
	return s
}

// ServeHTTP serves the pages. It refuses a request of a page of another site, or of another server on this machine.
func (s *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	r = r.WithContext(ctx)
	site := r.Header.Get("Sec-Fetch-Site")
	if http.NewCrossOriginProtection().Check(r) != nil || !slices.Contains([]string{"", "same-origin", "none"}, site) {
		s.refuse(w, r, "Another page led here",
			"Pages of other sites may neither read nor change this deployment. If somebody sent you the link, go on yourself.")
		return
	}
	s.mux.ServeHTTP(w, r)
}

// refuse answers with a page that says why, and leads a person on.
func (s *Console) refuse(w http.ResponseWriter, r *http.Request, title, why string) {
	p := s.newPage(r, nil)
	p.Title, p.Note = title, why
	if r.Method == http.MethodGet && r.URL.Path != Path+"/begin" {
		p.Sections = []section{{Links: []Cell{{Text: "Go on", Href: r.URL.RequestURI()}}}}
	}
	s.render(w, http.StatusForbidden, p)
}

func serveFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	text, err := files.ReadFile("pages/" + name)
	kind := map[string]string{".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}[path.Ext(name)]
	if err != nil || kind == "" {
		http.NotFound(w, r)
		return
	}
	Serve(w, http.StatusOK, kind, Policy, text)
}

// view is a page about one kind of thing: answers of several operations, each called with what the page's address gives.
type view struct {
	name  string
	id    string   // the name of its id in the address and in answers
	above []string // names of the ids of what it is in
	reads []string // paths
}

var views = []view{
	{"account", "accountId", nil, []string{
		"/operator/accounts/get", "/operator/keys/get", "/operator/accounts/usage/get", "/operator/settings/get", "/v2/organizations/get", "/v2/webhooks/get",
	}},
	{"organization", "organizationId", []string{"accountId"}, []string{
		"/v2/organizations/get", "/v2/organizations/folders/get", "/v2/organizations/documents/get", "/v2/users/get", "/v2/organizations/usergroups/get",
	}},
	{"folder", "folderId", inOrganization, []string{"/v2/organizations/folders/get", "/v2/organizations/documents/get"}},
	{"document", "documentId", inOrganization, []string{"/v2/organizations/documents/get", "/v2/commentannotations/get"}},
	{"thread", "annotationId", append(slices.Clone(inOrganization), "documentId"), []string{
		"/v2/commentannotations/get", "/v2/commentannotations/comments/get", "/operator/events/get",
	}},
	{"user", "userId", inOrganization, []string{
		"/v2/users/get", "/v2/auth/permissions/get", "/v2/notifications/config/get", "/v2/notifications/get",
	}},
	{"key", "apiKey", []string{"accountId"}, nil},
	{"webhook", "webhookId", []string{"accountId"}, []string{"/v2/webhooks/deliveries/get"}},
	{"event", "eventId", []string{"accountId"}, []string{"/operator/events/get", "/operator/events/explain"}},
	{"job", "jobId", []string{"accountId"}, []string{"/v2/jobs/get"}},
}

var inOrganization = []string{"accountId", "organizationId"}

// viewOf returns the view of what an id of that name names.
func viewOf(id string) (view, bool) {
	i := slices.IndexFunc(views, func(v view) bool { return v.id == id })
	if i < 0 {
		return view{}, false
	}
	return views[i], true
}

// pageSize is how many entries of a list a page shows.
const pageSize = "25"

// arguments returns the texts of a request that an address gives: by the names of fields, and a list of one for a field whose name is that
// of an id with an s.
func arguments(e rpc.Endpoint, values url.Values) url.Values {
	given := url.Values{}
	for _, f := range request.Fields(e) {
		switch one := strings.TrimSuffix(f.Name, "s"); {
		case f.Name == "pageToken" && values.Get("of") != e.Path: // it is of another list on the page
		case values.Get(f.Name) != "":
			given[f.Name] = values[f.Name]
		case f.Kind == request.List && one != f.Name && values.Get(one) != "":
			given.Set(f.Name, values.Get(one))
		case f.Name == "pageSize" && !changes(e):
			given.Set(f.Name, pageSize)
		case f.Name == "getOrganizationConfig" && values.Get("documentId") == "":
			given.Set(f.Name, "true")
		}
	}
	return given
}

// view serves the page of a view.
func (s *Console) view(w http.ResponseWriter, r *http.Request, v view) {
	p := s.newPage(r, r.URL.Query())
	p.Title = answer.Words(v.name) + " " + p.values.Get(v.id)
	for i, read := range v.reads {
		e, _ := operator.Endpoint(read)
		err := s.read(p, e, false)
		switch {
		case err != nil && i == 0:
			s.fail(w, p, err)
			return
		case err != nil:
			p.Sections = append(p.Sections, section{Title: title(e), Bad: s.Explain(p.ctx, err)})
		case i == 0 && len(p.Sections[0].Rows)+len(p.Sections[0].Facts) == 0 && takes(e, v.id+"s"):
			s.fail(w, p, collab.Errorf(collab.NotFound, "%s %q does not exist", v.name, p.values.Get(v.id)))
			return
		case i == 0:
			p.Sections[0].asFacts()
		}
	}
	p.Sections = append(p.Sections, section{Title: "All operations on it", Folded: true, Links: p.operations(v)})
	s.render(w, http.StatusOK, p)
}

// takes reports whether the request of an operation has a field.
func takes(e rpc.Endpoint, field string) bool {
	return slices.ContainsFunc(request.Fields(e), func(f request.Field) bool { return f.Name == field })
}

// read adds the answer of an operation to a page.
func (s *Console) read(p *shown, e rpc.Endpoint, whole bool) error {
	data, err := request.Data(e, arguments(e, p.values), time.Now())
	if err != nil {
		return err
	}
	res, err := s.Operator.Call(p.ctx, p.values.Get("accountId"), e.Path, data)
	if err != nil {
		return err
	}
	return s.add(p, e, res, whole)
}

// add adds the answer of an operation to a page.
func (s *Console) add(p *shown, e rpc.Endpoint, res *rpc.Result, whole bool) error {
	v, err := answer.Parse(res.Data)
	if err != nil {
		return err
	}
	parts := answer.Parts(title(e), answer.Key(e.Path), v)
	if e.Path == "/v2/commentannotations/comments/get" {
		if parts, err = s.comments(p, v); err != nil {
			return err
		}
	}
	for i, part := range parts {
		sec := p.section(e, part)
		if i == 0 && res.NextPageToken != "" {
			q := maps.Clone(p.values)
			q.Set("of", e.Path)
			q.Set("pageToken", res.NextPageToken)
			sec.Links = append(sec.Links, Cell{Text: "More", Href: p.path + "?" + q.Encode()})
		}
		if i == 0 && !whole {
			sec.Links = append(sec.Links, Cell{Text: "All fields", Href: p.at(Path + e.Path)})
		}
		p.Sections = append(p.Sections, sec)
	}
	return nil
}

// mostExplained bounds how many events of a thread are explained on its page.
const mostExplained = 25

// comments returns the comments of a thread with the people notified of each, by the newest event about it.
func (s *Console) comments(p *shown, list answer.Value) ([]answer.Part, error) {
	events, _, err := s.ask(p, "/operator/events/get", map[string]any{
		"accountId": p.values.Get("accountId"), "organizationId": p.values.Get("organizationId"), "documentId": p.values.Get("documentId"),
		"annotationId": p.values.Get("annotationId"), "pageSize": mostExplained,
	})
	if err != nil {
		return nil, err
	}
	unknown := map[string]bool{} // comments
	for _, c := range list.Items {
		unknown[c.Get("commentId").String()] = true
	}
	notified := map[string]string{} // by comment
	for _, ev := range events.Items {
		about := slices.DeleteFunc(ev.Get("commentIds").Items, func(id answer.Value) bool { return !unknown[id.String()] })
		if len(about) == 0 {
			continue
		}
		people, err := s.notified(p, ev.Get("eventId").String())
		if err != nil {
			return nil, err
		}
		for _, id := range about {
			notified[id.String()], unknown[id.String()] = people, false
		}
	}
	part := answer.Part{Title: "Comments", Columns: []string{"from", "createdAt", "text", "notified", "commentId"}}
	for _, c := range list.Items {
		text := c.Get("commentText")
		if text.Empty() {
			text = c.Get("commentHtml")
		}
		for _, tag := range c.Get("taggedUserContacts").Items {
			mention := "{{" + tag.Get("userId").String() + "}}"
			if name := tag.Get("contact").Get("name").String(); name != "" {
				text.Scalar = strings.ReplaceAll(text.String(), mention, name)
			}
		}
		id := c.Get("commentId")
		part.Rows = append(part.Rows, []answer.Value{c.Get("from"), c.Get("createdAt"), text, {Scalar: notified[id.String()]}, id})
	}
	return []answer.Part{part}, nil
}

// notified says who was notified of an event.
func (s *Console) notified(p *shown, event string) (string, error) {
	people, more, err := s.ask(p, "/operator/events/explain", map[string]any{
		"accountId": p.values.Get("accountId"), "eventId": event, "pageSize": 5,
	})
	if err != nil {
		return "", err
	}
	var who []string
	for _, of := range people.Items {
		var by []string
		for _, channel := range []string{"inbox", "mail"} {
			if at := of.Get(channel + "At"); !at.Empty() {
				by = append(by, channel)
			}
		}
		if by != nil {
			who = append(who, of.String()+": "+strings.Join(by, ", "))
		}
	}
	if more {
		who = append(who, "and others")
	}
	return strings.Join(who, "\n"), nil
}

// ask returns the answer of an operation of the operator, and whether its list goes on.
func (s *Console) ask(p *shown, path string, data map[string]any) (list answer.Value, more bool, err error) {
	res, err := s.Operator.Call(p.ctx, "", path, data)
	if err != nil {
		return list, false, err
	}
	list, err = answer.Parse(res.Data)
	return list, res.NextPageToken != "", err
}

// title is the title of what an operation answers.
func title(e rpc.Endpoint) string {
	parts := strings.Split(strings.Trim(e.Path, "/"), "/")[1:]
	if last := parts[len(parts)-1]; last == "get" {
		parts = parts[:len(parts)-1]
	}
	if len(parts) > 1 && parts[0] == "organizations" {
		parts = parts[1:]
	}
	text := strings.Join(parts, " ")
	for from, to := range map[string]string{
		"commentannotations comments": "comments", "commentannotations": "threads", "usergroups": "groups",
		"accounts usage": "quotas", "keys": "API keys", "events explain": "who is notified",
	} {
		if text == from {
			text = to
		}
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// overview serves the first page: the accounts, and what is pending.
func (s *Console) overview(w http.ResponseWriter, r *http.Request) {
	p := s.newPage(r, r.URL.Query())
	p.Title = "Accounts"
	for _, path := range []string{"/operator/accounts/get", "/operator/pending/get"} {
		e, _ := operator.Endpoint(path)
		if err := s.read(p, e, false); err != nil {
			s.fail(w, p, err)
			return
		}
	}
	p.Sections[0].Title = ""
	var own []Cell
	for _, e := range operator.Endpoints() {
		if e.Audience == rpc.Operator {
			own = append(own, p.link(e))
		}
	}
	p.Sections = append(p.Sections, section{Title: "Operations of the operator", Folded: true, Links: own})
	s.render(w, http.StatusOK, p)
}

// find serves the page that shows what has an id. Where that is one thing, it leads there.
func (s *Console) find(w http.ResponseWriter, r *http.Request) {
	p := s.newPage(r, r.URL.Query())
	p.Title = "Find " + p.values.Get("id")
	e, _ := operator.Endpoint("/operator/find")
	err := s.read(p, e, true)
	if err != nil {
		s.fail(w, p, err)
		return
	}
	if sec := &p.Sections[0]; len(sec.Rows) == 0 {
		sec.Empty = "Nothing has it. Look from the page of its account or organization."
	}
	p.Sections[0].Title = ""
	s.render(w, http.StatusOK, p)
}

// operation serves the page of an operation: its form, and its answer where it changes nothing and has what it requires.
func (s *Console) operation(w http.ResponseWriter, r *http.Request, e rpc.Endpoint) {
	p := s.newPage(r, r.URL.Query())
	summary, rest := e.Summary()
	p.Title, p.Note, p.Details = title(e), summary+".", rest
	given := arguments(e, p.values)
	complete := !changes(e) && (e.Audience == rpc.Operator || p.values.Get("accountId") != "")
	for _, f := range request.Fields(e) {
		complete = complete && (!f.Required || given.Get(f.Name) != "")
	}
	p.Form = s.newForm(e, given, p.values.Get("accountId"))
	if complete {
		if err := s.read(p, e, true); err != nil {
			p.Form.Bad = s.Explain(p.ctx, err)
		}
	}
	s.render(w, http.StatusOK, p)
}

// changes reports whether an operation changes anything.
func changes(e rpc.Endpoint) bool {
	return e.Changes || e.Idempotent() || e.Grants&rpc.AddTickets != 0
}

// maxForm bounds the size of a form, in bytes.
const maxForm = 6 << 20

// change asks whether to call an operation, and calls it once that is confirmed.
func (s *Console) change(w http.ResponseWriter, r *http.Request, e rpc.Endpoint) {
	p := s.newPage(r, nil)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.fail(w, p, collab.Errorf(collab.InvalidArgument, "the form cannot be read: %v", err))
		return
	}
	p = s.newPage(r, r.PostForm)
	if !same(p.values.Get("form"), s.form) {
		s.fail(w, p, collab.Errorf(collab.PermissionDenied, "the form is not of a page of this run of the console: load that page again"))
		return
	}
	p.Title = title(e)
	p.Form = s.newForm(e, p.values, p.values.Get("accountId"))
	data, err := request.Data(e, p.values, time.Now())
	if err == nil && p.values.Get("confirmed") == "" {
		p.Form.Confirm = true
		p.Note = strings.TrimSpace(e.Question + " Call it?")
		s.render(w, http.StatusOK, p)
		return
	}
	var res *rpc.Result
	if err == nil {
		res, err = s.Operator.Call(p.ctx, p.values.Get("accountId"), e.Path, data)
	}
	if err != nil {
		p.Form.Bad = s.Explain(p.ctx, err)
		s.render(w, rpc.HTTPStatus(collab.CodeOf(err)), p)
		return
	}
	p.Good, p.Form = res.Message, nil
	if err := s.add(p, e, res, true); err != nil {
		s.fail(w, p, err)
		return
	}
	s.render(w, http.StatusOK, p)
}

// fail answers with a page that says what is wrong.
func (s *Console) fail(w http.ResponseWriter, p *shown, err error) {
	p.Title, p.Sections, p.Bad = "The operation failed", nil, s.Explain(p.ctx, err)
	if collab.CodeOf(err) == collab.NotFound {
		p.Title = "Not found"
	}
	s.render(w, rpc.HTTPStatus(collab.CodeOf(err)), p)
}

func (s *Console) render(w http.ResponseWriter, status int, p *shown) {
	var b bytes.Buffer
	if err := s.templates.ExecuteTemplate(&b, "page.html", p); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	Serve(w, status, "text/html; charset=utf-8", Policy, b.Bytes())
}
