package openapi

import (
	_ "embed"

	"collabdata/shared/collab"
)

// introduction is the part of the reference before the operations, in Markdown.
//
//go:embed introduction.md
var introduction string

const keyRules = `
1 to 255 printable ASCII characters, such as a UUID; an empty header is ignored. Within 24 hours of
the last attempt, a request with the same key and body gets the first response, without further
effect. It completes an interrupted attempt; if that attempt changed the data of a selector, the
response has only the rest. Another body fails with INVALID_ARGUMENT. While the first request is
running, a retry fails with ABORTED. Success and ALREADY_EXISTS bind the key, unless an item of the
response can succeed later; after any other failure the key is free. Keys are separate for each
account and path.
`

const deliveryRules = `
"Webhooks" in the introduction describes verification, responses and retries. The body has the
annotation, comments and notification at the time of the request: a retry can have another body with
the same webhook-id. Deleted objects have only ids and 'deleted: true'. A body has at most 400,000
bytes: further comments have 'contentOmitted: true'; read them with comments/get. New fields can be
added.
`

// nouns describes the first word of paths after the version.
var nouns = map[string]string{
	"commentannotations": "Threads of comments on documents",
	"organizations":      "Organizations, and their folders, documents and groups of users",
	"users":              "Users of organizations, folders and documents",
	"auth":               "Permissions and access tokens of users",
	"notifications":      "Notifications in the app and by email, and preferences",
	"jobs":               "Jobs of deletions",
	"live":               "Live updates of pages",
	"webhooks":           "Webhook endpoints and deliveries",
}

// occasions describes the events.
var occasions = map[collab.EventType]string{
	collab.AnnotationAdded:         "A comment annotation was added",
	collab.AnnotationUpdated:       "A comment annotation was changed, except for status and assignee",
	collab.AnnotationStatusChanged: "The status of a comment annotation changed",
	collab.AnnotationAssigned:      "The assignee of a comment annotation changed",
	collab.SuggestionAccepted:      "A suggestion was accepted",
	collab.SuggestionRejected:      "A suggestion was rejected",
	collab.ReactionAdded:           "A user reacted to a comment",
	collab.ReactionDeleted:         "A user deleted a reaction",
	collab.CommentAdded:            "Comments were added to a comment annotation by one request",
	collab.AnnotationDeleted:       "A comment annotation was deleted",
	collab.DocumentDeleted:         "A document was deleted",
	collab.FolderDeleted:           "A folder was deleted with its content",
	collab.OrganizationDeleted:     "An organization was deleted",
	collab.UserErased:              "Personal data is being deleted: delete your copies, too",
	collab.CommentDeleted:          "Comments of a comment annotation were deleted by one request",
	collab.CommentUpdated:          "Comments of a comment annotation were changed by one request",
	collab.NotificationAdded:       "A notification was added",
	collab.NotificationClicked:     "A user clicked a notification",
	collab.NotificationDue:         "Notify a user on a channel",
	collab.EmailUndeliverable:      "An email to a user bounced, or the user complained about one: the address gets no more",
	collab.WebhookDisabled:         "A webhook endpoint of the account was disabled",
}

// samples are values of fields in examples.
var samples = map[string]any{
	"organizationId": "acme", "documentId": "plan", "annotationId": "a1", "notificationId": "n1", "webhookId": "crm", "userId": "ann", "commentId": 1,
}

// glossary describes fields with one meaning everywhere. Other fields have doc tags.
var glossary = map[string]string{
	"actionUser":                     "The acting user",
	"annotation":                     "The annotation after the event",
	"annotationId":                   "The comment annotation",
	"annotationIds":                  "Comment annotations; the response has their order",
	"assignedTo":                     "The assignee",
	"at":                             "Time of creation",
	"attachments":                    "Files of the comment",
	"clicked":                        "The user clicked it, and thereby read it; this cannot be undone",
	"color":                          "Color of the text and the pin",
	"commentAnnotations":             "The annotations to add, with at most 5,000 comments in total",
	"commentData":                    "The comments",
	"commentHtml":                    "Content as HTML, stored as sent: sanitize it before you show it",
	"commentId":                      "The comment",
	"commentText":                    "Content as text; {{userId}} is replaced by the name of a tagged user",
	"comments":                       "Sorted by comment id",
	"commentsTruncated":              "True if the thread is larger than a response: read further comments with comments/get",
	"config":                         "By channel",
	"contact":                        "The tagged user, with the same userId",
	"context":                        "Free-form",
	"createDocument":                 "Create a missing document, with its id as name",
	"createOrganization":             "Create a missing organization, with its id as name",
	"createdAt":                      "Time of creation",
	"description":                    "For people",
	"disabled":                       "Whether it is disabled",
	"displayBodyMessage":             "Secondary text",
	"displayBodyMessageTemplate":     "Template of the secondary text, replacing displayBodyMessage; {name} is a value",
	"displayBodyMessageTemplateData": "Values of this template, as for the headline",
	"displayHeadlineMessageTemplate": "Template of the headline; {name} is a value, and unknown names remain",
	"displayHeadlineMessageTemplateData": "Values of the template: users (shown by name, else id), strings, numbers, booleans. " +
		"Default of recipientUser: the recipient",
	"documentId":             "The document",
	"durationMs":             "Duration in milliseconds",
	"email":                  "Email address",
	"eventTypes":             "The types of posted events; absent or null: all, including future ones",
	"expires":                "Until then it signs together with the current one",
	"from":                   "The author",
	"groupByDocumentId":      "Return an object of arrays by document id, without nulls and empty documents",
	"id":                     "Its id",
	"isCommentResolverUsed":  "Your application stores and shows the content of the comment",
	"isCommentTextAvailable": "The content in your application has a text, not only attachments",
	"lastUpdated":            "Time of the last change",
	"lightColor":             "Background color",
	"location":               "Its place in the document",
	"locationIds":            "At any of these locations",
	"locationName":           "Its name",
	"message":                "Outcome or error, for people",
	"metadata":               "Free-form",
	"name":                   "For people",
	"notification":           "The notification",
	"notificationId":         "The notification",
	"notificationSourceData": "Free-form, returned when a user clicks the notification",
	"notifyAll":              "Notify everyone in the organization. Default: true",
	"notifyUsers":            "The recipients, at least one, if notifyAll is false; otherwise ignored",
	"organizationId":         "The organization",
	"organizationIds":        "Only these, in this order; missing ones are skipped",
	"pageToken":              "The nextPageToken of the previous page",
	"priority":               "Its priority",
	"read":                   "The user read it; this cannot be undone",
	"reason":                 "Cause of the failure",
	"resting":                "After five failures in a row: one post every 30 seconds until one succeeds",
	"secret":                 "Signs the requests to the endpoint: store it, it is shown only once",
	"since":                  "Deliveries of events at this time or later; this or eventId is required",
	"state":                  "pending; delivered; exhausted: every attempt failed; canceled: expired, unreadable or unwanted",
	"status":                 "Its status",
	"success":                "Whether it succeeded",
	"taggedUserContacts":     "Tagged users, for each {{userId}} in the content",
	"targetElement":          "The anchor",
	"targetText":             "The text of the anchor",
	"text":                   "The text of the tag",
	"triggerNotification":    "Notify the users concerned in the app, by email and by webhook",
	"type":                   "default, ongoing or terminal",
	"updateUsers":            "Users to replace, all at once: two can be swapped",
	"updatedData":            "The changes: an absent field is unchanged, null clears it",
	"url":                    "Its address",
	"userId":                 "The user",
	"userIds":                "Created by any of these users",
	"visibility":             "Its audience, within that of the document. Default: all of it",
	"webhook":                "The endpoint, and why it was disabled",
	"webhookId":              "The webhook endpoint",
	"webhookIds":             "Only these, in this order; missing ones are skipped",
}
