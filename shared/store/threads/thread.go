package store

import (
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// headItem is the stored form of an annotation's head, but for what only the store knows of it.
func headItem(doc collab.DocumentRef, a *collab.Annotation) item {
	acct, org := doc.Account, doc.Organization
	it := newItem(table.Annotation(acct, org, doc.Document, a.ID))
	it.setJSON(table.From, a.From)
	it.setJSON(table.LocationJSON, a.Location)
	it.setJSON(table.TargetElement, a.TargetElement)
	it.setJSON(table.StatusJSON, a.Status)
	it.setJSON(table.AssignedTo, a.AssignedTo)
	it.setJSON(table.Context, a.Context)
	it.setJSON(table.Priority, a.Priority)
	it.setNum(table.CreatedAt, a.CreatedAt)
	it.setNum(table.LastUpdated, a.LastUpdated)
	it.setNum(table.Rev, a.Rev)
	it.setNum(table.LastComment, a.LastComment)
	it[table.Authors] = timesAttribute(a.Authors)

	it.setText(table.Creator, a.CreatorID)
	it.setText(table.Location, a.LocationID)
	it.setText(table.Status, a.StatusID)
	it[table.DocAnn] = str(table.Join(doc.Document, a.ID))
	if a.LocationID != "" {
		it[table.In] = str(table.LocationPartition(acct, org, a.LocationID))
	}
	if a.CreatorID != "" {
		it[table.By] = str(table.CreatorPartition(acct, org, a.CreatorID))
	}
	it[table.St] = str(table.StatusPartition(acct, org, a.StatusID))
	it[table.Org] = str(table.UpdatedPartition(acct, org))
	setUpdated(it, doc.Document, a.ID, a.LastUpdated)
	return it
}

// setUpdated sets lastUpdated and the index keys that hold it.
func setUpdated(it item, doc, ann string, t collab.Millis) {
	it.setNum(table.LastUpdated, t)
	it[table.Upd] = str(table.UpdatedInDocument(t, ann))
	it[table.OrgUpd] = str(table.UpdatedInOrganization(t, doc, ann))
}

func readHead(it item) (collab.Annotation, error) {
	id, _, err := table.ParseAnnotation(it.text(table.SK))
	return collab.Annotation{
		ID:            id,
		From:          it.json(table.From),
		Location:      it.json(table.LocationJSON),
		TargetElement: it.json(table.TargetElement),
		Status:        it.json(table.StatusJSON),
		AssignedTo:    it.json(table.AssignedTo),
		Context:       it.json(table.Context),
		Priority:      it.json(table.Priority),
		CreatedAt:     it.num(table.CreatedAt),
		LastUpdated:   it.num(table.LastUpdated),
		CreatorID:     it.text(table.Creator),
		LocationID:    it.text(table.Location),
		StatusID:      it.text(table.Status),
		LastComment:   it.num(table.LastComment),
		Authors:       it.times(table.Authors),
		Rev:           it.num(table.Rev),
	}, err
}

// commentItem is the stored form of a comment, but for what only the store knows of it.
func commentItem(doc collab.DocumentRef, ann string, c *collab.Comment) item {
	it := newItem(table.Comment(doc.Account, doc.Organization, doc.Document, ann, c.ID))
	it.setOptText(table.Text, c.Text)
	it.setOptText(table.HTML, c.HTML)
	it.setJSON(table.Context, c.Context)
	it.setBool(table.ResolverUsed, c.ResolverUsed)
	it.setBool(table.HasText, c.TextAvailable)
	it.setJSON(table.From, c.From)
	it.setJSON(table.Tagged, c.TaggedUserContacts)
	it.setJSON(table.Attachments, c.Attachments)
	it.setNum(table.CreatedAt, c.CreatedAt)
	it.setNum(table.LastUpdated, c.LastUpdated)
	it.setNum(table.Rev, c.Rev)
	return it
}

// keepOurs keeps in a changed head or comment what only the store knows of it.
func (it item) keepOurs(before item) item {
	return it.keep(before, table.AddedBy, table.Writer, table.Writer2, table.Writer3, table.Batches, table.Batch, table.BatchedAt)
}

// sign makes a request the item's last writer.
func (it item) sign(mark string) {
	if w, ok := it[table.Writer2]; ok {
		it[table.Writer3] = w
	}
	if w, ok := it[table.Writer]; ok {
		it[table.Writer2] = w
	}
	it[table.Writer] = str(mark)
}

// writtenBy reports whether the request that the mark stands for is among the last that changed the item. A repeat of its write, whose
// answer was lost, is told from a first one as long as no more than two others wrote in between.
func (it item) writtenBy(mark string) bool {
	return it.text(table.Writer) == mark || it.text(table.Writer2) == mark || it.text(table.Writer3) == mark
}

func readComment(it item) (collab.Comment, error) {
	_, id, err := table.ParseAnnotation(it.text(table.SK))
	return collab.Comment{
		ID:                 id,
		Text:               it.optText(table.Text),
		HTML:               it.optText(table.HTML),
		Context:            it.json(table.Context),
		ResolverUsed:       it.bool(table.ResolverUsed),
		TextAvailable:      it.bool(table.HasText),
		From:               it.json(table.From),
		TaggedUserContacts: it.json(table.Tagged),
		Attachments:        it.json(table.Attachments),
		CreatedAt:          it.num(table.CreatedAt),
		LastUpdated:        it.num(table.LastUpdated),
		Rev:                it.num(table.Rev),
	}, err
}

// visible reports whether a comment belongs to its thread: a batch shows its comments by naming its mark in the head, last.
func visible(comment, head item) bool {
	mark := comment.text(table.Batch)
	return mark == "" || slices.Contains(head.set(table.Batches), mark)
}

// contentSize is about the bytes that an item adds to an answer.
func contentSize(it item) int {
	n := 100
	for name, v := range it {
		switch name {
		case table.PK, table.SK, table.DocAnn, table.In, table.By, table.St, table.Upd, table.Org, table.OrgUpd,
			table.Authors, table.Batches, table.Batch, table.BatchedAt, table.AddedBy, table.Writer, table.Writer2, table.Writer3:
		default:
			n += attributeSize(v)
		}
	}
	return n
}

// checkSize fails with INVALID_ARGUMENT for an item larger than the service stores.
func checkSize(it item, what string) error {
	if n := it.size(); n > collab.MaxItemBytes {
		return collab.Errorf(collab.InvalidArgument, "%s is too large: %d bytes stored, at most %d", what, n, collab.MaxItemBytes)
	}
	return nil
}

func putNew(tableName string, it item) types.TransactWriteItem {
	condition := "attribute_not_exists(" + table.PK + ")"
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &tableName, Item: it, ConditionExpression: &condition,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}
