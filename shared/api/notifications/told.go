package notifications

import (
	"context"
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
// where they are a member of the organization.
func (s *Service) asItIs(
	ctx context.Context, call *rpc.Call, org collab.OrganizationRef, entries []collab.InboxEntry, user string,
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
	member, locale := false, ""
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
				reader, member, locale = m.User, m.Holds(call.Millis()), m.Locale
			}
			return err
		})
	}
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
			(!covered[e.DocumentID] || !call.Person.Issued(e.Document(org).Incarnation) || e.ToAll && !member ||
				!viewers[slices.Index(documents, e.Document(org))][0].May)
	}
	texts := words.In(call.Settings.MailLook.Texts, locale, call.Settings.MailLook.Locale)
	for _, e := range entries {
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
		content.Derive(&e.Notification, thread, content.Reader{UserID: user, Mentioned: e.Mentioned, Words: texts})
		list = append(list, e)
	}
	return list, reader, nil
}
