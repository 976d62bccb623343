package notifications

import (
	"cmp"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/inboxview"
)

// refresh returns entries with their current content in a language, or that of the user for "". It
// also returns the user, as far as known as a member, and the number of entries at the end that do
// not fit on the page: see inboxview.View.Show.
func (s *Service) refresh(
	ctx context.Context, call *rpc.Call, org collab.OrganizationRef, entries []collab.InboxEntry, req *GetRequest,
) (list []collab.InboxEntry, reader collab.User, left int, err error) {
	r := inboxview.Reader{Settings: call.Settings, Org: org, User: req.UserID, Locale: req.Locale, BackEnd: call.Person == nil}
	if req.AsUserID != nil {
		r.Covered = func(ctx context.Context, documents []collab.DocumentRef) ([]bool, error) {
			ids := collab.Map(documents, func(d collab.DocumentRef) string { return d.Document })
			covered, err := s.covered(ctx, call, org, ids)
			return collab.Map(documents, func(d collab.DocumentRef) bool {
				return covered[d.Document] && (call.Person == nil || call.Person.Issued(d.Incarnation))
			}), err
		}
	}
	view := &inboxview.View{Directory: s.Directory, Threads: s.Threads, Access: s.Access}
	shown, err := view.Show(ctx, r, entries)
	if err != nil {
		return nil, reader, 0, err
	}
	reader = shown.Reader.User
	reader.UserID = cmp.Or(reader.UserID, req.UserID)
	return collab.Map(shown.Entries, func(e inboxview.Entry) collab.InboxEntry { return e.InboxEntry }), reader, shown.Left, nil
}
