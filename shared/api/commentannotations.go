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
Adds up to 500 annotations to a document, each with its comments, and each as a whole or not at all; at most 5,000 comments in one request. Ids
that are left out are generated, and sort by time. An annotation without a status is OPEN; a status of your own needs svg or iconUrl. A comment has
a text, HTML or isCommentResolverUsed, and a from.

The answer has what became of each by id, in the order sent: an id that is there already is ALREADY_EXISTS, and nothing of it changes. NOT_FOUND when
the organization or the document does not exist and is not to be made.`,
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
As version 2, without context and triggerNotification of comments. The type of a status may be an object.`,
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(annotations, (*commentannotations.Service).AddV1),
	}
}

// V2CommentannotationsGet is POST /v2/commentannotations/get.
func V2CommentannotationsGet() Endpoint {
	return Endpoint{
		Path:    "/v2/commentannotations/get",
		Summary: "Answers comment annotations by document, folder, location, creator, status, times or id, in pages",
		Description: `
All filters combine; within an array any value fits; times are inclusive. With annotationIds the answer is in their order, with null for each that
does not exist. Else with a time of update it is by lastUpdated in each document, which counts as the end of its quarter of a second in a busy thread;
else documents in the order asked, in each locations (users, statuses) in the order asked, in each annotations by id. Generated ids are by time.
Comments are by comment id.

A page also ends at 5 MB. A thread that is larger by itself stands alone on its page with commentsTruncated: read the rest by comments/get.

NOT_FOUND when the organization, the folder, or the document of documentId alone does not exist.`,
		Grants:    ReadTable | ReadIndexes,
		Requires:  collab.AdvancedQueries,
		Operation: operation(annotations, (*commentannotations.Service).Get),
	}
}

// V1CommentannotationsGet is POST /v1/commentannotations/get.
func V1CommentannotationsGet() Endpoint {
	return Endpoint{
		Path:    "/v1/commentannotations/get",
		Summary: "Answers comment annotations of a document in version 1, all at once",
		Description: `
As version 2 for one document, in one answer. FAILED_PRECONDITION when that would be larger than 5 MB: page through it with version 2.`,
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
Updates the annotations that all selectors given leave; without selectors, all of the document; at most 10,000. Fields of location, status,
priority, targetElement, assignedTo and from are merged into the stored object, one with another id replaces it; context is replaced whole; null clears,
but status: null returns to OPEN and from: null is refused. updateUsers replaces users as creator, assignee, author and tagged user with their
{{userId}}, all pairs at once; updatedData is merged after it.

The answer has what became of each by id: in the order of annotationIds, else by id. An unknown id is NOT_FOUND there. FAILED_PRECONDITION, and nothing
is updated, where more are selected than one call may update or one answer holds.`,
		Grants:    ReadTable | ReadIndexes | WriteTable | SendEvents,
		Operation: operation(annotations, (*commentannotations.Service).Update),
	}
}

// V2CommentannotationsCommentsAdd is POST /v2/commentannotations/comments/add.
func V2CommentannotationsCommentsAdd() Endpoint {
	return Endpoint{
		Path:    "/v2/commentannotations/comments/add",
		Summary: "Adds comments to a comment annotation",
		Description: `
Adds comments to an annotation, all or none, and answers their ids in the order sent. A comment has a text, HTML, attachments or isCommentResolverUsed,
and a from. Ids that are left out are generated, ascending. ALREADY_EXISTS when one of the ids is there, NOT_FOUND when the annotation is not.`,
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
Changes comments, each as a whole or not at all: a field left out stays, null clears it, from is merged, everything else is replaced whole. The
answer has what became of each by id, in the order sent: an unknown one is NOT_FOUND there, one that would be left without content INVALID_ARGUMENT.`,
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(annotations, (*commentannotations.Service).UpdateComments),
	}
}

// V2CommentannotationsCommentsGet is POST /v2/commentannotations/comments/get.
func V2CommentannotationsCommentsGet() Endpoint {
	return Endpoint{
		Path:    "/v2/commentannotations/comments/get",
		Summary: "Answers the comments of a comment annotation, in pages",
		Description: `
By comment id. NOT_FOUND when the organization, the document or the annotation does not exist.`,
		Grants:    ReadTable,
		Operation: operation(annotations, (*commentannotations.Service).GetComments),
	}
}
