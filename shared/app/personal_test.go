package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// TestPersonalDataInPages checks that pages contain each item of a person's data once, wherever
// they end. A page has at most 100 items of a kind and 5 MB, and a limited search.
func TestPersonalDataInPages(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t)
	settings := collab.Settings{WriteUnitsPerSecond: collab.Unlimited, ReadUnitsPerSecond: collab.Unlimited}
	handler := s.HandlerFor(collab.Identity{Account: "acme", Settings: settings})
	call := func(path, data string) []byte {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(`{"data": {"organizationId": "north", `+data+`}}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"success":false`) {
			t.Fatalf("%s: %d %.500s", path, w.Code, w.Body)
		}
		return w.Body.Bytes()
	}
	var want []string // ann's data by name
	const by = `{"commentId": %d, "commentText": %q, "from": {"userId": %q}}`
	// thread adds a thread of a creator, with comments of text; those with a text are ann's.
	thread := func(doc, id, creator string, comments int, text func(n int) string) {
		t.Helper()
		call("/v2/commentannotations/add", fmt.Sprintf(`"documentId": %q, "createDocument": true, "createOrganization": true,
			"commentAnnotations": [{"annotationId": %q, "commentData": [`+by+`]}]`, doc, id, 1, "begun", creator))
		if creator == "ann" {
			want = append(want, "annotation "+doc+"/"+id, "comment "+doc+"/"+id+"/1")
		}
		var list []string
		for n := 2; n < comments+2; n++ {
			author, said := "bob", text(n)
			if said != "" {
				author = "ann"
				want = append(want, fmt.Sprintf("comment %s/%s/%d", doc, id, n))
			}
			list = append(list, fmt.Sprintf(by, n, said+".", author))
		}
		for few := range slices.Chunk(list, max(1, min(90, 3_000_000/len(list[0])))) {
			data := fmt.Sprintf(`"documentId": %q, "annotationId": %q, "commentData": [%s]`, doc, id, strings.Join(few, ","))
			call("/v2/commentannotations/comments/add", data)
		}
	}
	none := func(int) string { return "" }
	short := func(int) string { return "hers" }
	thread("0", "of others", "bob", 10_100, none) // exceeds the search of a page
	thread("1", "full", "bob", 100, short)        // of comments; the next thread starts a page
	thread("1", "next", "bob", 7, short)
	thread("2", "busy", "bob", 900, func(n int) string { return strings.Repeat("hers", 1-min(n%3, 1)) })
	thread("3", "large", "ann", 40, func(int) string { return strings.Repeat("h", 300_000) })
	for n := range 230 {
		// a page may end between an annotation and its comments
		thread("4", fmt.Sprintf("thread-%03d", n), "ann", 1+n%2, short)
		id := fmt.Sprintf("hers-%03d", n)
		of := `"documentId": "4", "commentAnnotations": [{"annotationId": %q, "assignedTo": {"userId": "ann"}}]`
		call("/v2/commentannotations/add", fmt.Sprintf(of, id))
		want = append(want, "annotation 4/"+id)
	}
	thread("5", "off", "ann", 3, short)
	call("/v2/organizations/documents/access/disablestate/update", `"documentIds": ["5"], "disabled": true`)

	var documents, groups []string
	for n := range 130 {
		documents = append(documents, fmt.Sprintf(`{"documentId": "d%03d"}`, n))
		groups = append(groups, fmt.Sprintf(`{"groupId": "g%03d"}`, n))
		want = append(want, fmt.Sprintf("grant d%03d", n), fmt.Sprintf("group g%03d", n), fmt.Sprintf("preference d%03d", n))
	}
	want = append(want, "member", "preference ")
	call("/v2/users/add", `"users": [{"userId": "ann"}]`)
	call("/v2/notifications/config/set", `"userIds": ["ann"], "config": {"email": "NONE"}`)
	for n, few := range slices.Collect(slices.Chunk(documents, 30)) {
		call("/v2/organizations/documents/add", `"documents": [`+strings.Join(few, ",")+`]`)
		call("/v2/organizations/usergroups/add", `"organizationUserGroups": [`+strings.Join(groups[n*30:min(n*30+30, len(groups))], ",")+`]`)
	}
	for n := range 130 {
		call("/v2/organizations/usergroups/users/add", fmt.Sprintf(`"organizationUserGroupId": "g%03d", "userIds": ["ann"]`, n))
		call("/v2/users/add", fmt.Sprintf(`"documentId": "d%03d", "users": [{"userId": "ann"}]`, n))
		call("/v2/notifications/config/set", fmt.Sprintf(`"documentIds": ["d%03d"], "userIds": ["ann"], "config": {"email": "ALL"}`, n))
	}
	told, err := s.Directory.OpenDocument(t.Context(), "acme", "north", "1", collab.CreateFlags{})
	must.Do(t, err)
	for n := range 230 {
		of := collab.Notification{ID: fmt.Sprintf("n%03d", n), DocumentID: "1", Incarnation: told.Incarnation, CreatedAt: 1_700_000_000_000 + int64(n)}
		if _, err := s.Inbox.Derive(t.Context(), told.OrganizationRef, of, []string{"ann"}); err != nil {
			t.Fatal(err)
		}
		must.Do(t, s.Inbox.AddToInbox(t.Context(), told.OrganizationRef, of, storetest.Placed("ann")))
		want = append(want, "notification "+of.ID)
	}
	slices.Sort(want)

	for _, disabled := range []bool{false, true} {
		if disabled {
			call("/v2/organizations/documents/access/disablestate/update", `"documentIds": ["1", "3"], "disabled": true`)
			disable := func(o *collab.Organization) { o.Disabled = true }
			must.Do(t, storetest.ChangeOrganization(t.Context(), s.Directory, told.OrganizationRef, disable))
			s.Directory.Forget(keys.Organization("acme", "north"))
		}
		var got []string
		pages := 0
		for token := ""; token != "" || pages == 0; pages++ {
			var list []string
			list, token = personalPage(t, call("/v2/users/data/get", fmt.Sprintf(`"userId": "ann", "pageToken": %q`, token)))
			got = append(got, list...)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("disabled: %t, in %d pages (- want, + got):\n%s", disabled, pages, diff)
		}
		if pages < 14 || pages > 22 {
			t.Errorf("disabled: %t, it takes %d pages", disabled, pages)
		}
	}
}

// personalPage returns the names of a person's data in a page, and the token of the next page.
func personalPage(t *testing.T, answer []byte) (list []string, next string) {
	t.Helper()
	var page struct {
		Result struct {
			Data struct {
				Profile struct {
					Member                   *struct{}
					Grants, Preferences      []struct{ DocumentID string }
					OrganizationUserGroupIDs []string
				}
				Annotations []struct{ DocumentID, AnnotationID string }
				Comments    []struct {
					DocumentID, AnnotationID string
					CommentID                int
				}
				Notifications []struct{ NotificationID string }
			}
			NextPageToken string
		}
	}
	must.Do(t, json.Unmarshal(answer, &page))
	d := page.Result.Data
	names := func(kind string, n int, name func(i int) string) {
		if n > 100 {
			t.Errorf("a page has %d of kind %s", n, kind)
		}
		for i := range n {
			list = append(list, kind+" "+name(i))
		}
	}
	if d.Profile.Member != nil {
		list = append(list, "member")
	}
	names("grant", len(d.Profile.Grants), func(i int) string { return d.Profile.Grants[i].DocumentID })
	names("preference", len(d.Profile.Preferences), func(i int) string { return d.Profile.Preferences[i].DocumentID })
	names("group", len(d.Profile.OrganizationUserGroupIDs), func(i int) string { return d.Profile.OrganizationUserGroupIDs[i] })
	names("annotation", len(d.Annotations), func(i int) string { return d.Annotations[i].DocumentID + "/" + d.Annotations[i].AnnotationID })
	names("comment", len(d.Comments), func(i int) string {
		return fmt.Sprintf("%s/%s/%d", d.Comments[i].DocumentID, d.Comments[i].AnnotationID, d.Comments[i].CommentID)
	})
	names("notification", len(d.Notifications), func(i int) string { return d.Notifications[i].NotificationID })
	if size := rpc.WrappedLen(answer); size > 5_000_000 {
		t.Errorf("a page has %d bytes", size)
	}
	return list, page.Result.NextPageToken
}
