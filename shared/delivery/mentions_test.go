package delivery_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/mail"
)

// edit changes the text and tags of a comment as ann.
func (a *account) edit(thread string, id int64, text, tags string) (ev *collab.Event) {
	a.Helper()
	a.did(a.db.Threads.UpdateComments(a.Context(), a.request(), a.doc, thread, collab.CommentChange{
		IDs: []int64{id}, At: a.millis(), Change: func(c *collab.Comment) error {
			c.Text = &text
			c.Retag(collab.JSON(tags))
			return nil
		},
		Event: func(head *collab.Annotation, were, comments []collab.Comment) *collab.Event {
			ev = a.event(collab.CommentUpdated)
			ev.Notify, ev.Actor = false, &collab.User{UserID: "ann"}
			ev.Describe(collab.CommentUpdated, head)
			ev.AddChanges(true, were, comments)
			return ev
		},
	}))
	return ev
}

// TestEditMentions checks that an update of a comment notifies only newly mentioned users, also of
// groups, regardless of their levels.
func TestEditMentions(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	a.group("eng", "bob", "cid", "dan")
	a.group("ops", "dan", "eve")
	for _, user := range []string{"bob", "cid", "dan", "eve", "fay", "gus"} {
		a.member(user)
	}
	a.begin("thread")
	a.level("cid", "thread", collab.LevelMentions)
	a.level("fay", "thread", collab.LevelAll)
	a.did(a.db.Threads.Follow(a.Context(), a.request(), a.doc, []string{"gus"}, collab.LevelAll))
	first := a.comment("thread", a.user("bob"))
	w.run(first)
	id := first.CommentIDs[0]
	const bob, eng, ops, eve, ann = `{"userId":"bob"}`, `{"organizationUserGroupId":"eng","text":"E"}`, `{"organizationUserGroupId":"ops","text":"O"}`, `{"userId":"eve"}`, `{"userId":"ann"}`
	for _, test := range []struct {
		text, tags string
		want       []string
	}{
		{"one", "[" + bob + "]", nil},
		{"two", "[" + bob + "," + eng + "]", []string{"cid", "dan"}},
		{"two", "[" + bob + "," + eng + "]", nil},
		{"three", "[" + ann + "," + eng + "," + ops + "]", []string{"eve"}},
		{"four", "[" + eve + "," + ops + "]", nil},
		{"five", "[]", nil},
		{"six", "[" + bob + "," + eng + "," + eve + "]", nil},
		{"seven", "[]", nil},
		{"eight", "[" + ops + `,{"userId":"fay"}]`, []string{"fay"}},
	} {
		w.add(time.Second)
		ev := a.edit("thread", id, test.text, test.tags)
		w.run(ev)
		var got []string
		for _, user := range []string{"ann", "bob", "cid", "dan", "eve", "fay", "gus"} {
			if slices.Contains(a.inbox(user), ev.ID) {
				got = append(got, user)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s %s: notified are %q, want %q", test.text, test.tags, got, test.want)
		}
	}
}

// TestMentionComesBack checks that a mention that is removed and added again six times makes one
// entry, and one text in one email.
func TestMentionComesBack(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	for _, begin := range []bool{true, false} {
		thread, user := fmt.Sprint("thread", begin), fmt.Sprint("bob", begin)
		a.member(user)
		tag := `[{"userId":"` + user + `"}]`
		var mails []mail.Email
		p := w.start(func(o *delivery.Options) { o.Mailer = &kept{Mailer: o.Mailer, world: w, list: &mails} })
		var first *collab.Event
		if begin {
			first = a.comment(thread, a.user(user))
		} else {
			first = a.comment(thread)
		}
		w.send(first)
		w.drain(p)
		for range 6 {
			for _, tags := range []string{"[]", tag} {
				w.add(time.Second)
				w.send(a.edit(thread, first.CommentIDs[0], "text "+tags, tags))
			}
		}
		w.settle(p)
		if got := a.inbox(user); len(got) != 1 {
			t.Errorf("%s has %q", user, got)
		}
		told := 0
		for _, n := range mails {
			for _, th := range n.Threads {
				told += len(th.Events)
			}
		}
		if told != 1 || len(mails) != 1 {
			t.Errorf("%s: %d events in %d mails", user, told, len(mails))
		}
	}
}

// TestEditsBeforeDelivery checks that two updates of a comment, delivered together, each notify the
// users that they newly mention.
func TestEditsBeforeDelivery(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	first := a.comment("thread")
	w.run(first)
	one := a.edit("thread", first.CommentIDs[0], "one", `[{"userId":"bob"}]`)
	w.add(time.Second)
	two := a.edit("thread", first.CommentIDs[0], "two", `[{"userId":"bob"},{"userId":"cid"}]`)
	w.run(one, two)
	for user, want := range map[string]string{"bob": one.ID, "cid": two.ID} {
		if got := a.inbox(user); !slices.Equal(got, []string{want}) {
			t.Errorf("%s has %q, want %q", user, got, want)
		}
	}
}

// TestMentionsOfEvents checks that an event stores at most MaxPeople mentioned users.
func TestMentionsOfEvents(t *testing.T) {
	t.Parallel()
	comment := func(id int64, from, to int) collab.Comment {
		var users []collab.User
		for n := range to - from {
			users = append(users, collab.User{UserID: fmt.Sprint("u", from+n)})
		}
		return collab.Comment{ID: id, TaggedUserContacts: tags(users...)}
	}
	var ev collab.Event
	ev.AddChanges(true, []collab.Comment{comment(1, 0, 900), comment(2, 0, 0)}, []collab.Comment{comment(1, 0, 900), comment(2, 800, 1500)})
	if n, was := len(ev.After.Mentions.Users), len(ev.Before.Mentions.Users); n != 600 || was != 400 {
		t.Errorf("it holds %d and %d mentions", n, was)
	}
	if !slices.Equal(ev.CommentIDs, []int64{2, 1}) || ev.Notifying != 1 || !ev.Notify {
		t.Errorf("it notifies of %d of %v", ev.Notifying, ev.CommentIDs)
	}
}

// TestShared checks that users added to a visibility are notified, also if they only want mentions.
// The creator, the author of the change, and removed users are not.
func TestShared(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	for _, user := range []string{"bob", "cid", "dan"} {
		a.member(user)
	}
	a.add(&collab.Thread{Annotation: collab.Annotation{ID: "thread", Status: open, StatusID: "OPEN", From: a.by("creator").From, CreatorID: "creator"}}, nil)
	a.record("thread", collab.CommentAdded, quiet, a.by("author"))
	a.level("cid", "thread", collab.LevelMentions)
	share := func(alone bool, users ...string) (ev *collab.Event) {
		w.add(time.Second)
		a.head("thread", func(head *collab.Annotation) *collab.Event {
			before := *head
			head.Visibility = &collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: users}
			ev = a.event(collab.AnnotationUpdated)
			ev.Actor, ev.NamedAlone = &collab.User{UserID: "ann"}, alone
			ev.Describe(collab.AnnotationUpdated, head)
			ev.Share(&before, head)
			return ev
		})
		return ev
	}
	got := func(ev *collab.Event) (users []string) {
		for _, user := range []string{"ann", "author", "bob", "cid", "creator", "dan"} {
			if slices.Contains(a.inbox(user), ev.ID) {
				users = append(users, user)
			}
		}
		return users
	}
	first := share(true, "ann", "author", "bob", "creator")
	second := share(true, "ann", "author", "cid", "creator")
	w.run(first, second)
	if users := got(first); !slices.Equal(users, []string{"author"}) {
		t.Errorf("of the first %q are notified", users)
	}
	if users := got(second); !slices.Equal(users, []string{"cid"}) {
		t.Errorf("of the second %q are notified", users)
	}
	third := share(false, "ann", "author", "cid", "creator", "dan")
	w.run(third)
	if users := got(third); !slices.Equal(users, []string{"author", "creator", "dan"}) {
		t.Errorf("of the third %q are notified", users)
	}
	mails := w.sentEmails()
	if n := len(mails[a.address("cid")]); n != 1 {
		t.Errorf("cid has %d emails", n)
	}
}

// TestAnswered checks that bob's daily email omits a mention that he replied to, even after
// thirteen more comments.
func TestAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.moveTo(time.Date(2027, time.March, 1, 9, 0, 0, 0, time.UTC))
	a := w.account()
	a.member("bob")
	a.frequency("bob", collab.MailTimes{Frequency: collab.MailDaily, Hour: 8})
	var mails []mail.Email
	p := w.start(func(o *delivery.Options) { o.Mailer = &kept{Mailer: o.Mailer, world: w, list: &mails} })
	mention := a.says("thread", "the mention", a.user("bob"))
	w.send(mention)
	w.settleUntil(p, w.Now().Add(5*time.Minute))
	w.moveTo(w.Now().Add(5 * time.Minute))
	a.answer("bob", "thread")
	for range 13 {
		w.moveTo(w.Now().Add(time.Minute))
		w.send(a.says("thread", "what follows", a.user("bob")))
		w.settleUntil(p, w.Now().Add(time.Second))
	}
	w.settle(p)
	told := 0
	for _, n := range mails {
		for _, th := range n.Threads {
			for _, ev := range th.Events {
				if told++; ev.Time == mention.Time {
					t.Errorf("the mail tells of the mention at %s, which bob has answered", time.UnixMilli(ev.Time).UTC())
				}
			}
		}
	}
	if told != 13 {
		t.Errorf("the mail tells of %d comments", told)
	}
}
