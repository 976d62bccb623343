package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"

	"github.com/google/go-cmp/cmp"
)

// explained returns the explanations of an event by user: inbox, then email.
func (a *account) explained(ev *collab.Event) (all map[string][2]string, gone string) {
	a.Helper()
	all = map[string][2]string{}
	for cursor, more := "", true; more; {
		page, err := a.start().Explain(a.Context(), ref(ev), "", cursor, 1_000)
		a.must(err)
		for _, p := range page.People {
			if _, twice := all[p.UserID]; twice {
				a.Errorf("%s is explained twice", p.UserID)
			}
			all[p.UserID] = outcomes(p)
		}
		cursor, more, gone = page.Next, page.Next != "", page.Gone
	}
	return all, gone
}

func outcomes(p delivery.Explanation) [2]string {
	say := func(o delivery.Outcome) string {
		if o.At == 0 {
			return o.Why
		}
		return "reached " + o.Why
	}
	return [2]string{say(p.Inbox), say(p.Mail)}
}

// TestExplain checks the explanations of an event for all its people, by the current rules.
func TestExplain(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	a.put("doc", func(d *collab.Document) { d.Access = collab.AccessRestricted })
	off := collab.Preferences{Inbox: collab.PreferNone, Email: collab.PreferNone}
	a.prefer("quiet", off)
	a.prefer("quiethere", off, "doc")
	ended := a.user("ended")
	w.must(a.db.Accounts.Unsubscribe(t.Context(), a.recipient("ended", *ended.Email)))
	var people []collab.User
	for _, user := range []string{"ann", "bob", "quiet", "quiethere", "ended", "nowhere", "eve"} {
		if people = append(people, a.user(user)); user != "eve" {
			a.grant(user)
		}
	}
	people[5].Email = nil
	ev := a.notification(func(ev *draft) { ev.VerifyAccess, ev.People = true, people })
	const ofOrganization, ofDocument = "preference for the organization", "preference for the document"
	want := map[string][2]string{
		"ann": {"own action", "own action"}, "bob": {"not yet", "not yet"}, "quiet": {ofOrganization, ofOrganization},
		"quiethere": {ofDocument, ofDocument}, "ended": {"not yet", "unsubscribed"}, "nowhere": {"not yet", "no address"},
		"eve": {"no access", "no access"},
	}
	check := func(when string) {
		t.Helper()
		got, _ := a.explained(ev)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	check("before")
	page, err := w.start(func(o *delivery.Options) { o.Mailer = nil }).Explain(t.Context(), ref(ev), "bob", "", 1)
	if err != nil || outcomes(page.People[0]) != [2]string{"not yet", "no email is sent"} {
		t.Errorf("without a mailer: %+v, %v", page, err)
	}
	w.run(ev)
	want["bob"], want["ended"], want["nowhere"] = [2]string{"reached ", "reached "}, [2]string{"reached ", "unsubscribed"}, [2]string{"reached ", "no address"}
	check("after")
	a.prefer("bob", off, "doc")
	a.prefer("nowhere", off, "doc")
	a.grant("eve")
	want["eve"], want["nowhere"] = [2]string{}, [2]string{"reached ", ofDocument}
	check("after changes")
	for user, n := range map[string]int{"bob": 1, "zoe": 0} {
		page, err := w.start().Explain(t.Context(), ref(ev), user, "", 1_000)
		if err != nil || len(page.People) != n || n > 0 && outcomes(page.People[0]) != want[user] {
			t.Errorf("%s: %+v, %v", user, page, err)
		}
	}
	if _, err := w.start().Explain(t.Context(), collab.EventRef{Account: a.id, ID: "none"}, "", "", 1); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("an event that is not there: %v", err)
	}
}

// TestExplainAll pages through an event for everyone, which all inboxes share.
func TestExplainAll(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	want := map[string][2]string{}
	for i := range 7 {
		user := fmt.Sprintf("user%d", i)
		a.member(user)
		want[user] = [2]string{"reached ", "preference: the default, as none is set"}
	}
	a.prefer("user3", collab.Preferences{Email: collab.PreferAll})
	want["user3"] = [2]string{"reached ", "reached "}
	a.prefer("user5", collab.Preferences{Inbox: collab.PreferMine})
	want["user5"] = [2]string{"preference for the organization", want["user5"][1]}
	ev := a.notification(func(ev *draft) { ev.NotifyAll = true })
	w.send(ev)
	w.settle(w.start(func(o *delivery.Options) { o.PageSize = 2 }))
	got, _ := a.explained(ev)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestExplainObstacles checks obstacles to a delivery.
func TestExplainObstacles(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true), func(s *collab.Settings) { s.MailsPerDay = 1 })
	p := w.start()
	check := func(ev *collab.Event, want ...string) {
		t.Helper()
		if got, _ := a.explained(ev); got["bob"] != [2]string(want) {
			t.Errorf("%q, want %q", got["bob"], want)
		}
	}
	first := a.comment("one", a.user("bob"))
	w.send(first)
	w.drain(p)
	check(first, "reached ", "reached ")
	for i := range 2 {
		w.send(a.comment(fmt.Sprint("further", i), a.user("bob")))
		w.drain(p)
	}
	held := a.comment("held", a.user("bob"))
	w.send(held)
	w.drain(p)
	check(held, "reached ", "not yet: the account has used up its quota of emails")
	w.add(2 * time.Hour)
	a.change(func(c *collab.Account) { c.Settings.MailsPerDay = 0 })
	w.must(w.db.Accounts.Unsubscribe(t.Context(), a.recipient("bob", a.address("bob"))))
	w.settle(p)
	check(held, "reached ", "unsubscribed")
}

// TestExplainSight checks the reasons why a user may not see a thread, and deletions before an
// email leaves.
func TestExplainSight(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	p := w.start()
	say := func() *collab.Event {
		ev := a.comment("thread", a.user("bob"), a.user("cid"))
		w.add(10 * time.Second)
		return ev
	}
	check := func(when string, ev *collab.Event, bob, cid [2]string) {
		t.Helper()
		got, _ := a.explained(ev)
		want := map[string][2]string{"ann": {"own action", "own action"}, "bob": bob, "cid": cid}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	both := func(why string) [2]string { return [2]string{why, why} }
	for _, user := range []string{"bob", "cid"} {
		a.member(user)
	}
	deleted := say()
	w.send(deleted)
	w.drain(p)
	check("emails wait", deleted, [2]string{"reached ", "not yet"}, [2]string{"reached ", "not yet"})
	a.deleteComments("thread", deleted.CommentIDs[0])
	w.settle(p)
	if people, gone := a.explained(deleted); len(people) > 0 || gone != "the comments were deleted" {
		t.Errorf("%v, %s", people, gone)
	}

	a.remove("cid")
	w.add(10 * time.Second)
	ev := say()
	w.send(ev)
	w.settle(p)
	check("removed", ev, [2]string{"reached ", "reached "}, both("removed from the organization or the document"))
	a.folder("top", collab.AccessRestricted)
	a.put("doc", func(d *collab.Document) { d.Folder = "top" })
	w.add(10 * time.Second)
	a.grant("bob")
	ev = say()
	w.send(ev)
	w.settle(p)
	check("a folder", ev, [2]string{"reached ", "reached "}, both("removed from the organization or the document"))
	a.member("cid")
	a.put("doc", func(d *collab.Document) { d.Access = collab.AccessRestricted })
	w.add(10 * time.Second)
	ev = say()
	check("before", ev, both("not yet"), both("the document is restricted"))
	a.put("doc", func(d *collab.Document) { d.Access = "" })
	check("the folder's access", ev, both("not yet"), both(`folder "top" is restricted`))
	a.deleteThread("thread")
	w.add(10 * time.Second)
	if people, gone := a.explained(ev); len(people) > 0 || gone != "the thread was deleted" {
		t.Errorf("%v, %s", people, gone)
	}
}

// TestExplainChannels checks the explanations of further channels: before and after the
// notifications, with one that has no endpoint, and after the preference is gone.
func TestExplainChannels(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	a.slack()
	a.prefer("bob", onSlack(collab.PreferAll))
	a.prefer("cid", onSlack(collab.PreferAll))
	p := w.start()
	ev := a.comment("thread", a.user("bob"), a.user("cid"))
	check := func(when string, bob, cid map[string]string) {
		t.Helper()
		page, err := w.start().Explain(t.Context(), ref(ev), "", "", 10)
		w.must(err)
		got := map[string]map[string]string{}
		for _, p := range page.People {
			all := map[string]string{}
			for channel, o := range p.Further {
				if all[channel] = o.Why; o.At != 0 {
					all[channel] = "reached " + o.Why
				}
			}
			got[p.UserID] = all
		}
		if diff := cmp.Diff(map[string]map[string]string{"ann": {}, "bob": bob, "cid": cid}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	const nobody = "no webhook endpoint receives notification.due of the channel"
	state := func(slack string) map[string]string { return map[string]string{"slack": slack, "push": nobody} }
	check("before", state("not yet"), state("not yet"))
	w.send(ev)
	w.drain(p)
	check("it waits", state("not yet"), state("not yet"))
	w.add(time.Second)
	a.see("cid", "thread")
	w.settle(p)
	check("after", state("reached "), state("reached seen"))
	a.prefer("bob", collab.Preferences{Further: map[string]collab.Preference{"slack": collab.PreferNone, "push": collab.PreferNone}})
	check("not wanted anymore", map[string]string{"slack": "reached "}, state("reached seen"))
}
