package collab_test

import (
	"testing"

	"collabdata/shared/collab"
)

// TestStanding checks access by access type and grants: on the thing, its folder, that folder's
// parent, and by membership.
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
		want   string // with access public, organizationPrivate, restricted: write, read or nothing
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
