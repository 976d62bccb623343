package notifications

import (
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

func (r *UpdateRequest) Fill(_ *collab.Person, m *rpc.Violations) {
	if len(r.Notifications) > collab.MaxIDsPerFilter {
		m.Add("notifications", "must have at most %d items, not %d", collab.MaxIDsPerFilter, len(r.Notifications))
	}
}

// Fill marks the notification as read by the person, unless the request marks it as clicked or,
// with an empty readByUserIds, as unread. It rejects ids of other people.
func (u *NotificationUpdate) Fill(p *collab.Person, m *rpc.Violations) {
	only := func(field string, users []string) {
		if users != nil && !slices.Equal(users, []string{p.UserID}) {
			m.Add(field, "can only name you: other users require a back end")
		}
	}
	if len(u.ReadByUserIDs) > 0 {
		only("readByUserIds", u.ReadByUserIDs)
	}
	only("clickedByUserIds", u.ClickedByUserIDs)
	if u.ReadByUserIDs == nil && u.ClickedByUserIDs == nil {
		u.ReadByUserIDs = []string{p.UserID}
	}
}
