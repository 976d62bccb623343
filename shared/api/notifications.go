package api

import (
	"net/http"

	"collabdata/shared/api/notifications"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/mail/unsubscribe"
)

// V2NotificationsConfigGet is POST /v2/notifications/config/get.
func V2NotificationsConfigGet() Endpoint {
	return Endpoint{
		Path:    "/v2/notifications/config/get",
		Summary: "Returns a user's notification preferences",
		Description: `
Returns what a user wants to be told of each document, by channel: the user's preference for the document, else for the organization, else
inbox ALL and email MINE. The response is in the order asked, repeats once; neither documents nor user need exist. With
getOrganizationConfig it is the one preference for the organization, without a documentId, whatever documentIds says. ALL is everything;
MINE is what concerns the user: tagged, assigned, taking part, named; NONE is nothing. Further channels, such as slack, are as they were
set, and are left out where they were not. NOT_FOUND when the organization does not exist, FAILED_PRECONDITION when it is disabled.`,
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
Records a notification and tells everyone of the organization, or with notifyAll false those of notifyUsers: in the app and by mail, as
they want it, and by webhook. It is delivered within moments. actionUser is not told.

In the headline {name} stands for the value of that name in displayHeadlineMessageTemplateData: a user (shown by name, else e-mail address,
else id), a string, a number or a boolean. {recipientUser} is whoever reads it, unless a value is given. A name without a value stays as it
is. Headline and body are plain text.

Where a notification with its id is there already, it succeeds and nothing is sent again. Name and e-mail address of a user have at most
1,000 bytes together, the notification 350,000 bytes as stored. NOT_FOUND when the organization or the document does not exist and is not
to be made; FAILED_PRECONDITION when the organization is disabled.`,
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
		Summary: "Lists notifications of a user or of a document, in pages",
		Description: `
Returns by time what a user was told: the user's own notifications, and those to everyone that the user did not cause and wants. The user
need not be a member. Headlines are filled in for this user. Without a userId it returns all notifications of the document, without read
and clicked. documentId, locationId and notificationIds narrow; what does not exist is left out, as is what is of a document that was
deleted. A page may have fewer notifications than asked for, even none, and have a nextPageToken, which is answered as pageToken, too.

NOT_FOUND when the organization does not exist, or without a userId the document; FAILED_PRECONDITION when one of them is disabled.`,
		Grants:    ReadTable,
		Requires:  collab.AdvancedQueries,
		Operation: operation(notification, (*notifications.Service).Get),
	}
}

// V2NotificationsUpdate is POST /v2/notifications/update.
func V2NotificationsUpdate() Endpoint {
	return Endpoint{
		Path:    "/v2/notifications/update",
		Summary: "Updates notifications, and marks them as read or clicked",
		Description: `
Changes what up to 500 notifications say, and records that users read or clicked them, which stays so. What is left out stays; null clears
it. The first click of each user raises notification.clicked, by which webhooks get the notificationSourceData back. Nobody is told again:
notifyUsers is refused, and mails and webhooks that went out stay as they were. A notification names at most 30 users.

documentId, locationId and userId narrow which are meant. The response has an item for each by its id, in the order sent; each is changed
as a whole, or not at all. It fails with NOT_FOUND when it is not one of those meant, or when one of the users does not have it, with
PERMISSION_DENIED when one may not see its document and verifyUserPermissions is true; one that may be sent again fails with ABORTED.
NOT_FOUND when the organization does not exist, FAILED_PRECONDITION when it is disabled.`,
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(notification, (*notifications.Service).Update),
	}
}

// V2NotificationsDelete is POST /v2/notifications/delete.
func V2NotificationsDelete() Endpoint {
	return Endpoint{
		Path:    "/v2/notifications/delete",
		Summary: "Deletes notifications for everyone, or out of the inbox of a user",
		Description: `
Deletes the notifications that documentId, locationId, userId and notificationIds all mean; at least one of documentId, userId and
notificationIds is there. With a userId they go out of the inbox of this user alone, who gets no mail about them any more; else for
everyone, with all that hangs on them. What was deleted is out of reach at once, mails that wait are not sent, and the id may be added
again: new, and told again. jobId names what sweeps the rest of it: see jobs/get.

The response has a result for each by id: in the order of notificationIds, else newest first. An item fails with NOT_FOUND where it is not
one of those meant. Without notificationIds the call deletes and lists up to 1,000; where there are more, the job deletes the others, but
none that is added later.

NOT_FOUND when the organization does not exist, or without a userId the document; FAILED_PRECONDITION when one of them is disabled.`,
		Grants:    ReadTable | WriteTable,
		LeavesJob: true,
		Operation: operation(notification, (*notifications.Service).Delete),
	}
}

// V2NotificationsConfigSet is POST /v2/notifications/config/set.
func V2NotificationsConfigSet() Endpoint {
	return Endpoint{
		Path:    "/v2/notifications/config/set",
		Summary: "Sets users' notification preferences",
		Description: `
Replaces what up to 30 users want to be told of up to 30 documents, or without documentIds of the whole organization. A channel that is
left out or null has no preference of its own: it falls back from the document to the organization, and from there to the default. config
names at least one channel. Beside inbox and email it may name 20 further ones, such as slack, each of at most 100 bytes: they are kept and
returned, and nothing is sent on them.

Neither documents nor users need exist. It holds for what is delivered from then on. The response has an item for each user, with a
documentId where the request names a single one. NOT_FOUND when the organization does not exist, FAILED_PRECONDITION when it is disabled.`,
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
			return d.Notifications.UnsubscribePage(d.Server.Log, d.Server.ReadOnly)
		}},
	}
}
