package openapi

import "collabdata/shared/collab"

const introduction = `
Stores comment threads ("comment annotations"), comments, organizations, folders and notifications for other people's applications, and tells
the people concerned in the app, by mail and by webhook.

**Requests.** Every operation is a POST with a JSON body whose single key is ` + "`data`" + `: at most 5,000,000 bytes, UTF-8, nested at most 32 levels
deep. Fields that are not listed are refused, at every level but in objects said to be free-form, and so are keys given twice. An integer may be
written ` + "`5.0` or `1.7e12`" + ` where it is exactly whole; numbers in free-form objects are kept as written. Where null is taken it is as absent,
unless the field says otherwise.

**Answers.** A success is ` + "`{\"result\": {\"status\", \"message\", \"data\"}}`, a failure `{\"error\": {\"message\", \"status\", \"details\"}}`" + `: the status tells
what to do, the message is for people. An operation on many items answers 200 with what became of each: ` + "`success`, `message`" + ` and, of a failure,
` + "`code`" + `. Fields may be added to answers. Times in requests are milliseconds since epoch; in answers they are ISO 8601, but for those of folders.

**Pages.** A list ends at ` + "`pageSize`" + ` items or at about 5 MB. Where there may be more, the answer has a ` + "`nextPageToken`" + `, which asks for the next page
in the same request as ` + "`pageToken`" + `; only ` + "`pageSize`" + ` may differ. A page may hold fewer items than asked, even none: the one without a token is the
last.

**Repeats.** ABORTED, RESOURCE_EXHAUSTED, INTERNAL, UNAVAILABLE, DEADLINE_EXCEEDED and a lost connection: send the same request again, with growing
pauses, not before Retry-After, and with the same Idempotency-Key where the operation writes. All else fails again.

**Quotas.** An account may write so much a second, raise so many events a minute and send so many mails a day, as its operator says. Beyond the first
two a request that writes or raises events is RESOURCE_EXHAUSTED and writes nothing, until Retry-After; mails wait by themselves.

**Consistency.** What is asked for by document or by id holds every write that was answered. By other filters it may be a second behind: what
moved in that second from one of the values asked for to another may be missing from that walk, and is in the next. To follow changes, walk by
updatedAfter from 30 s before the last walk began: a time is the start of a request, not the moment at which its data can be read. You meet some
annotations twice, and miss none.

**Who is told.** An event on a thread concerns the users tagged in the comments that trigger it, the assignee, who began the thread, and those who
wrote one of its last 100 comments or were tagged in them; each once, and never the one who acted. A notification concerns its notifyUsers, or with
notifyAll everyone of the organization. They are told in the app and by mail as their preferences say: those for the document, else for the
organization, else inbox ALL and email MINE. MINE is what concerns the user by name; a notification to everyone is not. With verifyUserPermissions only those are
told who may see the document.

**Mails** go to the address that the request names for the user (in taggedUserContacts, assignedTo or notifyUsers), else to the member's, else to the
one that the thread's latest comments name; without an address there is no mail. An account's operator may have mails go to members alone. Mails about
a thread wait five minutes for others on it, and become one. Before such a mail goes out it is asked again whether the document is there, who may see
it, what the preferences are and who has unsubscribed. Unsubscribing by the link in a mail ends the mails to that user of the organization, and to that
address in the account; only the same page undoes it.
`

const keyRules = `
1 to 255 printable ASCII characters, such as a UUID; an empty header is none. The same key and body within 24 hours of the last attempt answers as
the first time and does nothing; after an attempt that did not finish it finishes that one. With another body it is INVALID_ARGUMENT, while the
first one runs ABORTED. Success and ALREADY_EXISTS bind the key, unless an item of the answer failed that may be repeated; any other failure frees it.
`

const deliveryRules = `
Signed as [Standard Webhooks](https://www.standardwebhooks.com) 1.0.0 says: any of its libraries verifies it with the secret that adding the endpoint
or rotating its secret answered. At most 20,000 bytes; larger events are cut and say ` + "`truncated`" + `. An endpoint answers within 15 s; redirects are
failures. A failed attempt is repeated after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h. Events are
posted in order while the endpoint answers; after failures they may overtake each other, and one may come more than once. An endpoint that failed on three
of the last five days, and answered nothing for five, is disabled. By default only
events that trigger notifications are posted; with the account's setting events=all, those of every write.
`

// occasions say when an event happens.
var occasions = map[collab.EventType]string{
	collab.AnnotationAdded:         "A comment annotation was added",
	collab.AnnotationUpdated:       "A comment annotation was changed, but for its status and assignee",
	collab.AnnotationStatusChanged: "The status of a comment annotation changed",
	collab.AnnotationAssigned:      "The assignee of a comment annotation changed",
	collab.CommentAdded:            "Comments were added to a comment annotation, by one call",
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
	"annotationIds":                  "Comment annotations, in whose order the answer is",
	"apiKey":                         "The API key of the request",
	"assignedTo":                     "To whom the annotation is assigned",
	"at":                             "When it was made",
	"attachmentId":                   "Unique in its comment",
	"attachments":                    "Files that the comment carries",
	"attempts":                       "The posts so far, oldest first, the last 20",
	"bucketPath":                     "Its path in your storage",
	"clicked":                        "The user clicked it, which is reading it too; it stays so",
	"clickedAt":                      "When the user first clicked it",
	"code":                           "Of a failure: as the status of an error",
	"color":                          "Of the text, and of the pin",
	"commentAnnotations":             "The annotations to add; at most 5,000 comments in all",
	"commentData":                    "The comments",
	"commentHtml":                    "Its content as HTML, kept as sent: clean it before you show it",
	"commentId":                      "The comment",
	"commentIds":                     "Comments",
	"commentText":                    "Its content as text; {{userId}} stands for the name of a tagged user",
	"comments":                       "By comment id",
	"commentsTruncated":              "The thread is larger than an answer: its further comments are to be had from comments/get",
	"config":                         "By channel",
	"contact":                        "The tagged user, of the same userId",
	"context":                        "Free-form, of your own",
	"createDocument":                 "Make the document where it is missing",
	"createOrganization":             "Make the organization where it is missing",
	"createdAfter":                   "Created then or later",
	"createdAt":                      "When it was made; in requests, the present where it is left out",
	"createdBefore":                  "Created then or earlier",
	"description":                    "For people",
	"disabled":                       "Whether it is switched off",
	"disabledReason":                 "Why the service disabled it",
	"displayBodyMessage":             "Secondary text",
	"displayHeadlineMessage":         "The headline for this user, as plain text",
	"displayHeadlineMessageTemplate": "The headline, in which {name} stands for the value of that name; an unknown name stays as it is",
	"displayHeadlineMessageTemplateData": "Values for the template: users (shown by name, else e-mail address, else id), strings, numbers, booleans. " +
		"recipientUser, where it is not given, is who reads it",
	"documentId":             "The document",
	"documentIds":            "Documents",
	"durationMs":             "How long it took, in milliseconds",
	"elementId":              "Id of a DOM element",
	"email":                  "E-mail address",
	"eventId":                "The event, also the header webhook-id of its posts",
	"eventType":              "The type of the event",
	"eventTypes":             "The types of events that are posted; none or null: all, also those that come to be later",
	"expires":                "It signs until then, beside the present one",
	"failingSince":           "When the first of these failures was",
	"failures":               "Posts that failed since the last one that succeeded",
	"field":                  "The path of the field, such as data.commentAnnotations[0].status.id",
	"folderId":               "The folder",
	"folderName":             "Its name",
	"from":                   "The author",
	"groupByDocumentId":      "Answer an object of arrays by document, without nulls",
	"iconUrl":                "Address of its icon",
	"id":                     "Its id",
	"isCommentResolverUsed":  "Your application has the comment's content",
	"isCommentTextAvailable": "The comment that your application has has a text",
	"lastUpdated":            "When it was last changed; in requests, the present where it is left out",
	"lightColor":             "Background color",
	"location":               "Where in the document it belongs",
	"locationIds":            "Those at any of these locations",
	"locationName":           "Its name",
	"message":                "What was done or what is wrong, for people",
	"metadata":               "Free-form, of your own",
	"mimeType":               "Its MIME type",
	"name":                   "For people",
	"newUser":                "The user to put in that one's place, whole",
	"nextAttempt":            "When a pending one is posted next, unless the endpoint rests",
	"notification":           "The notification",
	"notificationId":         "The notification",
	"notificationIds":        "Notifications",
	"notificationSourceData": "Free-form, sent back when a user clicks the notification",
	"notifyAll":              "It is for everyone of the organization; true where it is left out",
	"notifyUsers":            "Whom it is for where notifyAll is false",
	"occurrence":             "Which occurrence of targetText",
	"oldUser":                "The user to replace, by the id alone",
	"organizationId":         "The organization",
	"organizationIds":        "These organizations, in this order; those that do not exist are left out",
	"organizationName":       "Its name",
	"pageSize":               "At most so many items; 1,000 where it is left out",
	"pageToken":              "The nextPageToken of the page before",
	"parentFolderId":         "The folder in which it is; root for none",
	"previous":               "The fields of the annotation that changed, as they were",
	"priority":               "Its priority",
	"read":                   "The user read it; it stays so",
	"readAt":                 "When the user first read it",
	"reason":                 "Why it failed",
	"replayed":               "Deliveries that are pending again",
	"resting":                "After five failures in a row, posts are held back but for a probe from time to time",
	"secret":                 "Signs what the endpoint gets: keep it, nothing shows it again",
	"secrets":                "Those that sign, the present one first",
	"selectAllContent":       "It is anchored on the whole text of the element",
	"since":                  "Events of then and later",
	"size":                   "In bytes",
	"state":                  "pending: an attempt is to come; delivered; exhausted: every attempt failed; canceled: the event had expired or could not be read, or the endpoint did not want its type any more",
	"status":                 "Its status",
	"statusId":               "As statusIds, with which it makes a union",
	"statusIds":              "Those in any of these statuses",
	"subFolders":             "The folders directly in it, where one folder was asked for",
	"success":                "Whether it was done",
	"svg":                    "Its icon as SVG",
	"taggedUserContacts":     "Users whom the comment tags, for each {{userId}} in its content",
	"targetElement":          "What it is anchored on",
	"targetText":             "The text that it is anchored on",
	"text":                   "How the tag is written",
	"thumbnail":              "Address of a small picture of it",
	"triggerNotification":    "Tell those concerned in the app, by mail and by webhook",
	"truncated":              "Texts were cut, or parts left out: read the whole by its ids",
	"type":                   "default, ongoing or terminal",
	"updateUsers":            "Users to replace, all at once: two may be swapped",
	"updatedAfter":           "Last updated then or later",
	"updatedBefore":          "Last updated then or earlier",
	"updatedData":            "What to change: a field left out stays, null clears",
	"url":                    "Its address",
	"userId":                 "The user",
	"userIds":                "Those created by any of these users",
	"verifyUserPermissions":  "Only for users who may see the document",
	"webhook":                "The endpoint, and why it was disabled",
	"webhookId":              "The webhook endpoint",
	"webhookIds":             "These endpoints, in this order; those that do not exist are left out",
}
