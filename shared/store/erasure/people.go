package erasure

import (
	"bytes"
	"encoding/json"
	"html"
	"slices"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// people are the erased users.
type people struct{ ids map[string]bool }

func newPeople(ids []string) *people {
	p := &people{ids: map[string]bool{}}
	for _, id := range ids {
		p.ids[id] = true
	}
	return p
}

// attribute returns an attribute without the users, or without them in one member. The attribute is
// a user id, a list of ids, a map of these, or JSON text.
func (p *people) attribute(v types.AttributeValue, name, member string) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		if strings.HasPrefix(v.Value, "{") || strings.HasPrefix(v.Value, "[") {
			return store.Text(p.json(v.Value, name, member))
		}
		if p.ids[v.Value] {
			return store.Text(collab.ErasedUser)
		}
	case *types.AttributeValueMemberL, *types.AttributeValueMemberM:
		return store.WithoutTexts(v, func(text string) bool { return p.ids[text] })
	}
	return v
}

// json returns JSON text without the users, or without them in one member.
func (p *people) json(text, name, member string) string {
	named := strings.Contains(text, `\`) // an escape may hide an id
	for id := range p.ids {
		named = named || strings.Contains(text, id)
	}
	if !named {
		return text
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return text
	}
	changed := false
	if object, ok := v.(map[string]any); ok && member != "" {
		object[member], changed = p.value(member, object[member])
	} else if member == "" {
		v, changed = p.value(name, v)
	}
	if !changed {
		return text
	}
	edited, err := collab.EncodeJSON(v)
	if err != nil {
		return text // decoded values always encode
	}
	return string(edited)
}

// value returns a JSON value without the users: in user objects, in fields named …UserId, and in
// lists named …UserIds. It removes them from a list that is a whole attribute. It reports whether
// the value changed.
func (p *people) value(name string, v any) (_ any, changed bool) {
	switch v := v.(type) {
	case map[string]any:
		if id, _ := v["userId"].(string); p.ids[id] {
			if _, tag := v["contact"]; tag || name == "tag" {
				return map[string]any{"userId": collab.ErasedUser, "contact": collab.Erased()}, true
			}
			return collab.Erased(), true
		}
		for key, e := range v {
			edited, differs := p.value(key, e)
			if v[key] = edited; differs {
				changed = true
			}
		}
	case []any:
		users := strings.HasSuffix(strings.ToLower(name), "userids")
		rest := v[:0:0]
		for _, e := range v {
			id, _ := e.(string)
			if object, _ := e.(map[string]any); name == keys.Body && object != nil {
				id, _ = object["userId"].(string)
			}
			if (users || name == keys.Body) && p.ids[id] {
				changed = true
				continue
			}
			edited, differs := p.value(name, e)
			rest, changed = append(rest, edited), changed || differs
		}
		return rest, changed
	case string:
		if p.ids[v] && strings.HasSuffix(name, "UserId") {
			return collab.ErasedUser, true
		}
	}
	return v, changed
}

// withoutMentions returns a text without mentions of the users, plain or HTML-escaped.
func (p *people) withoutMentions(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		id, after, closed := strings.Cut(rest, "}}")
		if !closed || !p.ids[id] && !p.ids[html.UnescapeString(id)] {
			b.WriteString("{{")
			text = rest
			continue
		}
		b.WriteString("{{" + collab.ErasedUser + "}}")
		text = after
	}
}

// names reports whether a user object is the user's, or a list of tags has one.
func names(users collab.JSON, user string) bool {
	type object struct {
		UserID string `json:"userId"`
	}
	var one object
	var list []object
	if json.Unmarshal(users, &one) == nil {
		return one.UserID == user
	}
	_ = json.Unmarshal(users, &list) // stored values are one or the other
	return slices.Contains(list, object{user})
}
