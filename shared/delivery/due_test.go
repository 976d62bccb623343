package delivery_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"

	"github.com/google/go-cmp/cmp"
)

// slack starts a receiver of notification.due events of the channel slack.
func (a *account) slack() *receiver {
	a.Helper()
	r := receive(a, nil)
	a.webhook("slack", r.URL)
	a.changeHook("slack", func(h *collab.Webhook) { h.Channel = "slack" })
	return r
}

func withoutMail(o *delivery.Options) { o.Mailer = nil }

// due is the data of a notification.due event.
type due struct {
	UserID, Channel          string
	DocumentID, AnnotationID *string
	Notifications            []struct {
		NotificationID, DocumentID, AnnotationID, Headline, Body string
		CommentIDs                                               []int64
		ActionUser                                               collab.User
	}
	More *int
}

// dues returns the notification.due events that a receiver got, in order.
func dues(t *testing.T, r *receiver) (list []due) {
	t.Helper()
	for _, p := range r.posts() {
		var body struct {
			Type collab.EventType
			Data due
		}
		if err := json.Unmarshal([]byte(p.body), &body); err != nil || body.Type != collab.NotificationDue {
			t.Errorf("%s, %v", p.body, err)
		}
		list = append(list, body.Data)
	}
	return list
}

func onSlack(p collab.Preference) collab.Preferences {
	return collab.Preferences{Further: map[string]collab.Preference{"slack": p, "push": collab.PreferAll, "teams": collab.PreferNone}}
}

// TestDue checks that each channel of a person's preference gets one event when an email would
// leave. It has the unseen notifications of a thread. No other channel gets one.
func TestDue(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	a.memberIs(a.user("bob"), "de")
	all := a.hooked(nil)
	a.changeHook("hook", func(h *collab.Webhook) { h.EventTypes = []collab.EventType{collab.NotificationDue} })
	slack := a.slack()
	a.prefer("bob", onSlack(collab.PreferMine))
	p := w.start()
	first := a.says("thread", "one", a.user("bob"))
	w.send(first)
	w.drain(p)
	w.add(time.Second)
	second := a.says("thread", "two", a.user("bob"))
	w.send(second)
	w.drain(p)
	if got := all.posts(); len(got) != 0 {
		t.Errorf("before the email is due: %+v", got)
	}
	w.settle(p)
	var channels []string
	for _, d := range dues(t, all) {
		channels = append(channels, d.Channel)
	}
	slices.Sort(channels)
	if diff := cmp.Diff([]string{"push", "slack"}, channels); diff != "" {
		t.Error(diff)
	}
	got := dues(t, slack)
	if len(got) != 1 || len(got[0].Notifications) != 2 || got[0].More == nil || *got[0].More != 0 {
		t.Fatalf("%+v", got)
	}
	d, n := got[0], got[0].Notifications[0]
	if d.UserID != "bob" || *d.DocumentID != "doc" || *d.AnnotationID != "thread" || d.Notifications[1].NotificationID != first.ID {
		t.Errorf("%+v", d)
	}
	if n.NotificationID != second.ID || n.Body != "two" || !strings.Contains(n.Headline, "ann") || n.ActionUser.UserID != "ann" ||
		!slices.Equal(n.CommentIDs, second.CommentIDs) || n.DocumentID != "doc" || n.AnnotationID != "thread" {
		t.Errorf("%+v", n)
	}
	if mails := a.mailsTo("bob"); len(mails) != 1 {
		t.Errorf("mails %q", mails)
	}
	w.settle(p)
	if n := len(all.posts()); n != 2 {
		t.Errorf("%d events later", n)
	}
}

// TestDueWhole checks every field of a notification.due event about threads of each visibility and
// about a notification, with the account's link and without one.
func TestDueWhole(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"https://app.example/{organizationId}/{documentId}#{annotationId}:{commentId}", ""} {
		a, w := newAccount(t, func(s *collab.Settings) { s.MailBatch, s.MailLook.Link = collab.BatchPerson, link })
		bob := a.user("bob")
		bob.Name = new("Bob")
		a.memberIs(bob, "de")
		a.must(a.db.Directory.SetMailTimes(t.Context(), a.doc.OrganizationRef, []string{"bob"}, collab.MailTimes{Zone: "Asia/Tokyo"}))
		a.put("doc", func(d *collab.Document) { d.Name = "The plan" })
		slack := a.slack()
		a.prefer("bob", onSlack(collab.PreferMine))
		var evs []*collab.Event
		for _, v := range []*collab.Visibility{
			nil, {Type: collab.VisibilityOrganizationPrivate, OrganizationID: "org"}, {Type: collab.VisibilityRestricted, UserIDs: []string{"bob"}},
		} {
			thread := string(v.Answered().Type)
			a.begin(thread)
			a.head(thread, func(head *collab.Annotation) *collab.Event {
				head.Visibility = v
				return nil
			})
			evs = append(evs, a.says(thread, "in "+thread, bob))
			w.add(time.Second)
		}
		evs = append(evs, a.notification(func(d *draft) { d.People = []collab.User{bob} }))
		w.send(evs...)
		w.settle(w.start())
		posts := slack.posts()
		if len(posts) != 1 {
			t.Fatalf("posts %+v", posts)
		}
		var body struct{ Data json.RawMessage }
		w.must(json.Unmarshal([]byte(posts[0].body), &body))
		var want strings.Builder
		address := a.address("bob")
		for i, ev := range slices.Backward(evs) {
			of, url := "", ""
			if link != "" {
				url = `"url":"https://app.example/org/doc#:",`
			}
			if ev.AnnotationID != "" {
				if link != "" {
					url = fmt.Sprintf(`"url":"https://app.example/org/doc#%s:%d",`, ev.AnnotationID, ev.CommentIDs[0])
				}
				of = fmt.Sprintf(`"annotationId":%q,"commentIds":[%d],"visibility":%q,`, ev.AnnotationID, ev.CommentIDs[0], ev.AnnotationID)
			}
			headline, text := "ann hat Sie erwähnt", "in "+ev.AnnotationID
			if ev.AnnotationID == "" {
				headline, text = "ann to Bob", ""
			}
			fmt.Fprintf(&want, `{"notificationId":%q,"documentId":"doc",%s%s"headline":%q,"body":%q,"actionUser":{"userId":"ann"},"documentName":"The plan"}`,
				ev.ID, of, url, headline, text)
			if i > 0 {
				want.WriteByte(',')
			}
		}
		checkJSON(t, string(body.Data), fmt.Sprintf(`{"organizationId":"org","documentId":"doc","annotationId":null,"commentId":null,
			"userId":"bob","channel":"slack","notifications":[%s],"more":0,
			"recipient":{"userId":"bob","name":"Bob","email":%q,"locale":"de","timeZone":"Asia/Tokyo"}}`, want.String(), address))
	}
}

// checkJSON compares two JSON texts.
func checkJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

// TestDueSeen checks that seen notifications make no event.
func TestDueSeen(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	slack := a.slack()
	a.prefer("bob", onSlack(collab.PreferAll))
	p := w.start()
	w.send(a.comment("thread", a.user("bob")))
	w.drain(p)
	w.add(time.Second)
	a.see("bob", "thread")
	w.settle(p)
	if got := slack.posts(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestDueIsRetried checks that an event is posted again with its id, and without notifications that
// the person may no longer see.
func TestDueIsRetried(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		a, w := newAccount(t)
		down := true
		r := receive(a, func(rw http.ResponseWriter, _ *http.Request) {
			if down {
				rw.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		a.webhook("hook", r.URL)
		a.changeHook("hook", func(h *collab.Webhook) { h.Channel = "slack" })
		a.prefer("bob", onSlack(collab.PreferAll))
		p := w.start()
		w.send(a.says("thread", "one", a.user("bob")))
		w.settleUntil(p, w.Now().Add(6*time.Minute))
		before := r.posts()
		if len(before) == 0 {
			t.Fatal("nothing was posted")
		}
		down = false
		if gone {
			a.deleteThread("thread")
		}
		w.settle(p)
		after := r.posts()[len(before):]
		if gone && len(after) != 0 || !gone && (len(after) != 1 || after[0] != before[0]) {
			t.Errorf("gone: %v; before %+v, after %+v", gone, before, after)
		}
	}
}

// TestMailChannel checks that webhooks get the emails of an account that sends its own, with or
// without an address, and that the service sends none.
func TestMailChannel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		user     string
		change   func(*account)
		want     int
		mailless bool // the deployment sends no email
	}{
		"a member":           {"bob", func(a *account) { a.member("bob") }, 1, false},
		"without an address": {"eve", func(*account) {}, 1, false},
		"without emails":     {"bob", func(a *account) { a.member("bob") }, 1, true},
		"unsubscribed": {"bob", func(a *account) {
			a.member("bob")
			a.must(a.db.Accounts.Unsubscribe(a.Context(), a.recipient("bob", a.address("bob"))))
		}, 0, false},
		"not wanted": {"bob", func(a *account) { a.prefer("bob", collab.Preferences{Email: collab.PreferNone}) }, 0, false},
		"no endpoint": {"bob", func(a *account) {
			a.changeHook("hook", func(h *collab.Webhook) { h.Channel = "push" })
		}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, w := newAccount(t, func(s *collab.Settings) { s.MailChannel = collab.MailByWebhook })
			r := a.hooked(nil)
			a.changeHook("hook", func(h *collab.Webhook) { h.Channel = collab.EmailChannel })
			test.change(a)
			p := w.start(func(o *delivery.Options) {
				if test.mailless {
					withoutMail(o)
				}
			})
			to := collab.User{UserID: test.user}
			w.send(a.comment("thread", to))
			w.settle(p)
			got := dues(t, r)
			if len(got) != test.want || len(got) > 0 && (got[0].Channel != "email" || got[0].UserID != test.user) {
				t.Errorf("%+v, want %d", got, test.want)
			}
			if mails := a.mailsTo(test.user); len(mails) != 0 {
				t.Errorf("mails %q", mails)
			}
		})
	}
}

// TestDueToAll checks that a notification to everyone makes an event for each member who wants all,
// also if no email is sent.
func TestDueToAll(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	slack := a.slack()
	for u, p := range map[string]collab.Preference{"bob": collab.PreferAll, "cid": collab.PreferMine, "eve": ""} {
		a.member(u)
		if p != "" {
			a.prefer(u, onSlack(p))
		}
	}
	p := w.start(withoutMail)
	w.send(a.notification(func(ev *draft) { ev.NotifyAll = true }))
	w.settle(p)
	got := dues(t, slack)
	if len(got) != 1 || got[0].UserID != "bob" || len(got[0].Notifications) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestMentionedAlone checks that an endpoint with mentionedUserIds gets new mentions of its users
// only: in comments, by groups, and in notification.due events.
func TestMentionedAlone(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	a.group("bots", "bot")
	a.member("bot")
	a.prefer("bot", onSlack(collab.PreferAll))
	a.prefer("bob", onSlack(collab.PreferAll))
	r := a.hooked(nil)
	a.changeHook("hook", func(h *collab.Webhook) { h.MentionedUserIDs = []string{"bot", "droid"} })
	p := w.start()
	other := a.comment("thread", a.user("bob"))
	w.add(time.Second)
	mention := a.comment("thread", a.user("bot"), a.user("bob"))
	w.add(time.Second)
	reply := a.comment("thread")
	w.send(other, mention, reply)
	w.settle(p)
	a.deleteThread("thread")
	w.settle(p)
	var got []string
	for _, post := range r.posts() {
		var body struct {
			Type collab.EventType
			Data due
		}
		a.must(json.Unmarshal([]byte(post.body), &body))
		got = append(got, string(body.Type)+" "+body.Data.UserID+" "+body.Data.Channel)
		if body.Type != collab.NotificationDue && post.id != mention.ID {
			t.Errorf("got %s", post.body)
		}
	}
	slices.Sort(got)
	w.add(time.Minute)
	w.send(a.comment("thread2", a.user("bot")))
	w.settle(p)
	n := len(r.posts())
	w.add(time.Minute)
	w.send(a.comment("thread2"))
	w.settle(p)
	if after := r.posts(); len(after) != n {
		t.Errorf("events without a mention: %+v", after[n:])
	}
	if diff := cmp.Diff([]string{"comment.added  ", "notification.due bot push", "notification.due bot slack"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestDueOfMany checks that an event of several threads and documents names none, shows the newest
// 20 notifications, and counts the others, which no later event shows.
func TestDueOfMany(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		threads              []string
		sent, want, more     int
		document, annotation bool
	}{
		"one thread":  {[]string{"t1"}, 22, 20, 2, true, true},
		"two threads": {[]string{"t1", "t2"}, 2, 2, 0, true, false},
		"documents":   {[]string{"t1", "of another document"}, 2, 2, 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, w := newAccount(t, func(s *collab.Settings) { s.MailBatch = collab.BatchPerson })
			a.member("bob")
			a.prefer("bob", onSlack(collab.PreferAll))
			slack := a.slack()
			p := w.start()
			for i := range test.sent {
				w.add(time.Millisecond)
				thread := test.threads[i%len(test.threads)]
				if strings.HasPrefix(thread, "of") {
					other, err := a.db.Directory.OpenDocument(a.Context(), a.id, "org", "other", collab.CreateFlags{Document: true})
					a.must(err)
					w.send(a.notification(func(d *draft) {
						d.DocumentID, d.Event.Incarnation[1], d.People = "other", other.Incarnation, []collab.User{a.user("bob")}
						d.Notification.DocumentID, d.Notification.Incarnation = "other", other.Incarnation
					}))
					continue
				}
				w.send(a.comment(thread, a.user("bob")))
			}
			w.settle(p)
			got := dues(t, slack)
			if len(got) != 1 || len(got[0].Notifications) != test.want || *got[0].More != test.more ||
				(got[0].DocumentID != nil) != test.document || (got[0].AnnotationID != nil) != test.annotation {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestDueToNobody checks that no event is made for channels without an endpoint, even if one is
// added before it would leave. Neither is one made for the acting user, nor after the account's
// emails moved back to a service without email.
func TestDueToNobody(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, after func(*account)
		event         func(*account) *collab.Event
	}{
		"an endpoint added later": {
			func(*account) {}, func(a *account) { a.changeHook("hook", func(h *collab.Webhook) { h.Channel = "" }) }, nil,
		},
		"the acting user": {
			func(a *account) { a.changeHook("hook", func(h *collab.Webhook) { h.Channel = "slack" }) }, func(*account) {},
			func(a *account) *collab.Event {
				return a.record("thread", collab.CommentAdded, func(ev *draft) { ev.Actor = &collab.User{UserID: "bob"} }, a.by("bob", a.user("bob")))
			},
		},
		"the acting user of a change": {
			func(a *account) {
				a.comment("thread", a.user("bob"))
				a.changeHook("hook", func(h *collab.Webhook) { h.Channel = "slack" })
				a.prefer("bob", collab.Preferences{Further: map[string]collab.Preference{"slack": collab.PreferNone}})
				a.settle(a.start(withoutMail))
				a.prefer("bob", onSlack(collab.PreferAll))
			},
			func(*account) {},
			func(a *account) *collab.Event {
				return a.record("thread", collab.AnnotationUpdated, func(ev *draft) { ev.Actor = &collab.User{UserID: "bob"} })
			},
		},
		"a reaction": {
			func(a *account) { a.changeHook("hook", func(h *collab.Webhook) { h.Channel = "slack" }) }, func(*account) {},
			func(a *account) *collab.Event { return a.reaction("bob", "ann") },
		},
		"the service sends no email": {
			func(a *account) {
				a.changeHook("hook", func(h *collab.Webhook) { h.Channel = "email" })
			},
			func(a *account) {
				a.change(func(c *collab.Account) { c.Settings.MailChannel = collab.MailByEmail })
			}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, w := newAccount(t, func(s *collab.Settings) { s.MailChannel = collab.MailByWebhook })
			a.member("bob")
			a.prefer("bob", onSlack(collab.PreferAll))
			r := a.hooked(nil)
			a.changeHook("hook", func(h *collab.Webhook) { h.EventTypes, h.Channel = []collab.EventType{collab.NotificationDue}, "sms" })
			test.before(a)
			p := w.start(withoutMail)
			if test.event == nil {
				test.event = func(a *account) *collab.Event { return a.comment("thread", a.user("bob")) }
			}
			w.send(test.event(a))
			w.drain(p)
			test.after(a)
			w.settle(p)
			if got := r.posts(); len(got) != 0 {
				t.Errorf("%+v", got)
			}
			if waiting := w.notices(); len(waiting) != 0 {
				t.Errorf("%+v waits", waiting)
			}
		})
	}
}

// reaction adds a comment of a user that notifies nobody, and records another user's reaction to
// it.
func (a *account) reaction(of, by string) *collab.Event {
	a.Helper()
	said := a.record("thread", collab.CommentAdded, quiet, a.by(of))
	ev := a.event(collab.ReactionAdded)
	ev.Actor = &collab.User{UserID: by}
	failures, err := a.db.Threads.UpdateComments(a.Context(), a.request(), a.doc, "thread", collab.CommentChange{
		IDs: said.CommentIDs, Change: func(c *collab.Comment) (err error) {
			c.Reactions, err = c.Reactions.Add("👍", by)
			return err
		},
		Event: func(head *collab.Annotation, _, comments []collab.Comment) *collab.Event {
			ev.React(collab.ReactionAdded, head, &comments[0], "👍")
			ev.AddComments(true, comments...)
			return ev
		},
	})
	a.must(err)
	a.must(failures[said.CommentIDs[0]])
	return ev
}
