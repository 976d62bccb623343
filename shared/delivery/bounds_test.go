package delivery_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/testing/heaptest"
	"collabdata/shared/testing/must"
	"collabdata/shared/webhook"
)

// TestManyEscapes checks that the maximum number of people is notified, even if each byte of their
// names takes six bytes of JSON.
func TestManyEscapes(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	name, email := strings.Repeat("\x01", 600), strings.Repeat("&", 300)
	ev := a.notification(func(ev *draft) {
		for i := range collab.MaxPeople {
			ev.People = append(ev.People, collab.User{UserID: fmt.Sprintf("u%04d", i), Name: &name, Email: &email})
		}
	})
	w.send(ev)
	w.settle(w.start(func(o *delivery.Options) { o.Mailer = nil }))
	ends := []string{"u0000", fmt.Sprintf("u%04d", collab.MaxPeople-1)}
	a.checkReached(t, ev, ends, ends, nil)
}

// TestPostIsBounded checks that a post is at most webhook.MaxPayload and reports omissions, however
// large the comments of an event are.
func TestPostIsBounded(t *testing.T) {
	const n = 40
	a, w := newAccount(t)
	r := a.hooked(nil)
	large, small := strings.Repeat("\x01", 55_000), "small"
	text := collab.JSON(`{"userId":"ann"}`)
	var comments []collab.Comment
	for range n {
		comments = append(comments, collab.Comment{Text: &large, From: text, AuthorID: "ann"})
	}
	comments[1].Text = &small
	w.send(a.record("thread", collab.CommentAdded, quiet, comments...))
	p := w.start()
	if took := heaptest.Allocated(func() { w.settle(p) }); took > 45_000_000 {
		t.Errorf("the post took %d bytes", took)
	}
	body := r.posts()[0].body
	if omitted := strings.Count(body, `"contentOmitted":true`); len(body) > webhook.MaxPayload || omitted < 8 || !strings.Contains(body, small) {
		t.Errorf("%d bytes, %d of %d comments are left out", len(body), omitted, n)
	}
}

// TestRenderingIsBounded checks that events with expensive comments take at most 6 MB per
// recipient.
func TestRenderingIsBounded(t *testing.T) {
	var bolds strings.Builder
	for i := range 500 {
		fmt.Fprintf(&bolds, "<b %d>", i)
	}
	html := "<p>" + bolds.String() + strings.Repeat("<p>x", 1_000)
	value, err := json.Marshal(strings.Repeat("v", 13_000))
	must.Do(t, err)
	people := func(a *account) (list []collab.User) {
		for i := range 10 {
			list = append(list, a.user(fmt.Sprint("user", i)))
		}
		return list
	}
	for name, event := range map[string]func(*account) *collab.Event{
		"a value in many places": func(a *account) *collab.Event {
			return a.notification(func(ev *draft) {
				ev.People = people(a)
				ev.Notification.Headline = strings.Repeat("{a}", 4_333)
				ev.Notification.TemplateData = map[string]collab.JSON{"a": value}
			})
		},
		"formats taken up in each paragraph": func(a *account) *collab.Event {
			ev := a.event(collab.CommentAdded)
			ev.AnnotationID, ev.Actor = "thread", &collab.User{UserID: "ann"}
			thread := &collab.Thread{Annotation: collab.Annotation{ID: "thread", Status: open, StatusID: "OPEN"}}
			for i := range 3 { // read from the table, uncut
				thread.Comments = append(thread.Comments, collab.Comment{ID: int64(i + 1), HTML: &html, From: collab.JSON(`{"userId":"cid"}`)})
			}
			for i := range 10 {
				c := collab.Comment{ID: int64(i + 10), HTML: &html, From: collab.JSON(`{"userId":"ann"}`), TaggedUserContacts: tags(people(a)...)}
				thread.Comments = append(thread.Comments, c)
				ev.AddComments(true, c)
			}
			a.add(thread, ev)
			return ev
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, w := newAccount(t, grouping(true))
			w.send(event(a))
			p := w.start()
			if took := heaptest.Allocated(func() { w.drain(p) }); took > 60_000_000 {
				t.Errorf("telling 10 people took %d bytes", took)
			}
			if len(a.mailsTo("user9")) != 1 {
				t.Error("no mail was sent")
			}
		})
	}
}
