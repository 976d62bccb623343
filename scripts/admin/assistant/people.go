package assistant

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"collabdata/shared/client"
	"collabdata/shared/collab"
)

const (
	mostPeople   = 30 // of a page
	mostMentions = 10 // of a text
)

type peopleInput struct {
	DocumentID string `json:"documentId,omitempty" jsonschema:"the document"`
	Letters    string `json:"letters,omitempty" jsonschema:"the beginning of a name or of a word in it"`
	Cursor     string `json:"cursor,omitempty" jsonschema:"next of the previous result"`
}

func (s *server) people(ctx context.Context, in peopleInput) (any, error) {
	document, err := s.document(in.DocumentID)
	if err != nil {
		return nil, err
	}
	found, next, err := s.find(ctx, document, in.Letters, nil, in.Cursor)
	if err != nil {
		return nil, err
	}
	l := list[Person]{Notice: notice, Items: []Person{}, Next: next}
	for _, p := range found {
		p.Name, _ = cut(p.Name, longestName)
		l.Items = append(l.Items, p)
	}
	return l, nil
}

// Prefixes of the cursor of a back end's list of people.
const atDocument, atOrganization = "d:", "o:"

// find returns a page of the people that can see a document, by letters of a name or by ids. For a
// back end, these are users of the document, followed by those of the organization.
func (s *server) find(ctx context.Context, document, letters string, ids []string, cursor string) (found []Person, next string, err error) {
	d := data{"organizationId": s.Organization, "documentId": document, "pageSize": mostPeople}
	if letters != "" {
		d["searchKey"] = letters
	}
	if ids != nil {
		d["userIds"] = ids
	}
	token := cursor
	if s.Agent != nil {
		var organization bool
		if token, organization = strings.CutPrefix(cursor, atOrganization); organization {
			delete(d, "documentId")
		} else {
			token = strings.TrimPrefix(token, atDocument)
		}
	}
	if token != "" {
		d["pageToken"] = token
	}
	users, next, err := client.Call[[]client.User](ctx, s.Client, "/v2/users/get", d)
	for _, u := range users {
		found = append(found, Person{u.UserID, u.Name})
	}
	if s.Agent == nil || err != nil {
		return found, next, err
	}
	switch _, ofDocument := d["documentId"]; {
	case next != "" && ofDocument:
		next = atDocument + next
	case next != "":
		next = atOrganization + next
	case ofDocument:
		next = atOrganization
	}
	people := make([]string, len(found))
	for i, p := range found {
		people[i] = p.ID
	}
	sees, err := s.sees(ctx, people, []string{document})
	return slices.DeleteFunc(found, func(p Person) bool { return !sees(p.ID, document) }), next, err
}

// sees returns a function that reports whether a user can see a document, by a back end's
// credentials.
func (s *server) sees(ctx context.Context, users, documents []string) (sees func(user, document string) bool, err error) {
	type permission struct {
		Documents map[string]struct {
			Role string `json:"accessRole"`
			Type string `json:"accessType"`
		} `json:"documents"`
	}
	var all map[string]permission
	if len(users) > 0 && len(documents) > 0 {
		all, _, err = client.Call[map[string]permission](ctx, s.Client, "/v2/auth/permissions/get", data{
			"organizationId": s.Organization, "userIds": users, "documentIds": documents, "skipResourceExistenceValidation": true,
		})
	}
	return func(user, document string) bool {
		p := all[user].Documents[document]
		return p.Role != "" || p.Type == string(collab.AccessPublic)
	}, err
}

// everyone returns the first people that find finds at all levels.
func (s *server) everyone(ctx context.Context, document, letters string, ids []string) (found []Person, err error) {
	cursor := ""
	for range mostPages {
		var some []Person
		if some, cursor, err = s.find(ctx, document, letters, ids, cursor); err != nil {
			return nil, err
		}
		for _, p := range some {
			if !slices.ContainsFunc(found, func(q Person) bool { return q.ID == p.ID }) {
				found = append(found, p)
			}
		}
		if cursor == "" {
			break
		}
	}
	return found, nil
}

// mention returns a text with a token for each person that it mentions as @Name, and for those of
// ids. These are first in the text unless it has their names.
func (s *server) mention(ctx context.Context, argument, document, text string, ids []string) (string, *written, error) {
	w := &written{}
	if strings.Contains(text, "{{") {
		return "", nil, fmt.Errorf("%s must not contain {{: to mention a person, write @Name, or send mention", argument)
	}
	var chosen []Person
	if len(ids) > 0 {
		var err error
		if chosen, err = s.everyone(ctx, document, "", ids); err != nil {
			return "", nil, err
		}
		for _, id := range ids {
			if !slices.ContainsFunc(chosen, func(p Person) bool { return p.ID == id }) {
				return "", nil, fmt.Errorf("mention: nobody with the userId %q can see the document, see the tool people", id)
			}
		}
	}
	parts := strings.Split(text, "@")
	words := make([]string, len(parts)) // after @, "" for none, such as in an address
	for i := 1; i < len(parts); i++ {
		if last, _ := utf8.DecodeLastRuneInString(parts[i-1]); parts[i-1] == "" || !inWord(last) && last != '{' {
			words[i] = wordOf(parts[i])
		}
	}
	if names := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == "" }); len(names) > mostMentions {
		return "", nil, fmt.Errorf("%s must have at most %d words with @", argument, mostMentions)
	}
	var b strings.Builder
	for i, part := range parts {
		if words[i] == "" {
			b.WriteString(strings.Repeat("@", min(i, 1)) + part)
			continue
		}
		p, length, err := s.named(ctx, document, part, words[i], chosen)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", argument, err)
		}
		if p == nil {
			w.Unknown = append(w.Unknown, "@"+words[i])
			b.WriteString("@" + part)
			continue
		}
		w.add(*p)
		b.WriteString("{{" + p.ID + "}}" + part[length:])
	}
	var first strings.Builder
	for _, p := range chosen {
		if w.add(p) {
			first.WriteString("{{" + p.ID + "}} ")
		}
	}
	return first.String() + b.String(), w, nil
}

// add adds a mentioned person, and reports whether the person is new.
func (w *written) add(p Person) bool {
	if slices.ContainsFunc(w.Mentioned, func(q Person) bool { return q.ID == p.ID }) {
		return false
	}
	w.Mentioned = append(w.Mentioned, p)
	return true
}

// inWord reports whether a character is part of a word.
func inWord(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.N) || r == '_' }

// spaceless are scripts without spaces between words.
var spaceless = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// wordOf returns the word with which a text begins.
func wordOf(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) && !strings.ContainsRune(".-'’", r) })
	if end < 0 {
		end = len(text)
	}
	return strings.TrimRight(text[:end], ".-'’")
}

// named returns the person whose name is at the beginning of a text, and the length of the name, or
// nil if nobody has it. It prefers chosen people.
func (s *server) named(ctx context.Context, document, text, word string, chosen []Person) (*Person, int, error) {
	if people, length := matching(chosen, text, word); len(people) > 0 {
		return &people[0], length, nil
	}
	letters := []rune(word)
	if unicode.In(letters[0], spaceless...) {
		letters = letters[:min(len(letters), 2)]
	}
	var found []Person
	var err error
	if len(letters) >= 2 && collab.Fold(word) != "" {
		if found, err = s.everyone(ctx, document, string(letters[:min(len(letters), 100)]), nil); err != nil {
			return nil, 0, err
		}
	}
	people, length := byName(found, text)
	if people == nil && len(word) <= collab.MaxID {
		byID, err := s.everyone(ctx, document, "", []string{word})
		if err != nil {
			return nil, 0, err
		}
		people, length = matching(append(byID, found...), text, word)
	}
	if len(people) > 1 {
		return nil, 0, fmt.Errorf("@%s can be any of %s: send one as mention", word, strings.Join(collab.Map(people, func(p Person) string { return p.ID }), ", "))
	}
	if len(people) == 0 {
		return nil, 0, nil
	}
	return &people[0], length, nil
}

// byName returns the people with the longest name at the beginning of a text, and its length.
func byName(people []Person, text string) (found []Person, length int) {
	for _, p := range people {
		switch n := nameLength(text, p.Name); {
		case n > length:
			found, length = []Person{p}, n
		case n == length && n > 0:
			found = append(found, p)
		}
	}
	return found, length
}

// matching returns the people of byName. Otherwise it returns those whose id is the word at the
// beginning of the text, or else whose name begins with this word, unless another name follows.
func matching(people []Person, text, word string) (found []Person, length int) {
	if found, length = byName(people, text); found != nil {
		return found, length
	}
	for _, p := range people {
		if p.ID == word {
			return []Person{p}, len(word)
		}
	}
	if next, _ := utf8.DecodeRuneInString(strings.TrimPrefix(text[len(word):], " ")); unicode.IsUpper(next) {
		return nil, 0
	}
	for _, p := range people {
		if collab.Fold(wordOf(p.Name)) == collab.Fold(word) {
			found = append(found, p)
		}
	}
	return found, len(word)
}

// nameLength returns the length of a name at the beginning of a text, whatever its case and
// accents, or 0 if the text does not begin with it.
func nameLength(text, name string) (length int) {
	folded := collab.Fold(name)
	if folded == "" {
		return 0
	}
	for i, r := range text + " " {
		if i > 0 && collab.Fold(text[:i]) == folded && (!inWord(r) || unicode.In(r, spaceless...)) {
			length = i
		}
		if i > 4*len(name) {
			break
		}
	}
	return length
}
