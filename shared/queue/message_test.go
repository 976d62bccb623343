package queue_test

import (
	"testing"
	"unicode/utf8"

	"collabdata/shared/collab"
	"collabdata/shared/queue"
)

var ref = collab.TaskRef{Kind: collab.EventTask, Account: "acme", ID: "e1"}

// TestText checks texts that older and newer code exchange. They must be readable as long as a
// queue may hold them.
func TestText(t *testing.T) {
	const text = `{"v":2,"kind":"event","account":"acme","id":"e1"}`
	if got := queue.Encode(ref); got != text {
		t.Errorf("%+v is written %s, want %s", ref, got, text)
	}
	for _, text := range []string{text, `{"v":2,"kind":"event","account":"acme","id":"e1","added":{"later":true}}`} {
		if got, err := queue.Decode(text); err != nil || got != ref {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, text := range []string{
		``, `x`, `[]`, `{}`, `null`, `{"v":2}`,
		`{"v":2,"kind":"event","account":"acme"}`,
		`{"v":2,"kind":"event","id":"e1"}`,
		`{"v":2,"account":"acme","id":"e1"}`,
		`{"v":1,"kind":"event","account":"acme","id":"e1"}`,
		`{"v":3,"kind":"event","account":"acme","id":"e1"}`,
		`{"kind":"event","account":"acme","id":"e1"}`,
		`{"v":"2","kind":"event","account":"acme","id":"e1"}`,
	} {
		if got, err := queue.Decode(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"v":2,"kind":"event","account":"acme","id":"e1"}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := queue.Decode(text)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		if again, err := queue.Decode(queue.Encode(got)); err != nil || again != got {
			t.Errorf("%q is read as %+v, written and read again as %+v, %v", text, got, again, err)
		}
	})
}
