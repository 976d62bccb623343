// Package api is the table of endpoints. Nothing else lists them: the local server and the functions serve it, the CDK app deploys it,
// the OpenAPI document and the README's table are made of it, tests hold the mains and the script tests against it.
package api

import (
	"collabdata/shared/api/commentannotations"
	"collabdata/shared/api/notifications"
	"collabdata/shared/api/organizations"
	"collabdata/shared/api/webhooks"
	"collabdata/shared/collab"
)

// Endpoints returns the table of endpoints, in the order of the contract, its extensions behind it.
func Endpoints() []Endpoint {
	return []Endpoint{
		{
			Path:      "/v2/commentannotations/add",
			Summary:   "Adds comment annotations with their comments",
			Grants:    ReadTable | WriteTable | SendEvents,
			Operation: operation(annotations, (*commentannotations.Service).Add),
		},
		{
			Path:      "/v1/commentannotations/add",
			Summary:   "Adds comment annotations in version 1",
			Grants:    ReadTable | WriteTable | SendEvents,
			Operation: operation(annotations, (*commentannotations.Service).AddV1),
		},
		{
			Path:      "/v2/commentannotations/get",
			Summary:   "Answers comment annotations by document, folder, location, creator, status, times or id, in pages",
			Grants:    ReadTable | ReadIndexes,
			Requires:  collab.AdvancedQueries,
			Operation: operation(annotations, (*commentannotations.Service).Get),
		},
		{
			Path:      "/v1/commentannotations/get",
			Summary:   "Answers comment annotations of a document in version 1, all at once",
			Grants:    ReadTable | ReadIndexes,
			Operation: operation(annotations, (*commentannotations.Service).GetV1),
		},
		{
			Path:      "/v2/commentannotations/update",
			Summary:   "Updates comment annotations, or replaces users in them",
			Grants:    ReadTable | ReadIndexes | WriteTable | SendEvents,
			Operation: operation(annotations, (*commentannotations.Service).Update),
		},
		{
			Path:      "/v2/commentannotations/comments/add",
			Summary:   "Adds comments to a comment annotation",
			Grants:    ReadTable | WriteTable | SendEvents,
			Operation: operation(annotations, (*commentannotations.Service).AddComments),
		},
		{
			Path:      "/v2/commentannotations/comments/update",
			Summary:   "Updates comments",
			Grants:    ReadTable | WriteTable | SendEvents,
			Operation: operation(annotations, (*commentannotations.Service).UpdateComments),
		},
		{
			Path:      "/v2/commentannotations/comments/get",
			Summary:   "Answers the comments of a comment annotation, in pages",
			Grants:    ReadTable,
			Operation: operation(annotations, (*commentannotations.Service).GetComments),
		},
		{
			Path:      "/v2/organizations/get",
			Summary:   "Answers organizations, in pages",
			Grants:    ReadTable,
			Requires:  collab.AdvancedQueries,
			Operation: operation(organization, (*organizations.Service).Get),
		},
		{
			Path:      "/v1/organizations/folders/get",
			Summary:   "Answers the folders of an organization, or one with its subfolders",
			Grants:    ReadTable | ReadIndexes,
			Requires:  collab.AdvancedQueries,
			Operation: operation(organization, (*organizations.Service).FoldersGet),
		},
		{
			Path:      "/v2/notifications/config/get",
			Summary:   "Answers a user's notification preferences",
			Grants:    ReadTable,
			Requires:  collab.NotificationPreferences,
			Operation: operation(notification, (*notifications.Service).ConfigGet),
		},
		{
			Path:      "/v2/notifications/add",
			Summary:   "Notifies users",
			Grants:    ReadTable | WriteTable | SendEvents,
			Operation: operation(notification, (*notifications.Service).Add),
		},
		{
			Path:      "/v1/notifications/add",
			Summary:   "Notifies users in version 1",
			Grants:    ReadTable | WriteTable | SendEvents,
			Operation: operation(notification, (*notifications.Service).AddV1),
		},
		{
			Path:      "/v2/notifications/get",
			Summary:   "Answers a user's notifications, newest first, in pages",
			Grants:    ReadTable,
			Operation: operation(notification, (*notifications.Service).Get),
		},
		{
			Path:      "/v2/notifications/update",
			Summary:   "Marks notifications as read or clicked",
			Grants:    ReadTable | WriteTable | SendEvents,
			Operation: operation(notification, (*notifications.Service).Update),
		},
		{
			Path:      "/v2/notifications/config/set",
			Summary:   "Sets a user's notification preferences",
			Grants:    ReadTable | WriteTable,
			Requires:  collab.NotificationPreferences,
			Operation: operation(notification, (*notifications.Service).ConfigSet),
		},
		{
			Path:      "/v2/webhooks/add",
			Summary:   "Adds a webhook endpoint",
			Grants:    ReadTable | WriteTable | ReadWebhooks | WriteWebhooks,
			Operation: operation(webhook, (*webhooks.Service).Add),
		},
		{
			Path:      "/v2/webhooks/get",
			Summary:   "Answers webhook endpoints",
			Grants:    ReadTable | ReadWebhooks,
			Operation: operation(webhook, (*webhooks.Service).Get),
		},
		{
			Path:      "/v2/webhooks/update",
			Summary:   "Updates a webhook endpoint, or enables it again",
			Grants:    ReadTable | WriteTable | ReadWebhooks | WriteWebhooks,
			Operation: operation(webhook, (*webhooks.Service).Update),
		},
		{
			Path:      "/v2/webhooks/delete",
			Summary:   "Deletes a webhook endpoint",
			Grants:    ReadTable | WriteTable | ReadWebhooks | WriteWebhooks,
			Operation: operation(webhook, (*webhooks.Service).Delete),
		},
		{
			Path:      "/v2/webhooks/secrets/rotate",
			Summary:   "Gives a webhook endpoint a new secret",
			Grants:    ReadTable | WriteTable | ReadWebhooks | WriteWebhooks,
			Operation: operation(webhook, (*webhooks.Service).RotateSecret),
		},
		{
			Path:      "/v2/webhooks/deliveries/get",
			Summary:   "Answers what was delivered to a webhook endpoint, in pages",
			Grants:    ReadTable | ReadWebhooks,
			Operation: operation(webhook, (*webhooks.Service).GetDeliveries),
		},
		{
			Path:      "/v2/webhooks/deliveries/replay",
			Summary:   "Delivers events to a webhook endpoint again",
			Grants:    ReadTable | WriteTable | ReadWebhooks,
			Operation: operation(webhook, (*webhooks.Service).ReplayDeliveries),
		},
	}
}
