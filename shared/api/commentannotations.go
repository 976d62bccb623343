package api

import (
	"collabdata/shared/api/commentannotations"
	"collabdata/shared/collab"
)

// V2CommentannotationsAdd is POST /v2/commentannotations/add.
func V2CommentannotationsAdd() Endpoint {
	return Endpoint{
		Path:      "/v2/commentannotations/add",
		Summary:   "Adds comment annotations with their comments",
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(annotations, (*commentannotations.Service).Add),
	}
}

// V1CommentannotationsAdd is POST /v1/commentannotations/add.
func V1CommentannotationsAdd() Endpoint {
	return Endpoint{
		Path:      "/v1/commentannotations/add",
		Summary:   "Adds comment annotations in version 1",
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(annotations, (*commentannotations.Service).AddV1),
	}
}

// V2CommentannotationsGet is POST /v2/commentannotations/get.
func V2CommentannotationsGet() Endpoint {
	return Endpoint{
		Path:      "/v2/commentannotations/get",
		Summary:   "Answers comment annotations by document, folder, location, creator, status, times or id, in pages",
		Grants:    ReadTable | ReadIndexes,
		Requires:  collab.AdvancedQueries,
		Operation: operation(annotations, (*commentannotations.Service).Get),
	}
}

// V1CommentannotationsGet is POST /v1/commentannotations/get.
func V1CommentannotationsGet() Endpoint {
	return Endpoint{
		Path:      "/v1/commentannotations/get",
		Summary:   "Answers comment annotations of a document in version 1, all at once",
		Grants:    ReadTable | ReadIndexes,
		Operation: operation(annotations, (*commentannotations.Service).GetV1),
	}
}

// V2CommentannotationsUpdate is POST /v2/commentannotations/update.
func V2CommentannotationsUpdate() Endpoint {
	return Endpoint{
		Path:      "/v2/commentannotations/update",
		Summary:   "Updates comment annotations, or replaces users in them",
		Grants:    ReadTable | ReadIndexes | WriteTable | SendEvents,
		Operation: operation(annotations, (*commentannotations.Service).Update),
	}
}

// V2CommentannotationsCommentsAdd is POST /v2/commentannotations/comments/add.
func V2CommentannotationsCommentsAdd() Endpoint {
	return Endpoint{
		Path:      "/v2/commentannotations/comments/add",
		Summary:   "Adds comments to a comment annotation",
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(annotations, (*commentannotations.Service).AddComments),
	}
}

// V2CommentannotationsCommentsUpdate is POST /v2/commentannotations/comments/update.
func V2CommentannotationsCommentsUpdate() Endpoint {
	return Endpoint{
		Path:      "/v2/commentannotations/comments/update",
		Summary:   "Updates comments",
		Grants:    ReadTable | WriteTable | SendEvents,
		Operation: operation(annotations, (*commentannotations.Service).UpdateComments),
	}
}

// V2CommentannotationsCommentsGet is POST /v2/commentannotations/comments/get.
func V2CommentannotationsCommentsGet() Endpoint {
	return Endpoint{
		Path:      "/v2/commentannotations/comments/get",
		Summary:   "Answers the comments of a comment annotation, in pages",
		Grants:    ReadTable,
		Operation: operation(annotations, (*commentannotations.Service).GetComments),
	}
}
