package collab

import "testing"

// TestDisplayName: a user without a name is shown by id, not by email address.
func TestDisplayName(t *testing.T) {
	u := User{UserID: "ann", Email: new("ann@example.com")}
	if got := u.DisplayName(); got != "ann" {
		t.Errorf("without a name: %q", got)
	}
	u.Name = new("Ann")
	if got := u.DisplayName(); got != "Ann" {
		t.Errorf("with a name: %q", got)
	}
}
