package collab

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOver checks that a user takes missing fields from another one, and leaves that one unchanged.
func TestOver(t *testing.T) {
	stored := func() User {
		return User{UserID: "ann", Name: new("Ann"), Email: new("ann@example.com"), UserDetails: UserDetails{Plan: new("gold"), Color: new("red")}}
	}
	before := stored()
	got := User{UserID: "ann", Name: new("Copy"), UserDetails: UserDetails{Plan: new("")}}.Over(before)
	want := stored()
	want.Name, want.Plan = new("Copy"), new("")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(- want, + got):", diff)
	}
	if diff := cmp.Diff(stored(), before); diff != "" {
		t.Error("the other one (- want, + got):", diff)
	}
}

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
