package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFigures holds what the first page says of what is there, and that it ends at a stated number of organizations.
func TestFigures(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	shown := func() []string {
		t.Helper()
		res, err := http.Get(s.url)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		page, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`Organizations: .*|No organization yet|<tr><td>.*?</tr>`).FindAllString(string(page), 2)
	}
	want := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, shown()); diff != "" {
			t.Error(diff)
		}
	}
	organization := func(id, more string) string {
		return fmt.Sprintf(
			`{"data": {"organizationId": %q, "createOrganization": true, "documentId": "d", "createDocument": true, %s}}`, id, more,
		)
	}
	const threads = `"commentAnnotations": [{"commentData": [{"commentText": "a", "from": {"userId": "ann"}}]},
		{"commentData": [{"commentText": "b", "from": {"userId": "ann"}}]}]`
	if got := shown(); len(got) == 0 || got[0] != "No organization yet" {
		t.Errorf("at first it shows %q", got)
	}
	s.post(t, "dev-key-2", "dev-token-2", "/v2/commentannotations/add", organization("zeta", threads))
	for _, who := range []string{"bob", "cleo"} {
		s.post(t, "dev-key-2", "dev-token-2", "/v2/notifications/add", organization("zeta", fmt.Sprintf(`"notificationId": "to-%s",
			"actionUser": {"userId": "ann"}, "displayHeadlineMessageTemplate": "Look", "notifyAll": false, "notifyUsers": [{"userId": %[1]q}]`, who)))
	}
	const delivered = "Organizations: 1. Threads: 2. Unread notifications: 2.</p>"
	for deadline := time.Now().Add(30 * time.Second); shown()[0] != delivered && time.Now().Before(deadline); {
	}
	want(
		delivered,
		"<tr><td><a href=\"/console/organization?account=dev-2&amp;organization=zeta\">zeta</a></td><td>2</td><td>2</td><td>dev-2</td></tr>",
	)
	s.post(t, "dev-key-2", "dev-token-2", "/v2/notifications/update", `{"data": {"organizationId": "zeta", "documentId": "d", "userId": "bob",
		"notifications": [{"id": "to-bob", "readByUserIds": ["bob"]}]}}`)
	want(
		"Organizations: 1. Threads: 2. Unread notifications: 1.</p>",
		"<tr><td><a href=\"/console/organization?account=dev-2&amp;organization=zeta\">zeta</a></td><td>2</td><td>1</td><td>dev-2</td></tr>",
	)
	for i := range figureOrganizations {
		s.post(t, "dev-key", "dev-token", "/v2/commentannotations/add", organization(fmt.Sprintf("o%d", i), threads))
	}
	want(
		"Organizations: 10 or more. Threads: 20 or more. Unread notifications: 0 or more.</p>",
		"<tr><td><a href=\"/console/organization?account=dev&amp;organization=o0\">o0</a></td><td>2</td><td>0</td><td>dev</td></tr>",
	)
}
