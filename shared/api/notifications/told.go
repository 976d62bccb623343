package notifications

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/mail/content"
	"collabdata/shared/words"

	"golang.org/x/sync/errgroup"
)

// asItIs returns entries as they are to be read now: without those of threads and comments that are gone, and those of comments with their
// texts as they are; with a user, for this reader, from whom threads are hidden that they may not see by now. A person also needs the right to
// see the document, and to be a member of the organization for an entry that is for all of it. It returns the reader, too, as they are known
// where they are a member of the organization. locale is the language of headlines, "" for that of the reader.
func (s *Service) asItIs(
	ctx context.Context, call *rpc.Call, org collab.OrganizationRef, entries []collab.InboxEntry, user, locale string,
) (list []collab.InboxEntry, reader collab.User, err error) {
	if len(entries) == 0 {
		return nil, reader, nil
	}
	var parts []collab.ThreadPart
	var documents []collab.DocumentRef
	for _, e := range entries {
		doc := e.Document(org)
		if e.AnnotationID != "" {
			parts = append(parts, collab.ThreadPart{Document: doc, Annotation: e.AnnotationID, Comments: e.CommentIDs, At: e.CreatedAt})
		}
		if user != "" && (e.AnnotationID != "" || call.Person != nil) && !slices.Contains(documents, doc) {
			documents = append(documents, doc)
		}
	}
	var threads []*collab.Thread
	var viewers [][]collab.Viewer
	var members map[string]collab.User
	member := false
	var names map[collab.DocumentRef]string
	g, within := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		threads, err = s.Threads.Parts(within, parts, false)
		return err
	})
	if user != "" {
		g.Go(func() (err error) {
			viewers, err = s.Access.Viewers(within, call.Settings, documents, []string{user}, false)
			return err
		})
		g.Go(func() error {
			members, err := s.Directory.Members(within, org, []string{user})
			reader.UserID = user
			if m, ok := members[user]; ok {
				reader, member, locale = m.User, m.Holds(call.Millis()), cmp.Or(locale, m.Locale)
			}
			return err
		})
	}
	g.Go(func() (err error) {
		var users, documents []string
		for _, e := range entries {
			if documents = append(documents, e.DocumentID); e.AnnotationID != "" && e.ActionUser.UserID != "" {
				users = append(users, e.ActionUser.UserID)
			}
		}
		members, names, err = s.Directory.Named(within, org, rpc.Distinct(users), rpc.Distinct(documents))
		return err
	})
	var covered map[string]bool
	g.Go(func() (err error) {
		covered, err = s.covered(within, call, org, collab.Map(entries, func(e collab.InboxEntry) string { return e.DocumentID }))
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, reader, err
	}
	hidden := func(e collab.InboxEntry) bool {
		return call.Person != nil &&
			(!covered[e.DocumentID] || e.ToAll && !member || !viewers[slices.Index(documents, e.Document(org))][0].May)
	}
	texts := words.In(call.Settings.MailLook.Texts, locale, call.Settings.MailLook.Locale)
	for _, e := range entries {
		e.DocumentName = names[e.Document(org)]
		if e.AnnotationID == "" {
			if !hidden(e) {
				list = append(list, e)
			}
			continue
		}
		thread := threads[0]
		threads = threads[1:]
		if hidden(e) || thread == nil || len(e.CommentIDs) > 0 && len(thread.Comments) == 0 {
			continue
		}
		if user != "" {
			viewer := viewers[slices.Index(documents, e.Document(org))][0]
			viewer.Member = member
			if !viewer.Sees(thread.Visibility, thread.CreatorID) {
				continue
			}
		}
		e.TargetText = thread.TargetText()
		e.ActionUser = acting(e.ActionUser, thread, members)
		content.Derive(&e.Notification, thread, content.Reader{UserID: user, Mentioned: e.Mentioned, Words: texts})
		list = append(list, e)
	}
	return list, reader, nil
}

// acting returns the user who acted with the fields that the thread has of them, else the
// organization.
func acting(u collab.User, t *collab.Thread, members map[string]collab.User) collab.User {
	if u.UserID == "" {
		return u
	}
	known := members[u.UserID]
	objects := []collab.JSON{t.From, t.AssignedTo}
	for i := range t.Comments {
		objects = append(objects, t.Comments[i].From)
	}
	for _, object := range objects {
		var o collab.User
		if len(object) > 0 && json.Unmarshal(object, &o) == nil && o.UserID == u.UserID {
			known = o.Over(known)
		}
	}
	return u.Over(known)
}
