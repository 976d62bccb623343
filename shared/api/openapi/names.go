package openapi

import "strings"

// name is the client's name of an operation: /v2/commentannotations/comments/add is AddComments of
// CommentAnnotations.
type name struct {
	noun   string // the first word of the path, such as commentannotations
	group  string // CommentAnnotations
	method string // AddComments
}

// nameOf returns the name of the operation at a path. The last word is the verb, unless the path
// before it is also an operation, as users/data/delete is for users/data/delete/status.
func nameOf(path string, all map[string]bool) name {
	list := strings.Split(strings.Trim(path, "/"), "/")
	version, noun, rest := list[0], list[1], list[2:]
	verb, last := len(rest)-1, ""
	if all[path[:strings.LastIndexByte(path, '/')]] {
		verb, last = verb-1, words(rest[verb])
	}
	method := words(rest[verb])
	for _, w := range rest[:verb] {
		method += words(w)
	}
	if method += last; version != "v2" {
		method += strings.ToUpper(version)
	}
	return name{noun: noun, group: words(noun), method: method}
}

// typeName is the prefix of the operation's types.
func (n name) typeName() string { return n.group + n.method }

// compounds are path words made of several words.
var compounds = strings.NewReplacer(
	"commentannotations", "comment_annotations", "usergroups", "user_groups", "disablestate", "disable_state",
)

// words joins words separated by _ or .: generate_token is GenerateToken.
func words(text string) string {
	joined := ""
	for _, w := range strings.FieldsFunc(compounds.Replace(text), func(r rune) bool { return strings.ContainsRune("_.-", r) }) {
		joined += upper(w)
	}
	return joined
}
