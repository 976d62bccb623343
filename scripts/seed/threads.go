package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"collabdata/shared/api/commentannotations"
	"collabdata/shared/api/notifications"
	"collabdata/shared/client"
	"collabdata/shared/collab"
)

const (
	days    = 30 // over which the threads are spread
	telling = 20 // of the threads, the latest: people are told of these
)

func (p person) user() collab.User {
	return collab.User{UserID: p.id, Name: new(p.name), Email: new(p.email())}
}

// pick returns any of a list.
func pick[T any](s *seeder, list []T) T { return list[s.random.IntN(len(list))] }

// threads adds the threads, those of a document by one request.
func (s *seeder) threads(ctx context.Context) error {
	requests := make([]commentannotations.AddRequest, len(documents))
	for i := range threads {
		at := s.now.Add(-days * 24 * time.Hour * time.Duration(threads-i) / threads)
		r := &requests[s.random.IntN(len(requests))]
		r.CommentAnnotations = append(r.CommentAnnotations, s.thread(i, at, i >= threads-telling))
	}
	for i := range requests {
		r := &requests[i]
		r.OrganizationID, r.DocumentID = organization, documents[i].id
		added, err := client.Call(ctx, s.client, (*commentannotations.Service).Add, r)
		if err != nil {
			return err
		}
		for _, a := range added.Data {
			if !a.Value.Success && a.Value.Code != collab.AlreadyExists {
				return fmt.Errorf("thread %s: %s", a.Key, a.Value.Message)
			}
		}
	}
	return nil
}

// thread returns the thread of a number, which began at a time.
func (s *seeder) thread(number int, at time.Time, tell bool) commentannotations.NewAnnotation {
	subject, page := pick(s, subjects), s.random.IntN(6)+1
	a := commentannotations.NewAnnotation{}
	a.AnnotationID = new(fmt.Sprintf("thread-%03d", number+1))
	a.CreatedAt = new(at.UnixMilli())
	a.Location = &commentannotations.Location{ID: fmt.Sprintf("page-%d", page), LocationName: new(fmt.Sprintf("Page %d", page))}
	a.TargetElement = &commentannotations.TargetElement{ElementID: new("text"), TargetText: &subject.text, Occurrence: new(int64(1))}
	a.Status = &commentannotations.Status{ID: [...]string{"OPEN", "OPEN", "IN_PROGRESS", "RESOLVED"}[s.random.IntN(4)]}
	if s.random.IntN(3) == 0 {
		a.AssignedTo = new(pick(s, people).user())
	}
	if s.random.IntN(4) == 0 {
		a.Priority = &commentannotations.Priority{ID: "P1", Name: new("High"), Color: new("#b3261e")}
	}
	for i := range 1 + s.random.IntN(5) {
		text := subject.opening
		if i > 0 {
			text = pick(s, replies)
		}
		c := commentannotations.AnnotationComment{}
		c.From = pick(s, people).user()
		c.CreatedAt = new(earlier(at.Add(time.Duration(i)*40*time.Minute), s.now).UnixMilli())
		if s.random.IntN(3) == 0 || tell && i == 0 {
			tagged := pick(s, people)
			text = "{{" + tagged.id + "}}: " + text
			c.TaggedUserContacts = []commentannotations.TaggedUser{{UserID: tagged.id, Contact: new(tagged.user())}}
		}
		c.CommentText, c.TriggerNotification = &text, tell && i == 0
		a.CommentData = append(a.CommentData, c)
	}
	return a
}

// earlier returns the earlier of two times.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// notifications adds some for each person, and marks the older half as read.
func (s *seeder) notifications(ctx context.Context) error {
	for i, p := range people {
		for j, notice := range notices {
			actor, d := people[(i+j+1)%len(people)], pick(s, documents)
			data, err := json.Marshal(map[string]any{"actionUser": actor.user(), "what": d.name})
			if err != nil {
				return err
			}
			r := notifications.AddRequest{}
			r.OrganizationID, r.DocumentID, r.ActionUser = organization, d.id, actor.user()
			r.NotificationID = new(fmt.Sprintf("notice-%s-%d", p.id, j+1))
			r.HeadlineTemplate, r.HeadlineTemplateData, r.Body = notice.headline, data, notice.body
			r.NotifyAll, r.NotifyUsers = new(false), []collab.User{p.user()}
			if _, err := client.Call(ctx, s.client, (*notifications.Service).Add, &r); err != nil {
				return err
			}
		}
	}
	for _, p := range people {
		ids, err := s.arrived(ctx, p)
		if err != nil {
			return err
		}
		older := ids[len(ids)/2:]
		r := notifications.UpdateRequest{OrganizationID: organization, UserID: p.id, NotificationIDs: older[:min(len(older), 30)]}
		r.UpdatedData.Value.Read = new(true)
		if _, err := client.Call(ctx, s.client, (*notifications.Service).Update, &r); err != nil {
			return err
		}
	}
	return nil
}

// arrived returns a person's notifications, newest first, once those of this program are there.
func (s *seeder) arrived(ctx context.Context, p person) (ids []string, err error) {
	for {
		ids = nil
		r := notifications.GetRequest{OrganizationID: organization, UserID: p.id}
		for n, err := range client.Items(ctx, s.client, (*notifications.Service).Get, &r) {
			if err != nil {
				return nil, err
			}
			ids = append(ids, n.NotificationID)
		}
		if len(ids) >= len(notices) {
			return ids, nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return nil, errors.New("the notifications were not delivered in time: does the server still run?")
		}
	}
}
