package collab

import "testing"

// TestSees checks access to the document, then to the thread.
func TestSees(t *testing.T) {
	const now = 1_000_000
	yes, no := true, false
	member, grant := &Grant{Role: RoleViewer}, []*Grant{nil, {Role: RoleViewer}}
	ended := &Grant{Role: RoleEditor, Expires: now / 1000}
	restricted := &Visibility{Type: VisibilityRestricted, UserIDs: []string{"ann", "bob"}}
	private := &Visibility{Type: VisibilityOrganizationPrivate, OrganizationID: "acme"}
	for _, test := range []struct {
		name    string
		viewing Standing
		thread  *Visibility
		creator string
		want    bool
	}{
		{"nothing is set", Standing{There: true}, nil, "", true},
		{"no document", Standing{}, nil, "", false},
		{"removed", Standing{There: true, Removed: true}, nil, "", false},
		{"removed, with a grant", Standing{There: true, Removed: true, Grants: grant}, nil, "", false},
		{"public", Standing{There: true, Access: AccessPublic}, nil, "", true},
		{"organizationPrivate, a stranger", Standing{There: true, Access: AccessOrganizationPrivate}, nil, "", false},
		{"organizationPrivate, a member",
			Standing{There: true, Access: AccessOrganizationPrivate, Member: member}, nil, "", true},
		{"organizationPrivate, membership has ended",
			Standing{There: true, Access: AccessOrganizationPrivate, Member: ended}, nil, "", false},
		{"restricted, a member", Standing{There: true, Access: AccessRestricted, Member: member}, nil, "", false},
		{"restricted, a grant above", Standing{There: true, Access: AccessRestricted, Grants: grant}, nil, "", true},
		{"restricted, the grant has ended",
			Standing{There: true, Access: AccessRestricted, Grants: []*Grant{ended}}, nil, "", false},
		{"the provider says yes", Standing{There: true, Provider: &yes, Access: AccessRestricted}, nil, "", true},
		{"the provider says no", Standing{There: true, Provider: &no, Grants: grant, Member: member}, nil, "", false},
		{"the provider says yes to somebody removed", Standing{There: true, Removed: true, Provider: &yes}, nil, "", false},
		{"the provider says yes to a document that is gone", Standing{Provider: &yes}, nil, "", false},

		{"public thread", Standing{There: true}, &Visibility{Type: VisibilityPublic}, "", true},
		{"private thread, a stranger", Standing{There: true}, private, "", false},
		{"private thread, its creator is a stranger", Standing{There: true, User: "ann"}, private, "ann", false},
		{"private thread, a member", Standing{There: true, Member: member}, private, "", true},
		{"private thread, a member who may not see the document", Standing{Member: member}, private, "", false},
		{"restricted thread, one who is named", Standing{There: true, User: "bob"}, restricted, "eve", true},
		{"restricted thread, its creator", Standing{There: true, User: "eve"}, restricted, "eve", true},
		{"restricted thread, a member", Standing{There: true, User: "eve", Member: member}, restricted, "ann", false},
		{"restricted thread, named, but not in the document", Standing{User: "bob"}, restricted, "bob", false},
		{"restricted thread, named, but removed", Standing{There: true, User: "bob", Removed: true}, restricted, "bob", false},
		{"restricted to nobody", Standing{There: true, User: "bob"}, &Visibility{Type: VisibilityRestricted}, "ann", false},
		{"restricted to nobody, no creator, nobody", Standing{There: true, User: "bob"}, &Visibility{Type: VisibilityRestricted}, "", false},
		{"a type of a later version", Standing{There: true, User: "bob", Member: member}, &Visibility{Type: "team"}, "bob", false},
	} {
		if got := test.viewing.Viewer(now).Sees(test.thread, test.creator); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestFoldersSet finds the nearest access type, and gives no access if a folder is missing.
func TestFoldersSet(t *testing.T) {
	tree := Folders{
		"top": {ID: "top", Parent: RootFolder, Access: AccessRestricted}, "in": {ID: "in", Parent: "top"},
		"free": {ID: "free", Parent: RootFolder}, "lost": {ID: "lost", Parent: "gone", Access: AccessPublic},
	}
	for _, test := range []struct {
		own    Access
		folder string
		want   Access
		on     string
	}{
		{"", RootFolder, "", ""},
		{AccessPublic, RootFolder, AccessPublic, ""},
		{"", "free", "", ""},
		{"", "in", AccessRestricted, "top"},
		{AccessPublic, "in", AccessPublic, ""},
		{"", "lost", AccessRestricted, "gone"},
		{AccessPublic, "lost", AccessRestricted, "gone"},
		{"", "gone", AccessRestricted, "gone"},
	} {
		if got, on := tree.Set(test.own, test.folder); got != test.want || on != test.on {
			t.Errorf("%q in %q: %q on %q, want %q on %q", test.own, test.folder, got, on, test.want, test.on)
		}
	}
	if got := tree.Access("", "free", AccessPublic) + tree.Access("", "in", AccessPublic); got != AccessPublic+AccessRestricted {
		t.Errorf("by the account's default, by none, and by a folder: %s", got)
	}
	circle := Folders{"a": {Parent: "b"}, "b": {Parent: "a"}}
	if got := circle.Up("a"); len(got) != 3 {
		t.Errorf("a circle goes on: %v", got)
	}
}

// TestWhy checks the reasons for an operator.
func TestWhy(t *testing.T) {
	no := false
	for _, test := range []struct {
		viewing Standing
		want    string
	}{
		{Standing{There: true}, ""},
		{Standing{}, "the document is deleted or disabled"},
		{Standing{There: true, Removed: true, Provider: &no}, "removed from the organization or the document"},
		{Standing{There: true, Provider: &no}, "the permission provider has not allowed it"},
		{Standing{There: true, Access: AccessRestricted}, "the document is restricted"},
		{Standing{There: true, Access: AccessOrganizationPrivate, SetOn: "plans"}, `folder "plans" is organizationPrivate`},
	} {
		if got := test.viewing.Viewer(1); got.Why != test.want || got.May != (test.want == "") {
			t.Errorf("%+v: %+v, want %q", test.viewing, got, test.want)
		}
	}
}
