package inbox

import (
	"testing"

	"collabdata/shared/collab"

	"github.com/google/go-cmp/cmp"
)

func TestRecipientPage(t *testing.T) { onEach(t, testRecipientPage) }

func testRecipientPage(t *testing.T, s *Store) {
	ctx := t.Context()
	ref := collab.EventRef{Account: "acct", ID: "e"}
	if c, err := s.RecipientPage(ctx, ref, "u#x"); c != nil || err != nil {
		t.Fatal(c, err)
	}
	first := &RecipientPage{Recipients: []Recipient{{User: collab.User{UserID: "bob", Name: new("Bob")}, Inbox: true}}, Next: "n"}
	for _, c := range []*RecipientPage{first, {Recipients: nil}} {
		kept, err := s.KeepRecipientPage(ctx, ref, "u#x", c)
		if diff := cmp.Diff(first, kept); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
	c, err := s.RecipientPage(ctx, ref, "u#x")
	if diff := cmp.Diff(first, c); diff != "" || err != nil {
		t.Error(err, diff)
	}
}
