package api

import (
	"collabdata/shared/api/notifications"
	"collabdata/shared/collab"
)

// V2NotificationsConfigGet is POST /v2/notifications/config/get.
func V2NotificationsConfigGet() Endpoint {
	return Endpoint{
		Path:      "/v2/notifications/config/get",
		Summary:   "Answers a user's notification preferences",
		Grants:    ReadTable,
		Requires:  collab.NotificationPreferences,
		Operation: operation(notification, (*notifications.Service).ConfigGet),
	}
}

// V2NotificationsAdd is POST /v2/notifications/add.
func V2NotificationsAdd() Endpoint {
	return Endpoint{
		Path:      "/v2/notifications/add",
		Summary:   "Notifies users",
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(notification, (*notifications.Service).Add),
	}
}

// V1NotificationsAdd is POST /v1/notifications/add.
func V1NotificationsAdd() Endpoint {
	return Endpoint{
		Path:      "/v1/notifications/add",
		Summary:   "Notifies users in version 1",
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(notification, (*notifications.Service).AddV1),
	}
}

// V2NotificationsGet is POST /v2/notifications/get.
func V2NotificationsGet() Endpoint {
	return Endpoint{
		Path:      "/v2/notifications/get",
		Summary:   "Answers a user's notifications, newest first, in pages",
		Grants:    ReadTable,
		Operation: operation(notification, (*notifications.Service).Get),
	}
}

// V2NotificationsUpdate is POST /v2/notifications/update.
func V2NotificationsUpdate() Endpoint {
	return Endpoint{
		Path:      "/v2/notifications/update",
		Summary:   "Marks notifications as read or clicked",
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(notification, (*notifications.Service).Update),
	}
}

// V2NotificationsConfigSet is POST /v2/notifications/config/set.
func V2NotificationsConfigSet() Endpoint {
	return Endpoint{
		Path:      "/v2/notifications/config/set",
		Summary:   "Sets a user's notification preferences",
		Grants:    ReadTable | WriteTable,
		Requires:  collab.NotificationPreferences,
		Operation: operation(notification, (*notifications.Service).ConfigSet),
	}
}
