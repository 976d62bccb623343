package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/client"
	"collabdata/shared/collab"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// TestInboxAsksFew checks that a page of an inbox asks a permission provider about 20 documents,
// and that all pages together show everything.
func TestInboxAsksFew(t *testing.T) {
	t.Parallel()
	const documents = 50
	var asked atomic.Int64
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"userIds": ["ann"]}`))
	}))
	defer provider.Close()
	s := apitest.Start(t, func(c *app.Config) { c.PrivateRanges = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	err := s.Accounts.SetPermissionProvider(t.Context(), "acme", &collab.PermissionProvider{URL: provider.URL, Secret: "s"})
	must.Do(t, err)
	server := httptest.NewServer(s.HandlerFor(collab.Identity{Account: "acme", Settings: collab.Settings{PermissionProvider: true}}))
	defer server.Close()
	c := client.New(client.Config{BaseURL: server.URL})
	for n := range documents {
		id := fmt.Sprintf("d%02d", n)
		_, _, err := client.Call[map[string]any](t.Context(), c, "/v2/commentannotations/add", map[string]any{
			"organizationId": "o", "createOrganization": true, "documentId": id, "createDocument": true,
			"commentAnnotations": []any{map[string]any{"annotationId": "a", "commentData": []any{map[string]any{"commentText": "x", "from": map[string]any{"userId": "bob"}}}}},
		})
		must.Do(t, err)
		doc, err := s.Directory.OpenDocument(t.Context(), "acme", "o", id, collab.CreateFlags{})
		must.Do(t, err)
		told := collab.Notification{
			ID: "n" + id, DocumentID: id, AnnotationID: "a", Incarnation: doc.Incarnation, CreatedAt: time.Now().UnixMilli(),
		}
		if _, err := s.Inbox.Derive(t.Context(), doc.OrganizationRef, told, []string{"ann"}); err != nil {
			t.Fatal(err)
		}
		must.Do(t, s.Inbox.AddToInbox(t.Context(), doc.OrganizationRef, told, storetest.Placed("ann")))
	}
	found, pages := 0, 0
	for token := ""; pages == 0 || token != ""; pages++ {
		asked.Store(0)
		request := map[string]any{"organizationId": "o", "userId": "ann"}
		if token != "" {
			request["pageToken"] = token
		}
		var list []map[string]any
		if list, token, err = client.Call[[]map[string]any](t.Context(), c, "/v2/notifications/get", request); err != nil {
			t.Fatal(err)
		}
		found += len(list)
		if n := asked.Load(); n > 20 {
			t.Errorf("page %d asks about %d documents", pages, n)
		}
	}
	if found != documents || pages != 3 {
		t.Errorf("%d notifications on %d pages", found, pages)
	}
}
