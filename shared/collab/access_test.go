package collab_test

import (
	"fmt"
	"slices"
	"testing"

	"collabdata/shared/collab"
)

// TestStanding holds what a user may do, by the type of access and the grants that the user has: on the thing, on its folder, on that one's
// parent, and the membership of the organization.
func TestStanding(t *testing.T) {
	const now = 1_800_000_000
	var (
		none    *collab.Grant
		editor  = &collab.Grant{Role: collab.RoleEditor}
		viewer  = &collab.Grant{Role: collab.RoleViewer}
		expired = &collab.Grant{Role: collab.RoleEditor, Expires: now}
		lasting = &collab.Grant{Role: collab.RoleEditor, Expires: now + 1}
	)
	type grants []*collab.Grant
	for _, test := range []struct {
		grants grants
		member *collab.Grant
		want   string // what the user may do where access is public, organizationPrivate, restricted: write, read or nothing
	}{
		{nil, none, "w--"},
		{grants{none, none, none}, none, "w--"},
		{nil, editor, "ww-"},
		{nil, viewer, "rr-"},
		{nil, expired, "w--"},
		{nil, lasting, "ww-"},
		{grants{editor}, none, "www"},
		{grants{viewer}, none, "rrr"},
		{grants{expired}, none, "w--"},
		{grants{lasting}, none, "www"},
		{grants{none, none, editor}, none, "www"},
		{grants{none, viewer, editor}, none, "rrr"},
		{grants{editor, viewer}, viewer, "www"},
		{grants{viewer, editor}, editor, "rrr"},
		{grants{expired, viewer}, editor, "rrr"},
		{grants{expired, none}, viewer, "rr-"},
		{grants{{Role: collab.RoleViewer, Expires: now - 1}}, editor, "ww-"},
	} {
		got := ""
		for _, access := range []collab.Access{collab.AccessPublic, collab.AccessOrganizationPrivate, collab.AccessRestricted} {
			s := collab.Standing{Access: access, Grants: test.grants, Member: test.member}
			switch at := int64(now * 1000); {
			case s.MayWrite(at):
				got += "w"
			case s.Grant(at) != nil:
				got += "r"
			default:
				got += "-"
			}
		}
		if got != test.want {
			t.Errorf("%v, member %v: %s, want %s", test.grants, test.member, got, test.want)
		}
	}
	if s := (collab.Standing{Grants: grants{lasting}}); s.Grant(now*1000+999) == nil || s.Grant(now*1000+1000) != nil {
		t.Error("a grant ends at another moment than the second it says")
	}
}

// chain returns folders 1 to n, each but the first in the one before.
func chain(n int) collab.Folders {
	t := collab.Folders{}
	parent := collab.RootFolder
	for i := range n {
		id := fmt.Sprint(i + 1)
		t[id] = collab.Folder{ID: id, Parent: parent}
		parent = id
	}
	return t
}

func TestInheritedAccess(t *testing.T) {
	tree := chain(4)
	set := func(id string, a collab.Access) {
		f := tree[id]
		f.Access = a
		tree[id] = f
	}
	set("3", collab.AccessRestricted)
	set("1", collab.AccessPublic)
	for _, test := range []struct {
		own       collab.Access
		folder    string
		byDefault collab.Access
		want      collab.Access
	}{
		{"", collab.RootFolder, "", collab.AccessOrganizationPrivate},
		{"", collab.RootFolder, collab.AccessPublic, collab.AccessPublic},
		{collab.AccessRestricted, collab.RootFolder, collab.AccessPublic, collab.AccessRestricted},
		{"", "1", "", collab.AccessPublic},
		{"", "2", collab.AccessRestricted, collab.AccessPublic},
		{"", "4", collab.AccessPublic, collab.AccessRestricted},
		{collab.AccessOrganizationPrivate, "4", collab.AccessPublic, collab.AccessOrganizationPrivate},
		{"", "gone", collab.AccessPublic, collab.AccessRestricted},
	} {
		if got := tree.Access(test.own, test.folder, test.byDefault); got != test.want {
			t.Errorf("%q in %s by default %q: %s, want %s", test.own, test.folder, test.byDefault, got, test.want)
		}
	}
	if a := collab.Access("organization").Canonical(); a != collab.AccessOrganizationPrivate {
		t.Errorf("organization is %s", a)
	}
}

func TestFolderPlaces(t *testing.T) {
	tree := chain(10)
	tree["other"] = collab.Folder{ID: "other", Parent: collab.RootFolder}
	tree["lost"] = collab.Folder{ID: "lost", Parent: "gone"}
	for _, test := range []struct {
		id, parent string
		height     int
		want       collab.Code
	}{
		{"new", collab.RootFolder, 1, ""},
		{"new", "9", 1, ""},
		{"new", "10", 1, collab.FailedPrecondition},
		{"new", "none", 1, collab.NotFound},
		{"new", "lost", 1, collab.NotFound},
		{"other", "8", 2, ""},
		{"other", "8", 3, collab.FailedPrecondition},
		{"other", "other", 1, collab.FailedPrecondition},
		{"1", "10", 10, collab.FailedPrecondition},
		{"1", "other", 10, collab.FailedPrecondition},
		{"2", "other", 9, ""},
		{"2", "1", 9, ""},
		{"2", collab.RootFolder, 9, ""},
	} {
		if err := tree.CheckPlace(test.id, test.parent, test.height); collab.CodeOf(err) != test.want {
			t.Errorf("%s, %d high, in %s: %v, want %q", test.id, test.height, test.parent, err, test.want)
		}
	}
	if got := tree.Up("3"); !slices.Equal(got, []string{"3", "2", "1"}) {
		t.Errorf("up from 3: %v", got)
	}
	circle := collab.Folders{"a": {Parent: "b"}, "b": {Parent: "a"}}
	if got := circle.Up("a"); len(got) != 3 {
		t.Errorf("a circle goes on: %v", got)
	}
}
