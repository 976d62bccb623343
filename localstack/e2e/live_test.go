//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/coder/websocket"

	"collabdata/shared/testing/must"
)

const hints = 10 // that are counted by when they come

// live holds that a page hears of a comment that somebody adds, by the gateway, the table's stream and their functions, and
// that its ticket is good once.
func (d *deployment) live(t *testing.T) {
	send := func(path, data string) answer {
		t.Helper()
		a := d.send(t, "POST", path, `{"data": `+data+`}`)
		if a.status != 200 {
			t.Fatal(a.body)
		}
		return a
	}
	send("/v2/organizations/add", `{"organizations": [{"organizationId": "live"}]}`)
	send("/v2/organizations/documents/add", `{"organizationId": "live", "documents": [{"documentId": "plan"}]}`)
	var ticket struct {
		Result struct{ Data struct{ URL string } }
	}
	a := send("/v2/live/tickets/add", `{"organizationId": "live", "userId": "bob", "documentIds": ["plan"]}`)
	must.Do(t, json.Unmarshal([]byte(a.body), &ticket))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	page, _, err := websocket.Dial(ctx, ticket.Result.Data.URL, nil)
	if err != nil {
		t.Fatal(ticket.Result.Data.URL, err)
	}
	t.Cleanup(func() { _ = page.CloseNow() })
	if _, _, err := websocket.Dial(ctx, ticket.Result.Data.URL, nil); err == nil {
		t.Error("the ticket is good twice")
	}
	const changed = `{"changed":{"documentId":"plan"}}`
	read := func(want string) {
		t.Helper()
		_, text, err := page.Read(ctx)
		for want != changed && string(text) == changed { // one write may give two
			_, text, err = page.Read(ctx)
		}
		if (err != nil) != (want == "") || string(text) != want {
			t.Errorf("read %q, %v; want %q", text, err, want)
		}
	}
	must.Do(t, page.Write(ctx, websocket.MessageText, []byte(`{"ping": true}`)))
	read(`{"pong":true}`)
	soon := 0
	for range hints {
		send("/v2/commentannotations/add", `{"organizationId": "live", "documentId": "plan", "commentAnnotations": [
			{"commentData": [{"commentText": "Hello", "from": {"userId": "ann"}}]}]}`)
		answered := time.Now()
		read(changed)
		if time.Since(answered) < time.Second {
			soon++
		}
	}
	t.Logf("%d of %d hints came within a second of the answer", soon, hints)
}
