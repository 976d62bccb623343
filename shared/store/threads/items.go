package threads

import (
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// head is the stored form of an annotation without comments. Time keys and marks are set
// separately.
type head struct {
	collab.Annotation
	DocAnn string `dynamodbav:"da"` // this and the following fields are index keys
	In     string `dynamodbav:"in,omitempty"`
	By     string `dynamodbav:"by,omitempty"`
	St     string `dynamodbav:"st"`

	Narrowed string `dynamodbav:"v,omitempty"` // projected into the indexes
}

func headKey(doc collab.DocumentRef, ann string) keys.Key {
	return keys.Annotation(doc, ann)
}

func headItem(doc collab.DocumentRef, a *collab.Annotation) store.Item {
	org := doc.OrganizationRef
	h := head{Annotation: *a, DocAnn: keys.InDocument(doc, a.ID), St: keys.StatusPartition(org, a.StatusID)}
	if a.LocationID != "" {
		h.In = keys.LocationPartition(org, a.LocationID)
	}
	if a.CreatorID != "" {
		h.By = keys.CreatorPartition(org, a.CreatorID)
	}
	switch v := a.Visibility; {
	case v == nil:
	case v.Type == collab.VisibilityOrganizationPrivate:
		h.Narrowed = keys.NarrowedToMembers
	default:
		h.Narrowed = keys.NarrowedToSome
	}
	return store.ItemOf(headKey(doc, a.ID), h)
}

func readHead(it store.Item) (a collab.Annotation, err error) {
	if err = it.Decode(&a); err == nil {
		a.ID, _, err = keys.ParseAnnotation(it.Text(keys.SK))
	}
	return a, err
}

func commentKey(doc collab.DocumentRef, ann string, id int64) keys.Key {
	return keys.Comment(doc, ann, id)
}

// commentItem returns the item of a comment without its marks. It returns INVALID_ARGUMENT if the
// comment is too large; name is its name in the message.
func commentItem(doc collab.DocumentRef, ann string, c *collab.Comment, name string) (store.Item, error) {
	it := store.ItemOf(commentKey(doc, ann, c.ID), c)
	return it, store.CheckSize(it, name)
}

// CheckSizes returns INVALID_ARGUMENT if the head of a thread is too large to be stored. It also
// returns such an error, or nil, for each comment.
func CheckSizes(t *collab.Thread) (comments []error, head error) {
	doc := collab.DocumentRef{Document: t.Document}
	head = store.CheckSize(headItem(doc, &t.Annotation), "annotation")
	for i := range t.Comments {
		_, err := commentItem(doc, t.ID, &t.Comments[i], "comment")
		comments = append(comments, err)
	}
	return comments, head
}

func readComment(it store.Item) (c collab.Comment, err error) {
	if err = it.Decode(&c); err == nil {
		_, c.ID, err = keys.ParseAnnotation(it.Text(keys.SK))
	}
	return c, err
}

func threadSpan(headSK string) store.Span {
	return store.Span{From: headSK, To: headSK + keys.AfterComments}
}

// contentSize estimates the bytes that an item adds to a response.
func contentSize(it store.Item) int {
	n := 100
	for name, v := range it {
		switch name {
		case keys.PK, keys.SK, keys.DocAnn, keys.In, keys.By, keys.St, keys.Upd, keys.Org, keys.OrgUpd,
			keys.AddedBy, keys.Birth, keys.Writer:
		default:
			n += store.AttributeSize(v)
		}
	}
	return n
}
