package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collabdata/shared/client"
)

const (
	days    = 30 // over which the threads are spread
	telling = 20 // of the threads, the latest: people are told of these
)

func (p person) user() client.User {
	return client.User{UserID: p.id, Name: p.name, Email: p.email()}
}

// pick returns any of a list.
func pick[T any](s *seeder, list []T) T { return list[s.random.IntN(len(list))] }

// threads adds the threads, those of a document by one request.
func (s *seeder) threads(ctx context.Context) error {
	requests := make([]client.CommentAnnotationsAddRequest, len(documents))
	for i := range threads {
		at := s.now.Add(-days * 24 * time.Hour * time.Duration(threads-i) / threads)
		r := &requests[s.random.IntN(len(requests))]
		r.CommentAnnotations = append(r.CommentAnnotations, s.thread(i, at, i >= threads-telling))
	}
	for i := range requests {
		r := &requests[i]
		r.OrganizationID, r.DocumentID = organization, documents[i].id
		added, err := s.client.CommentAnnotations.Add(ctx, r)
		if err != nil {
			return err
		}
		for _, a := range added {
			if !a.Value.Success && a.Value.Code != client.CodeAlreadyExists {
				return fmt.Errorf("thread %s: %s", a.Key, a.Value.Message)
			}
		}
	}
	return nil
}

// thread returns the thread of a number, which began at a time.
func (s *seeder) thread(number int, at time.Time, tell bool) client.NewAnnotation {
	subject, page := pick(s, subjects), s.random.IntN(6)+1
	a := client.NewAnnotation{}
	a.AnnotationID = fmt.Sprintf("thread-%03d", number+1)
	a.CreatedAt = at
	a.Location = &client.Location{ID: fmt.Sprintf("page-%d", page), LocationName: fmt.Sprintf("Page %d", page)}
	a.TargetElement = &client.TargetElement{ElementID: "text", TargetText: subject.text, Occurrence: 1}
	a.Status = &client.Status{ID: [...]string{"OPEN", "OPEN", "IN_PROGRESS", "RESOLVED"}[s.random.IntN(4)]}
	if s.random.IntN(3) == 0 {
		a.AssignedTo = new(pick(s, people).user())
	}
	if s.random.IntN(4) == 0 {
		a.Priority = &client.Priority{ID: "P1", Name: "High", Color: "#b3261e"}
	}
	for i := range 1 + s.random.IntN(5) {
		text := subject.opening
		if i > 0 {
			text = pick(s, replies)
		}
		c := client.AnnotationComment{}
		c.From = pick(s, people).user()
		c.CreatedAt = earlier(at.Add(time.Duration(i)*40*time.Minute), s.now)
		if s.random.IntN(3) == 0 || tell && i == 0 {
			tagged := pick(s, people)
			text = "{{" + tagged.id + "}}: " + text
			c.TaggedUserContacts = []client.TaggedUser{{UserID: tagged.id, Contact: new(tagged.user())}}
		}
		c.CommentText, c.TriggerNotification = text, tell && i == 0
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
			_, err := s.client.Notifications.Add(ctx, &client.NotificationsAddRequest{
				OrganizationID: organization, DocumentID: d.id, ActionUser: actor.user(), NotificationID: fmt.Sprintf("notice-%s-%d", p.id, j+1),
				DisplayHeadlineMessageTemplate:     notice.headline,
				DisplayHeadlineMessageTemplateData: map[string]any{"actionUser": actor.user(), "what": d.name},
				DisplayBodyMessage:                 notice.body,
				NotifyAll:                          new(false), NotifyUsers: []client.User{p.user()},
			})
			if err != nil {
				return err
			}
		}
	}
	for _, p := range people {
		ids, err := s.arrived(ctx, p)
		if err != nil {
			return err
		}
		var read []client.NotificationUpdate
		for _, id := range ids[len(ids)/2:] {
			read = append(read, client.NotificationUpdate{ID: id, ReadByUserIDs: []string{p.id}})
		}
		_, err = s.client.Notifications.Update(
			ctx, &client.NotificationsUpdateRequest{OrganizationID: organization, UserID: p.id, Notifications: read},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// arrived returns a person's notifications, newest first, once those of this program are there.
func (s *seeder) arrived(ctx context.Context, p person) (ids []string, err error) {
	for {
		ids = nil
		for n, err := range s.client.Notifications.Get(ctx, &client.NotificationsGetRequest{OrganizationID: organization, UserID: p.id}) {
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
