package delivery_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/store/inbox"
	"collabdata/shared/testing/heaptest"
)

// TestLargeIcon: a status with a large icon keeps nobody from being told, and an endpoint hears of the people and the text.
func TestLargeIcon(t *testing.T) {
	w := newWorld(t)
	a := w.account(grouping(true))
	r := receive(t, nil)
	a.webhook("crm", r.URL+"/crm")
	text := "please look"
	ev := a.event(collab.AnnotationAssigned)
	ev.AnnotationID = "thread"
	ev.Annotation = &collab.EventAnnotation{
		AnnotationObjects: collab.AnnotationObjects{
			From:       collab.JSON(`{"userId":"ann"}`),
			AssignedTo: collab.JSON(`{"userId":"bob","email":"` + a.address("bob") + `"}`),
			Status:     collab.JSON(`{"id":"REVIEW","name":"In review","svg":"` + strings.Repeat("<", 33_000) + `"}`),
		},
	}
	ev.Comments = []collab.EventComment{{CommentID: 1, Text: &text, From: collab.JSON(`{"userId":"ann"}`)}}
	thread := &collab.Thread{Annotation: collab.Annotation{
		ID: "thread", Status: ev.Annotation.Status, StatusID: "REVIEW", AssignedTo: ev.Annotation.AssignedTo, CreatedAt: ev.Time, LastUpdated: ev.Time,
	}, Comments: []collab.Comment{{ID: 1, Text: &text, From: ev.Comments[0].From}}}
	a.add(thread, ev)
	w.send(ev)
	w.settle(w.start())
	a.checkReached(t, ev, []string{"bob"}, []string{"bob"}, []string{"bob"})
	if len(r.posts()) != 1 {
		t.Fatalf("%d posts", len(r.posts()))
	}
	for _, want := range []string{`"assignedTo":{"userId":"bob"`, `"status":{"id":"REVIEW","name":"In review"}`, `"commentText":"please look"`, `"truncated":true`} {
		if !strings.Contains(r.posts()[0].body, want) {
			t.Errorf("the payload lacks %s: %s", want, r.posts()[0].body)
		}
	}
}

// TestManyEscapes: people whose names and addresses take up to six bytes of JSON for each of their own are told, however many they are:
// more than are served at once, and as many as an event may name.
func TestManyEscapes(t *testing.T) {
	mailed := func(*delivery.Options) {}
	notMailed := func(o *delivery.Options) { o.Mailer = nil }
	for _, tt := range []struct {
		filler string
		people int
		how    func(*delivery.Options)
	}{
		{"&", inbox.RecipientPageSize + 1, mailed}, // where HTML is escaped
		{"\x01", inbox.RecipientPageSize + 1, mailed},
		{"&", collab.MaxPeople, notMailed},
	} {
		t.Run(fmt.Sprintf("%d of %q", tt.people, tt.filler), func(t *testing.T) {
			w := newWorld(t)
			a := w.account()
			name, email := strings.Repeat(tt.filler, 600), strings.Repeat(tt.filler, 300)
			ev := a.notification(func(ev *collab.Event) {
				for i := range tt.people {
					ev.People = append(ev.People, collab.User{UserID: fmt.Sprintf("u%03d", i), Name: &name, Email: &email})
				}
			})
			w.send(ev)
			w.settle(w.start(tt.how))
			ends := []string{"u000", fmt.Sprintf("u%03d", tt.people-1)}
			a.checkReached(t, ev, ends, ends, nil)
		})
	}
}

// TestClickSendsBack: what a clicked notification sends back arrives whole, though it is too large for an event.
func TestClickSendsBack(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	r := receive(t, nil)
	a.webhook("crm", r.URL+"/crm", collab.NotificationClicked)
	source, err := json.Marshal(map[string]string{"a": strings.Repeat("x", 100_000)})
	w.must(err)
	added := a.notification(func(ev *collab.Event) {
		ev.People, ev.Notification.SourceData = []collab.User{{UserID: "bob"}}, source
	})
	p := w.start()
	w.send(added)
	w.settle(p)
	clicked := a.event(collab.NotificationClicked)
	clicked.Notify = false
	clicking := a.request()
	err = w.inboxes.ChangeNotification(t.Context(), clicking, a.doc.OrganizationRef, collab.NotificationChange{
		ID: notificationID(added), Clicked: []string{"bob"}, Click: func(n collab.Notification, _ string) *collab.Event {
			clicked.Notification = &n
			return clicked
		},
	})
	w.must(err)
	w.send(clicked)
	w.settle(p)
	if len(clicking.Events()) != 1 || len(r.posts()) != 1 || !strings.Contains(r.posts()[0].body, `"notificationSourceData":`+string(source)) {
		t.Errorf("clicked %v, %d posts: %.500s", clicking.Events(), len(r.posts()), r.posts())
	}
}

// TestRenderingIsBounded: events made to cost much when they are shown cost little, and no more for each recipient.
func TestRenderingIsBounded(t *testing.T) {
	var bolds strings.Builder
	for i := range 500 {
		fmt.Fprintf(&bolds, "<b %d>", i)
	}
	html := "<p>" + bolds.String() + strings.Repeat("<p>x", 1_000)
	value, err := json.Marshal(strings.Repeat("v", 13_000))
	if err != nil {
		t.Fatal(err)
	}
	people := func(a *account) (list []collab.User) {
		for i := range 10 {
			list = append(list, a.user(fmt.Sprint("user", i)))
		}
		return list
	}
	for name, event := range map[string]func(*account) *collab.Event{
		"a value in many places": func(a *account) *collab.Event {
			return a.notification(func(ev *collab.Event) {
				ev.People = people(a)
				ev.Notification.Headline = strings.Repeat("{a}", 4_333)
				ev.Notification.TemplateData = map[string]collab.JSON{"a": value}
			})
		},
		"formats taken up in each paragraph": func(a *account) *collab.Event {
			ev := a.event(collab.CommentAdded)
			ev.AnnotationID, ev.Actor, ev.People = "thread", &collab.User{UserID: "ann"}, people(a)
			thread := &collab.Thread{Annotation: collab.Annotation{ID: "thread", Status: collab.JSON(`{"id":"OPEN"}`), StatusID: "OPEN"}}
			for i := range 3 { // they come from the table, uncut
				thread.Comments = append(thread.Comments, collab.Comment{ID: int64(i + 1), HTML: &html, From: collab.JSON(`{"userId":"cid"}`)})
			}
			for i := range 10 {
				c := collab.Comment{ID: int64(i + 10), HTML: &html, From: collab.JSON(`{"userId":"ann"}`)}
				thread.Comments, ev.Comments = append(thread.Comments, c), append(ev.Comments, c.Event())
			}
			a.add(thread, ev)
			return ev
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a := w.account(grouping(true))
			w.send(event(a))
			p := w.start()
			if took := heaptest.Allocated(func() { w.drain(p) }); took > 20_000_000 {
				t.Errorf("telling 10 people took %d bytes", took)
			}
			if len(a.mailsTo("user9")) != 1 {
				t.Error("no mail was sent")
			}
		})
	}
}
