package transfer_test

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"collabdata/shared/client/transfer"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/store"
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// TestFoundThenDeleted checks that a comment that an import found, and somebody deleted since,
// stays deleted.
func TestFoundThenDeleted(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	call(t, c, "/v2/organizations/add", addAcme)
	call(t, c, "/v2/organizations/documents/add", `"organizationId": "acme", "documents": [{"documentId": "plan"}]`)
	call(t, c, "/v2/commentannotations/add", inPlan+`"commentAnnotations": [{"annotationId": "a", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "ann"}}, {"commentId": 2, "commentText": "y", "from": {"userId": "ann"}}]}]`)
	file := export(t, c, transfer.ExportOptions{})
	load(t, c, file, transfer.ImportOptions{})
	call(t, c, "/v2/commentannotations/comments/delete", inPlan+`"annotationId": "a", "commentIds": [2]`)
	refusals(t, c, file)
	if got := ask(t, c, "/v2/commentannotations/get", inPlan[:len(inPlan)-2]); strings.Contains(got, `"commentId":2`) {
		t.Errorf("it came back: %s", got)
	}
}

// jobs runs the jobs to their end, an hour later.
func (s *service) jobs(t *testing.T) {
	t.Helper()
	tb := store.New(s.Config().DynamoDB, s.Config().Table, func() time.Time { return time.Now().Add(time.Hour) }, rand.Reader)
	d, o := directory.New(tb), outbox.New(tb)
	later := deletion.New(threads.New(d, o), inbox.New(o, d))
	for _, it := range storetest.Scan(t, tb) {
		ref, err := keys.ParseTask(it.Key())
		for err == nil && ref.Kind == collab.JobTask {
			ran, err := o.Run(t.Context(), ref, 0, later.RunJob)
			if must.Do(t, cmp.Or(err, ran.Failure)); ran.Due == 0 {
				break
			}
		}
	}
}

// TestErasedMeanwhile checks that a repeated import does not add a user whose data was erased since
// the first, even after the removal that ended the user's access has expired.
func TestErasedMeanwhile(t *testing.T) {
	s := serve(t)
	one, two := s.account(t, "one"), s.account(t, "two")
	everything(t, one)
	file := export(t, one, transfer.ExportOptions{})
	load(t, two, file, transfer.ImportOptions{})
	for _, user := range []string{"fay", "hal"} {
		call(t, two, "/v2/users/data/delete", `"organizationIds": ["acme"], "userIds": ["`+user+`"]`)
	}
	s.jobs(t)
	tb := store.New(s.Config().DynamoDB, s.Config().Table, time.Now, rand.Reader)
	for _, it := range storetest.Scan(t, tb) {
		if k, _ := keys.KindOf(it.Key()); k != nil && strings.HasPrefix(k.Name, keys.ARemoval.Name) && it[keys.Expires] != nil {
			must.Do(t, tb.Delete(t.Context(), it.Key()))
		}
	}
	before := export(t, two, transfer.ExportOptions{})
	if strings.Contains(before, `"userId":"fay"`) {
		t.Fatal("not erased")
	}
	for _, update := range []bool{false, true} {
		_, err := transfer.Import(t.Context(), two, strings.NewReader(file), transfer.ImportOptions{Update: update})
		must.Do(t, err)
		after := export(t, two, transfer.ExportOptions{})
		for _, line := range strings.SplitAfter(after, "\n") {
			if !strings.Contains(before, line) && !strings.HasPrefix(line, `{"kind":"readState"`) {
				t.Errorf("update %v: %s", update, line)
			}
		}
	}
}

// TestEndedMeanwhile checks that a repeated import leaves preferences that were reset since the
// first, grants that have no end anymore, and users who subscribed again.
func TestEndedMeanwhile(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	file := addedTo(`{"kind":"grant","userId":"eve","type":"organization","id":"acme","accessRole":"viewer","expiresAt":4000000000}
{"kind":"user","userId":"eve","name":"Eve"}
{"kind":"preference","userId":"eve","config":{"inbox":"MINE","email":"NONE"}}
{"kind":"preference","userId":"eve","documentId":"plan","config":{"email":"NONE"}}
{"kind":"unsubscribed","userId":"eve","unsubscribedAt":1700000000000}
`)
	load(t, c, file, transfer.ImportOptions{})
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["eve"], "config": {"inbox": null}`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["eve"], "documentIds": ["plan"], "config": {"email": null}`)
	call(t, c, "/v2/auth/permissions/add", `"user": {"userId": "eve"}, "permissions": {"resources": [{"type": "organization", "id": "acme", "accessRole": "viewer"}]}`)
	must.Do(t, s.Accounts.Resubscribe(t.Context(), unsubscribe.Recipient{Account: "one", Organization: "acme", User: "eve", Email: "eve@example.com"}))
	want := export(t, c, transfer.ExportOptions{})
	refusals(t, c, file)
	same(t, "after the import", want, export(t, c, transfer.ExportOptions{}))
}

// TestGroupRenamed checks that users are added to a group that has another name meanwhile.
func TestGroupRenamed(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	load(t, c, addedTo(`{"kind":"group","groupId":"g","groupName":"G","userIds":["eve"]}`+"\n"), transfer.ImportOptions{})
	call(t, c, "/v2/organizations/usergroups/add", `"organizationId": "acme", "organizationUserGroups": [{"groupId": "g", "groupName": "H"}]`)
	got := refusals(t, c, addedTo(`{"kind":"group","groupId":"g","groupName":"G","userIds":["eve","bob"]}`+"\n"))
	if diff := gocmp.Diff([]string{"group g: already exists with a different groupName; left unchanged"}, got); diff != "" {
		t.Error(diff)
	}
	if file := export(t, c, transfer.ExportOptions{}); !strings.Contains(file, `"bob"`) {
		t.Error(file)
	}
}

// TestAnotherThread checks that an import with Update leaves the comments of another annotation
// with the id.
func TestAnotherThread(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	call(t, c, "/v2/organizations/add", addAcme)
	call(t, c, "/v2/organizations/documents/add", `"organizationId": "acme", "documents": [{"documentId": "plan"}]`)
	call(t, c, "/v2/commentannotations/add", inPlan+`"commentAnnotations": [{"annotationId": "a", "createdAt": 1600000000000,
		"commentData": [{"commentId": 1, "commentText": "theirs", "from": {"userId": "bob"}, "createdAt": 1600000000000, "lastUpdated": 1600000000000}]}]`)
	want := export(t, c, transfer.ExportOptions{})
	var got []string
	_, err := transfer.Import(t.Context(), c, strings.NewReader(addedTo(
		`{"kind":"annotation","documentId":"plan","annotationId":"a","from":{"userId":"ann"},"createdAt":1700000000000,"lastUpdated":1700000000000}
{"kind":"comment","documentId":"plan","annotationId":"a","commentId":1,"commentText":"of the file","from":{"userId":"ann"},"createdAt":1700000000001,"lastUpdated":1700000000001}
`)), transfer.ImportOptions{Update: true, Refused: func(r transfer.Refusal) { got = append(got, r.Message) }})
	must.Do(t, err)
	const message = "another annotation has the id; left unchanged"
	if diff := gocmp.Diff([]string{message, message}, got); diff != "" {
		t.Error(diff)
	}
	same(t, "after the import", want, export(t, c, transfer.ExportOptions{}))
}

// TestLackingField checks that a field or a folder of the file that a document lacks is reported.
func TestLackingField(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	load(t, c, addedTo(""), transfer.ImportOptions{})
	got := refusals(t, c, `{"kind":"organization","organizationId":"acme"}`+"\n"+`{"kind":"document","documentId":"plan","pages":3}`+"\n")
	if diff := gocmp.Diff([]string{"document plan: already exists with a different pages; left unchanged"}, got); diff != "" {
		t.Error(diff)
	}
	got = refusals(t, c, `{"kind":"organization","organizationId":"acme"}`+"\n"+`{"kind":"folder","folderId":"f"}`+"\n"+`{"kind":"document","documentId":"plan","folderId":"f"}`+"\n")
	if diff := gocmp.Diff([]string{"document plan: already exists with a different folderId; left unchanged"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestTwice checks that a second line about the same thing in one request is refused.
func TestTwice(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	for _, lines := range []string{
		`{"kind":"user","userId":"eve","name":"%s"}`,
		`{"kind":"grant","userId":"eve","type":"document","id":"plan","accessRole":"viewer"%.0s}`,
		`{"kind":"preference","userId":"eve","mailFrequency":"%s"}`,
		`{"kind":"readState","documentId":"plan","userId":"eve","read":true,"readAt":1700000000000%.0s}`,
	} {
		file := addedTo(fmt.Sprintf(lines, "daily") + "\n" + fmt.Sprintf(lines, "hourly") + "\n")
		if got := refusals(t, c, file); len(got) != 1 || !strings.Contains(got[0], "must not repeat an earlier one") {
			t.Errorf("%s: refused %q", lines, got)
		}
	}
}

// TestTooLargeComment checks that only the line of a comment that is too large is refused, in a new
// thread and in an existing one.
func TestTooLargeComment(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	lines := `{"kind":"annotation","documentId":"plan","annotationId":"a","createdAt":1700000000000}` + "\n"
	for id := 1; id <= 6; id++ {
		text := fmt.Sprintf("comment %d", id)
		if id%3 == 2 {
			text = strings.Repeat("x", collab.MaxItemBytes)
		}
		lines += fmt.Sprintf(`{"kind":"comment","documentId":"plan","annotationId":"a","commentId":%d,"commentText":%q,"from":{"userId":"ann"},"createdAt":1700000000000}`+"\n", id, text)
		if id == 3 || id == 6 {
			got := refusals(t, c, addedTo(lines))
			if len(got) != id/3 || strings.Count(strings.Join(got, "\n"), "is too large") != id/3 {
				t.Errorf("refused %q", got)
			}
		}
	}
	file := export(t, c, transfer.ExportOptions{})
	for id := 1; id <= 6; id++ {
		if id%3 != 2 && !strings.Contains(file, fmt.Sprintf(`"commentText":"comment %d"`, id)) {
			t.Errorf("comment %d is not there", id)
		}
	}
}

// TestRestoreLeft checks that an export omits comments that a deletion has left in the table, and
// that an import with Restore adds all of them again.
func TestRestoreLeft(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	lines := `{"kind":"annotation","documentId":"plan","annotationId":"a","createdAt":1700000000000}` + "\n"
	const n = 40
	for id := 1; id <= n; id++ {
		lines += fmt.Sprintf(`{"kind":"comment","documentId":"plan","annotationId":"a","commentId":%d,"commentText":"x","from":{"userId":"ann"},"createdAt":1700000000000}`+"\n", id)
	}
	load(t, c, addedTo(lines), transfer.ImportOptions{})
	call(t, c, "/v2/commentannotations/delete", inPlan+`"annotationIds": ["a"]`)
	call(t, c, "/v2/commentannotations/add", inPlan+`"commentAnnotations": [{"annotationId": "a"}]`)
	if file := export(t, c, transfer.ExportOptions{}); strings.Contains(file, `"kind":"comment"`) {
		t.Errorf("exported %s", file)
	}
	call(t, c, "/v2/commentannotations/delete", inPlan+`"annotationIds": ["a"]`)
	transfer.SendLines(t, 4)
	load(t, c, addedTo(lines), transfer.ImportOptions{Restore: true})
	if got := strings.Count(export(t, c, transfer.ExportOptions{}), `"kind":"comment"`); got != n {
		t.Errorf("%d comments", got)
	}
}
