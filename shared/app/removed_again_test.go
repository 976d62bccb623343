package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"collabdata/shared/app"
)

// removals is a caller whose person ann was removed, with a thread in each document.
type removals struct{ *caller }

func newRemovals(t *testing.T) removals {
	c := removals{newCaller(t, func(*app.Config) {})}
	for _, doc := range []string{"plan", "other"} {
		c.must("commentannotations/add", `"documentId": "`+doc+`", "commentAnnotations": [{"annotationId": "a", "commentData": [{"commentText": "x", "from": {"userId": "bob"}}]}]`)
	}
	return c
}

// grant adds a grant of ann on a resource, which ends after a time unless that is 0.
func (c removals) grant(resource string, after time.Duration) {
	c.Helper()
	end := int64(0)
	if after != 0 {
		end = c.now.Add(after).Unix()
	}
	c.must("auth/permissions/add", fmt.Sprintf(`"user": {"userId": "ann"}, "permissions": {"resources": [{%s, "expiresAt": %d}]}`, resource, end))
}

// sees checks which documents ann reads.
func (c removals) sees(when string, want ...string) {
	c.Helper()
	var got []string
	for _, doc := range []string{"plan", "other"} {
		c.now = c.now.Add(11 * time.Second) // resets personal limits
		if code, _ := c.ann("commentannotations/get", `"documentId": "`+doc+`"`, ""); code == http.StatusOK {
			got = append(got, doc)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		c.Errorf("%s: ann reads %v, want %v", when, got, want)
	}
}

// TestRemovalRests checks that a grant with an end, on an organization or a document, opens it
// until then only. A shorter grant ends it earlier; a grant without an end, later.
func TestRemovalRests(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		level, resource string
		rest            []string // seen without it
	}{
		{"", `"type": "organization", "id": "acme"`, nil},
		{`"documentId": "plan", `, `"type": "document", "id": "plan", "organizationId": "acme"`, []string{"other"}},
	} {
		c := newRemovals(t)
		c.must("users/add", test.level+`"users": [{"userId": "ann"}]`)
		c.must("users/delete", test.level+`"userIds": ["ann"]`)
		c.sees("after the removal", test.rest...)
		c.grant(test.resource, time.Hour)
		c.sees("with a grant for an hour", "plan", "other")
		c.grant(test.resource, -time.Hour)
		c.sees("with an ended grant", test.rest...)
		c.grant(test.resource, time.Hour)
		c.must("users/add", test.level+`"users": [{"userId": "ann", "name": "Ann"}]`) // keeps the end
		c.sees("with another grant for an hour", "plan", "other")
		c.now = c.now.Add(time.Hour)
		c.sees("after its end", test.rest...)
		c.must("auth/generate_token", fmt.Sprintf(`"userId": "ann", "userProperties": {"name": "Ann"}, "permissions": {"resources": [{%s}]}`, test.resource))
		c.sees("after a token", test.rest...)
		c.grant(test.resource, 0)
		c.now = c.now.Add(time.Hour)
		c.sees("with a grant without an end", "plan", "other")
	}
}

// TestTakenAgain checks that a document that a later comment opened to a removed person can be
// taken from them again.
func TestTakenAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		level string
		rest  []string // seen after the removal from the document
		all   []string // seen after the comment
	}{
		{"", nil, []string{"plan"}},
		{`"documentId": "plan", `, []string{"other"}, []string{"plan", "other"}},
	} {
		c := newRemovals(t)
		c.must("users/add", test.level+`"users": [{"userId": "ann"}]`)
		c.must("users/delete", test.level+`"userIds": ["ann"]`)
		for range 2 {
			c.now = c.now.Add(time.Second)
			c.must("commentannotations/comments/add", `"documentId": "plan", "annotationId": "a", "commentData": [{"commentText": "y", "from": {"userId": "ann"}}]`)
			c.sees("after a comment", test.all...)
			c.must("users/delete", `"documentId": "plan", "userIds": ["ann"]`)
			c.sees("after a removal from the document", test.rest...)
		}
	}
}

// TestInboxOfRemoved checks that a person who was removed from the organization has an inbox only
// while a grant in it holds. A place in a group, or a grant that has ended, gives none.
func TestInboxOfRemoved(t *testing.T) {
	t.Parallel()
	c := newRemovals(t)
	inbox := func(when string, want int) {
		t.Helper()
		c.now = c.now.Add(11 * time.Second) // resets personal limits
		if code, body := c.ann("notifications/get", `"pageSize": 1`, ""); code != want {
			t.Errorf("%s: %d %s", when, code, body)
		}
	}
	const plan = `"type": "document", "id": "plan", "organizationId": "acme"`
	inbox("before", http.StatusOK)
	c.must("users/delete", `"userIds": ["ann"]`)
	inbox("after the removal", http.StatusNotFound)
	c.must("organizations/usergroups/add", `"organizationUserGroups": [{"groupId": "g", "groupName": "G"}]`)
	c.must("organizations/usergroups/users/add", `"organizationUserGroupId": "g", "userIds": ["ann"]`)
	inbox("in a group", http.StatusNotFound)
	c.grant(plan, time.Hour)
	inbox("with a grant", http.StatusOK)
	c.now = c.now.Add(time.Hour)
	inbox("after its end", http.StatusNotFound)
}

// TestGroupsOfMembers checks that a person finds groups only while the membership holds.
func TestGroupsOfMembers(t *testing.T) {
	t.Parallel()
	c := newRemovals(t)
	c.must("organizations/usergroups/add", `"organizationUserGroups": [{"groupId": "g", "groupName": "Group"}]`)
	for after, want := range map[time.Duration]bool{time.Hour: true, -time.Hour: false} {
		c.grant(`"type": "organization", "id": "acme"`, after)
		c.now = c.now.Add(11 * time.Second) // resets personal limits
		if code, body := c.ann("organizations/usergroups/get", `"pageSize": 1`, ""); code != http.StatusOK || strings.Contains(body, "Group") != want {
			t.Errorf("with a membership that ends after %v: %d %s", after, code, body)
		}
	}
}
