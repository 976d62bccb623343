package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"

	"github.com/google/go-cmp/cmp"
)

// explained returns what Explain says of everybody whom an event concerns, by user: how the inbox, then the mail.
func (a *account) explained(ev *collab.Event) (all map[string][2]string, kept bool) {
	a.Helper()
	all = map[string][2]string{}
	for cursor, more := "", true; more; {
		page, err := a.start().Explain(a.Context(), ref(ev), cursor)
		a.must(err)
		for _, p := range page.People {
			if _, twice := all[p.UserID]; twice {
				a.Errorf("%s is explained twice", p.UserID)
			}
			all[p.UserID] = outcomes(p)
		}
		cursor, more, kept = page.Next, page.Next != "", page.Kept
	}
	return all, kept
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

// TestExplain: everybody whom an event concerns is notified where and when, or not, and why: before it is delivered as it would be decided, after
// that as it was, whatever has changed since.
func TestExplain(t *testing.T) {
	w := newWorld(t)
	a := w.account(grouping(true))
	a.put("doc", func(d *collab.Document) { d.Access = collab.AccessRestricted })
	prefer := func(user string, documents ...string) {
		off := collab.Preferences{Inbox: collab.PreferNone, Email: collab.PreferNone}
		w.must(a.directory.SetPreferences(t.Context(), a.doc.OrganizationRef, []string{user}, documents, off))
	}
	prefer("quiet")
	prefer("quiethere", "doc")
	ended := a.user("ended")
	w.must(a.accounts.Unsubscribe(t.Context(), a.recipient("ended", *ended.Email)))
	var people []collab.User
	for _, user := range []string{"ann", "bob", "quiet", "quiethere", "ended", "nowhere", "eve"} {
		if people = append(people, a.user(user)); user != "eve" {
			a.grant(user)
		}
	}
	people[5].Email = nil
	ev := a.notification(func(ev *collab.Event) { ev.VerifyAccess, ev.People = true, people })
	const ofOrganization, ofDocument = "preference for the organization", "preference for the document"
	want := map[string][2]string{
		"ann": {"own action", "own action"}, "bob": {}, "quiet": {ofOrganization, ofOrganization}, "quiethere": {ofDocument, ofDocument},
		"ended": {"", "unsubscribed"}, "nowhere": {"", "no address"}, "eve": {"no access", "no access"},
	}
	check := func(when string, kept bool) {
		t.Helper()
		got, is := a.explained(ev)
		if diff := cmp.Diff(want, got); diff != "" || is != kept {
			t.Errorf("%s, kept %v: %s", when, is, diff)
		}
	}
	check("before", false)
	w.send(ev)
	w.settle(w.start())
	want["bob"], want["ended"], want["nowhere"] = [2]string{"reached ", "reached "}, [2]string{"reached ", "unsubscribed"}, [2]string{"reached ", "no address"}
	check("after", true)
	prefer("bob", "doc")
	a.grant("eve")
	check("after changes", true)

	for user, want := range map[string][2]string{
		"bob": {"reached ", "reached "}, "eve": {"no access", "no access"}, "ann": {"own action", "own action"},
	} {
		then, now, err := w.start().ExplainTo(t.Context(), ref(ev), user)
		if err != nil || then == nil || outcomes(*then) != want || now == nil {
			t.Errorf("%s: then %+v, now %+v, %v", user, then, now, err)
		}
	}
	_, now, err := w.start().ExplainTo(t.Context(), ref(ev), "eve")
	if err != nil || outcomes(*now) != [2]string{} {
		t.Errorf("eve has a grant now: %+v, %v", now, err)
	}
	then, now, err := w.start().ExplainTo(t.Context(), ref(ev), "zoe")
	if err != nil || then != nil || now != nil {
		t.Errorf("a stranger: then %+v, now %+v, %v", then, now, err)
	}
	if _, err := w.start().Explain(t.Context(), collab.EventRef{Account: a.id, ID: "none"}, ""); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("an event that is not there: %v", err)
	}
}

// TestExplainAll pages through an event that is for everybody, whose inboxes are one list.
func TestExplainAll(t *testing.T) {
	w := newWorld(t)
	a := w.account(grouping(true))
	want := map[string][2]string{"ann": {"own action", "own action"}}
	for i := range 7 {
		user := fmt.Sprintf("user%d", i)
		a.member(user)
		want[user] = [2]string{"reached ", "preference: the default, as none is set"}
	}
	set := func(user string, p collab.Preferences) {
		w.must(a.directory.SetPreferences(t.Context(), a.doc.OrganizationRef, []string{user}, nil, p))
	}
	set("user3", collab.Preferences{Email: collab.PreferAll})
	want["user3"] = [2]string{"reached ", "reached "}
	set("user5", collab.Preferences{Inbox: collab.PreferMine})
	want["user5"] = [2]string{"preference for the organization", want["user5"][1]}
	ev := a.notification(func(ev *collab.Event) { ev.NotifyAll = true })
	w.send(ev)
	w.settle(w.start(func(o *delivery.Options) { o.PageSize = 2 }))
	got, kept := a.explained(ev)
	if diff := cmp.Diff(want, got); diff != "" || !kept {
		t.Errorf("kept %v: %s", kept, diff)
	}
	then, _, err := w.start().ExplainTo(t.Context(), ref(ev), "user5")
	if err != nil || then == nil || outcomes(*then) != want["user5"] {
		t.Errorf("%+v, %v", then, err)
	}
}

// TestExplainObstacles: what keeps those from being notified who were to be.
func TestExplainObstacles(t *testing.T) {
	w := newWorld(t)
	a := w.account(grouping(true), func(s *collab.Settings) { s.MailsPerDay = 1 })
	p := w.start()
	check := func(ev *collab.Event, want ...string) {
		t.Helper()
		if got, kept := a.explained(ev); !kept || got["bob"] != [2]string(want) {
			t.Errorf("kept %v: %q, want %q", kept, got["bob"], want)
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
	check(held, "reached ", "not yet: the account has used up its quota of mails")
	w.must(w.outbox.Quarantine(t.Context(), *w.work(held), "it ends the process"))
	check(held, "reached ", "in the quarantine: it ends the process")
	w.must(w.outbox.Retry(t.Context(), ref(held)))
	_, err := w.accounts.ChangeAccount(t.Context(), a.id, func(c *collab.Account) error {
		c.Settings.MailsPerDay = 0
		return nil
	})
	w.must(err)
	w.must(w.accounts.Unsubscribe(t.Context(), a.recipient("bob", a.address("bob"))))
	w.add(2 * time.Hour)
	w.settle(p)
	check(held, "reached ", "unsubscribed")
}

// TestExplainSight: by what somebody may not see a thread, and what was deleted before its mail left.
func TestExplainSight(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	p := w.start()
	say := func(change func(*collab.Event)) *collab.Event {
		text := "a comment"
		ev := a.record("thread", collab.CommentAdded, func(ev *collab.Event) {
			ev.Actor, ev.People = &collab.User{UserID: "ann"}, []collab.User{a.user("bob"), a.user("cid")}
			change(ev)
		}, collab.Comment{Text: &text, From: collab.JSON(`{"userId":"ann"}`), AuthorID: "ann"})
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
	deleted := say(func(*collab.Event) {})
	w.send(deleted)
	w.drain(p)
	check("mails wait", deleted, [2]string{"reached ", "not yet"}, [2]string{"reached ", "not yet"})
	a.deleteComments("thread", deleted.Comments[0].CommentID)
	w.settle(p)
	check("deleted before its mail left", deleted, [2]string{"reached the comment was deleted", "deleted"},
		[2]string{"reached the comment was deleted", "deleted"})

	a.remove("cid")
	w.add(10 * time.Second)
	ev := say(func(*collab.Event) {})
	w.send(ev)
	w.settle(p)
	check("removed", ev, [2]string{"reached ", "reached "}, both("removed from the organization or the document"))
	a.folder("top", collab.AccessRestricted)
	a.put("doc", func(d *collab.Document) { d.Folder = "top" })
	w.add(10 * time.Second)
	a.grant("bob")
	ev = say(func(*collab.Event) {})
	w.send(ev)
	w.settle(p)
	check("a folder", ev, [2]string{"reached ", "reached "}, both("removed from the organization or the document"))
	a.member("cid")
	a.put("doc", func(d *collab.Document) { d.Access = collab.AccessRestricted })
	w.add(10 * time.Second)
	ev = say(func(*collab.Event) {})
	check("before", ev, [2]string{}, both("the document is restricted"))
	a.put("doc", func(d *collab.Document) { d.Access = "" })
	check("the folder's access", ev, [2]string{}, both(`folder "top" is restricted`))
	a.deleteThread("thread")
	w.add(10 * time.Second)
	check("no thread", ev, both("deleted"), both("deleted"))
}

// TestLeftOutCost: to keep who was left out and why takes at most half a write unit a person, however long their ids are.
func TestLeftOutCost(t *testing.T) {
	w := newWorld(t)
	a := w.account(grouping(true))
	a.put("doc", func(d *collab.Document) { d.Access = collab.AccessRestricted })
	written := func(n, length int) float64 {
		var people []collab.User
		for i := range n {
			people = append(people, collab.User{UserID: fmt.Sprintf("%0*d", length, i)})
		}
		ev := a.notification(func(ev *collab.Event) { ev.VerifyAccess, ev.People = true, people })
		var usage collab.Usage
		p := w.start()
		p.ctx = collab.WithUsage(p.ctx, &usage)
		w.send(ev)
		w.settle(p)
		_, units, _ := usage.Total()
		return units
	}
	for _, length := range []int{8, collab.MaxID} {
		alone := written(1, length)
		for _, n := range []int{2, 20, 200} {
			units := written(n, length) - alone
			t.Logf("%d left out, ids of %d bytes: %.3f units each", n, length, units/float64(n))
			if units > float64(n)/2 {
				t.Errorf("%d left out, ids of %d bytes: %v units more", n, length, units)
			}
		}
	}
}
