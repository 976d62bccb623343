package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"collabdata/scripts/admin/answer"
	"collabdata/scripts/admin/request"
	"collabdata/shared/api/rpc"
	"collabdata/shared/app/operate"
)

type shown struct {
	*Console
	ctx    context.Context
	path   string
	values url.Values // of its address or form

	Title, Note, Details string
	Good, Bad            string // success and error messages
	Sections             []section
	Form                 *form
}

func (s *Console) newPage(r *http.Request, values url.Values) *shown {
	if values == nil {
		values = url.Values{}
	}
	return &shown{Console: s, ctx: r.Context(), path: r.URL.Path, values: values}
}

// section is a part of a response, or links.
type section struct {
	Title, Empty, Bad string
	Columns           []string
	Rows              [][]Cell
	Facts             []fact
	Links             []Cell
	Folded            bool
}

// asFacts converts a table with one row, about a view's subject, to facts without a title.
func (s *section) asFacts() {
	s.Title = ""
	if len(s.Rows) != 1 {
		return
	}
	for i, name := range s.Columns {
		if c := s.Rows[0][i]; c.Text != "" {
			s.Facts = append(s.Facts, fact{answer.Words(name), c})
		}
	}
}

type fact struct {
	Name string
	Cell Cell
}

// Cell is a value on a page.
type Cell struct {
	Text  string
	Href  string
	Class string
}

// Get returns a value of the page's address.
func (p *shown) Get(name string) string { return p.values.Get(name) }

// Scope returns the names in the address that limit the search for an id.
func (p *shown) Scope() []string {
	return slices.DeleteFunc(slices.Clone(inOrganization), func(name string) bool { return p.Get(name) == "" })
}

// ScopeText describes the kinds of ids that a search accepts.
func (p *shown) ScopeText() string {
	return [...]string{
		"Id of an account or API key", "Id of an organization, event, webhook or job", "Id of a document, folder, thread or user",
	}[len(p.Scope())]
}

// Above returns links to the page's parents.
func (p *shown) Above() (list []Cell) {
	for _, v := range views {
		if id := p.Get(v.id); id != "" && slices.Contains([]string{"accountId", "organizationId", "folderId", "documentId", "annotationId"}, v.id) {
			list = append(list, Cell{Text: id, Href: p.to(v, id)})
		}
	}
	return list
}

// to returns the address of a view of an id, within this page's parents.
func (p *shown) to(v view, id string) string {
	q := url.Values{v.id: {id}}
	for _, name := range v.above {
		q.Set(name, p.Get(name))
	}
	return Path + "/" + v.name + "?" + q.Encode()
}

// at returns the address of a page with the ids of this one.
func (p *shown) at(path string) string {
	q := url.Values{}
	for _, v := range views {
		if id := p.Get(v.id); id != "" {
			q.Set(v.id, id)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

func (p *shown) link(e rpc.Endpoint) Cell {
	text := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(e.Path, "/operator/"), "/v2/"), "/", " ")
	return Cell{Text: text, Href: p.at(Path + e.Path)}
}

// operations returns links to operations that accept the view's id.
func (p *shown) operations(v view) (list []Cell) {
	for _, e := range operate.Endpoints() {
		if takes(e, v.id) || takes(e, v.id+"s") || v.id == "accountId" && e.Audience != rpc.Operator && !takes(e, "organizationId") {
			list = append(list, p.link(e))
		}
	}
	return list
}

// ids maps short names of ids in responses to their full names.
var ids = map[string]map[string]string{
	"id": {
		"/v2/organizations/get": "organizationId", "/v2/organizations/documents/get": "documentId", "/v2/notifications/get": "notificationId",
	},
}

// section converts a part of a response.
func (p *shown) section(e rpc.Endpoint, part answer.Part) section {
	sec := section{Title: part.Title, Empty: "There are none."}
	constant := func(i int) bool { // shown by the page in each row
		value := p.Get(fullName(e, part.Columns[i]))
		return value != "" && len(part.Rows) > 1 && !slices.ContainsFunc(part.Rows, func(row []answer.Value) bool { return row[i].String() != value })
	}
	shown := make([]bool, len(part.Columns))
	for i, name := range part.Columns {
		if shown[i] = !constant(i); shown[i] {
			sec.Columns = append(sec.Columns, name)
		}
	}
	for _, row := range part.Rows {
		in := url.Values{}
		for i, v := range row {
			if name := fullName(e, part.Columns[i]); strings.HasSuffix(name, "Id") && !v.Object() {
				in.Set(name, v.String())
			}
		}
		var cells []Cell
		for i, v := range row {
			if shown[i] {
				cells = append(cells, p.cell(fullName(e, part.Columns[i]), v, in))
			}
		}
		sec.Rows = append(sec.Rows, cells)
	}
	for _, f := range part.Facts {
		in := url.Values{}
		for _, fact := range part.Facts {
			if name := fullName(e, fact.Name); strings.HasSuffix(name, "Id") {
				in.Set(name, fact.Value.String())
			}
		}
		sec.Facts = append(sec.Facts, fact{answer.Words(f.Name), p.cell(fullName(e, f.Name), f.Value, in)})
	}
	return sec
}

func fullName(e rpc.Endpoint, name string) string {
	if full := ids[name][e.Path]; full != "" {
		return full
	}
	return name
}

// cell converts a value. An id becomes a link to its page, with the ids next to it and those of the
// page.
func (p *shown) cell(name string, v answer.Value, in url.Values) Cell {
	c := Cell{Text: v.String()}
	if text, ok := v.Time(); ok {
		return Cell{Text: text, Class: "time"}
	}
	id := name
	if user := v.Get("userId").String(); user != "" {
		id, v = "userId", answer.Value{Scalar: user}
	}
	if to, ok := viewOf(id); ok && v.String() != "" {
		q := url.Values{to.id: {v.String()}}
		for _, above := range to.above {
			from := in.Get(above)
			if from == "" {
				from = p.Get(above)
			}
			if q.Set(above, from); from == "" {
				return c
			}
		}
		c.Href = Path + "/" + to.name + "?" + q.Encode()
	}
	if yes, ok := v.Scalar.(bool); ok {
		c.Text = map[bool]string{true: "yes", false: "no"}[yes]
	}
	c.Class = class(name, v)
	return c
}

// class returns the style of a value: good or bad for known states.
func class(name string, v answer.Value) string {
	switch v.Scalar {
	case true:
		if slices.Contains([]string{"disabled", "expired", "failed", "resting"}, name) {
			return "bad"
		}
	case "delivered", "done", "in it", "sent":
		return "good"
	case "exhausted", "failed":
		return "bad"
	}
	return ""
}

type form struct {
	Action, Token, Label string
	Post, Confirm        bool
	Question, Bad        string
	Account              *string // set if the operation is called in the name of an account
	Inputs               []input
}

// input is a field of a form.
type input struct {
	Name, Label, Help, Kind, Value string
	Values                         []string
	Required                       bool
}

func (s *Console) newForm(e rpc.Endpoint, given url.Values, account string) *form {
	f := &form{Action: Path + e.Path, Token: s.form, Label: "Show", Post: e.Writes()}
	if f.Post {
		f.Label = "Call"
	}
	if e.Audience != rpc.Operator {
		f.Account = &account
	}
	for _, field := range request.Fields(e) {
		if field.Name == "pageToken" {
			continue // the link More contains it
		}
		in := input{
			Name: field.Name, Label: answer.Words(field.Name), Help: field.Help, Kind: "text", Values: field.Values, Required: field.Required,
			Value: strings.Join(given[field.Name], "\n"),
		}
		switch {
		case field.Kind == request.YesNo:
			in.Values = []string{"true", "false"}
		case field.Kind == request.JSON || field.Kind == request.List:
			in.Kind = "textarea"
		case field.Kind == request.Time:
			in.Help = strings.TrimSpace(in.Help + " 2027-01-31, 2027-01-31T12:00:00Z, 90d or 12h.")
		case strings.HasSuffix(field.Name, "Secret"):
			in.Kind = "password"
		}
		f.Inputs = append(f.Inputs, in)
	}
	return f
}
