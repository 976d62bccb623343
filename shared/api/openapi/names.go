package openapi

import "strings"

// name is what clients call an operation, made of its path: /v2/commentannotations/comments/add is AddComments of CommentAnnotations.
type name struct {
	noun   string // the first word of the path, such as commentannotations
	group  string // CommentAnnotations
	method string // AddComments
}

// nameOf returns the name of the operation at a path, one of all. The last word is the verb, unless the path before it is an operation
// too, as users/data/delete is before users/data/delete/status: then it only tells one from the other.
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

// typeName is what the names of the operation's types begin with.
func (n name) typeName() string { return n.group + n.method }

// compounds are the words of paths that are made of several.
var compounds = strings.NewReplacer(
	"commentannotations", "comment_annotations", "usergroups", "user_groups", "disablestate", "disable_state",
)

// words returns words with _ or . between them as one word: generate_token is GenerateToken.
func words(text string) string {
	joined := ""
	for _, w := range strings.FieldsFunc(compounds.Replace(text), func(r rune) bool { return strings.ContainsRune("_.-", r) }) {
		joined += upper(w)
	}
	return joined
}
