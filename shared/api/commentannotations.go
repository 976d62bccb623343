package api

import (
	"collabdata/shared/api/commentannotations"
	"collabdata/shared/collab"
)

// V2CommentannotationsAdd is POST /v2/commentannotations/add.
func V2CommentannotationsAdd() Endpoint {
	return Endpoint{
		Path:    "/v2/commentannotations/add",
		Summary: "Adds comment annotations with their comments",
		Description: `
Adds annotations to a document, each with its comments, and each as a whole or not at all: up to 500, with at most 90 comments each and
5,000 comments in all. More comments go to comments/add. The first comment's author is the annotation's creator.

An annotation may come without anything, even without comments. Without a status it is OPEN. OPEN, IN_PROGRESS and RESOLVED are there
already: their name and type are filled in. A status with an id of your own needs svg or iconUrl. A comment needs a from, and content: a
text that is not empty, an HTML that is not empty, or isCommentResolverUsed. To tag a user, write the id as {{userId}} into the text or
HTML, and name the user in taggedUserContacts. comments is another name of commentData.

type, commentType, pageInfo, positions and sizes, and the agent of a comment are kept and given back as sent. A suggestion is kept where
type is suggestion, and is pending.

With verifyUserPermissions the author of each comment must have access to the document: else the annotation fails with PERMISSION_DENIED.
The key of its result is __denied: and its index where it was sent without an id.

The response has a result for each by annotation id, in the order sent. An item fails with ALREADY_EXISTS where its id is there already,
and nothing of that one changes; with INVALID_ARGUMENT where it is too large to be stored; with ABORTED, UNAVAILABLE, DEADLINE_EXCEEDED or
INTERNAL where it may be sent again. NOT_FOUND when the organization or the document does not exist and is not to be made;
FAILED_PRECONDITION when the organization is disabled. What createOrganization and createDocument made stays, also where the call fails
then.`,
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(annotations, (*commentannotations.Service).Add),
	}
}

// V1CommentannotationsAdd is POST /v1/commentannotations/add.
func V1CommentannotationsAdd() Endpoint {
	return Endpoint{
		Path:    "/v1/commentannotations/add",
		Summary: "Adds comment annotations in version 1",
		Description: `
As version 2, but comments have no context and no triggerNotification, so that nobody is told; tags may have a text; the type of a status
may be an object, which is returned as it was sent. There is no verifyUserPermissions, no comments beside commentData, and nothing that is
only kept.`,
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(annotations, (*commentannotations.Service).AddV1),
	}
}

// V2CommentannotationsGet is POST /v2/commentannotations/get.
func V2CommentannotationsGet() Endpoint {
	return Endpoint{
		Path:    "/v2/commentannotations/get",
		Summary: "Lists comment annotations by document, folder, location, creator, status, times or id, in pages",
		Description: `
Returns the annotations that pass all filters given, with their comments. Within an array any value fits; times are inclusive; userIds are
those of the creators. Without any filter these are all annotations of the organization. An empty array is refused, and so is null.

**Order.** With annotationIds it is theirs: one that does not exist in the documents asked for is null, and counts as an item; one that
exists but does not pass another filter is left out. Else, with order, updatedAfter or updatedBefore, it is by lastUpdated, in each
document in the order asked, or in one list where no document is named, the earliest first unless order is desc. What is written while you
page from the latest on may be passed over: it comes first the next time. Else it is in the order asked: of documents, in each of locations
(or creators, or statuses), and in each by annotation id; where no document is named, of locations, creators or statuses, and in each by
document id and annotation id. Generated ids sort by time. Comments are by comment id.

**Pages.** A page also ends at about 5 MB, or when much had to be searched for little. A thread that is larger than that by itself stands
alone on its page, with commentsTruncated: read the rest by comments/get. mentionedUserIds looks at the comments that a page holds of a
thread.

With groupByDocumentId the response is an object by document id, in the same order.

NOT_FOUND when the organization, the folder, or the document of documentId alone does not exist. FAILED_PRECONDITION when the organization
is disabled.`,
		Grants:    ReadTable | ReadIndexes,
		Requires:  collab.AdvancedQueries,
		Operation: operation(annotations, (*commentannotations.Service).Get),
	}
}

// V1CommentannotationsGet is POST /v1/commentannotations/get.
func V1CommentannotationsGet() Endpoint {
	return Endpoint{
		Path:    "/v1/commentannotations/get",
		Summary: "Lists comment annotations of a document in version 1, all at once",
		Description: `
As version 2 for one document, in the order of version 2, in one response. FAILED_PRECONDITION when that would be larger than 5 MB (page
through it with version 2), or when the organization is disabled. NOT_FOUND when the organization or the document does not exist.`,
		Grants:    ReadTable | ReadIndexes,
		Operation: operation(annotations, (*commentannotations.Service).GetV1),
	}
}

// V2CommentannotationsUpdate is POST /v2/commentannotations/update.
func V2CommentannotationsUpdate() Endpoint {
	return Endpoint{
		Path:    "/v2/commentannotations/update",
		Summary: "Updates comment annotations, or replaces users in them",
		Description: `
Updates the annotations of a document that pass all selectors given: annotationIds, locationIds and userIds (of the creators). Without
selectors these are all of the document; an empty array is refused. Each annotation is updated as a whole or not at all.

**updatedData**: context and suggestion are replaced whole. Of every other object the fields given are merged into what is stored; one with
another id replaces it. null clears, in an object and in a field of it; but status: null returns to OPEN, and from: null is refused. An
annotation that would have an object without its id fails. Another status of your own needs no icon here. resolvedByUserId is cleared by
null, and by a status whose type is not terminal, whatever is sent. lastUpdated moves to now, or to the time given, and never back.

**updateUsers** replaces users as creator, assignee, author of comments and tagged user, with their {{userId}}, and all pairs at once: two
users may be swapped. The new user is stored whole, as sent. updatedData is merged after it.

The response has a result for each by id: in the order of annotationIds, else by id. An item fails with NOT_FOUND where there is no
annotation with its id; with INVALID_ARGUMENT where an object is to be merged into none and has no id, or the annotation would be too
large; with ABORTED, UNAVAILABLE, DEADLINE_EXCEEDED or INTERNAL where it may be sent again. What a selector excludes is not in the
response.

NOT_FOUND when the organization or the document does not exist. FAILED_PRECONDITION, and nothing is updated, when the organization is
disabled, when more than 10,000 are selected, or when one response does not hold their results.`,
		Grants:    ReadTable | ReadIndexes | WriteTable | SendEvents,
		Operation: operation(annotations, (*commentannotations.Service).Update),
	}
}

// V2CommentannotationsDelete is POST /v2/commentannotations/delete.
func V2CommentannotationsDelete() Endpoint {
	return Endpoint{
		Path:    "/v2/commentannotations/delete",
		Summary: "Deletes comment annotations with their comments",
		Description: `
Deletes the annotations of a document that pass all selectors given: annotationIds, locationIds and userIds (of the creators). Without
selectors these are all of the document; an empty array is refused. What is deleted is out of reach at once, and its id may be added again:
new and empty. jobId names what sweeps the rest of it: see jobs/get.

The response has a result for each by id: in the order of annotationIds, else by id. An item fails with NOT_FOUND where there is no
annotation with its id, or where another selector leaves it out. Without annotationIds the call deletes and lists 1,000; where the
selection has more, the job deletes the others, but none that is added later. With the account's setting events=all each is posted to
webhooks as comment_annotation.deleted.

NOT_FOUND when the organization or the document does not exist. FAILED_PRECONDITION when the organization is disabled.`,
		Grants:    ReadTable | ReadIndexes | WriteTable | SendEvents,
		LeavesJob: true,
		Operation: operation(annotations, (*commentannotations.Service).Delete),
	}
}

// V2CommentannotationsCommentsAdd is POST /v2/commentannotations/comments/add.
func V2CommentannotationsCommentsAdd() Endpoint {
	return Endpoint{
		Path:    "/v2/commentannotations/comments/add",
		Summary: "Adds comments to a comment annotation",
		Description: `
Adds comments to an annotation, all or none, and returns their ids in the order sent. A comment needs a from, and content: a text or HTML
that is not empty, attachments, or isCommentResolverUsed. Ids that are left out are generated, ascending. The annotation's lastUpdated
moves to the latest of the comments'; where it has no creator yet, the first comment's author is it. comments is another name of
commentData.

ALREADY_EXISTS when one of the ids is there. NOT_FOUND when the organization or the document does not exist and is not to be made, or the
annotation does not exist. PERMISSION_DENIED when verifyUserPermissions is true and an author has no access to the document.
INVALID_ARGUMENT when a comment, or all together, are too large to be stored. FAILED_PRECONDITION when the organization is disabled.`,
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(annotations, (*commentannotations.Service).AddComments),
	}
}

// V2CommentannotationsCommentsUpdate is POST /v2/commentannotations/comments/update.
func V2CommentannotationsCommentsUpdate() Endpoint {
	return Endpoint{
		Path:    "/v2/commentannotations/comments/update",
		Summary: "Updates comments",
		Description: `
Changes up to 500 comments of an annotation, each as a whole or not at all: a field left out stays, null clears it, from is merged, and
everything else is replaced whole. userIds narrows commentIds, or selects alone; what it excludes is not in the response. It tells nobody;
with the account's setting events=all it is posted to webhooks.

The response has a result for each by comment id, in the order sent. An item fails with NOT_FOUND where there is no comment with its id;
with INVALID_ARGUMENT where it would be left without content, or would be too large; with ABORTED, UNAVAILABLE, DEADLINE_EXCEEDED or
INTERNAL where it may be sent again. NOT_FOUND when the organization, the document or the annotation does not exist. FAILED_PRECONDITION
when the organization is disabled, or when the annotation has too many comments to select them by userIds alone.`,
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(annotations, (*commentannotations.Service).UpdateComments),
	}
}

// V2CommentannotationsCommentsGet is POST /v2/commentannotations/comments/get.
func V2CommentannotationsCommentsGet() Endpoint {
	return Endpoint{
		Path:    "/v2/commentannotations/comments/get",
		Summary: "Lists the comments of a comment annotation, in pages",
		Description: `
Returns comments of an annotation that pass all filters given: with commentIds in their order, null for one that does not exist (one that
exists but does not pass userIds is left out); else by comment id, which for generated ids is by time. NOT_FOUND when the organization, the
document or the annotation does not exist. FAILED_PRECONDITION when the organization is disabled.`,
		Grants:    ReadTable,
		Requires:  collab.AdvancedQueries,
		Operation: operation(annotations, (*commentannotations.Service).GetComments),
	}
}

// V2CommentannotationsCountGet is POST /v2/commentannotations/count/get.
func V2CommentannotationsCountGet() Endpoint {
	return Endpoint{
		Path:    "/v2/commentannotations/count/get",
		Summary: "Counts the comment annotations of documents, and those that a user has not seen",
		Description: `
Counts annotations, not comments, and returns the counts by document id in the order asked. With userId, unread are those with a comment of
somebody else that was made after the user had seen the annotation or the document: see read/set. Counting ends at 10,000 annotations of a
document, which totalIsAtLeast says, and once the comments of 3,000 annotations in all, or very long threads, had to be looked at, which
unreadIsAtLeast says. What was just written may be missing for a second.

NOT_FOUND when the organization does not exist. FAILED_PRECONDITION when it is disabled. A document that does not exist, or is disabled,
has 0.`,
		Grants:    ReadTable | ReadIndexes,
		Requires:  collab.AdvancedQueries,
		Operation: operation(annotations, (*commentannotations.Service).CountGet),
	}
}

// V2CommentannotationsReadSet is POST /v2/commentannotations/read/set.
func V2CommentannotationsReadSet() Endpoint {
	return Endpoint{
		Path:    "/v2/commentannotations/read/set",
		Summary: "Says of comment annotations that a user has seen their comments, or not",
		Description: `
With read true, all comments that there are now count as seen by the user; a comment that is added later is unread again. With read false
none of them does. One's own comments are always seen. Without annotationIds it holds for all of the document, whatever was said of single
annotations before.

The response has a result for each annotation by id, in the order sent; none without annotationIds. An item fails with NOT_FOUND where
there is no annotation with its id; with UNAVAILABLE, DEADLINE_EXCEEDED or INTERNAL where it may be sent again. NOT_FOUND when the
organization or the document does not exist. FAILED_PRECONDITION when one of them is disabled.`,
		Grants:    ReadTable | ReadIndexes | WriteTable,
		Operation: operation(annotations, (*commentannotations.Service).ReadSet),
	}
}

// V2CommentannotationsCommentsDelete is POST /v2/commentannotations/comments/delete.
func V2CommentannotationsCommentsDelete() Endpoint {
	return Endpoint{
		Path:    "/v2/commentannotations/comments/delete",
		Summary: "Deletes comments",
		Description: `
Deletes comments of an annotation: those of commentIds, or without them all. The annotation stays, with its creator, and its lastUpdated
moves to now. An id may be added again at once. With the account's setting events=all they are posted to webhooks as comment.deleted.

The response has a result for each by comment id, in the order sent, all of them by id. An item fails with NOT_FOUND where there is no
comment with its id. NOT_FOUND when the organization, the document or the annotation does not exist. FAILED_PRECONDITION when the
organization is disabled, or without commentIds when the annotation has more than 1,000 comments.`,
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(annotations, (*commentannotations.Service).DeleteComments),
	}
}
