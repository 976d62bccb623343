package transfer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	gocmp "github.com/google/go-cmp/cmp"

	"collabdata/shared/client"
	"collabdata/shared/client/transfer"
	"collabdata/shared/testing/must"
)

const inPlan = `"organizationId": "acme", "documentId": "plan", `

// move exports acme from one account and imports it into another, which must refuse nothing.
func move(t *testing.T, one, two *client.Client) string {
	t.Helper()
	file := export(t, one, transfer.ExportOptions{})
	if list := refusals(t, two, file); list != nil {
		t.Errorf("refused: %q", list)
	}
	return file
}

// asks compares the responses of two accounts.
func asks(t *testing.T, one, two *client.Client, path, data string) {
	t.Helper()
	if diff := gocmp.Diff(plainAnswer(ask(t, one, path, data)), plainAnswer(ask(t, two, path, data))); diff != "" {
		t.Errorf("%s {%s} (- before, + after):\n%s", path, data, diff)
	}
}

// TestEachAlone moves one thing of a kind alone, and compares all that readers see of it.
func TestEachAlone(t *testing.T) {
	thread := func(more string) [2]string {
		return [2]string{"/v2/commentannotations/add", inPlan + `"createDocument": true, "commentAnnotations": [{"annotationId": "a"` + more + `}]`}
	}
	const comment = `, "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "ann"}}]`
	document := [2]string{"/v2/organizations/documents/add", `"organizationId": "acme", "documents": [{"documentId": "plan"}]`}
	folder := [2]string{"/v2/organizations/folders/add", `"organizationId": "acme", "folders": [{"folderId": "f", "accessType": "restricted"}]`}
	users := func(level, more string) [2]string {
		return [2]string{"/v2/users/add", `"organizationId": "acme", ` + level + `"users": [{"userId": "ann"` + more + `}]`}
	}
	var sixty [][2]string
	for n := range 60 {
		sixty = append(sixty, [2]string{"/v2/commentannotations/comments/reactions/add", fmt.Sprintf(
			inPlan+`"annotationId": "a", "commentId": 1, "emoji": "👍", "from": {"userId": "u%02d"}`, n)})
	}
	s := serve(t)
	for name, calls := range map[string][][2]string{
		"organization":            nil,
		"folder":                  {folder},
		"document":                {document},
		"disabled document":       {document, {"/v2/organizations/documents/access/disablestate/update", `"organizationId": "acme", "documentIds": ["plan"], "disabled": true`}},
		"document's access":       {document, {"/v2/organizations/documents/access/update", `"organizationId": "acme", "documentIds": ["plan"], "accessType": "public"`}},
		"document in a folder":    {folder, {"/v2/organizations/documents/add", `"organizationId": "acme", "folderId": "f", "documents": [{"documentId": "plan"}]`}},
		"group":                   {{"/v2/organizations/usergroups/add", `"organizationId": "acme", "organizationUserGroups": [{"groupId": "g", "groupName": "G"}]`}},
		"annotation":              {thread("")},
		"agent":                   {thread(`, "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "bot"}, "agent": {"agentId": "seo"}}]`)},
		"agent with attachment":   {thread(`, "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "bot"}, "agent": {"agentId": "seo"}, "attachments": [{"attachmentId": 1, "url": "https://example.com/a.png"}]}]`)},
		"agent, and a reaction":   {thread(`, "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "bot"}, "agent": {"agentId": "seo"}}]`), sixty[0]},
		"agent's comment deleted": {thread(`, "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "bot"}, "agent": {"agentId": "seo"}}]`), {"/v2/commentannotations/comments/delete", inPlan + `"annotationId": "a"`}},
		"HTML alone":              {thread(`, "commentData": [{"commentId": 1, "commentHtml": "<b>x</b>", "from": {"userId": "ann"}}]`)},
		"sixty reactions":         append([][2]string{thread(comment)}, sixty...),
		"follower of a thread":    {thread(""), {"/v2/notifications/config/set", `"organizationId": "acme", ` + `"documentIds": ["plan"], "annotationIds": ["a"], "userIds": ["ann"], "level": "none"`}},
		"follower of a document":  {document, {"/v2/notifications/config/set", `"organizationId": "acme", "documentIds": ["plan"], "userIds": ["ann"], "level": "all"`}},
		"preference":              {{"/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["ann"], "config": {"inbox": "MINE", "slack": "ALL"}`}},
		"document's preference":   {document, {"/v2/notifications/config/set", `"organizationId": "acme", "documentIds": ["plan"], "userIds": ["ann"], "config": {"email": "NONE"}`}},
		"read state":              {thread(comment), {"/v2/commentannotations/read/set", inPlan + `"userId": "ann", "read": true`}},
		"user":                    {users("", `, "name": "Ann", "locale": "de"`)},
		"user of a folder":        {folder, users("", `, "name": "Ann"`), users(`"folderId": "f", `, `, "name": "Ann of f"`)},
		"user of a document":      {document, users("", `, "name": "Ann"`), users(`"documentId": "plan", `, `, "name": "Ann of the plan"`)},
		"user without own fields": {document, users("", `, "name": "Ann"`), users(`"documentId": "plan", `, ``)},
		"grant":                   {document, users("", `, "name": "Ann"`), {"/v2/auth/permissions/add", `"user": {"userId": "ann"}, "permissions": {"resources": [{"type": "document", "id": "plan", "organizationId": "acme", "accessRole": "viewer", "expiresAt": 4000000000}]}`}},
		"removal":                 {users("", ""), {"/v2/users/delete", `"organizationId": "acme", "userIds": ["ann"]`}},
		"removal from a document": {document, users(`"documentId": "plan", `, ""), {"/v2/users/delete", `"organizationId": "acme", "documentId": "plan", "userIds": ["ann"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			id := strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(name)
			one, two := s.account(t, id+"-1"), s.account(t, id+"-2")
			call(t, one, "/v2/organizations/add", addAcme)
			for _, c := range calls {
				call(t, one, c[0], c[1])
			}
			file := move(t, one, two)
			same(t, "moved", file, export(t, two, transfer.ExportOptions{}))
			if diff := gocmp.Diff(s.table(t, id+"-1"), s.table(t, id+"-2")); diff != "" {
				t.Errorf("the tables (- exported, + imported):\n%s", diff)
			}
			if list := refusals(t, two, file); list != nil {
				t.Errorf("refused again: %q", list)
			}
		})
	}
}

// TestUsedMeanwhile imports a file, lets people use its threads, appends lines to it, and imports
// it again and again: the new lines are added, all that people did stays, and nothing that they
// deleted comes back.
func TestUsedMeanwhile(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	head := func(id string) string {
		return fmt.Sprintf(`{"kind":"annotation","documentId":"plan","annotationId":%q,"from":{"userId":"ann"},"createdAt":1700000000000,"lastUpdated":1700000000000}`, id) + "\n"
	}
	line := func(id string, n int) string {
		return fmt.Sprintf(`{"kind":"comment","documentId":"plan","annotationId":%q,"commentId":%d,"commentText":"of the file","from":{"userId":"ann"},"createdAt":%d,"lastUpdated":%[3]d}`, id, n, 1700000000000+n) + "\n"
	}
	const first = `{"kind":"organization","organizationId":"acme","organizationName":"Acme"}` + "\n" + `{"kind":"document","documentId":"plan","documentName":"Plan"}` + "\n"
	threads := []string{"answered", "assigned", "deleted", "edited", "hidden", "removed", "resolved"}
	file := first
	for _, id := range threads {
		file += head(id) + line(id, 1) + line(id, 2)
	}
	if list := refusals(t, c, file); list != nil {
		t.Fatalf("refused: %q", list)
	}
	one := func(id string) string { return inPlan + `"annotationIds": ["` + id + `"], ` }
	comment := func(id string) string { return inPlan + `"annotationId": "` + id + `", ` }
	call(t, c, "/v2/commentannotations/comments/add", comment("answered")+`"commentData": [{"commentId": 9, "commentText": "an answer", "from": {"userId": "bob"}}]`)
	call(t, c, "/v2/commentannotations/update", one("assigned")+`"updatedData": {"assignedTo": {"userId": "bob"}}`)
	call(t, c, "/v2/commentannotations/delete", inPlan+`"annotationIds": ["deleted"]`)
	call(t, c, "/v2/commentannotations/comments/update", comment("edited")+`"commentIds": [1], "updatedData": {"commentText": "edited"}`)
	call(t, c, "/v2/commentannotations/update", one("hidden")+`"updatedData": {"visibility": {"type": "restricted", "userIds": ["ann"]}}`)
	call(t, c, "/v2/commentannotations/comments/delete", comment("removed")+`"commentIds": [2]`)
	call(t, c, "/v2/commentannotations/update", one("resolved")+`"updatedData": {"status": {"id": "RESOLVED"}}`)
	call(t, c, "/v2/organizations/documents/update", `"organizationId": "acme", "documents": [{"documentId": "plan", "documentName": "The plan"}]`)
	call(t, c, "/v2/organizations/documents/access/update", `"organizationId": "acme", "documentIds": ["plan"], "accessType": "restricted"`)
	longer := first
	for _, id := range threads {
		longer += head(id) + line(id, 1) + line(id, 2) + line(id, 3)
	}
	longer += head("new") + line("new", 1)
	want := []string{
		"annotation deleted: the annotation was deleted after an earlier import; left deleted",
		"comment 1: already exists with a different commentText, lastUpdated; left unchanged",
		"comment 1: the annotation was deleted after an earlier import; left deleted",
		"comment 2: the annotation was deleted after an earlier import; left deleted",
		"comment 2: the comment was deleted after an earlier import; left deleted",
		"comment 3: the annotation was deleted after an earlier import; left deleted",
		"document plan: already exists with a different accessType; left unchanged",
	}
	texts := func() map[string][]string {
		var list []struct {
			AnnotationID string `json:"annotationId"`
			Comments     []struct {
				CommentText string `json:"commentText"`
			} `json:"comments"`
			Status     struct{ ID string }
			AssignedTo struct {
				UserID string `json:"userId"`
			} `json:"assignedTo"`
			Visibility struct{ Type string }
		}
		must.Do(t, json.Unmarshal([]byte(ask(t, c, "/v2/commentannotations/get", inPlan[:len(inPlan)-2])), &list, json.MatchCaseInsensitiveNames(true)))
		found := map[string][]string{}
		for _, a := range list {
			words := []string{strings.TrimSpace(a.Status.ID + " " + a.Visibility.Type + " " + a.AssignedTo.UserID)}
			for _, c := range a.Comments {
				words = append(words, c.CommentText)
			}
			found[a.AnnotationID] = words
		}
		return found
	}
	const f = "of the file"
	present := map[string][]string{
		"answered": {"OPEN public", f, f, f, "an answer"}, "assigned": {"OPEN public bob", f, f, f}, "edited": {"OPEN public", "edited", f, f},
		"hidden": {"OPEN restricted", f, f, f}, "removed": {"OPEN public", f, f}, "resolved": {"RESOLVED public", f, f, f}, "new": {"OPEN public", f},
	}
	for n, lines := range []int{400, 1, 400} {
		transfer.SendLines(t, lines)
		if n == 2 {
			s.restart()
		}
		got := refusals(t, c, longer)
		got = slices.DeleteFunc(got, func(text string) bool {
			return text == "annotation resolved: already exists with a different status; left unchanged"
		})
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("import %d refused (- want, + got):\n%s", n, diff)
		}
		if diff := gocmp.Diff(present, texts()); diff != "" {
			t.Errorf("after import %d (- want, + got):\n%s", n, diff)
		}
	}
}

// TestDeletedMeanwhile checks that folders and documents that an import added and somebody deleted
// stay deleted with all that belongs to them, unless the import restores them.
func TestDeletedMeanwhile(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	const file = `{"kind":"organization","organizationId":"acme"}
{"kind":"folder","folderId":"f"}
{"kind":"document","documentId":"plan"}
{"kind":"annotation","documentId":"plan","annotationId":"a"}
`
	load(t, c, file, transfer.ImportOptions{})
	before := export(t, c, transfer.ExportOptions{})
	call(t, c, "/v2/organizations/folders/delete", `"organizationId": "acme", "folderId": "f"`)
	call(t, c, "/v2/organizations/documents/delete", `"organizationId": "acme", "documentIds": ["plan"]`)
	want := export(t, c, transfer.ExportOptions{})
	if diff := gocmp.Diff([]string{
		`annotation a: document "plan" does not exist in organization "acme"`,
		"document plan: the document was deleted after an earlier import; left deleted",
		"folder f: the folder was deleted after an earlier import; left deleted",
	}, refusals(t, c, file)); diff != "" {
		t.Error(diff)
	}
	same(t, "after the import", want, export(t, c, transfer.ExportOptions{}))
	load(t, c, file, transfer.ImportOptions{Restore: true})
	if got := export(t, c, transfer.ExportOptions{}); strings.Count(got, "\n") != strings.Count(before, "\n") {
		t.Errorf("restored:\n%s", got)
	}
}

// TestChosenMeanwhile checks that an import that is repeated leaves the choices that people made
// after the first: ended levels, and other preferences. With Restore, it restores the levels.
func TestChosenMeanwhile(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	file := addedTo(`{"kind":"annotation","documentId":"plan","annotationId":"a","from":{"userId":"ann"},"createdAt":1700000000000}
{"kind":"user","userId":"eve"}
{"kind":"group","groupId":"team","userIds":["eve","bob"]}
{"kind":"level","documentId":"plan","annotationId":"a","userId":"eve","level":"all"}
{"kind":"level","documentId":"plan","userId":"eve","level":"all"}
{"kind":"preference","userId":"eve","config":{"inbox":"ALL"}}
`)
	load(t, c, file, transfer.ImportOptions{})
	before := export(t, c, transfer.ExportOptions{})
	const eve = `"organizationId": "acme", "userIds": ["eve"], `
	call(t, c, "/v2/notifications/config/set", eve+`"documentIds": ["plan"], "annotationIds": ["a"], "level": "default"`)
	call(t, c, "/v2/notifications/config/set", eve+`"documentIds": ["plan"], "level": "default"`)
	call(t, c, "/v2/notifications/config/set", eve+`"config": {"inbox": "NONE"}`)
	want := export(t, c, transfer.ExportOptions{})
	if want == before {
		t.Fatal("nothing was chosen")
	}
	if diff := gocmp.Diff([]string{"preference eve: already exists with a different config; left unchanged"}, refusals(t, c, file)); diff != "" {
		t.Error(diff)
	}
	same(t, "after the import", want, export(t, c, transfer.ExportOptions{}))
	if _, err := transfer.Import(t.Context(), c, strings.NewReader(file), transfer.ImportOptions{Restore: true}); err != nil {
		t.Error(err)
	}
	if got := export(t, c, transfer.ExportOptions{}); strings.Count(got, `"kind":"level"`) != 2 {
		t.Errorf("restored:\n%s", got)
	}
}

// TestRestore checks that an import with Restore adds deleted threads and comments again.
func TestRestore(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	file := addedTo(`{"kind":"annotation","documentId":"plan","annotationId":"a","createdAt":1700000000000,"lastUpdated":1700000000002}
{"kind":"comment","documentId":"plan","annotationId":"a","commentId":1,"commentText":"1","from":{"userId":"ann"},"createdAt":1700000000001}
{"kind":"annotation","documentId":"plan","annotationId":"b","createdAt":1700000000000,"lastUpdated":1700000000002}
{"kind":"comment","documentId":"plan","annotationId":"b","commentId":1,"commentText":"1","from":{"userId":"ann"},"createdAt":1700000000001}
`)
	threads := func() int {
		return strings.Count(ask(t, c, "/v2/commentannotations/get", inPlan[:len(inPlan)-2]), `"commentId":1`)
	}
	load(t, c, file, transfer.ImportOptions{})
	call(t, c, "/v2/commentannotations/delete", inPlan+`"annotationIds": ["a"]`)
	call(t, c, "/v2/commentannotations/comments/delete", inPlan+`"annotationId": "b", "commentIds": [1]`)
	if list := refusals(t, c, file); len(list) != 3 || threads() != 0 {
		t.Errorf("without Restore %q were refused, and %d threads have the comment", list, threads())
	}
	load(t, c, file, transfer.ImportOptions{Restore: true})
	if threads() != 2 {
		t.Errorf("%d threads have the comment", threads())
	}
}

// TestUpdate checks that an import with Update overwrites annotations and comments that are older
// than the file's, and leaves others.
func TestUpdate(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	file := func(text, status string, at int64) string {
		return addedTo(fmt.Sprintf(`{"kind":"annotation","documentId":"plan","annotationId":"a","from":{"userId":"ann"},"status":{"id":%q},"createdAt":1700000000000,"lastUpdated":%d}
{"kind":"comment","documentId":"plan","annotationId":"a","commentId":1,"commentText":%q,"from":{"userId":"ann"},"createdAt":1700000000000,"lastUpdated":%[2]d}
`, status, at, text))
	}
	states := []string{}
	add := func(text, status string, at int64, update bool) {
		t.Helper()
		_, err := transfer.Import(t.Context(), c, strings.NewReader(file(text, status, at)), transfer.ImportOptions{Update: update})
		must.Do(t, err)
		got := export(t, c, transfer.ExportOptions{})
		for _, of := range []string{"one", "two", "three"} {
			for _, id := range []string{"OPEN", "RESOLVED"} {
				if strings.Contains(got, `"commentText":"`+of+`"`) && strings.Contains(got, `"status":{"id":"`+id+`"`) {
					states = append(states, of+" "+id)
				}
			}
		}
	}
	add("one", "OPEN", 1700000000001, false)
	add("two", "RESOLVED", 1700000000002, false)
	add("two", "RESOLVED", 1700000000002, true)
	add("three", "OPEN", 1700000000001, true)
	if diff := gocmp.Diff([]string{"one OPEN", "one OPEN", "two RESOLVED", "two RESOLVED"}, states); diff != "" {
		t.Error(diff)
	}
}

// addedTo returns a file with lines in the document plan of acme.
func addedTo(lines string) string {
	return `{"kind":"organization","organizationId":"acme"}` + "\n" + `{"kind":"document","documentId":"plan"}` + "\n" + lines
}

// TestRandomThreads checks that random threads with every field are equal after a move, and after a
// second import.
func TestRandomThreads(t *testing.T) {
	s := serve(t)
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		one, two := s.account(t, fmt.Sprint("one", seed)), s.account(t, fmt.Sprint("two", seed))
		call(t, one, "/v2/organizations/add", `"organizations": [{"organizationId": "acme"}]`)
		call(t, one, "/v2/organizations/usergroups/add", `"organizationId": "acme", "organizationUserGroups": [{"groupId": "eng", "groupName": "Engineering"}]`)
		call(t, one, "/v2/organizations/documents/add", `"organizationId": "acme", "documents": [{"documentId": "plan"}]`)
		yes := func(n int) bool { return r.IntN(n) == 0 }
		user := func() string { return fmt.Sprintf(`{"userId": "u%d"}`, r.IntN(4)) }
		userN := func() string {
			return fmt.Sprintf(`{"userId": "u%d", "name": "N%d", "email": "e%d@example.com"}`, r.IntN(4), r.IntN(3), r.IntN(3))
		}
		pick := func(list ...string) string { return list[r.IntN(len(list))] }
		for a := range 12 {
			var f []string
			add := func(n int, text string) {
				if yes(n) {
					f = append(f, text)
				}
			}
			f = append(f, fmt.Sprintf(`"annotationId": "a%d"`, a))
			add(3, `"location": {"id": "l`+fmt.Sprint(r.IntN(3))+`", "locationName": "L"}`)
			add(3, `"targetElement": {"elementId": "e", "targetText": "t", "occurrence": 2, "prefix": "p", "suffix": "s"}`)
			add(4, `"assignedTo": `+userN())
			add(3, `"context": {"a": {"b": null, "c": 1.0}}`)
			add(3, `"contextShared": true`)
			add(4, `"priority": {"id": "p1", "name": "P"}`)
			add(3, `"type": "suggestion", "suggestion": {"newText": "x", "summary": null, "targetId": "1"}`)
			add(4, `"type": "suggestion"`)
			if n := strings.Count(strings.Join(f, ","), `"type"`); n > 1 {
				f = f[:len(f)-1]
			}
			add(4, `"status": `+pick(`{"id": "IN_PROGRESS"}`, `{"id": "mine", "svg": "<svg/>", "name": "M"}`, `{"id": "RESOLVED", "name": "Fin"}`))
			add(5, `"visibility": `+pick(`{"type": "restricted", "userIds": ["u0", "u1"]}`, `{"type": "organizationPrivate", "organizationId": "acme"}`))
			add(4, `"actions": [{"x": 1}]`)
			add(5, `"createdAt": 1700000000000`)
			add(5, `"pageInfo": {"x": null}, "isPageAnnotation": true, "positionX": 1.50`)
			add(5, `"commentType": "chart"`)
			var cs []string
			for c := range r.IntN(4) {
				var g []string
				addc := func(n int, text string) {
					if yes(n) {
						g = append(g, text)
					}
				}
				g = append(g, fmt.Sprintf(`"commentId": %d, "from": %s`, c+1, userN()))
				g = append(g, pick(`"commentText": "hi {{u1}}"`, `"commentHtml": "<b>x</b>"`, `"commentText": "t", "commentHtml": "<i>t</i>"`, `"isCommentResolverUsed": true, "commentText": ""`, `"commentText": "", "commentHtml": "<p></p>"`))
				addc(3, `"taggedUserContacts": [{"userId": "u1", "contact": {"userId": "u1", "name": "x"}}]`)
				addc(6, `"taggedUserContacts": [{"organizationUserGroupId": "eng"}]`)
				if n := strings.Count(strings.Join(g, ","), `"taggedUserContacts"`); n > 1 {
					g = g[:len(g)-1]
				}
				addc(5, `"attachments": [{"attachmentId": 1, "name": "n", "url": "u", "metadata": {"a": null}}]`)
				addc(4, `"agent": {"agentId": "seo", "agentName": "S", "reason": {"findingId": "f", "url": "https://x.org/a"}}`)
				addc(4, `"context": {"k": [1, 2, {}]}`)
				addc(4, `"contextShared": true`)
				addc(5, `"createdAt": 1700000000000`)
				addc(5, `"progress": {"state": "x", "steps": [1, null], "visibleToUserIds": []}`)
				addc(5, `"actions": []`)
				cs = append(cs, `{`+strings.Join(g, ", ")+`}`)
			}
			if len(cs) > 0 || yes(2) {
				f = append(f, `"commentData": [`+strings.Join(cs, ", ")+`]`)
			}
			call(t, one, "/v2/commentannotations/add", inPlan+`"commentAnnotations": [{`+strings.Join(f, ", ")+`}]`)
			id := fmt.Sprintf(`"organizationId": "acme", "documentId": "plan", "annotationIds": ["a%d"], `, a)
			upd := func(n int, text string) {
				if yes(n) {
					call(t, one, "/v2/commentannotations/update", id+`"updatedData": {`+text+`}`)
				}
			}
			upd(4, `"status": {"id": "RESOLVED"}, "resolvedByUserId": "u2"`)
			upd(6, `"status": {"id": "custom", "type": "terminal"}, "resolvedByUserId": "u3", "resolvedAt": 1700000000500`)
			upd(5, `"suggestion": {"newText": "z", "status": "accepted", "resolvedBy": {"userId": "u1"}, "resolvedAt": 17}`)
			upd(6, `"suggestion": {"status": "stale"}`)
			upd(6, `"suggestion": null`)
			upd(6, `"from": `+user())
			upd(6, `"from": {"userId": "u9", "name": null}`)
			upd(6, `"context": {"z": 1}`)
			upd(6, `"assignedTo": null`)
			upd(6, `"statusUpdatedByUserId": "u3"`)
			upd(6, `"visibility": {"type": "restricted", "userIds": ["u2"]}`)
			upd(6, `"createdAt": 1600000000000`)
			upd(6, `"actions": [{"y": null}]`)
			upd(8, `"status": null`)
			upd(8, `"targetElement": null`)
			for c := range cs {
				if yes(4) {
					call(t, one, "/v2/commentannotations/comments/reactions/add", fmt.Sprintf(`"organizationId": "acme", "documentId": "plan", "annotationId": "a%d", "commentId": %d, "emoji": "👍", "from": {"userId": "u3"}`, a, c+1))
				}
				if yes(5) {
					call(t, one, "/v2/commentannotations/comments/update", fmt.Sprintf(`"organizationId": "acme", "documentId": "plan", "annotationId": "a%d", "commentIds": [%d], "updatedData": {"commentText": "new", "context": {"n": 1}}`, a, c+1))
				}
				if yes(7) {
					call(t, one, "/v2/commentannotations/comments/delete", fmt.Sprintf(`"organizationId": "acme", "documentId": "plan", "annotationId": "a%d", "commentIds": [%d]`, a, c+1))
				}
			}
		}
		file := move(t, one, two)
		if list := refusals(t, two, file); list != nil {
			t.Errorf("seed %d: refused again: %q", seed, list)
		}
		asks(t, one, two, "/v2/commentannotations/get", inPlan[:len(inPlan)-2])
		same(t, fmt.Sprint("seed ", seed), file, export(t, two, transfer.ExportOptions{}))
	}
}
