package notifications

import (
	"context"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/mail/content"

	"golang.org/x/sync/errgroup"
)

// asItIs returns entries as they are to be read now: without those of threads and comments that are gone, and those of comments with their
// texts as they are. Threads that the reader may not see by now are hidden.
func (s *Service) asItIs(
	ctx context.Context, call *rpc.Call, org collab.OrganizationRef, entries []collab.InboxEntry, of reader,
) ([]collab.InboxEntry, error) {
	var parts []collab.ThreadPart
	var documents []collab.DocumentRef
	for _, e := range entries {
		if e.AnnotationID == "" {
			continue
		}
		doc := e.Document(org)
		parts = append(parts, collab.ThreadPart{Document: doc, Annotation: e.AnnotationID, Comments: e.CommentIDs, At: e.CreatedAt})
		if of.UserID != "" && !slices.Contains(documents, doc) {
			documents = append(documents, doc)
		}
	}
	if len(parts) == 0 {
		return entries, nil
	}
	var threads []*collab.Thread
	var viewers [][]collab.Viewer
	g, within := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		threads, err = s.Threads.Parts(within, parts, false)
		return err
	})
	g.Go(func() (err error) {
		viewers, err = s.Access.Viewers(within, call.Settings, documents, []string{of.UserID}, false)
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var list []collab.InboxEntry
	for _, e := range entries {
		if e.AnnotationID == "" {
			list = append(list, e)
			continue
		}
		thread := threads[0]
		threads = threads[1:]
		if thread == nil || len(e.CommentIDs) > 0 && len(thread.Comments) == 0 {
			continue
		}
		if of.UserID != "" {
			viewer := viewers[slices.Index(documents, e.Document(org))][0]
			viewer.Member = of.member
			if !viewer.Sees(thread.Visibility, thread.CreatorID) {
				continue
			}
		}
		if len(thread.Comments) > 0 {
			e.Body = content.Excerpt(thread.Comments[0].Event())
		}
		list = append(list, e)
	}
	return list, nil
}
