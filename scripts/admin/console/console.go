// Package console serves the operations of an operator as pages. It shows responses as tables and
// facts, with links from ids, and requests as forms. Views combine several responses about one
// thing.
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
	"collabdata/shared/app/operate"
	"collabdata/shared/collab"
)

// Path is the path of the first page. All pages are below it.
const Path = "/console"

//go:embed pages
var files embed.FS

// Style contains the common styles of the project's pages: colors and header (theme.css), elements
// (style.css), and the icon.
//
//go:embed pages/theme.css pages/style.css pages/icon.svg
var Style embed.FS

// Policy allows pages to load only from their own server.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Serve sends a body that cannot be cached or framed, and can only load resources that the policy
// allows.
func Serve(w http.ResponseWriter, status int, kind, policy string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client has disconnected
}

// Link is an entry of the header of every page.
type Link struct{ Path, Name string }

// Config configures a Console.
type Config struct {
	Operator *operate.Operator
	Explain  func(ctx context.Context, err error) string // describes an error for the operator
	Header   []Link                                      // links to other pages on the same server
}

// Console serves the pages. It is safe for concurrent use.
type Console struct {
	Config
	templates *template.Template
	form      string // token that proves that a form is from this process
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
	for _, e := range operate.Endpoints() {
		s.mux.HandleFunc("GET "+Path+e.Path, func(w http.ResponseWriter, r *http.Request) { s.operation(w, r, e) })
		s.mux.HandleFunc("POST "+Path+e.Path, func(w http.ResponseWriter, r *http.Request) { s.change(w, r, e) })
	}
	s.mux.HandleFunc("GET "+Path+"/files/{file}", serveFile)
	s.mux.HandleFunc(Path+"/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, s.newPage(r, nil), collab.Errorf(collab.NotFound, "no page at %s", r.URL.Path))
	})
	return s
}

// ServeHTTP serves the pages. It refuses requests from pages of other sites and of other servers on
// this machine.
func (s *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	r = r.WithContext(ctx)
	site := r.Header.Get("Sec-Fetch-Site")
	if http.NewCrossOriginProtection().Check(r) != nil || !slices.Contains([]string{"", "same-origin", "none"}, site) {
		s.refuse(w, r, "Another page led here",
			"Pages of other sites cannot read or change this deployment. If you trust the link, open it from here.")
		return
	}
	s.mux.ServeHTTP(w, r)
}

// refuse responds with a page with the reason and a link.
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

// view is a page about a kind of thing. It shows responses of several operations, each called with
// the values in the page's address.
type view struct {
	name  string
	id    string   // name of its id in addresses and responses
	above []string // names of the ids of its parents
	reads []string // paths
}

var views = []view{
	{"account", "accountId", nil, []string{
		"/operator/accounts/get", "/operator/keys/get", "/operator/accounts/usage/get", "/operator/settings/get", "/v2/organizations/get", "/v2/webhooks/get",
		"/operator/audit/get",
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

// viewOf returns the view of a kind of id.
func viewOf(id string) (view, bool) {
	i := slices.IndexFunc(views, func(v view) bool { return v.id == id })
	if i < 0 {
		return view{}, false
	}
	return views[i], true
}

// pageSize is the number of entries of a list on a page.
const pageSize = "25"

// arguments returns the fields of a request from an address. A field with the name of an id plus s
// gets a list of one.
func arguments(e rpc.Endpoint, values url.Values) url.Values {
	given := url.Values{}
	for _, f := range request.Fields(e) {
		switch one := strings.TrimSuffix(f.Name, "s"); {
		// belongs to another list on the page
		case f.Name == "pageToken" && values.Get("of") != e.Path:
		case values.Get(f.Name) != "":
			given[f.Name] = values[f.Name]
		case f.Kind == request.List && one != f.Name && values.Get(one) != "":
			given.Set(f.Name, values.Get(one))
		case f.Name == "pageSize" && !e.Writes():
			given.Set(f.Name, pageSize)
		case f.Name == "getOrganizationConfig" && values.Get("documentId") == "":
			given.Set(f.Name, "true")
		}
	}
	return given
}

func (s *Console) view(w http.ResponseWriter, r *http.Request, v view) {
	p := s.newPage(r, r.URL.Query())
	p.Title = answer.Words(v.name) + " " + p.values.Get(v.id)
	for i, read := range v.reads {
		e, _ := operate.Endpoint(read)
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

// takes reports whether an operation's request has a field.
func takes(e rpc.Endpoint, field string) bool {
	return slices.ContainsFunc(request.Fields(e), func(f request.Field) bool { return f.Name == field })
}

// read calls an operation and adds its response to a page.
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

// add adds the response of an operation to a page.
func (s *Console) add(p *shown, e rpc.Endpoint, res *rpc.Result, whole bool) error {
	v := answer.Parse(res.Data)
	parts := answer.Parts(title(e), answer.Key(e.Path), v)
	if e.Path == "/v2/commentannotations/comments/get" {
		var err error
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

// mostExplained limits the explained events on a thread's page.
const mostExplained = 25

// comments returns the comments of a thread with each comment's newest event, whose page explains
// it, and the people notified of it.
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
	notified, explained := map[string]string{}, map[string]answer.Value{} // by comment
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
			explained[id.String()] = ev.Get("eventId")
		}
	}
	part := answer.Part{Title: "Comments", Columns: []string{"from", "createdAt", "text", "notified", "eventId", "commentId"}}
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
		part.Rows = append(part.Rows, []answer.Value{c.Get("from"), c.Get("createdAt"), text, {Scalar: notified[id.String()]}, explained[id.String()], id})
	}
	return []answer.Part{part}, nil
}

// notified returns the people notified of an event.
func (s *Console) notified(p *shown, event string) (string, error) {
	people, more, err := s.ask(p, "/operator/events/explain", map[string]any{
		"accountId": p.values.Get("accountId"), "eventId": event, "pageSize": 5,
	})
	if err != nil {
		return "", err
	}
	var who []string
	for _, item := range people.Items {
		var by []string
		for _, channel := range []string{"inbox", "mail"} {
			if at := item.Get(channel + "At"); !at.Empty() {
				by = append(by, channel)
			}
		}
		if by != nil {
			who = append(who, item.String()+": "+strings.Join(by, ", "))
		}
	}
	if more {
		who = append(who, "and others")
	}
	return strings.Join(who, "\n"), nil
}

// ask calls an operation of the operator. more means that its list continues.
func (s *Console) ask(p *shown, path string, data map[string]any) (list answer.Value, more bool, err error) {
	res, err := s.Operator.Call(p.ctx, "", path, data)
	if err != nil {
		return list, false, err
	}
	return answer.Parse(res.Data), res.NextPageToken != "", nil
}

// title returns the title of an operation's response.
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
		"accounts usage": "quotas", "keys": "API keys", "events explain": "recipients",
	} {
		if text == from {
			text = to
		}
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// overview serves the first page: the accounts, and pending work.
func (s *Console) overview(w http.ResponseWriter, r *http.Request) {
	p := s.newPage(r, r.URL.Query())
	p.Title = "Accounts"
	for _, path := range []string{"/operator/accounts/get", "/operator/pending/get"} {
		e, _ := operate.Endpoint(path)
		if err := s.read(p, e, false); err != nil {
			s.fail(w, p, err)
			return
		}
	}
	p.Sections[0].Title = ""
	var own []Cell
	for _, e := range operate.Endpoints() {
		if e.Audience == rpc.Operator {
			own = append(own, p.link(e))
		}
	}
	p.Sections = append(p.Sections, section{Title: "Operations of the operator", Folded: true, Links: own})
	s.render(w, http.StatusOK, p)
}

// find serves search results for an id. It redirects if there is one.
func (s *Console) find(w http.ResponseWriter, r *http.Request) {
	p := s.newPage(r, r.URL.Query())
	p.Title = "Find " + p.values.Get("id")
	e, _ := operate.Endpoint("/operator/find")
	err := s.read(p, e, true)
	if err != nil {
		s.fail(w, p, err)
		return
	}
	if sec := &p.Sections[0]; len(sec.Rows) == 0 {
		sec.Empty = "Nothing found. Search from the page of its account or organization."
	}
	p.Sections[0].Title = ""
	s.render(w, http.StatusOK, p)
}

// operation serves the form of an operation. If the operation only reads and has its required
// fields, it also shows the response.
func (s *Console) operation(w http.ResponseWriter, r *http.Request, e rpc.Endpoint) {
	p := s.newPage(r, r.URL.Query())
	summary, rest := e.Summary()
	p.Title, p.Note, p.Details = title(e), summary+".", rest
	given := arguments(e, p.values)
	complete := !e.Writes() && (e.Audience == rpc.Operator || p.values.Get("accountId") != "")
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

// maxForm is the maximum size of a form, in bytes.
const maxForm = 6 << 20

// change asks for confirmation of an operation, and calls it when confirmed.
func (s *Console) change(w http.ResponseWriter, r *http.Request, e rpc.Endpoint) {
	p := s.newPage(r, nil)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.fail(w, p, collab.Errorf(collab.InvalidArgument, "the form cannot be read: %v", err))
		return
	}
	p = s.newPage(r, r.PostForm)
	if !same(p.values.Get("form"), s.form) {
		s.fail(w, p, collab.Errorf(collab.PermissionDenied, "the form is from an earlier run of the console: reload the page"))
		return
	}
	p.Title = title(e)
	p.Form = s.newForm(e, p.values, p.values.Get("accountId"))
	data, err := request.Data(e, p.values, time.Now())
	if err == nil && p.values.Get("confirmed") == "" {
		p.Form.Confirm = true
		p.Note = strings.TrimSpace(e.Question + " Continue?")
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

// fail responds with a page that shows an error.
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
