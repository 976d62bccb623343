package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	gocmp "github.com/google/go-cmp/cmp"

	"collabdata/shared/client"
	"collabdata/shared/client/transfer"
	"collabdata/shared/collab"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/testing/must"
)

const addAcme = `"organizations": [{"organizationId": "acme"}]`

func ask(t *testing.T, c *client.Client, path, data string) string {
	t.Helper()
	answer, _, err := client.Call[jsontext.Value](t.Context(), c, path, jsontext.Value("{"+data+"}"))
	must.Do(t, err)
	return string(answer)
}

// refusals imports a file, and returns the refused lines.
func refusals(t *testing.T, c *client.Client, file string) (list []string) {
	t.Helper()
	_, err := transfer.Import(t.Context(), c, strings.NewReader(file), transfer.ImportOptions{Refused: func(r transfer.Refusal) {
		list = append(list, fmt.Sprintf("%s %s: %s", r.Kind, r.ID, r.Message))
	}})
	must.Do(t, err)
	slices.Sort(list)
	return list
}

// emailed reports which users of acme get emails, each at one address.
func (s *service) emailed(t *testing.T, account string, users ...string) (list []string) {
	t.Helper()
	all := collab.Map(users, func(id string) collab.User { return collab.User{UserID: id, Email: new(id + "@example.com")} })
	off, err := s.Accounts.Unsubscribed(t.Context(), collab.OrganizationRef{Account: account, Organization: "acme"}, all)
	must.Do(t, err)
	return slices.DeleteFunc(slices.Clone(users), func(id string) bool { return off[id] })
}

// TestMovedPeople checks that a move keeps email times, follows, mutes and removals of users, and
// comments that mention a group.
func TestMovedPeople(t *testing.T) {
	s := serve(t)
	one, two := s.account(t, "one"), s.account(t, "two")
	call(t, one, "/v2/organizations/add", addAcme)
	call(t, one, "/v2/organizations/usergroups/add", `"organizationId": "acme", "organizationUserGroups": [{"groupId": "eng", "groupName": "Engineering"}]`)
	call(t, one, "/v2/organizations/usergroups/users/add", `"organizationId": "acme", "organizationUserGroupId": "eng", "userIds": ["bob"]`)
	call(t, one, "/v2/users/add", `"organizationId": "acme", "users": [{"userId": "dan", "name": "Dan"}]`)
	call(t, one, "/v2/commentannotations/add", `"organizationId": "acme", "documentId": "plan", "createDocument": true, "commentAnnotations": [{"annotationId": "a", "commentData": [
		{"commentId": 1, "commentText": "Look, {{eng}}", "from": {"userId": "ann"}, "taggedUserContacts": [{"organizationUserGroupId": "eng"}]}, {"commentId": 2, "commentText": "x", "from": {"userId": "dan"}}]}]`)
	const times = `"organizationId": "acme", "mailFrequency": "daily", "mailHour": 7, "timeZone": "Asia/Tokyo", `
	call(t, one, "/v2/notifications/config/set", times+`"userIds": ["bob"]`)
	call(t, one, "/v2/notifications/config/set", times+`"userIds": ["cid"], "config": {"inbox": "MINE"}`)
	for user, level := range map[string]string{"bob": "none", "cid": "all", "dan": "mentions"} {
		call(t, one, "/v2/notifications/config/set", `"organizationId": "acme", "documentIds": ["plan"], "annotationIds": ["a"], "userIds": ["`+user+`"], "level": "`+level+`"`)
	}
	call(t, one, "/v2/users/delete", `"organizationId": "acme", "userIds": ["dan"]`)
	s.unsubscribe(t, "one", "bob", "stranger")
	load(t, two, export(t, one, transfer.ExportOptions{}), transfer.ImportOptions{})
	for _, question := range [][2]string{
		{"/v2/notifications/config/get", `"organizationId": "acme", "userId": "bob", "getOrganizationConfig": true`},
		{"/v2/notifications/config/get", `"organizationId": "acme", "userId": "cid", "getOrganizationConfig": true`},
		{"/v2/commentannotations/get", `"organizationId": "acme", "documentIds": ["plan"], "asUserId": "dan"`},
		{"/v2/commentannotations/get", `"organizationId": "acme", "documentIds": ["plan"]`},
	} {
		if diff := gocmp.Diff(plainAnswer(ask(t, one, question[0], question[1])), plainAnswer(ask(t, two, question[0], question[1]))); diff != "" {
			t.Errorf("%s {%s} (- before, + after):\n%s", question[0], question[1], diff)
		}
	}
	if got := s.emailed(t, "two", "ann", "bob", "stranger"); !slices.Equal(got, []string{"ann"}) {
		t.Errorf("after the move %v get mails", got)
	}
}

// plainAnswer removes the API key from a response.
func plainAnswer(answer string) string {
	return strings.NewReplacer(`"one-key"`, `""`, `"two-key"`, `""`).Replace(answer)
}

// TestUnsubscribedFirst checks that an import unsubscribes addresses before it adds any personal
// data, even if it ends at any of its first requests. The earliest time stays. A later exported
// organization of the account has the addresses, too.
func TestUnsubscribedFirst(t *testing.T) {
	s := serve(t)
	one, two := s.account(t, "one"), s.account(t, "two")
	everything(t, one)
	s.unsubscribe(t, "one", "ann", "stranger")
	call(t, one, "/v2/organizations/add", `"organizations": [{"organizationId": "other"}]`)
	must.Do(t, s.Accounts.Unsubscribe(t.Context(), unsubscribe.Recipient{Account: "one", Organization: "other", User: "zoe", Email: "bob@example.com"}))
	file := export(t, one, transfer.ExportOptions{})
	if strings.Contains(file, `"zoe"`) {
		t.Error("a user of another organization is in the file")
	}
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	var paths []string
	killed := s.client(s.operator, "two", roundTrip(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "/get") {
			if paths = append(paths, r.URL.Path); len(paths) == 3 {
				kill()
				return nil, context.Canceled
			}
		}
		return http.DefaultTransport.RoundTrip(r)
	}))
	if _, err := transfer.Import(ctx, killed, strings.NewReader(file), transfer.ImportOptions{}); err == nil {
		t.Error("the import was not ended")
	}
	if got := s.emailed(t, "two", "ann", "bob", "cid", "stranger"); !slices.Equal(got, []string{"cid"}) {
		t.Errorf("after the requests %v, %v get mails", paths, got)
	}
	before := export(t, two, transfer.ExportOptions{})
	load(t, two, strings.ReplaceAll(file, `"unsubscribedAt":1`, `"unsubscribedAt":2`), transfer.ImportOptions{})
	for line := range strings.Lines(before) {
		if strings.Contains(line, `"unsubscribed"`) && !strings.Contains(export(t, two, transfer.ExportOptions{}), line) {
			t.Errorf("changed: %s", line)
		}
	}
}

// TestRemovals checks that a removal overrides later additions of an import, is repeated after a
// kill, and does not affect a user who is back.
func TestRemovals(t *testing.T) {
	const file = `{"kind":"organization","organizationId":"acme"}
{"kind":"removal","userId":"bob","removedAt":1700000000000}
{"kind":"document","documentId":"plan"}
{"kind":"removal","userId":"cid","documentId":"plan","removedAt":1700000000000}
{"kind":"removal","userId":"cid","documentId":"nowhere","removedAt":1700000000000}
{"kind":"annotation","documentId":"plan","annotationId":"a"}
{"kind":"comment","documentId":"plan","annotationId":"a","commentId":1,"commentText":"one","from":{"userId":"bob"},"createdAt":1700000000001}
{"kind":"comment","documentId":"plan","annotationId":"a","commentId":2,"commentText":"two","from":{"userId":"cid"}}
{"kind":"comment","documentId":"plan","annotationId":"a","commentId":3,"commentText":"three","from":{"userId":"dee"}}
`
	lost := []string{`removal cid: document "nowhere" does not exist in organization "acme"`}
	s := serve(t)
	sees := func(t *testing.T, c *client.Client) (list []string) {
		for _, user := range []string{"bob", "cid", "dee"} {
			if strings.Contains(ask(t, c, "/v2/commentannotations/get", `"organizationId": "acme", "documentIds": ["plan"], "asUserId": "`+user+`"`), "three") {
				list = append(list, user)
			}
		}
		return list
	}
	t.Run("comments later", func(t *testing.T) {
		c := s.account(t, "later")
		for range 2 {
			if diff := gocmp.Diff(lost, refusals(t, c, file)); diff != "" {
				t.Error(diff)
			}
			if got := sees(t, c); !slices.Equal(got, []string{"dee"}) {
				t.Errorf("%v see the document", got)
			}
		}
	})
	t.Run("killed", func(t *testing.T) {
		c := s.account(t, "killed")
		for n := int64(1); ; n++ {
			ctx, kill := context.WithCancel(t.Context())
			var sent atomic.Int64
			_, err := transfer.Import(ctx, s.client(s.operator, "killed", roundTrip(func(r *http.Request) (*http.Response, error) {
				answer, err := http.DefaultTransport.RoundTrip(r)
				if sent.Add(1) == n {
					kill()
				}
				return answer, err
			})), strings.NewReader(file), transfer.ImportOptions{})
			kill()
			if err == nil {
				break
			}
		}
		if got := sees(t, c); !slices.Equal(got, []string{"dee"}) {
			t.Errorf("%v see the document", got)
		}
	})
	t.Run("back again", func(t *testing.T) {
		c := s.account(t, "back")
		call(t, c, "/v2/organizations/add", addAcme)
		call(t, c, "/v2/organizations/documents/add", `"organizationId": "acme", "documents": [{"documentId": "plan"}]`)
		call(t, c, "/v2/users/add", `"organizationId": "acme", "documentId": "plan", "users": [{"userId": "bob"}, {"userId": "cid"}]`)
		want := append([]string{`removal cid: user "cid" has access again; left unchanged`}, lost...)
		slices.Sort(want)
		if diff := gocmp.Diff(want, refusals(t, c, file)); diff != "" {
			t.Error(diff)
		}
		if got := sees(t, c); !slices.Equal(got, []string{"bob", "cid", "dee"}) {
			t.Errorf("%v see the document", got)
		}
	})
	t.Run("later removal", func(t *testing.T) {
		c := s.account(t, "then")
		refusals(t, c, file)
		refusals(t, c, strings.ReplaceAll(file, "1700000000000", "1700000000009"))
		refusals(t, c, file)
		if got := export(t, c, transfer.ExportOptions{}); strings.Count(got, `"removedAt":1700000000009`) != 2 {
			t.Errorf("the file is\n%s", got)
		}
	})
}

// TestRemovedSince checks that an older file does not restore removed users.
func TestRemovedSince(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	call(t, c, "/v2/organizations/add", addAcme)
	call(t, c, "/v2/organizations/folders/add", `"organizationId": "acme", "folders": [{"folderId": "f"}]`)
	call(t, c, "/v2/organizations/documents/add", `"organizationId": "acme", "documents": [{"documentId": "plan"}, {"documentId": "own"}]`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "users": [{"userId": "ann"}, {"userId": "bob"}]`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "folderId": "f", "users": [{"userId": "ann"}, {"userId": "bob"}]`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "documentId": "own", "users": [{"userId": "ann"}, {"userId": "bob"}, {"userId": "cid"}]`)
	call(t, c, "/v2/auth/permissions/add", `"user": {"userId": "bob"}, "permissions": {"resources": [{"type": "document", "id": "plan", "organizationId": "acme", "expiresAt": 4000000000}]}`)
	file := export(t, c, transfer.ExportOptions{})
	call(t, c, "/v2/users/delete", `"organizationId": "acme", "userIds": ["bob"]`)
	call(t, c, "/v2/users/delete", `"organizationId": "acme", "documentId": "own", "userIds": ["cid"]`)
	want := export(t, c, transfer.ExportOptions{})
	if diff := gocmp.Diff([]string{
		"grant plan: the user was taken out; left unchanged",
		"user bob: the user was taken out; left unchanged", "user bob: the user was taken out; left unchanged",
		"user bob: the user was taken out; left unchanged", "user bob: the user was taken out; left unchanged",
		"user cid: the user was taken out; left unchanged",
	}, refusals(t, c, file)); diff != "" {
		t.Error(diff)
	}
	same(t, "after the import", want, export(t, c, transfer.ExportOptions{}))
}

// TestBadRecords checks that an invalid record is refused with its field and rule.
func TestBadRecords(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	call(t, c, "/v2/organizations/add", addAcme)
	const hash = "00112233445566778899aabbccddeeff"
	const seconds = "must be a time in milliseconds since epoch, from 100000000000 (in 1973): 1700000000 may be in seconds"
	for _, test := range []struct{ records, want string }{
		{`"organizations": [{"organizationId": "other"}]`, "data.organizations[0].organizationId: must be the organizationId of the request"},
		{`"folders": [{"folderId": "f"}, {"folderId": "f"}]`, "data.folders[1].folderId: must not repeat an earlier one: f"},
		{`"folders": [{"folderId": "root"}]`, "data.folders[0].folderId: must not be root: root is no folder"},
		{`"documents": [{"documentId": "d"}, {"documentId": "d"}]`, "data.documents[1].documentId: must not repeat an earlier one: d"},
		{`"documents": [{"documentId": "d", "createdAt": 1}]`, "data.documents[0].createdAt: must not be sent: the name is reserved"},
		{`"users": [{"userId": "u", "documentId": "d", "folderId": "f"}]`, "data.users[0].folderId: cannot be combined with documentId"},
		{`"users": [{"userId": "u", "email": "nobody"}]`, "data.users[0].email: must be an address that email can reach, such as bob@example.com"},
		{`"grants": [{"userId": "u", "type": "team", "id": "d"}]`, "data.grants[0].type: must be one of organization, folder, document"},
		{`"annotations": [{"documentId": "d"}]`, "data.annotations[0].annotationId: is required"},
		{`"annotations": [{"documentId": "d", "annotationId": "a", "visibility": {"type": "restricted"}}]`, "data.annotations[0].visibility.userIds: must name 1 to 100 users for restricted"},
		{`"annotations": [{"documentId": "d", "annotationId": "a", "context": {"access": {}}}]`, "data.annotations[0].context.access: must not be sent: rights within a document are not enforced"},
		{`"annotations": [{"documentId": "d", "annotationId": "a", "suggestion": {"status": "done"}}]`, "data.annotations[0].suggestion.status: must be one of pending, accepted, rejected, stale, apply_failed"},
		{`"comments": [{"documentId": "d", "annotationId": "a", "commentId": 1, "from": {"userId": "u"}}]`, "data.comments[0]: must have content: a text, HTML, attachments, or isCommentResolverUsed"},
		{`"comments": [{"documentId": "d", "annotationId": "a", "commentId": 1, "commentText": "x", "from": {"userId": "u"}, "reactions": [{"emoji": "x", "users": []}]}]`, "data.comments[0].reactions[0].emoji: must be one emoji"},
		{`"unsubscribed": [{"unsubscribedAt": 1700000000000}]`, "data.unsubscribed[0].userId: or address is required: send only one"},
		{`"unsubscribed": [{"userId": "a", "address": "` + hash + `", "unsubscribedAt": 1700000000000}]`, "data.unsubscribed[0].userId: or address is required: send only one"},
		{`"unsubscribed": [{"address": "a@example.com", "unsubscribedAt": 1700000000000}]`, "data.unsubscribed[0].address: must be the hash of an address: 16 bytes in hexadecimal"},
		{`"unsubscribed": [{"address": "` + strings.ToUpper(hash) + `", "unsubscribedAt": 1700000000000}]`, "data.unsubscribed[0].address: must be the hash of an address: 16 bytes in hexadecimal"},
		{`"unsubscribed": [{"address": "00", "unsubscribedAt": 1700000000000}]`, "data.unsubscribed[0].address: must be the hash of an address: 16 bytes in hexadecimal"},
		{`"removals": [{"userId": "a"}]`, "data.removals[0].removedAt: is required"},
		{`"removals": [{"userId": "a", "removedAt": 1700000000000, "documentId": "d", "folderId": "f"}]`, "data.removals[0].folderId: cannot be combined with documentId"},
		{`"removals": [{"userId": "a", "removedAt": 1700000000000, "opened": true}]`, "data.removals[0].documentId: is required if opened is true"},
		{`"removals": [{"userId": "a", "removedAt": 1700000000000, "documentId": "d", "opened": true, "grantOnly": true}]`, "data.removals[0].opened: cannot be combined with grantOnly"},
		{`"removals": [{"userId": "a", "removedAt": 1700000000000, "since": 2}]`, `data.removals[0].since: is not a known field`},
		{`"levels": [{"documentId": "d", "annotationId": "a", "userId": "u", "level": "default"}]`, "data.levels[0].level: must not be the default level"},
		{`"levels": [{"documentId": "d", "annotationId": "a", "userId": "u", "level": "loud"}]`, "data.levels[0].level: must be one of all, mentions, none, default"},
		{`"preferences": [{"userId": "a", "mailFrequency": "daily", "timeZone": "Mars/Olympus"}]`, "data.preferences[0].timeZone: must be a time zone of the IANA database, such as Europe/Berlin"},
		{`"preferences": [{"userId": "a", "mailHour": 7}]`, "data.preferences[0].mailHour: requires the mailFrequency daily or weekly"},
		{`"preferences": [{"userId": "a", "documentId": "d", "mailFrequency": "daily"}]`, "data.preferences[0].documentId: cannot be combined with mailFrequency and quietHours"},
		{`"preferences": [{"userId": "a", "config": {"slack": "LOUD"}}]`, "data.preferences[0].config.slack: must be one of ALL, MINE, NONE"},
		{`"readStates": [{"documentId": "d", "userId": "u", "read": true}]`, "data.readStates[0].readAt: is required"},
		{`"grants": [{"userId": "u", "type": "organization", "id": "other"}]`, "data.grants[0].id: must be the organizationId of the request"},
		{`"readStates": [{"documentId": "d", "userId": "u", "read": true, "readAt": 1700000000}]`, "data.readStates[0].readAt: " + seconds},
		{`"removals": [{"userId": "u", "removedAt": 1700000000}]`, "data.removals[0].removedAt: " + seconds},
		{`"unsubscribed": [{"userId": "u", "unsubscribedAt": 1700000000}]`, "data.unsubscribed[0].unsubscribedAt: " + seconds},
		{`"annotations": [{"documentId": "d", "annotationId": "a", "resolvedAt": 1700000000, "createdAt": 100000000000}]`, "data.annotations[0].resolvedAt: " + seconds},
		{`"comments": [{"documentId": "d", "annotationId": "a", "commentId": 1, "commentText": "x", "from": {"userId": "u"}, "createdAt": 1.7e12, "addedAt": 1.7e9}]`, "data.comments[0].addedAt: " + seconds},
	} {
		data := strings.TrimSuffix(`{"organizationId": "acme", `+test.records, ", ") + "}"
		_, _, err := client.Call[jsontext.Value](t.Context(), c, "/operator/records/add", jsontext.Value(data))
		e, ok := errors.AsType[*client.Error](err)
		if !ok || e.Code != client.CodeInvalidArgument || len(e.Details) != 1 || e.Details[0].Field+": "+e.Details[0].Message != test.want {
			t.Errorf("%s: %v, want %s", test.records, err, test.want)
		}
	}
}

// TestRecordPages checks that pages of any size contain each record once.
func TestRecordPages(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	everything(t, c)
	s.unsubscribe(t, "one", "ann", "a#b", "stranger")
	for _, filter := range []string{``, `, "documentIds": ["plan", "whole", "nowhere", "own"]`, `, "userIds": ["jon", "kim", "ann", "ida"]`, `, "userIds": ["ida", "jon"], "documentIds": ["whole"]`} {
		var want []string
		for size := 1000; size > 0; size = map[int]int{1000: 50, 50: 7, 7: 3, 3: 2, 2: 1}[size] {
			var got []string
			for token := ""; ; {
				list, next, err := client.Call[[]jsontext.Value](t.Context(), c, "/operator/records/get", jsontext.Value(
					fmt.Sprintf(`{"organizationId": "acme", "pageSize": %d, "pageToken": %q%s}`, size, token, filter)))
				must.Do(t, err)
				for _, v := range list {
					got = append(got, string(v))
				}
				if token = next; token == "" || len(list) > size || len(got) > 100 {
					break
				}
			}
			if want == nil {
				want = got
			}
			if diff := gocmp.Diff(want, got); diff != "" || len(want) < 2 {
				t.Errorf("{%s} in pages of %d (- one page, + pages):\n%s\n%q", filter, size, diff, got)
			}
		}
	}
}

// TestOtherwisePeople checks that differing users, grants, groups, levels and preferences are
// unchanged and reported, and that missing ones are added.
func TestOtherwisePeople(t *testing.T) {
	const file = `{"kind":"organization","organizationId":"acme","organizationName":"Acme","tier":1}
{"kind":"group","groupId":"g","groupName":"G","userIds":["ann","bob"]}
{"kind":"group","groupId":"h","groupName":"H","userIds":["ann"]}
{"kind":"document","documentId":"plan"}
{"kind":"annotation","documentId":"plan","annotationId":"a"}
{"kind":"level","documentId":"plan","annotationId":"a","userId":"ann","level":"all"}
{"kind":"level","documentId":"plan","annotationId":"a","userId":"bob","level":"none"}
{"kind":"level","documentId":"plan","annotationId":"b","userId":"bob","level":"none"}
{"kind":"grant","userId":"ann","accessRole":"viewer","expiresAt":4000000000,"type":"document","id":"plan"}
{"kind":"grant","userId":"bob","accessRole":"viewer","expiresAt":4000000000,"type":"document","id":"plan"}
{"kind":"user","userId":"ann","name":"Ann","accessRole":"editor"}
{"kind":"user","userId":"bob","name":"Bob","accessRole":"editor","locale":"de"}
{"kind":"preference","userId":"ann","config":{"inbox":"MINE"},"mailFrequency":"hourly"}
{"kind":"preference","userId":"bob","config":{"inbox":"MINE","email":"NONE"},"mailFrequency":"hourly"}
{"kind":"preference","userId":"cid","mailFrequency":"hourly"}
{"kind":"preference","userId":"ann","documentId":"plan","config":{"email":"ALL"}}
`
	s := serve(t)
	c := s.account(t, "one")
	call(t, c, "/v2/organizations/add", `"organizations": [{"organizationId": "acme", "organizationName": "Acme, Inc.", "tier": 1}]`)
	call(t, c, "/v2/organizations/usergroups/add", `"organizationId": "acme", "organizationUserGroups": [{"groupId": "g", "groupName": "G"}, {"groupId": "h", "groupName": "Renamed"}]`)
	call(t, c, "/v2/organizations/usergroups/users/add", `"organizationId": "acme", "organizationUserGroupId": "g", "userIds": ["bob", "zoe"]`)
	call(t, c, "/v2/commentannotations/add", `"organizationId": "acme", "documentId": "plan", "createDocument": true, "commentAnnotations": [{"annotationId": "a"}]`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "documentIds": ["plan"], "annotationIds": ["a"], "userIds": ["ann"], "level": "mentions"`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "users": [{"userId": "ann", "name": "Anna"}, {"userId": "bob", "name": "Bob", "email": "b@example.com"}]`)
	call(t, c, "/v2/auth/permissions/add", `"user": {"userId": "ann"}, "permissions": {"resources": [{"type": "document", "id": "plan", "organizationId": "acme", "accessRole": "viewer", "expiresAt": 3000000000}]}`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["ann"], "config": {"inbox": "ALL"}`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["bob"], "config": {"inbox": "MINE"}`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["cid"], "mailFrequency": "daily"`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["ann"], "documentIds": ["plan"], "config": {"email": "ALL", "inbox": "NONE"}`)
	ends := strings.Replace(file, `"annotationId":"a"}`, `"annotationId":"a","createdAt":1700000000000}`, 1)
	want := []string{
		"annotation a: already exists with a different createdAt; left unchanged",
		"grant plan: already exists with a different expiresAt; left unchanged",
		"group h: already exists with a different groupName; left unchanged",
		"level ann: already exists with a different level; left unchanged",
		`level bob: annotation "b" does not exist in document "plan"`,
		"organization acme: already exists with a different organizationName; left unchanged",
		"preference ann: already exists with a different config; left unchanged",
		"preference cid: already exists with a different mailFrequency; left unchanged",
		"user ann: already exists with a different name; left unchanged",
	}
	of := func(file string, names ...string) []string {
		return slices.DeleteFunc(slices.Clone(want), func(text string) bool { return slices.Contains(names, text) })
	}
	if diff := gocmp.Diff(of(file, want[0]), refusals(t, c, file)); diff != "" {
		t.Error(diff)
	}
	if got := refusals(t, c, ends); !slices.Equal(got, want) {
		t.Errorf("of another time: %q", got)
	}
	for _, line := range []string{
		`{"kind":"group","groupId":"g","groupName":"G","userIds":["ann","bob","zoe"]}`,
		`{"kind":"group","groupId":"h","groupName":"Renamed","userIds":["ann"]}`,
		`{"kind":"level","level":"mentions","documentId":"plan","userId":"ann","annotationId":"a"}`,
		`{"kind":"level","level":"none","documentId":"plan","userId":"bob","annotationId":"a"}`,
		`{"kind":"grant","userId":"bob","accessRole":"viewer","expiresAt":4000000000,"type":"document","id":"plan"}`,
		`{"kind":"user","userId":"bob","name":"Bob","email":"b@example.com","accessRole":"editor","locale":"de"}`,
		`{"kind":"preference","userId":"ann","config":{"inbox":"ALL"}}`,
		`{"kind":"preference","userId":"bob","config":{"inbox":"MINE","email":"NONE"},"mailFrequency":"hourly"}`,
		`{"kind":"preference","userId":"cid","mailFrequency":"daily","mailHour":8}`,
		`{"kind":"preference","userId":"ann","documentId":"plan","config":{"inbox":"NONE","email":"ALL"}}`,
	} {
		if got := export(t, c, transfer.ExportOptions{}); !strings.Contains(got, line+"\n") {
			t.Errorf("there is no line %s in\n%s", line, got)
		}
	}
}

// TestAnotherIncarnation checks that data of a deleted document is not exported with a later one of
// its id.
func TestAnotherIncarnation(t *testing.T) {
	s := serve(t)
	c := s.account(t, "one")
	call(t, c, "/v2/organizations/add", addAcme)
	call(t, c, "/v2/commentannotations/add", `"organizationId": "acme", "documentId": "plan", "createDocument": true, "commentAnnotations": [{"annotationId": "a"}]`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "documentId": "plan", "users": [{"userId": "bob"}]`)
	call(t, c, "/v2/users/delete", `"organizationId": "acme", "documentId": "plan", "userIds": ["bob"]`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["bob"], "documentIds": ["plan"], "config": {"email": "NONE"}`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "documentIds": ["plan"], "annotationIds": ["a"], "userIds": ["ann"], "level": "all"`)
	file := export(t, c, transfer.ExportOptions{})
	for _, kind := range []transfer.Kind{transfer.Removal, transfer.Preference, transfer.Level} {
		if !strings.Contains(file, fmt.Sprintf(`{"kind":%q`, kind)) {
			t.Errorf("there is no %s in\n%s", kind, file)
		}
	}
	call(t, c, "/v2/organizations/documents/delete", `"organizationId": "acme", "documentIds": ["plan"]`)
	call(t, c, "/v2/commentannotations/add", `"organizationId": "acme", "documentId": "plan", "createDocument": true, "commentAnnotations": [{"annotationId": "b"}]`)
	again := export(t, c, transfer.ExportOptions{})
	for _, kind := range []transfer.Kind{transfer.Removal, transfer.Preference, transfer.Level} {
		if strings.Contains(again, fmt.Sprintf(`{"kind":%q`, kind)) {
			t.Errorf("the file of the new document has a %s:\n%s", kind, again)
		}
	}
	load(t, c, file, transfer.ImportOptions{})
	if got := ask(t, c, "/v2/commentannotations/get", `"organizationId": "acme", "documentIds": ["plan"], "asUserId": "bob"`); got != "[]" {
		t.Errorf("bob, who was taken out, sees %s", got)
	}
}

// TestOwnFields checks that a move keeps the fields of a user at each level, also where other
// levels have others.
func TestOwnFields(t *testing.T) {
	s := serve(t)
	one, two := s.account(t, "one"), s.account(t, "two")
	call(t, one, "/v2/organizations/add", addAcme)
	call(t, one, "/v2/organizations/folders/add", `"organizationId": "acme", "folders": [{"folderId": "f"}]`)
	call(t, one, "/v2/organizations/documents/add", `"organizationId": "acme", "folderId": "f", "documents": [{"documentId": "plan"}]`)
	call(t, one, "/v2/users/add", `"organizationId": "acme", "users": [{"userId": "ann", "name": "Ann", "email": "ann@example.com"}]`)
	for _, level := range []string{`"documentId": "plan"`, `"folderId": "f"`} {
		call(t, one, "/v2/users/add", `"organizationId": "acme", `+level+`, "users": [{"userId": "ann", "name": "Ann at `+level[1:4]+`"}]`)
	}
	call(t, one, "/v2/auth/permissions/add", `"user": {"userId": "ann"}, "permissions": {"resources": [{"type": "document", "id": "plan", "organizationId": "acme", "expiresAt": 4000000000}]}`)
	load(t, two, export(t, one, transfer.ExportOptions{}), transfer.ImportOptions{})
	for _, level := range []string{`"documentId": "plan"`, `"folderId": "f"`, `"allDocuments": true`} {
		q := `"organizationId": "acme", "ownFields": true, ` + level
		if diff := gocmp.Diff(plainAnswer(ask(t, one, "/v2/users/get", q)), plainAnswer(ask(t, two, "/v2/users/get", q))); diff != "" {
			t.Errorf("%s (- before, + after):\n%s", level, diff)
		}
	}
}
