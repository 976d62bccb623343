package openapi

import (
	_ "embed"

	"collabdata/shared/collab"
)

// introduction is the reference before its operations, in Markdown.
//
//go:embed introduction.md
var introduction string

const keyRules = `
1 to 255 printable ASCII characters, such as a UUID; an empty header is none. The same key and body within 24 hours of the last attempt gets the same
response as the first time, and does nothing; after an attempt that did not finish it finishes that one. (Where that one had changed what the request
selects by, the response has the rest only.) With another body it is INVALID_ARGUMENT; while the first one runs it is ABORTED. Success and ALREADY_EXISTS bind the key,
unless an item of the response failed that may succeed later; after any other failure the key is free. Keys are apart for each account and path.
`

const deliveryRules = `
The part "Webhooks" at the beginning of this page says how to verify it, how to answer, and when it is repeated. It shows annotation, comments
and notification as they are when it is sent: a repeat may have another body under the same webhook-id. In place of what is gone stand ids
and deleted: true. At most 400,000 bytes: comments for which there is no room have contentOmitted: true, and are read by comments/get. Fields may be
added; those here stay.
`

// nouns say what the operations are about, by the first word of their paths after the version.
var nouns = map[string]string{
	"commentannotations": "Threads of comments on documents",
	"organizations":      "Organizations, and their folders, documents and groups of users",
	"users":              "Users of organizations, folders and documents",
	"auth":               "What users may see and write",
	"notifications":      "What people are notified of in the app and by mail, and what they want to hear of",
	"jobs":               "What deletions have left to be carried out",
	"live":               "Pages that are told of changes",
	"webhooks":           "Endpoints to which events are posted, and what became of that",
}

// occasions say when an event happens.
var occasions = map[collab.EventType]string{
	collab.AnnotationAdded:         "A comment annotation was added",
	collab.AnnotationUpdated:       "A comment annotation was changed, but for its status and assignee",
	collab.AnnotationStatusChanged: "The status of a comment annotation changed",
	collab.AnnotationAssigned:      "The assignee of a comment annotation changed",
	collab.CommentAdded:            "Comments were added to a comment annotation, by one call",
	collab.AnnotationDeleted:       "A comment annotation was deleted",
	collab.DocumentDeleted:         "A document was deleted",
	collab.FolderDeleted:           "A folder was deleted, with what was in it",
	collab.OrganizationDeleted:     "An organization was deleted",
	collab.UserErased:              "The data of a person are being deleted: delete your copies, too",
	collab.CommentDeleted:          "Comments of a comment annotation were deleted, by one call",
	collab.CommentUpdated:          "Comments of a comment annotation were changed, by one call",
	collab.NotificationAdded:       "A notification was added",
	collab.NotificationClicked:     "A user clicked a notification",
	collab.WebhookDisabled:         "A webhook endpoint of the account was disabled",
}

// samples are what the examples have in some fields.
var samples = map[string]any{
	"organizationId": "acme", "documentId": "plan", "annotationId": "a1", "notificationId": "n1", "webhookId": "crm", "userId": "ann", "commentId": 1,
}

// glossary says what fields are that mean the same everywhere. Others say it in their doc tags.
var glossary = map[string]string{
	"actionUser":                     "Who acted",
	"annotation":                     "The annotation after the event",
	"annotationId":                   "The comment annotation",
	"annotationIds":                  "Comment annotations, in whose order the response is",
	"assignedTo":                     "To whom the annotation is assigned",
	"at":                             "When it was made",
	"attachments":                    "Files that the comment carries",
	"clicked":                        "The user clicked it, which is reading it too; it stays so",
	"color":                          "Of the text, and of the pin",
	"commentAnnotations":             "The annotations to add; at most 5,000 comments in all",
	"commentData":                    "The comments",
	"commentHtml":                    "Its content as HTML, kept as sent: clean it before you show it",
	"commentId":                      "The comment",
	"commentText":                    "Its content as text; {{userId}} stands for the name of a tagged user",
	"comments":                       "By comment id",
	"commentsTruncated":              "True where the thread is larger than a response: read its further comments by comments/get",
	"config":                         "By channel",
	"contact":                        "The tagged user, of the same userId",
	"context":                        "Free-form, of your own",
	"createDocument":                 "Make the document, named by its id, where it is missing; false where it is left out",
	"createOrganization":             "Make the organization, named by its id, where it is missing; false where it is left out",
	"createdAt":                      "When it was made",
	"description":                    "For people",
	"disabled":                       "Whether it is switched off",
	"displayBodyMessage":             "Secondary text",
	"displayBodyMessageTemplate":     "The secondary text, in which {name} stands for the value of that name, in the place of displayBodyMessage",
	"displayBodyMessageTemplateData": "Values for that template, as for the headline's",
	"displayHeadlineMessageTemplate": "The headline, in which {name} stands for the value of that name; an unknown name stays as it is",
	"displayHeadlineMessageTemplateData": "Values for the template: users (shown by name, else id), strings, numbers, booleans. " +
		"recipientUser, where it is not given, is who reads it",
	"documentId":             "The document",
	"durationMs":             "How long it took, in milliseconds",
	"email":                  "E-mail address",
	"eventTypes":             "The types of events that are posted; none or null: all, also those that come to be later",
	"expires":                "It signs until then, as does the present one",
	"from":                   "The author",
	"groupByDocumentId":      "Return an object of arrays by document id, without nulls, and without documents that have nothing on this page; false where it is left out",
	"id":                     "Its id",
	"isCommentResolverUsed":  "Your application keeps the content of the comment, and shows it itself",
	"isCommentTextAvailable": "The content that your application keeps has a text, and not only attachments",
	"lastUpdated":            "When it was last changed",
	"lightColor":             "Background color",
	"location":               "Where in the document it belongs",
	"locationIds":            "Those at any of these locations",
	"locationName":           "Its name",
	"message":                "What was done or what is wrong, for people",
	"metadata":               "Free-form, of your own",
	"name":                   "For people",
	"notification":           "The notification",
	"notificationId":         "The notification",
	"notificationSourceData": "Free-form, sent back when a user clicks the notification",
	"notifyAll":              "It is for everyone of the organization; true where it is left out",
	"notifyUsers":            "Whom it is for where notifyAll is false, at least one then; ignored where notifyAll is true",
	"organizationId":         "The organization",
	"organizationIds":        "These organizations, in this order; those that do not exist are left out",
	"pageToken":              "The nextPageToken of the page before",
	"priority":               "Its priority",
	"read":                   "The user read it; it stays so",
	"reason":                 "Why it failed",
	"resting":                "After five failures in a row: one post every 30 seconds tries it until it answers",
	"secret":                 "Signs what the endpoint gets: keep it, nothing shows it again",
	"since":                  "The deliveries of events of then and later; this or eventId is required",
	"state":                  "pending: an attempt is to come; delivered; exhausted: every attempt failed; canceled: the event had expired or could not be read, or the endpoint did not want its type any more",
	"status":                 "Its status",
	"success":                "Whether it was done",
	"taggedUserContacts":     "Users whom the comment tags, for each {{userId}} in its content",
	"targetElement":          "What it is anchored on",
	"targetText":             "The text that it is anchored on",
	"text":                   "How the tag is written",
	"triggerNotification":    "Tell those concerned in the app, by mail and by webhook; false where it is left out",
	"type":                   "default, ongoing or terminal",
	"updateUsers":            "Users to replace, all at once: two may be swapped",
	"updatedData":            "What to change: a field left out stays, null clears it",
	"url":                    "Its address",
	"userId":                 "The user",
	"userIds":                "Those created by any of these users",
	"visibility":             "Who may see it, of those who may see the document: all of them where it is left out",
	"webhook":                "The endpoint, and why it was disabled",
	"webhookId":              "The webhook endpoint",
	"webhookIds":             "These endpoints, in this order; those that do not exist are left out",
}
