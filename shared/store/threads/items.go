package threads

import (
	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// head is the stored form of an annotation without its comments.
type head struct {
	From          store.JSON    `dynamodbav:"from,omitempty"`
	Location      store.JSON    `dynamodbav:"loc,omitempty"`
	TargetElement store.JSON    `dynamodbav:"tgt,omitempty"`
	Status        store.JSON    `dynamodbav:"sts,omitempty"`
	AssignedTo    store.JSON    `dynamodbav:"asg,omitempty"`
	Context       store.JSON    `dynamodbav:"ctx,omitempty"`
	Priority      store.JSON    `dynamodbav:"pri,omitempty"`
	CreatedAt     collab.Millis `dynamodbav:"ca"`
	LastUpdated   collab.Millis `dynamodbav:"lu"`
	Rev           int64         `dynamodbav:"rev"`

	CreatorID  string `dynamodbav:"cr,omitempty"`
	LocationID string `dynamodbav:"lo,omitempty"`
	StatusID   string `dynamodbav:"si,omitempty"`

	DocAnn string `dynamodbav:"da"` // from here on: keys of the indexes
	In     string `dynamodbav:"in,omitempty"`
	By     string `dynamodbav:"by,omitempty"`
	St     string `dynamodbav:"st"`
}

// headItem is the stored form of an annotation's head, but for its time keys and marks.
func headItem(doc collab.DocumentRef, a *collab.Annotation) (store.Item, error) {
	acct, org := doc.Account, doc.Organization
	h := head{
		From: store.JSON(a.From), Location: store.JSON(a.Location), TargetElement: store.JSON(a.TargetElement), Status: store.JSON(a.Status),
		AssignedTo: store.JSON(a.AssignedTo), Context: store.JSON(a.Context), Priority: store.JSON(a.Priority),
		CreatedAt: a.CreatedAt, LastUpdated: a.LastUpdated, Rev: a.Rev,
		CreatorID: a.CreatorID, LocationID: a.LocationID, StatusID: a.StatusID,
		DocAnn: table.Join(doc.Document, a.ID), St: table.StatusPartition(acct, org, a.StatusID),
	}
	if a.LocationID != "" {
		h.In = table.LocationPartition(acct, org, a.LocationID)
	}
	if a.CreatorID != "" {
		h.By = table.CreatorPartition(acct, org, a.CreatorID)
	}
	return store.Encode(headKey(doc, a.ID), h)
}

func readHead(it store.Item) (collab.Annotation, error) {
	var h head
	if err := it.Decode(&h); err != nil {
		return collab.Annotation{}, err
	}
	id, _, err := table.ParseAnnotation(it.Text(table.SK))
	return collab.Annotation{
		ID: id, From: collab.JSON(h.From), Location: collab.JSON(h.Location), TargetElement: collab.JSON(h.TargetElement),
		Status: collab.JSON(h.Status), AssignedTo: collab.JSON(h.AssignedTo), Context: collab.JSON(h.Context), Priority: collab.JSON(h.Priority),
		CreatedAt: h.CreatedAt, LastUpdated: h.LastUpdated, Rev: h.Rev,
		CreatorID: h.CreatorID, LocationID: h.LocationID, StatusID: h.StatusID,
	}, err
}

// comment is the stored form of a comment.
type comment struct {
	Text         *string       `dynamodbav:"txt,omitempty"`
	HTML         *string       `dynamodbav:"htm,omitempty"`
	Context      store.JSON    `dynamodbav:"ctx,omitempty"`
	ResolverUsed *bool         `dynamodbav:"rsv,omitempty"`
	HasText      *bool         `dynamodbav:"tav,omitempty"`
	From         store.JSON    `dynamodbav:"from,omitempty"`
	AuthorID     string        `dynamodbav:"cr,omitempty"`
	Tagged       store.JSON    `dynamodbav:"tag,omitempty"`
	Attachments  store.JSON    `dynamodbav:"att,omitempty"`
	CreatedAt    collab.Millis `dynamodbav:"ca"`
	LastUpdated  collab.Millis `dynamodbav:"lu"`
	Rev          int64         `dynamodbav:"rev"`
}

func headKey(doc collab.DocumentRef, ann string) table.Key {
	return table.Annotation(doc.Account, doc.Organization, doc.Document, ann)
}

func commentKey(doc collab.DocumentRef, ann string, id int64) table.Key {
	return table.Comment(doc.Account, doc.Organization, doc.Document, ann, id)
}

// commentItem is the stored form of a comment, but for its marks. It fails with INVALID_ARGUMENT for one that is too large; what is the
// comment as a caller knows it.
func commentItem(doc collab.DocumentRef, ann string, c *collab.Comment, what string) (store.Item, error) {
	it, err := store.Encode(commentKey(doc, ann, c.ID), comment{
		Text: c.Text, HTML: c.HTML, Context: store.JSON(c.Context), ResolverUsed: c.ResolverUsed, HasText: c.TextAvailable,
		From: store.JSON(c.From), AuthorID: c.AuthorID, Tagged: store.JSON(c.TaggedUserContacts), Attachments: store.JSON(c.Attachments),
		CreatedAt: c.CreatedAt, LastUpdated: c.LastUpdated, Rev: c.Rev,
	})
	if err != nil {
		return nil, err
	}
	return it, store.CheckSize(it, what)
}

func readComment(it store.Item) (collab.Comment, error) {
	var c comment
	if err := it.Decode(&c); err != nil {
		return collab.Comment{}, err
	}
	_, id, err := table.ParseAnnotation(it.Text(table.SK))
	return collab.Comment{
		ID: id, Text: c.Text, HTML: c.HTML, Context: collab.JSON(c.Context), ResolverUsed: c.ResolverUsed, TextAvailable: c.HasText,
		From: collab.JSON(c.From), AuthorID: c.AuthorID, TaggedUserContacts: collab.JSON(c.Tagged), Attachments: collab.JSON(c.Attachments),
		CreatedAt: c.CreatedAt, LastUpdated: c.LastUpdated, Rev: c.Rev,
	}, err
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
			table.AddedBy, table.Writer, table.ReplacedBy:
		default:
			n += store.AttributeSize(v)
		}
	}
	return n
}

// rewritten is a stored item and what an update makes of it.
type rewritten struct {
	before, after store.Item
	same          []string // attributes that must be as they were, beside rev
}

func (r rewritten) size() int { return max(r.before.Size(), r.after.Size()) }
