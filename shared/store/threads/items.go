package threads

import (
	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// head is the stored form of an annotation without its comments, but for its time keys and marks.
type head struct {
	collab.Annotation
	DocAnn string `dynamodbav:"da"` // from here on: keys of the indexes
	In     string `dynamodbav:"in,omitempty"`
	By     string `dynamodbav:"by,omitempty"`
	St     string `dynamodbav:"st"`
}

func headKey(doc collab.DocumentRef, ann string) table.Key {
	return table.Annotation(doc, ann)
}

func headItem(doc collab.DocumentRef, a *collab.Annotation) store.Item {
	org := doc.OrganizationRef
	h := head{Annotation: *a, DocAnn: table.InDocument(doc, a.ID), St: table.StatusPartition(org, a.StatusID)}
	if a.LocationID != "" {
		h.In = table.LocationPartition(org, a.LocationID)
	}
	if a.CreatorID != "" {
		h.By = table.CreatorPartition(org, a.CreatorID)
	}
	return store.ItemOf(headKey(doc, a.ID), h)
}

func readHead(it store.Item) (a collab.Annotation, err error) {
	if err = it.Decode(&a); err == nil {
		a.ID, _, err = table.ParseAnnotation(it.Text(table.SK))
	}
	return a, err
}

func commentKey(doc collab.DocumentRef, ann string, id int64) table.Key {
	return table.Comment(doc, ann, id)
}

// commentItem is the stored form of a comment, but for its marks. It fails with INVALID_ARGUMENT for one that is too large; what is the
// comment as a caller knows it.
func commentItem(doc collab.DocumentRef, ann string, c *collab.Comment, what string) (store.Item, error) {
	it := store.ItemOf(commentKey(doc, ann, c.ID), c)
	return it, store.CheckSize(it, what)
}

func readComment(it store.Item) (c collab.Comment, err error) {
	if err = it.Decode(&c); err == nil {
		_, c.ID, err = table.ParseAnnotation(it.Text(table.SK))
	}
	return c, err
}

// threadSpan is the span of a head and its comments.
func threadSpan(headSK string) store.Span {
	return store.Span{From: headSK, To: headSK + table.AfterComments}
}

// contentSize is about the bytes that an item adds to an answer.
func contentSize(it store.Item) int {
	n := 100
	for name, v := range it {
		switch name {
		case table.PK, table.SK, table.DocAnn, table.In, table.By, table.St, table.Upd, table.Org, table.OrgUpd,
			table.AddedBy, table.Birth, table.Writer, table.ReplacedBy:
		default:
			n += store.AttributeSize(v)
		}
	}
	return n
}
