package storetest

import "collabdata/shared/collab"

// Placed puts a notification into the inboxes of users.
func Placed(users ...string) []collab.Placement {
	return collab.Map(users, func(u string) collab.Placement { return collab.Placement{User: u} })
}
