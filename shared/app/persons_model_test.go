package app_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var personRuns = flag.Int("persons", 10, "how many random runs of persons there are")

// TestPersons makes random requests of persons with tokens, and of their back end. It compares
// responses with a simple model of access. Refused requests must change nothing, and responses must
// not contain data for back ends only.
func TestPersons(t *testing.T) {
	t.Parallel()
	clock := time.Now().Truncate(time.Second)
	s := apitest.Start(t, func(c *app.Config) {
		c.Now, c.Stage = func() time.Time { return clock }, "test"
		c.Sleep = func(_ context.Context, d time.Duration) error { clock = clock.Add(d); return nil }
	})
	keys, err := s.Accounts.RotateSigningKeys(t.Context(), "acme")
	must.Do(t, err)
	served := s.Handler()
	for seed := range *personRuns {
		m := &persons{
			T: t, Rand: rand.New(rand.NewPCG(uint64(seed), 0)), org: fmt.Sprintf("org%d", seed), clock: &clock, service: s, served: served, key: keys[0],
			access: map[string]string{}, off: map[string]bool{}, members: map[string]bool{}, removals: map[string]string{}, team: map[string]bool{}, grants: map[string]bool{},
			opened: map[string]bool{}, gotIn: map[string]bool{},
			above: map[string]string{"f": "", "g": "f"}, threads: map[string]*thread{}, tokens: map[string]*personToken{}, added: map[string]time.Time{},
		}
		m.start()
		for range 60 {
			m.step()
			if t.Failed() {
				t.Fatalf("seed %d:\n%s", seed, strings.Join(m.log, "\n"))
			}
		}
	}
}

// persons is the model of an organization.
type persons struct {
	*testing.T
	*rand.Rand
	org     string
	clock   *time.Time
	service *app.Service
	served  http.Handler
	key     collab.SigningKey
	log     []string

	access   map[string]string // own access types, by document or folder
	off      map[string]bool   // disabled documents
	members  map[string]bool   // by user.
	removals map[string]string // by user@document or folder, or user@: hides or grant.
	opened   map[string]bool   // user@document, in spite of a removal from the organization
	gotIn    map[string]bool   // users with a grant or an opening since the removal from the organization
	team     map[string]bool   // users of a group
	grants   map[string]bool   // user@document or folder
	above    map[string]string
	added    map[string]time.Time // documents
	threads  map[string]*thread
	tokens   map[string]*personToken
}

type thread struct {
	Document, Creator string
	Status            string            // with the users who resolved it and set it
	Visibility        string            // a type; a user after a space for restricted
	Comments          map[string]string // authors by id
}

type personToken struct {
	text            string
	issued, expires time.Time
	covers          map[string]string // roles, by document, folder or ""
}

var people = []string{"ann", "bob", "cid", "dan"}

func pick[T any](m *persons, list ...T) T { return list[m.IntN(len(list))] }

func (m *persons) documents() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.above)), func(id string) bool { return len(id) == 1 })
}

// up returns a document and the folders above it.
func (m *persons) up(id string) (list []string) {
	for ; id != ""; id = m.above[id] {
		list = append(list, id)
	}
	return list
}

// may reports whether a user may see a document.
func (m *persons) may(user, doc string) bool {
	if _, there := m.above[doc]; !there || m.off[doc] || m.removals[user+"@"+doc] == "hides" {
		return false
	}
	set, granted := "", false
	for _, id := range m.up(doc) {
		set, granted = cmp.Or(set, m.access[id]), granted || m.grants[user+"@"+id]
	}
	if m.removals[user+"@"] == "hides" && !granted && !m.opened[user+"@"+doc] {
		return false
	}
	return set == "" || set == "public" || granted || set == "organizationPrivate" && m.members[user]
}

func (m *persons) sees(user, id string) bool {
	th, there := m.threads[id]
	if !there || !m.may(user, th.Document) {
		return false
	}
	return m.shows(th.Visibility, user, th.Creator)
}

// shows reports whether a visibility shows a thread to a user.
func (m *persons) shows(visibility, user, creator string) bool {
	kind, who, _ := strings.Cut(visibility, " ")
	return kind == "public" || kind == "organizationPrivate" && m.members[user] || kind == "restricted" && (who == user || creator == user)
}

// known reports whether a user of a document, its folders or the organization may see the document.
func (m *persons) known(user, doc string) bool {
	granted := slices.ContainsFunc(m.up(doc), func(id string) bool { return m.grants[user+"@"+id] })
	return (m.members[user] || granted) && m.may(user, doc)
}

// older reports whether an accessible document was added after the token was issued.
func (tok *personToken) older(m *persons, docs ...string) bool {
	return slices.ContainsFunc(docs, func(doc string) bool {
		_, there := m.above[doc]
		return there && !m.off[doc] && m.added[doc].After(tok.issued.Add(5*time.Second))
	})
}

// in returns the threads that a user sees in documents, or in all documents for "".
func (m *persons) in(user string, docs ...string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.threads)), func(id string) bool {
		return !slices.Contains(docs, m.threads[id].Document) || user != "" && !m.sees(user, id)
	})
}

// role returns the token's role in a document, or "".
func (tok *personToken) role(m *persons, doc string) string {
	for _, id := range m.up(doc) {
		if r := tok.covers[id]; r != "" {
			return r
		}
	}
	return cmp.Or(tok.covers[doc], tok.covers[""])
}

// send sends data to an operation, as a person unless user is "".
func (m *persons) send(user, path, data string) (status int, answer any) {
	m.Helper()
	*m.clock = m.clock.Add(11 * time.Second) // resets personal limits
	if !strings.HasPrefix(path, "auth/") && path != "users/data/delete" {
		data = `"organizationId": "` + m.org + `", ` + data
	}
	r := httptest.NewRequest(http.MethodPost, "/v2/"+path, strings.NewReader(`{"data": {`+data+`}}`))
	r.Header.Set("Content-Type", "application/json")
	if user != "" {
		r.Header.Set("Authorization", "Bearer "+m.tokens[user].text)
	} else {
		r.Header.Set(credentials.KeyHeader, "key")
		r.Header.Set(credentials.TokenHeader, "token")
	}
	w := httptest.NewRecorder()
	m.served.ServeHTTP(w, r)
	m.log = append(m.log, fmt.Sprintf("%s %s %s: %d %s", user, path, data, w.Code, w.Body))
	if text := strings.ToLower(w.Body.String()); w.Code >= 500 || user != "" && strings.Contains(text, "planted") {
		m.Error("the last answer")
	}
	var body struct{ Result struct{ Data any } }
	must.Do(m, json.Unmarshal(w.Body.Bytes(), &body))
	return w.Code, body.Result.Data
}

// must sends a request of a back end, which must succeed.
func (m *persons) must(path, data string) any {
	m.Helper()
	code, answer := m.send("", path, data)
	if code != 200 {
		m.Errorf("%s %s: %d", path, data, code)
	}
	return answer
}

func (m *persons) want(what string, want, got any) {
	m.Helper()
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		m.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func quoted(list ...string) string {
	text, _ := json.Marshal(list)
	return string(text)
}

func (m *persons) user(id string) string {
	return fmt.Sprintf(`{"userId": %q, "name": %q, "email": "%s@planted.example", "plan": "planted"}`, id, strings.ToUpper(id), id)
}

func (m *persons) start() {
	_, err := m.service.Directory.OpenOrCreateOrganization(m.Context(), "acme", m.org, true)
	must.Do(m, err)
	m.must("organizations/usergroups/add", `"organizationUserGroups": [{"groupId": "team", "groupName": "Team"}]`)
	m.must("organizations/folders/add", `"folders": [{"folderId": "f"}, {"folderId": "g", "parentFolderId": "f"}]`)
	m.add("plan", "")
	m.add("filed", "f")
	m.add("deep", "g")
	for _, u := range people[1:] {
		m.must("users/add", `"users": [`+m.user(u)+`]`)
		m.members[u] = true
	}
	m.must("users/delete", `"userIds": ["dan"]`)
	m.takeOut("dan")
	for _, u := range people {
		m.token(u)
	}
	if place := pick(m, "plan", "f", "none"); place != "none" { // some may see it
		m.restrict(place, "restricted")
		m.grant("ann", place)
		m.grant("bob", place)
	}
}

// takeOut removes a user from the organization, with everything in it.
func (m *persons) takeOut(user string) {
	m.removals[user+"@"] = "hides"
	m.members[user], m.team[user], m.gotIn[user] = false, false, false
	theirs := func(at string, _ bool) bool { return strings.HasPrefix(at, user+"@") }
	maps.DeleteFunc(m.grants, theirs)
	maps.DeleteFunc(m.opened, theirs)
}

// out reports whether a user was removed from the organization, and nothing in it is open to the
// user. It is not known if a grant on a deleted document may be left.
func (m *persons) out(user string) (out, known bool) {
	if m.removals[user+"@"] != "hides" || !m.gotIn[user] {
		return m.removals[user+"@"] == "hides", true
	}
	return false, slices.ContainsFunc([]string{"f", "g"}, func(id string) bool { return m.has(user, id) }) ||
		slices.ContainsFunc(m.documents(), func(id string) bool { return m.has(user, id) || m.opened[user+"@"+id] })
}

// resource returns the fields that name a document or folder, or the organization for "".
func (m *persons) resource(place string) string {
	switch len(place) {
	case 0:
		return fmt.Sprintf(`{"type": "organization", "id": %q}`, m.org)
	case 1:
		return fmt.Sprintf(`{"type": "folder", "id": %q, "organizationId": %q}`, place, m.org)
	}
	return fmt.Sprintf(`{"type": "document", "id": %q, "organizationId": %q}`, place, m.org)
}

// has reports whether a user has a grant on a place.
func (m *persons) has(user, place string) bool {
	return place == "" && m.members[user] || m.grants[user+"@"+place]
}

// granted gives a user a grant on a place, which ends a removal from it.
func (m *persons) granted(user, place string) {
	delete(m.removals, user+"@"+place)
	if m.gotIn[user] = true; place == "" {
		m.members[user] = true
	} else {
		m.grants[user+"@"+place] = true
	}
}

// ungranted takes a grant from a user.
func (m *persons) ungranted(user, place string) {
	if place == "" {
		m.members[user] = false
	}
	delete(m.grants, user+"@"+place)
}

// signIn makes a token for one resource, as the product's server does for an open page.
func (m *persons) signIn(user, place string) {
	restore := m.IntN(3) == 0
	m.must("auth/generate_token", fmt.Sprintf(`"userId": %q, "userProperties": {"name": %q}, "restoreAccess": %v, "permissions": {"resources": [%s]}`,
		user, strings.ToUpper(user), restore, m.resource(place)))
	levels := []string{""}
	if place != "" {
		levels = append(levels, m.up(place)...)
	}
	taken := slices.ContainsFunc(levels, func(id string) bool { return m.removals[user+"@"+id] != "" })
	if restore || !taken && !m.has(user, place) {
		m.granted(user, place)
	}
}

// restrict sets the access type of a document or a folder.
func (m *persons) restrict(place, kind string) {
	m.access[place] = kind
	if len(place) == 1 {
		m.must("organizations/folders/access/update", fmt.Sprintf(`"folderIds": [%q], "accessType": %q`, place, kind))
	} else {
		m.must("organizations/documents/access/update", fmt.Sprintf(`"documentIds": [%q], "accessType": %q`, place, kind))
	}
}

// grant adds a user to a document or a folder.
func (m *persons) grant(user, place string) {
	level := map[bool]string{true: "folderId", false: "documentId"}[len(place) == 1]
	m.must("users/add", fmt.Sprintf(`%q: %q, "users": [%s]`, level, place, m.user(user)))
	m.granted(user, place)
}

func (m *persons) add(doc, folder string) {
	m.must("organizations/documents/add", fmt.Sprintf(`"folderId": %q, "documents": [{"documentId": %q}]`, cmp.Or(folder, "root"), doc))
	m.above[doc], m.added[doc] = folder, *m.clock
}

// token gives a person a new token.
func (m *persons) token(user string) {
	life := pick(m, time.Minute, time.Hour)
	tok := &personToken{issued: *m.clock, expires: m.clock.Add(life), covers: map[string]string{}}
	var resources []collab.TokenResource
	for _, id := range []string{"", "f", "g", "plan", "filed", "deep", "new", "newer", "newest"} {
		if m.IntN(2) > 0 {
			continue
		}
		kind := collab.ResourceType("document")
		if len(id) == 1 {
			kind = "folder"
		}
		r := collab.TokenResource{Type: kind, ID: id, OrganizationID: m.org, AccessRole: pick(m, collab.RoleEditor, collab.RoleEditor, collab.RoleViewer)}
		if id == "" {
			r.Type, r.ID, r.OrganizationID = "organization", m.org, ""
		}
		resources, tok.covers[id] = append(resources, r), string(r.AccessRole)
	}
	p := collab.Person{UserID: user, Name: strings.ToUpper(user), Resources: resources}
	var err error
	tok.text, err = credentials.Sign(m.key, "test", "acme", p, *m.clock, tok.expires)
	must.Do(m, err)
	m.tokens[user] = tok
}

// backEnd makes a random change of access or data.
func (m *persons) backEnd() {
	user, place := pick(m, people...), pick(m, "f", "g", "plan", "filed", "deep")
	if len(m.documents()) == 0 {
		m.add("plan", "")
	}
	doc := pick(m, m.documents()...)
	somewhere := pick(m, place, doc, "")
	if _, there := m.above[somewhere]; somewhere != "" && !there || m.off[somewhere] {
		somewhere = ""
	}
	switch m.IntN(22) {
	case 16, 17:
		m.signIn(user, somewhere)
	case 18:
		m.must("auth/permissions/add", fmt.Sprintf(`"user": {"userId": %q}, "permissions": {"resources": [%s]}`, user, m.resource(somewhere)))
		m.granted(user, somewhere)
	case 19, 20:
		m.must("auth/permissions/remove", fmt.Sprintf(`"userId": %q, "permissions": {"resources": [%s]}`, user, m.resource(somewhere)))
		if m.has(user, somewhere) && m.removals[user+"@"+somewhere] == "" {
			m.removals[user+"@"+somewhere] = "grant"
		}
		m.ungranted(user, somewhere)
	case 21:
		if somewhere == "" {
			return
		}
		level := map[bool]string{true: "folderId", false: "documentId"}[len(somewhere) == 1]
		removed := len(done(m.must("users/delete", fmt.Sprintf(`%q: %q, "userIds": [%q]`, level, somewhere, user)))) > 0
		m.want("removed from "+somewhere, m.has(user, somewhere) || m.opened[user+"@"+somewhere], removed)
		if removed {
			m.removals[user+"@"+somewhere] = map[bool]string{true: "grant", false: "hides"}[len(somewhere) == 1]
			delete(m.opened, user+"@"+somewhere)
		}
		m.ungranted(user, somewhere)
	case 11: // deletes a document, or adds it, maybe again
		doc := pick(m, "plan", "filed", "deep", "new", "newer")
		if _, there := m.above[doc]; !there {
			m.add(doc, pick(m, "", "f", "g"))
			return
		}
		m.must("organizations/documents/delete", fmt.Sprintf(`"documentIds": [%q]`, doc))
		for _, id := range m.in("", doc) {
			delete(m.threads, id)
		}
		there := func(at string, _ bool) bool { return strings.HasSuffix(at, "@"+doc) }
		maps.DeleteFunc(m.grants, there)
		maps.DeleteFunc(m.opened, there)
		maps.DeleteFunc(m.removals, func(at, _ string) bool { return there(at, true) })
		delete(m.above, doc)
		delete(m.access, doc)
		delete(m.off, doc)
	case 13: // changes a group
		change := pick(m, "add", "delete")
		m.team[user] = change == "add"
		m.must("organizations/usergroups/users/"+change, fmt.Sprintf(`"organizationUserGroupId": "team", "userIds": [%q]`, user))
	case 14:
		if m.IntN(3) == 0 { // slow
			m.erase(user)
		}
	case 12: // a token adds the resources that it covers
		doc := pick(m, "new", "newer", "newest")
		m.must("auth/generate_token", fmt.Sprintf(`"createDocument": true, "userId": %q, "permissions": {"resources": [{"type": "document", "id": %q, "organizationId": %q}]}`, user, doc, m.org))
		if _, there := m.above[doc]; !there {
			m.above[doc], m.added[doc] = "", *m.clock
		}
	case 0, 1:
		if _, there := m.above[place]; !there {
			return
		}
		m.restrict(place, pick(m, "public", "organizationPrivate", "restricted"))
	case 2:
		m.off[doc] = !m.off[doc] && m.IntN(2) == 0
		m.must("organizations/documents/access/disablestate/update", fmt.Sprintf(`"documentIds": [%q], "disabled": %v`, doc, m.off[doc]))
	case 3:
		m.must("users/add", `"users": [`+m.user(user)+`]`)
		m.granted(user, "")
	case 4:
		granted := slices.ContainsFunc(slices.Collect(maps.Keys(m.grants)), func(g string) bool { return m.grants[g] && strings.HasPrefix(g, user+"@") })
		// also by a grant on a deleted document
		removed := len(done(m.must("users/delete", fmt.Sprintf(`"userIds": [%q]`, user)))) > 0
		if (m.members[user] || m.team[user] || granted) && !removed {
			m.Errorf("%s is not removed", user)
		}
		if removed {
			m.takeOut(user)
		}
	case 5:
		if _, there := m.above[place]; !there || m.off[place] {
			return
		}
		m.grant(user, place)
	case 6, 7:
		if m.off[doc] {
			return
		}
		kind, sent := m.visibility(user)
		id, imported := fmt.Sprintf("t%d", len(m.log)), pick(m, "", `"createdAt": 1, `)
		m.must("commentannotations/add", fmt.Sprintf(`"documentId": %q, "commentAnnotations": [{"annotationId": %q, "context": {"planted": 1}, "visibility": %s,
			"assignedTo": {"userId": "eve", "email": "eve@planted.example"}, "commentData": [{"commentId": 1, `+imported+` "commentText": "x", "agent": {"planted": 1}, "context": {"planted": 1}, "from": %s}]}]`, doc, id, sent, m.user(user)))
		m.threads[id] = &thread{doc, user, "OPEN", kind, map[string]string{"1": user}}
		if imported == "" && m.removals[user+"@"+doc] == "hides" {
			delete(m.removals, user+"@"+doc)
		}
		if imported == "" && m.removals[user+"@"] == "hides" {
			m.opened[user+"@"+doc], m.gotIn[user] = true, true
		}
	case 8:
		if list := m.in("", doc); len(list) > 0 && !m.off[doc] {
			id := pick(m, list...)
			kind, sent := m.visibility(user)
			m.must("commentannotations/update", fmt.Sprintf(`"documentId": %q, "annotationIds": [%q], "updatedData": {"visibility": %s}`, doc, id, sent))
			m.threads[id].Visibility = kind
		}
	case 9:
		if m.off[doc] {
			return
		}
		to := pick(m, "f", "g", "")
		m.must("organizations/documents/move", fmt.Sprintf(`"documentIds": [%q], "folderId": %q`, doc, cmp.Or(to, "root")))
		m.above[doc] = to
	case 10:
		if list := m.in("", doc); len(list) > 0 && !m.off[doc] {
			id := pick(m, list...)
			m.must("commentannotations/comments/delete", fmt.Sprintf(`"documentId": %q, "annotationId": %q`, doc, id))
			clear(m.threads[id].Comments)
		}
	}
}

// erase deletes the personal data of a user completely. The user's name must disappear.
func (m *persons) erase(user string) {
	if slices.ContainsFunc(m.documents(), func(doc string) bool { return m.off[doc] }) {
		return // the model cannot describe these
	}
	_, answer := m.send("", "users/data/delete", fmt.Sprintf(`"userIds": [%q], "organizationIds": [%q]`, user, m.org))
	runJob(m.T, m.service, m.clock, answer.(map[string]any)["jobId"].(string))
	m.takeOut(user)
	for _, doc := range m.documents() {
		is := m.stored(doc)
		m.want("threads after an erasure", m.in("", doc), slices.Sorted(maps.Keys(is)))
		for id, th := range is {
			if strings.Contains(fmt.Sprint(th), user) {
				m.Errorf("%s is erased, and thread %s is %v", user, id, th)
			}
			m.threads[id] = &th
		}
	}
}

func (m *persons) visibility(user string) (kind, sent string) {
	switch kind = pick(m, "public", "public", "organizationPrivate", "restricted"); kind {
	case "restricted":
		return kind + " " + user, fmt.Sprintf(`{"type": "restricted", "userIds": [%q]}`, user)
	case "organizationPrivate":
		return kind, fmt.Sprintf(`{"type": %q, "organizationId": %q}`, kind, m.org)
	}
	return kind, `{"type": "public"}`
}

// ids returns the texts of a field in a list of objects, with "" for null.
func ids(list any, field string) []string {
	got := []string{}
	for _, v := range list.([]any) {
		o, _ := v.(map[string]any)
		id, _ := o[field].(string)
		got = append(got, id)
	}
	slices.Sort(got)
	return got
}

// done returns the keys of succeeded items.
func done(items any) (list []string) {
	for id, v := range items.(map[string]any) {
		if v.(map[string]any)["success"] == true {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

func (m *persons) step() {
	if m.IntN(3) == 0 {
		m.backEnd()
		return
	}
	me := pick(m, people...)
	if m.IntN(12) == 0 || m.clock.After(m.tokens[me].expires) && m.IntN(2) == 0 {
		m.token(me)
	}
	operation := m.IntN(17)
	writes := operation > 5 && operation < 13 || operation == 14
	tok, doc := m.tokens[me], pick(m, append(m.documents(), "new", "newer", "newest", "none")...)
	id, other := "nothing", pick(m, people...)
	if list := slices.Sorted(maps.Keys(m.threads)); len(list) > 0 && m.IntN(8) > 0 && operation != 6 && operation != 13 {

		id = pick(m, list...)
		doc = m.threads[id].Document
		if own := m.threads[id].Creator; (operation == 11 || operation == 12) && m.tokens[own] != nil && m.IntN(2) == 0 {
			me, tok = own, m.tokens[own]
		}
	}
	at, role := fmt.Sprintf(`"documentId": %q`, doc), tok.role(m, doc)
	sees, may := m.sees(me, id), m.may(me, doc)
	th, asked := m.threads[id], []string{doc}
	expired := !m.clock.Add(11 * time.Second).Before(tok.expires.Add(5 * time.Second))
	// status returns the expected status by the rules of all operations on one document, or
	// otherwise.
	status := func(otherwise int) int {
		switch {
		case expired:
			return 401
		case role == "" || writes && role != "editor":
			return 403
		case !may || tok.older(m, asked...):
			return 404
		}
		return otherwise
	}
	knows := other == me || m.known(other, doc) // the other user may be named
	call := func(path, data string, want int) any {
		m.Helper()
		code, answer := m.send(me, path, data)
		m.want(path, want, code)
		if code != want || code != 200 {
			return nil
		}
		return answer
	}
	visible := func(ok bool) int { return map[bool]int{true: 200, false: 404}[ok] }
	switch operation {
	case 0:
		if got := call("commentannotations/get", at, status(200)); got != nil {
			m.want("threads", m.in(me, doc), ids(got, "annotationId"))
		}
	case 1: // several
		covered := slices.DeleteFunc(m.documents(), func(d string) bool { return tok.role(m, d) == "" })
		if len(covered) == 0 {
			return
		}
		role, may, asked = "viewer", true, covered
		if got := call("commentannotations/get", `"documentIds": `+quoted(covered...), status(200)); got != nil {
			m.want("threads of several", m.in(me, covered...), ids(got, "annotationId"))
		}
	case 2:
		if got := call("commentannotations/get", at+`, "annotationIds": `+quoted(id), status(200)); got != nil {
			m.want("thread", []string{map[bool]string{true: id, false: ""}[sees]}, ids(got, "annotationId"))
		}
	case 3:
		may = true
		if got := call("commentannotations/count/get", `"documentIds": `+quoted(doc), status(200)); got != nil {
			m.want("count", float64(len(m.in(me, doc))), got.(map[string]any)[doc].(map[string]any)["total"])
		}
	case 4:
		if got := call("commentannotations/comments/get", at+`, "annotationId": "`+id+`"`, status(visible(sees))); got != nil {
			m.want("comments", len(th.Comments), len(got.([]any)))
		}
	case 5:
		// all of the document, or two
		named := pick(m, "", `, "annotationIds": `+quoted(id, "nothing2"))
		if got := call("commentannotations/read/set", at+`, "read": true`+named, status(200)); got != nil {
			m.want("read", map[bool][]string{true: {id}}[sees && named != ""], done(got))
		}
		may = true
		expired = !m.clock.Add(11 * time.Second).Before(tok.expires.Add(5 * time.Second))
		if got := call("commentannotations/read/get", `"documentIds": `+quoted(doc), status(200)); got != nil {
			for _, a := range ids(got, "annotationId") {
				if a == "" && !m.may(me, doc) || a != "" && !m.sees(me, a) {
					m.Errorf("%s is listed as read", a)
				}
			}
		}
	case 6:
		kind, sent := m.visibility(other)
		want := status(200)
		if want == 200 && kind != "public" && kind != "organizationPrivate" && !knows {
			want = 400
		}
		got := call("commentannotations/add", at+`, "commentAnnotations": [{"visibility": `+sent+`, "commentData": [{"commentText": "x"}]}]`, want)
		switch {
		case got == nil:
		case !m.shows(kind, me, me): // only members add what members see
			m.want("added", []string(nil), done(got))
		default:
			for id, v := range got.(map[string]any) {
				m.threads[id] = &thread{doc, me, "OPEN", kind, map[string]string{fmt.Sprintf("%.0f", v.(map[string]any)["commentIds"].([]any)[0]): me}}
			}
		}
	case 7:
		want := status(visible(sees))
		if want == 200 && !knows {
			want = 400
		}
		got := call("commentannotations/comments/add", at+`, "annotationId": "`+id+`", "commentData": [{"commentText": "{{`+other+`}}", "taggedUserContacts": [{"userId": "`+other+`"}]}]`, want)
		if got != nil {
			th.Comments[fmt.Sprintf("%.0f", got.([]any)[0])] = me
		}
	case 8, 9:
		var all, own []string
		if th != nil {
			all = slices.Sorted(maps.Keys(th.Comments))
			own = slices.DeleteFunc(slices.Clone(all), func(c string) bool { return th.Comments[c] != me })
		}
		named := fmt.Sprintf(`%s, "annotationId": %q, "commentIds": [%s]`, at, id, strings.Join(append(all, "77"), ", "))
		if operation == 8 {
			if got := call("commentannotations/comments/update", named+`, "updatedData": {"commentText": "y"}`, status(visible(sees))); got != nil {
				m.want("own comments", own, done(got))
			}
		} else if got := call("commentannotations/comments/delete", named, status(visible(sees))); got != nil {
			m.want("own comments", own, done(got))
			for _, c := range own {
				delete(th.Comments, c)
			}
		}
	case 10:
		to := pick(m, "OPEN", "RESOLVED")
		if got := call("commentannotations/update", at+`, "annotationIds": `+quoted(id)+`, "updatedData": {"status": {"id": "`+to+`"}}`, status(200)); got != nil {
			m.want("status", map[bool][]string{true: {id}}[sees], done(got))
			if sees {
				th.Status = to + map[string]string{"RESOLVED": me}[to] + me
			}
		}
	case 11:
		kind, sent := m.visibility(other)
		want := status(200)
		if want == 200 && kind != "public" && kind != "organizationPrivate" && !knows {
			want = 400
		}
		if got := call("commentannotations/update", at+`, "annotationIds": `+quoted(id)+`, "updatedData": {"visibility": `+sent+`}`, want); got != nil {
			may := sees && th.Creator == me
			for _, author := range collab.Deref(th).Comments {
				may = may && (!m.shows(th.Visibility, author, me) || m.shows(kind, author, me))
			}
			m.want("visibility", map[bool][]string{true: {id}}[may], done(got))
			if may {
				th.Visibility = kind
			}
		}
	case 12:
		if got := call("commentannotations/delete", at+`, "annotationIds": `+quoted(id), status(200)); got != nil {
			own := sees && th.Creator == me &&
				!slices.ContainsFunc(slices.Collect(maps.Values(th.Comments)), func(author string) bool { return author != me })
			m.want("deleted", map[bool][]string{true: {id}}[own], done(got))
			if own {
				delete(m.threads, id)
			}
		}
	case 13:
		if got := call("users/get", at, status(200)); got != nil {
			m.want("people", slices.DeleteFunc(slices.Clone(people), func(u string) bool { return !m.known(u, doc) }), ids(got, "userId"))
		}
	case 14: // a mention of a group
		want := status(visible(sees))
		if want == 200 && !m.members[me] {
			want = 404
		}
		got := call("commentannotations/comments/add", at+`, "annotationId": "`+id+`", "commentData": [{"commentText": "{{team}}", "taggedUserContacts": [{"organizationUserGroupId": "team"}]}]`, want)
		if got != nil {
			th.Comments[fmt.Sprintf("%.0f", got.([]any)[0])] = me
		}
	case 15: // all documents of the organization
		out, known := m.out(me)
		if !known {
			return
		}
		role, may, asked = tok.covers[""], !out, nil
		if got := call("commentannotations/get", `"pageSize": 500`, status(200)); got != nil {
			open := slices.DeleteFunc(m.documents(), func(doc string) bool { return tok.older(m, doc) })
			m.want("threads of all documents", m.in(me, open...), ids(got, "annotationId"))
		}
	case 16: // the person's own data
		out, known := m.out(me)
		if !known {
			return
		}
		role, may, asked = strings.Join(slices.Collect(maps.Values(tok.covers)), ""), !out, nil
		call("notifications/config/set", `"config": {"inbox": "NONE"}`, status(200))
	}
	if writes {
		m.unchanged(doc)
	}
}

// unchanged checks that a document matches the model.
func (m *persons) unchanged(doc string) {
	if m.off[doc] {
		return
	}
	want := map[string]thread{}
	for _, id := range m.in("", doc) {
		want[id] = *m.threads[id]
	}
	m.want("what there is", want, m.stored(doc))
}

// stored returns the threads of a document as its back end reads them.
func (m *persons) stored(doc string) map[string]thread {
	_, data := m.send("", "commentannotations/get", fmt.Sprintf(`"documentIds": [%q]`, doc))
	got := map[string]thread{}
	list, _ := data.([]any)
	for _, v := range list {
		a := v.(map[string]any)
		text, err := json.Marshal(a)
		must.Do(m, err)
		var is struct {
			AnnotationID string
			Status       struct{ ID string }
			ResolvedBy   string `json:"resolvedByUserId"`
			SetBy        string `json:"statusUpdatedByUserId"`
			Visibility   collab.Visibility
			From         collab.User
			Comments     []struct {
				CommentID json.Number
				From      collab.User
			}
		}
		must.Do(m, json.Unmarshal(text, &is))
		th := thread{doc, is.From.UserID, is.Status.ID + is.ResolvedBy + is.SetBy, strings.Join(append([]string{string(is.Visibility.Type)}, is.Visibility.UserIDs...), " "), map[string]string{}}
		for _, c := range is.Comments {
			th.Comments[c.CommentID.String()] = c.From.UserID
		}
		got[is.AnnotationID] = th
	}
	return got
}
