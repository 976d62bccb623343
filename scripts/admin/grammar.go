package main

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"collabdata/scripts/admin/request"
	"collabdata/shared/api/rpc"
	"collabdata/shared/app/operate"
)

// node is a word of a command: it runs an operation or has subcommands.
type node struct {
	word     string
	endpoint *rpc.Endpoint
	children []*node
}

// words returns the command of an endpoint: /v2/organizations/get becomes organizations and get.
func words(path string) []string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return strings.Split(rest, "/")
}

// tree returns the commands of all operations. If a command extends another, its remaining words
// are joined with hyphens.
func tree() *node {
	root := &node{}
	list := operate.Endpoints()
	slices.SortStableFunc(list, func(a, b rpc.Endpoint) int { return len(words(a.Path)) - len(words(b.Path)) })
	for _, e := range list {
		at, left := root, words(e.Path)
		for len(left) > 0 {
			i := slices.IndexFunc(at.children, func(n *node) bool { return n.word == left[0] })
			if i >= 0 && at.children[i].endpoint != nil {
				left = []string{strings.Join(left, "-")}
				i = -1
			}
			if i < 0 {
				at.children = append(at.children, &node{word: left[0]})
				i = len(at.children) - 1
			}
			at, left = at.children[i], left[1:]
		}
		at.endpoint = new(e)
	}
	return root
}

// command returns the struct field that defines the command for kong.
func (n *node) command() reflect.StructField {
	var t reflect.Type
	help := ""
	if n.endpoint != nil {
		t = parameters(*n.endpoint)
		help, _ = n.endpoint.Summary()
	} else {
		t = n.commands()
		help = strings.Join(n.verbs(), ", ")
	}
	return reflect.StructField{Name: exported(n.word), Type: t, Tag: reflect.StructTag(fmt.Sprintf(`cmd:"" name:%q help:%q`, n.word, help))}
}

func (n *node) commands() reflect.Type {
	fields := make([]reflect.StructField, len(n.children))
	for i, c := range n.children {
		fields[i] = c.command()
	}
	return reflect.StructOf(fields)
}

func (n *node) verbs() []string {
	list := make([]string, len(n.children))
	for i, c := range n.children {
		list[i] = c.word
	}
	return list
}

// ofAPI reports whether an operation acts in the name of an account. If so, its first argument is
// the account.
func ofAPI(e rpc.Endpoint) bool { return e.Audience != rpc.Operator }

const account = "account"

// parameters returns the struct that defines an operation's arguments for kong: required texts are
// positional, other fields are flags.
func parameters(e rpc.Endpoint) reflect.Type {
	var fields []reflect.StructField
	add := func(name, tag, help string, t reflect.Type) {
		fields = append(fields, reflect.StructField{
			Name: exported(name), Type: t, Tag: reflect.StructTag(fmt.Sprintf(`%s name:%q help:%q`, tag, hyphened(name), help)),
		})
	}
	text, list := reflect.TypeFor[string](), reflect.TypeFor[[]string]()
	if ofAPI(e) {
		add(account, `arg:""`, "The account.", text)
	}
	for _, f := range request.Fields(e) {
		help := strings.ReplaceAll(f.Help, "$", "$$")
		switch {
		case f.Required && (f.Kind == request.Text || f.Kind == request.Number):
			add(f.Name, `arg:""`, help, text)
		case f.Kind == request.List:
			add(f.Name, required(f)+`sep:"," placeholder:"TEXT,…"`, help, list)
		default:
			placeholder := map[request.Kind]string{
				request.Number: "N", request.YesNo: "true|false", request.Time: "TIME", request.JSON: "JSON", request.Text: "TEXT",
			}[f.Kind]
			if f.Values != nil {
				placeholder = strings.Join(f.Values, "|")
			}
			add(f.Name, fmt.Sprintf(`%splaceholder:%q`, required(f), placeholder), help, text)
		}
	}
	return reflect.StructOf(fields)
}

func required(f request.Field) string {
	if f.Required {
		return `required:"" `
	}
	return ""
}

// word is a word of an error, with the path to a field of the request's data.
var word = regexp.MustCompile(`(^|\b)(data\.)?([a-z]\w*)`)

// inFlags replaces the names of an operation's fields in the text of an error by those of its flags
// and arguments: "data.since is required without eventId" becomes "--since is required without
// --event-id". A name of lower-case letters only counts at the beginning.
func inFlags(e rpc.Endpoint, text string) string {
	shown := map[string]string{}
	for _, f := range request.Fields(e) {
		shown[f.Name] = "--" + hyphened(f.Name)
		if f.Required && (f.Kind == request.Text || f.Kind == request.Number) {
			shown[f.Name] = "<" + hyphened(f.Name) + ">"
		}
	}
	first := true
	return word.ReplaceAllStringFunc(text, func(name string) string {
		begins := first
		first = false
		field, path := strings.CutPrefix(name, "data.")
		if flag, ok := shown[field]; ok && (begins || path || field != strings.ToLower(field)) {
			return flag
		}
		return name
	})
}

// values returns the parsed arguments by the names of the request's fields.
func values(e rpc.Endpoint, parsed reflect.Value) url.Values {
	all := url.Values{}
	names := []string{account}
	for _, f := range request.Fields(e) {
		names = append(names, f.Name)
	}
	for _, name := range names {
		switch v := parsed.FieldByName(exported(name)); {
		case !v.IsValid():
		case v.Kind() == reflect.Slice:
			all[name] = v.Interface().([]string)
		case v.String() != "":
			all.Set(name, v.String())
		}
	}
	return all
}

// exported converts a name to an exported struct field.
func exported(name string) string {
	name = strings.ReplaceAll(name, "-", "_")
	return strings.ToUpper(name[:1]) + name[1:]
}

// hyphened converts the name of a field to a flag: organizationId becomes organization-id.
func hyphened(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 && !(name[i-1] >= 'A' && name[i-1] <= 'Z') {
				b.WriteByte('-')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// find returns the operation of a command.
func (n *node) find(path []string) *rpc.Endpoint {
	for _, word := range path {
		i := slices.IndexFunc(n.children, func(c *node) bool { return c.word == word })
		if i < 0 {
			return nil
		}
		n = n.children[i]
	}
	return n.endpoint
}
