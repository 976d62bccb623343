package delivery_test

import (
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"

	"github.com/google/go-cmp/cmp"
)

// TestReasons holds, for everyone whom an event concerns, by which channels they hear of it, and the first reason why not.
func TestReasons(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	a.put("doc", func(d *collab.Document) { d.Access = collab.AccessRestricted })
	for _, user := range []string{"ann", "bob", "quiet", "unsubscribed"} {
		a.grant(user)
	}
	prefer := func(user string, p collab.Preferences) {
		w.must(a.directory.SetPreferences(t.Context(), a.doc.OrganizationRef, []string{user}, nil, p))
	}
	prefer("quiet", collab.Preferences{Inbox: collab.PreferNone, Email: collab.PreferNone})
	prefer("all", collab.Preferences{Email: collab.PreferAll})
	ended := a.user("unsubscribed")
	w.must(a.accounts.Unsubscribe(t.Context(), a.recipient("unsubscribed", *ended.Email)))
	people := []collab.User{
		a.user("ann"), a.user("bob"), a.user("eve"), a.user("quiet"), {UserID: "quiet2"}, ended,
	}
	a.grant("quiet2")
	named := a.notification(func(ev *draft) { ev.VerifyAccess, ev.People = true, people })
	for _, user := range []string{"ann", "bob", "all"} {
		a.member(user)
	}
	everyone := a.notification(func(ev *draft) { ev.NotifyAll = true })
	const ofOrganization, byDefault = "preference for the organization", "preference: the default, as none is set"
	withoutMail := func(o *delivery.Options) { o.Mailer = nil }
	for _, test := range []struct {
		name   string
		ev     *collab.Event
		change func(*delivery.Options)
		want   map[string][2]string
	}{
		{"named people", named, func(*delivery.Options) {}, map[string][2]string{
			"ann": {"own action", "own action"}, "bob": {}, "eve": {"no access", "no access"}, "quiet": {ofOrganization, ofOrganization},
			"quiet2": {"", "no address"}, "unsubscribed": {"", "unsubscribed"},
		}},
		{"everyone", everyone, func(*delivery.Options) {}, map[string][2]string{
			"ann": {"own action", "own action"}, "bob": {"in the list for all", byDefault}, "all": {"in the list for all", ""},
		}},
		{"no mailer", named, withoutMail, map[string][2]string{
			"ann": {"own action", "own action"}, "bob": {"", "no mail is sent"}, "eve": {"no access", "no mail is sent"},
			"quiet": {ofOrganization, "no mail is sent"}, "quiet2": {"", "no mail is sent"}, "unsubscribed": {"", "no mail is sent"},
		}},
	} {
		got, err := w.start(test.change).Reasons(t.Context(), test.ev)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", test.name, err, diff)
		}
	}
}
