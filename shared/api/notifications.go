package api

import (
	"net/http"

	"collabdata/shared/api/notifications"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/unsubscribe"
)

// V2NotificationsConfigGet is POST /v2/notifications/config/get.
func V2NotificationsConfigGet() Endpoint {
	return Endpoint{
		Path:    "/v2/notifications/config/get",
		Summary: "Answers a user's notification preferences",
		Description: `
The user's preference for each document, else for the organization, else inbox ALL and email MINE, in the order asked, repeats once. MINE is what
concerns the user: tagged, assigned, taking part, named.`,
		Grants:    ReadTable,
		Requires:  collab.NotificationPreferences,
		Operation: operation(notification, (*notifications.Service).ConfigGet),
	}
}

// V2NotificationsAdd is POST /v2/notifications/add.
func V2NotificationsAdd() Endpoint {
	return Endpoint{
		Path:    "/v2/notifications/add",
		Summary: "Notifies users",
		Description: `
Records a notification and tells everyone of the organization, or those of notifyUsers, who want it: in the app at once, by mail, and by webhook. In
the template {name} stands for the value of that name. Where a notification with its id is there already, it succeeds and nothing is sent again. A user's
name and e-mail address have at most 1,000 bytes together.`,
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(notification, (*notifications.Service).Add),
	}
}

// V1NotificationsAdd is POST /v1/notifications/add.
func V1NotificationsAdd() Endpoint {
	return Endpoint{
		Path:    "/v1/notifications/add",
		Summary: "Notifies users in version 1",
		Description: `
As version 2, without verifyUserPermissions.`,
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(notification, (*notifications.Service).AddV1),
	}
}

// V2NotificationsGet is POST /v2/notifications/get.
func V2NotificationsGet() Endpoint {
	return Endpoint{
		Path:    "/v2/notifications/get",
		Summary: "Answers a user's notifications, newest first, in pages",
		Description: `
The user's own notifications and those to everyone that the user did not cause and wants, newest first. The user need not be a member.`,
		Grants:    ReadTable,
		Operation: operation(notification, (*notifications.Service).Get),
	}
}

// V2NotificationsUpdate is POST /v2/notifications/update.
func V2NotificationsUpdate() Endpoint {
	return Endpoint{
		Path:    "/v2/notifications/update",
		Summary: "Marks notifications as read or clicked",
		Description: `
Marks notifications as read or clicked, which stays so. The first click raises notification.clicked, which sends notificationSourceData back. The
answer has what became of each by id, in the order sent: one that the user does not have is NOT_FOUND there.`,
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(notification, (*notifications.Service).Update),
	}
}

// V2NotificationsConfigSet is POST /v2/notifications/config/set.
func V2NotificationsConfigSet() Endpoint {
	return Endpoint{
		Path:    "/v2/notifications/config/set",
		Summary: "Sets a user's notification preferences",
		Description: `
Replaces the user's preferences for the documents, or for the whole organization. A channel that is left out or null has none of its own: it falls
back from the document to the organization, and from there to the default.`,
		Grants:    ReadTable | WriteTable,
		Requires:  collab.NotificationPreferences,
		Operation: operation(notification, (*notifications.Service).ConfigSet),
	}
}

// V2NotificationsUnsubscribe is the page by which the recipients of mails end them.
func V2NotificationsUnsubscribe() Endpoint {
	return Endpoint{
		Path:    unsubscribe.Path,
		Summary: "Ends the mails to the person whose token the link has: a page for people",
		Grants:  ReadTable | WriteTable | ReadMailSecrets,
		Public:  true,
		Operation: Operation{handler: func(d Deps, _ rpc.Options) http.Handler {
			return d.Notifications.UnsubscribePage(d.Server.Log)
		}},
	}
}
