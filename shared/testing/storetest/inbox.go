package storetest

import "collabdata/shared/collab"

// Placed adds a notification to the inboxes of users.
func Placed(users ...string) []collab.Placement {
	return collab.Map(users, func(u string) collab.Placement { return collab.Placement{User: u} })
}
