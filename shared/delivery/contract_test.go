package delivery_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/collab"

	"github.com/google/go-cmp/cmp"
)

// TestContractForm checks that an endpoint with the contract's form gets the events of the
// contract, with the names of their places and the preferences of their people.
func TestContractForm(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	a.put("doc", func(d *collab.Document) { d.Name = "The plan" })
	r := receive(t, nil)
	a.webhook("hook", r.URL)
	a.changeHook("hook", func(h *collab.Webhook) { h.Payload = collab.PayloadContract })
	a.prefer("bob", collab.Preferences{Email: collab.PreferNone})
	said := a.says("thread", "Hello", a.user("bob"))
	w.send(said,
		a.record("thread", collab.AnnotationUpdated, func(*draft) {}),
		a.record("thread", collab.AnnotationUpdated, func(d *draft) { d.After.Priority = true }),
		a.quiet())
	w.settle(w.start())
	var got []map[string]any
	for _, p := range r.posts() {
		var body struct {
			Event, WebhookID string
			Data             struct {
				Metadata      json.RawMessage
				TargetComment *struct{ CommentText string }
			}
			UsersDocumentNotificationsConfig map[string]map[string]string
		}
		w.must(json.Unmarshal([]byte(p.body), &body))
		fields := map[string]any{"event": body.Event, "webhook": body.WebhookID, "metadata": string(body.Data.Metadata),
			"users": body.UsersDocumentNotificationsConfig}
		if body.Data.TargetComment != nil {
			fields["text"] = body.Data.TargetComment.CommentText
		}
		got = append(got, fields)
	}
	// sent concurrently
	slices.SortFunc(got, func(a, b map[string]any) int { return strings.Compare(a["event"].(string), b["event"].(string)) })
	metadata := `{"organization":{"organizationId":"` + a.doc.Organization + `","organizationName":"org"},"document":{"documentId":"doc","documentName":"The plan"}}`
	both := map[string]string{"inbox": "ALL", "email": "MINE"}
	if diff := cmp.Diff([]map[string]any{
		{"event": "comment.add", "webhook": "hook", "text": "Hello", "metadata": metadata,
			"users": map[string]map[string]string{"ann": both, "bob": {"inbox": "ALL", "email": "NONE"}}},
		{"event": "comment_annotation.priority_change", "webhook": "hook", "metadata": metadata, "users": map[string]map[string]string{"ann": both}},
	}, got); diff != "" {
		t.Errorf("posted (-want +got):\n%s", diff)
	}
}

// TestContractVisibility checks that a post about a restricted thread has its visibility and those
// of its users who cannot see it, and a post about a public one neither.
func TestContractVisibility(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	r := receive(t, nil)
	a.webhook("hook", r.URL)
	a.changeHook("hook", func(h *collab.Webhook) { h.Payload = collab.PayloadContract })
	restricted := collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: []string{"ann"}}
	a.begin("restricted")
	a.head("restricted", func(head *collab.Annotation) *collab.Event {
		head.Visibility = &restricted
		return nil
	})
	w.send(a.says("public", "Hello", a.user("bob")), a.says("restricted", "Hello", a.user("bob")))
	w.settle(w.start())
	type fields struct {
		Visibility *collab.Visibility
		Denied     []string
	}
	got := map[string]fields{}
	for _, p := range r.posts() {
		var body struct {
			Data struct {
				CommentAnnotation struct{ AnnotationID string }
				Visibility        *collab.Visibility
			}
			AccessDeniedUsers []string
		}
		w.must(json.Unmarshal([]byte(p.body), &body))
		got[body.Data.CommentAnnotation.AnnotationID] = fields{body.Data.Visibility, body.AccessDeniedUsers}
	}
	if diff := cmp.Diff(map[string]fields{"public": {}, "restricted": {&restricted, []string{"bob"}}}, got); diff != "" {
		t.Errorf("posted (-want +got):\n%s", diff)
	}
}
