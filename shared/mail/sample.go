package mail

import (
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/mail/content"
	"collabdata/shared/words"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Kind is a kind of email for previews.
type Kind string

// Kinds.
const (
	KindMention      Kind = "mention"
	KindThread       Kind = "thread" // several events in a thread
	KindDigest       Kind = "digest" // several threads
	KindNotification Kind = "notification"
)

// Values returns all kinds.
func (Kind) Values() []string {
	return []string{string(KindMention), string(KindThread), string(KindDigest), string(KindNotification)}
}

// Preview renders an email with sample comments, in an account's look and words.
func Preview(kind Kind, look collab.MailLook, w words.Words, now time.Time) (Content, error) {
	m, err := New(aws.Config{}, Options{From: "no-reply@example.com", Unsubscribe: "https://api.example.com/v2/notifications/unsubscribe"})
	if err != nil {
		return Content{}, err
	}
	return m.Render(sample(kind, look, w, now))
}

func sample(kind Kind, look collab.MailLook, w words.Words, now time.Time) Email {
	at := func(minutes int64) collab.Millis { return now.UnixMilli() - minutes*time.Minute.Milliseconds() }
	comment := func(id int64, by, text string) *collab.Comment {
		return &collab.Comment{
			ID: id, Text: &text, CreatedAt: at(60 - id), From: collab.JSON(`{"userId":"` + by + `","name":"` + by + `"}`),
			TaggedUserContacts: collab.JSON(`[{"userId":"bob","contact":{"userId":"bob","name":"Bob"}}]`),
		}
	}
	event := func(key string, comments ...*collab.Comment) Event {
		return Event{
			Time: at(30), Headline: w.Text(key, "actionUser", "Ann", "status", "Resolved", "assignedTo", "Cid"), Comments: comments,
		}
	}
	file := func(c *collab.Comment, name string) *collab.Comment {
		c.Attachments = collab.JSON(`[{"attachmentId":1,"name":"` + name + `"}]`)
		return c
	}
	mention := Thread{
		DocumentID: "plan", Document: "Launch plan", AnnotationID: "a1", Quote: "29 euros a month",
		Events: []Event{event("mentioned", comment(2, "Ann", "Is this with VAT, {{bob}}? Our page says 24."))},
	}
	n := Email{Look: look, Words: w, OrganizationID: "acme", Threads: []Thread{mention}, Unsubscribe: "TOKEN"}
	switch kind {
	case KindMention:
	case KindThread:
		t := &n.Threads[0]
		t.Events = append(t.Events, event("replied", file(comment(3, "Cid", "Without."), "budget.xlsx")), event("statusChangedTo"), event("assignedToYou"))
		t.Earlier = []*collab.Comment{comment(1, "Dan", "The price is new.")}
	case KindDigest:
		n.Threads = append(n.Threads,
			Thread{DocumentID: "budget", AnnotationID: "a2", Document: "Budget", Events: []Event{event("replied", comment(4, "Cid", "Done."))}},
			Thread{DocumentID: "plan", AnnotationID: "a3", Document: "Launch plan", Events: []Event{event("commented", comment(5, "Dan", "Who pays for this?"))}},
		)
		n.Threads[2].Events[0].Headline = w.Text("suggestionAddedBy", "actionUser", "Dan")
		n.Threads[2].Suggestion = &content.Suggestion{Old: "The price is 29 euros", New: "The price is 24 euros"}
		n.More = 3
	case KindNotification:
		n.Threads = []Thread{{DocumentID: "plan", Document: "Launch plan", Events: []Event{
			{Time: at(30), Headline: "Ann approved the draft", Body: "Texts of your own notifications are as you send them."},
		}}}
	}
	return n
}
