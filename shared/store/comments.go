package store

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// AddComments adds comments to an annotation, and records the event if there is one, as a whole or not at all. It returns their ids
// in the order given. The annotation's lastUpdated moves to the latest of theirs and never back; the author of the first comment of
// an annotation without a creator becomes its creator. When the comments are there and carry the mark of add.IDs, an earlier try of
// this request added them and the call succeeds. It fails with NOT_FOUND when the annotation does not exist, ALREADY_EXISTS when it
// has a comment with a given id, and INVALID_ARGUMENT when a comment is larger than collab.MaxItemBytes; then nothing has changed.
//
// A few comments without an event are one transaction that reads nothing: it guesses that the annotation has a creator, that the new
// comments are its latest, and that their authors find a place; a wrong guess comes back with the head, on which the next try
// is computed.
func (s *Store) AddComments(ctx context.Context, doc collab.DocumentRef, ann string, add collab.NewComments) ([]int64, error) {
	a := &commentAdd{s: s, add: add, doc: doc, ann: ann, mark: add.IDs.Mark()}
	a.headKey = table.Annotation(doc.Account, doc.Organization, doc.Document, ann)
	_, inOne, err := commentItems(doc, ann, add.Comments, a.mark)
	if err != nil {
		return nil, err
	}
	if !inOne || add.Event != nil {
		if err := a.readHead(ctx); err != nil {
			return nil, err
		}
	}
	comments := a.identified()
	if !inOne {
		if slices.Contains(a.head.set(table.Batches), a.mark) {
			return idsOf(comments), nil
		}
		items, _, err := commentItems(doc, ann, comments, a.mark)
		if err != nil {
			return nil, err
		}
		if err := s.putBatch(ctx, a.headKey, items, a.mark); err != nil {
			return nil, err
		}
		ids, err := a.commit(ctx, comments, nil)
		if code := collab.CodeOf(err); code == collab.NotFound || code == collab.Aborted {
			s.dropBatch(ctx, items, a.mark)
		}
		return ids, err
	}
	return a.commit(ctx, comments, a.identified)
}

// commentAdd is one AddComments under way.
type commentAdd struct {
	s       *Store
	add     collab.NewComments
	doc     collab.DocumentRef
	ann     string
	mark    string
	headKey table.Key
	head    item // as last seen; nil while unknown
}

func (a *commentAdd) readHead(ctx context.Context) (err error) {
	a.head, err = a.s.get(ctx, a.headKey)
	if err == nil && a.head == nil {
		err = annotationMissing(a.doc, a.ann)
	}
	return err
}

// identified returns the comments with ids: generated ones ascend behind the head's last comment as far as it is known.
func (a *commentAdd) identified() []collab.Comment {
	comments := slices.Clone(a.add.Comments)
	given := map[int64]bool{}
	last := a.head.num(table.LastComment)
	for _, c := range comments {
		given[c.ID] = true
		last = max(last, c.ID)
	}
	next := a.add.IDs.FirstCommentID(last)
	for i := range comments {
		if comments[i].ID != 0 {
			continue
		}
		for given[next] {
			next++
		}
		comments[i].ID = next
		next++
	}
	return comments
}

func idsOf(comments []collab.Comment) []int64 {
	ids := make([]int64, len(comments))
	for i, c := range comments {
		ids[i] = c.ID
	}
	return ids
}

// commit writes the head and the event, and the comments too unless again is nil: then they are a batch that was put already. again
// gives the comments anew once the head is known.
func (a *commentAdd) commit(ctx context.Context, comments []collab.Comment, again func() []collab.Comment) ([]int64, error) {
	for n := 0; ; n++ {
		var puts []types.TransactWriteItem
		if again != nil {
			items, _, err := commentItems(a.doc, a.ann, comments, a.mark)
			if err != nil {
				return nil, err
			}
			for _, it := range items {
				puts = append(puts, putNew(a.s.table, it))
			}
		}
		head, event, err := a.headWrites(comments, again == nil)
		if err != nil {
			return nil, err
		}
		refused, err := a.s.transact(ctx, slices.Concat(puts, []types.TransactWriteItem{head}, event))
		if err != nil {
			return nil, err
		}
		if refused == nil {
			return idsOf(comments), nil
		}
		blocking := olds(refused[:len(puts)])
		if len(blocking) > 0 && blocking[0].text(table.Writer) == a.mark {
			return idsOf(comments), nil
		}
		if headFailed := aws.ToString(refused[len(puts)].Code) == "ConditionalCheckFailed"; headFailed {
			if a.head = refused[len(puts)].Item; a.head == nil {
				return nil, annotationMissing(a.doc, a.ann)
			}
		} else if err := a.readHead(ctx); err != nil {
			return nil, err
		}
		if again == nil && slices.Contains(a.head.set(table.Batches), a.mark) {
			return idsOf(comments), nil
		}
		if n+1 >= tries && !a.s.backoff(ctx, n) {
			return nil, collab.Errorf(collab.Aborted, "others are writing annotation %q: try again", a.ann)
		}
		if again == nil {
			continue
		}
		if done, err := a.doneBefore(ctx); done != nil || err != nil {
			return done, err
		}
		if blocking = slices.DeleteFunc(blocking, a.isGenerated); len(blocking) > 0 {
			if err := a.s.clearAbandoned(ctx, a.headKey, blocking); err != nil {
				return nil, err
			}
		}
		comments = again()
	}
}

// isGenerated reports whether the comment's id is none of those that the request gave.
func (a *commentAdd) isGenerated(comment item) bool {
	_, id, err := table.ParseAnnotation(comment.text(table.SK))
	return err == nil && !slices.ContainsFunc(a.add.Comments, func(c collab.Comment) bool { return c.ID == id })
}

// doneBefore looks for comments with generated ids that an earlier try of the request has added, under ids that this try would not
// guess. nil when there are none.
func (a *commentAdd) doneBefore(ctx context.Context) ([]int64, error) {
	if !slices.ContainsFunc(a.add.Comments, func(c collab.Comment) bool { return c.ID == 0 }) {
		return nil, nil
	}
	from := table.Comment(a.doc.Account, a.doc.Organization, a.doc.Document, a.ann, a.add.IDs.FirstCommentID(0))
	items, err := a.s.query(ctx, scan{pk: from.PK, keys: span{from.SK, threadSpan(a.headKey.SK).to}, strong: true})
	if err != nil {
		return nil, err
	}
	var made []int64
	for _, it := range items {
		if it.text(table.Writer) == a.mark && a.isGenerated(it) {
			_, id, _ := table.ParseAnnotation(it.text(table.SK))
			made = append(made, id)
		}
	}
	if made == nil {
		return nil, nil
	}
	ids := idsOf(a.add.Comments)
	for i := range ids {
		if ids[i] == 0 && len(made) > 0 {
			ids[i], made = made[0], made[1:]
		}
	}
	return ids, nil
}

// headWrites returns the write of the head for the comments, and those of the event.
func (a *commentAdd) headWrites(comments []collab.Comment, batch bool) (types.TransactWriteItem, []types.TransactWriteItem, error) {
	var none types.TransactWriteItem
	if a.head == nil {
		w, err := a.guess(comments)
		return w, nil, err
	}
	head, err := readHead(a.head)
	if err != nil {
		return none, nil, err
	}
	var ev *collab.Event
	if a.add.Event != nil {
		if ev, err = a.add.Event(&head, comments); err != nil {
			return none, nil, err
		}
	}
	event, err := a.s.outbox(events(ev))
	if err != nil {
		return none, nil, err
	}
	if err := addToHead(&head, comments); err != nil {
		return none, nil, err
	}
	head.Rev++
	after := headItem(a.doc, &head)
	after[table.Writer] = str(a.mark)
	marks := a.head.set(table.Batches)
	if batch {
		marks = append(slices.Clone(marks), a.mark)
	}
	if len(marks) > 0 {
		after[table.Batches] = &types.AttributeValueMemberSS{Value: marks}
	}
	if err := checkSize(after, "the annotation"); err != nil {
		return none, nil, err
	}
	return a.s.changeOnRev(a.head, after), event, nil
}

// addToHead makes a head that of a thread with the comments added. Their authors are its latest; the oldest beyond
// collab.MaxAuthors are forgotten.
func addToHead(head *collab.Annotation, comments []collab.Comment) error {
	if head.Authors == nil {
		head.Authors = map[string]collab.Millis{}
	}
	for _, c := range comments {
		var author collab.User
		if err := json.Unmarshal(c.From, &author); err != nil {
			return err
		}
		if head.From == nil {
			head.From, head.CreatorID = c.From, author.UserID
		}
		head.LastUpdated = max(head.LastUpdated, c.LastUpdated)
		head.LastComment = max(head.LastComment, c.ID)
		head.Authors[author.UserID] = max(head.Authors[author.UserID], c.CreatedAt)
	}
	head.ForgetAuthors()
	return nil
}

// guess is the write of a head that was not read. It is refused where the head is not as AddComments guesses.
func (a *commentAdd) guess(comments []collab.Comment) (types.TransactWriteItem, error) {
	var added collab.Annotation
	if err := addToHead(&added, comments); err != nil {
		return types.TransactWriteItem{}, err
	}
	behind := added.LastComment
	for i, c := range a.add.Comments {
		if c.ID == 0 {
			behind = comments[i].ID
			break
		}
	}
	next := item{}
	setUpdated(next, a.doc.Document, a.ann, added.LastUpdated)
	e := newExpression()
	set := "SET " + e.name(table.Rev) + " = " + e.name(table.Rev) + " + " + e.value(num(1)) +
		", " + e.name(table.LastComment) + " = " + e.value(num(added.LastComment)) +
		", " + e.name(table.Writer) + " = " + e.value(str(a.mark))
	for _, name := range []string{table.LastUpdated, table.Upd, table.OrgUpd} {
		set += ", " + e.name(name) + " = " + e.value(next[name])
	}
	authors := e.name(table.Authors)
	known := ""
	for id, t := range added.Authors {
		author := authors + "." + e.name(id)
		set += ", " + author + " = " + e.value(num(t))
		known += " AND attribute_exists(" + author + ")"
	}
	condition := "attribute_exists(" + e.name(table.From) + ") AND " +
		e.name(table.LastUpdated) + " < " + e.value(num(added.LastUpdated)) + " AND " +
		e.name(table.LastComment) + " < " + e.value(num(behind)) + " AND (" +
		"size(" + authors + ") <= " + e.value(num(int64(collab.MaxAuthors-len(added.Authors)))) +
		" OR (" + known[len(" AND "):] + "))"
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &a.s.table, Key: keyOf(a.headKey), UpdateExpression: &set, ConditionExpression: &condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}, nil
}

// UpdateComments changes comments of an annotation, each on condition that nobody wrote it in between; then all is computed anew,
// five times. It returns the failures by comment id: NOT_FOUND, ABORTED, INVALID_ARGUMENT for one that would be too large, and
// those of c.Change. It fails as a whole with NOT_FOUND when the annotation does not exist. The annotation's lastUpdated moves to the
// latest of theirs.
func (s *Store) UpdateComments(ctx context.Context, doc collab.DocumentRef, ann string, c collab.CommentChange) (map[int64]error, error) {
	failures := map[int64]error{}
	for n, ids := 0, c.IDs; len(ids) > 0; {
		done, err := s.tryUpdateComments(ctx, doc, ann, c, ids[:min(len(ids), transactComments)], failures)
		if err != nil {
			return nil, err
		}
		ids = ids[done:]
		if done > 0 {
			n = 0
			continue
		}
		if n++; n == tries || !s.backoff(ctx, n) {
			for _, id := range ids {
				failures[id] = collab.Errorf(collab.Aborted, "others are writing annotation %q: try again", ann)
			}
			break
		}
	}
	return failures, nil
}

// tryUpdateComments is one try at a part of the comments: it does as many of them as one transaction takes, and says how many: 0 when
// others wrote in between.
func (s *Store) tryUpdateComments(ctx context.Context, doc collab.DocumentRef, ann string, c collab.CommentChange, ids []int64,
	failures map[int64]error,
) (done int, err error) {
	headKey := table.Annotation(doc.Account, doc.Organization, doc.Document, ann)
	keys := []table.Key{headKey}
	for _, id := range ids {
		keys = append(keys, table.Comment(doc.Account, doc.Organization, doc.Document, ann, id))
	}
	found, err := s.getAll(ctx, keys, true)
	if err != nil {
		return 0, err
	}
	before := found[headKey]
	if before == nil {
		return 0, annotationMissing(doc, ann)
	}
	head, err := readHead(before)
	if err != nil {
		return 0, fail(ctx, err)
	}
	var (
		writes  []types.TransactWriteItem
		changed []collab.Comment
		size    int
	)
	for i, id := range ids {
		old := found[keys[i+1]]
		if old != nil && old.text(table.Writer) == c.Mark {
			done++ // by an earlier try, whose answer was lost
			continue
		}
		if old == nil || !visible(old, before) {
			failures[id] = collab.Errorf(collab.NotFound, "comment %d does not exist in annotation %q", id, ann)
			done++
			continue
		}
		comment, err := readComment(old)
		if err != nil {
			return 0, fail(ctx, err)
		}
		if err := c.Change(&comment); err != nil {
			failures[id] = err
			done++
			continue
		}
		comment.Rev++
		after := commentItem(doc, ann, &comment, c.Mark, old.text(table.Batch))
		if err := checkSize(after, "comment "+strconv.FormatInt(id, 10)); err != nil {
			failures[id] = err
			done++
			continue
		}
		if size += after.size(); size > transactBytes && len(writes) > 0 {
			break
		}
		writes = append(writes, s.changeOnRev(old, after))
		changed = append(changed, comment)
		head.LastUpdated = max(head.LastUpdated, comment.LastUpdated)
		done++
	}
	if len(writes) == 0 {
		return done, nil
	}
	var ev *collab.Event
	if c.Event != nil {
		if ev, err = c.Event(&head, changed); err != nil {
			return 0, err
		}
	}
	event, err := s.outbox(events(ev))
	if err != nil {
		return 0, err
	}
	head.Rev++
	after := headItem(doc, &head)
	after[table.Writer] = str(c.Mark)
	if marks, ok := before[table.Batches]; ok {
		after[table.Batches] = marks
	}
	refused, err := s.transact(ctx, slices.Concat(writes, []types.TransactWriteItem{s.changeOnRev(before, after)}, event))
	if err != nil {
		return 0, err
	}
	if refused != nil {
		return 0, nil
	}
	return done, nil
}

func events(ev *collab.Event) []*collab.Event {
	if ev == nil {
		return nil
	}
	return []*collab.Event{ev}
}
