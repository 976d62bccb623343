package main

import (
	"encoding/json"
	"testing"

	"github.com/coder/websocket"
)

// live checks that a comment immediately appears on other pages, and in the inbox of a mentioned
// user.
func (s *server) live(t *testing.T) {
	t.Helper()
	connect := func(watches string) *websocket.Conn {
		t.Helper()
		var answer struct {
			Result struct{ Data struct{ URL string } }
		}
		text := s.post(t, "dev-key", "dev-token", "/v2/live/tickets/add", `{"data": {"organizationId": "acme", "userId": "bob", `+watches+`}}`)
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		conn, _, err := websocket.Dial(t.Context(), answer.Result.Data.URL, nil)
		if err != nil {
			t.Fatal(text, err)
		}
		t.Cleanup(func() { _ = conn.CloseNow() })
		return conn
	}
	document, inbox := connect(`"documentIds": ["plan"]`), connect(`"inbox": true`)
	s.post(t, "dev-key", "dev-token", "/v2/commentannotations/add", `{"data": {"organizationId": "acme", "documentId": "plan", "commentAnnotations": [
		{"commentData": [{"commentText": "Look, {{bob}}", "from": {"userId": "ann"}, "taggedUserContacts": [{"userId": "bob"}], "triggerNotification": true}]}]}}`)
	for _, p := range []struct {
		page *websocket.Conn
		want string
	}{{document, `{"changed":{"documentId":"plan"}}`}, {inbox, `{"changed":{"inbox":true}}`}} {
		if _, text, err := p.page.Read(t.Context()); err != nil || string(text) != p.want {
			t.Errorf("read %s, %v; want %s", text, err, p.want)
		}
	}
}
