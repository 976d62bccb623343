package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// guessed is how many comments are added, at most, without reading the head first.
const guessed = 20

// AddComments adds comments to an annotation, and records the event if there is one, as a whole or not at all. It returns their ids
// in the order given. The annotation's lastUpdated moves to the latest of theirs and never back; the author of the first comment of
// an annotation without a creator becomes its creator. When the comments are there and carry the mark of add.IDs, an earlier try of
// this request added them and the call succeeds. It fails with NOT_FOUND when the annotation does not exist, ALREADY_EXISTS when it
// has a comment with a given id, INVALID_ARGUMENT when a comment is larger than collab.MaxItemBytes, and ABORTED when another request
// is adding comments with the given ids, or did so lately and died; then nothing has changed.
//
// A few comments without an event are one transaction that reads nothing: it guesses that the annotation has a creator, that the new
// comments are its latest, and that their authors find a place; a wrong guess comes back with the head, on which the next try
// is computed. More comments would make its conditions longer than DynamoDB takes.
func (s *Store) AddComments(ctx context.Context, doc collab.DocumentRef, ann string, add collab.NewComments) ([]int64, error) {
	a := &commentAdd{
		s: s, add: add, doc: doc, ann: ann, mark: add.IDs.Mark(),
		headKey: table.Annotation(doc.Account, doc.Organization, doc.Document, ann),
	}
	_, inOne, err := newComments(doc, ann, add.Comments, a.mark)
	if err != nil {
		return nil, err
	}
	if !inOne || add.Event != nil || len(add.Comments) > guessed {
		head, err := s.get(ctx, a.headKey)
		if err != nil {
			return nil, err
		}
		if ids, err := a.begin(ctx, head); ids != nil || err != nil {
			return ids, err
		}
	}
	if inOne {
		return a.addInOne(ctx)
	}
	return a.addBatch(ctx)
}

// commentAdd is one AddComments under way.
type commentAdd struct {
	s       *Store
	add     collab.NewComments
	doc     collab.DocumentRef
	ann     string
	mark    string
	headKey table.Key
	head    item  // as last seen; nil while unknown
	behind  int64 // ids up to this one are not generated: others took them
}

// begin makes the head what the next try is computed on. When an earlier try of the request has added the comments it returns their ids.
func (a *commentAdd) begin(ctx context.Context, head item) (done []int64, err error) {
	if a.head = head; head == nil {
		return nil, annotationMissing(a.doc, a.ann)
	}
	ids := idsOf(a.add.Comments)
	low := a.add.IDs.FirstCommentID(0) // of those that the request may have generated
	given := slices.IndexFunc(ids, func(id int64) bool { return id != 0 })
	if given >= 0 {
		low = ids[given]
	}
	if head.num(table.LastComment) < low {
		return nil, nil
	}
	if given >= 0 {
		there, err := a.s.get(ctx, a.key(low))
		if err != nil || there.text(table.AddedBy) != a.mark || !visible(there, head) {
			return nil, err
		}
	}
	if !slices.Contains(ids, 0) {
		return ids, nil
	}
	items, err := a.s.query(ctx, scan{
		pk: a.headKey.PK, keys: span{a.key(a.add.IDs.FirstCommentID(0)).SK, threadSpan(a.headKey.SK).to}, strong: true,
		project: []string{table.SK, table.AddedBy, table.Batch},
	})
	if err != nil {
		return nil, err
	}
	next := 0 // of those in ids that were generated
	for _, it := range items {
		_, id, err := table.ParseAnnotation(it.text(table.SK))
		if err != nil {
			return nil, fail(ctx, err)
		}
		if it.text(table.AddedBy) != a.mark || !visible(it, head) || slices.Contains(ids, id) {
			continue
		}
		for next < len(ids) && ids[next] != 0 {
			next++
		}
		if next < len(ids) {
			ids[next], done = id, ids
		}
	}
	return done, nil
}

func (a *commentAdd) key(id int64) table.Key {
	return table.Comment(a.doc.Account, a.doc.Organization, a.doc.Document, a.ann, id)
}

// identified returns the comments with ids: generated ones ascend behind the head's last comment as far as it is known. firstMade is the
// first generated one, 0 for none.
func (a *commentAdd) identified() (comments []collab.Comment, firstMade int64) {
	comments = slices.Clone(a.add.Comments)
	given := map[int64]bool{}
	last := a.head.num(table.LastComment)
	for _, c := range comments {
		given[c.ID] = true
		last = max(last, c.ID)
	}
	next := max(a.add.IDs.FirstCommentID(last), a.behind+1)
	for i := range comments {
		if comments[i].ID != 0 {
			continue
		}
		for given[next] {
			next++
		}
		comments[i].ID = next
		if firstMade == 0 {
			firstMade = next
		}
		next++
	}
	return comments, firstMade
}

func idsOf(comments []collab.Comment) []int64 {
	ids := make([]int64, len(comments))
	for i, c := range comments {
		ids[i] = c.ID
	}
	return ids
}

// addInOne adds the comments in one transaction with the head.
func (a *commentAdd) addInOne(ctx context.Context) ([]int64, error) {
	for n := 0; ; n++ {
		comments, _ := a.identified()
		items, _, err := newComments(a.doc, a.ann, comments, a.mark)
		if err != nil {
			return nil, err
		}
		puts := make([]types.TransactWriteItem, len(items))
		for i, it := range items {
			puts[i] = putNew(a.s.table, it)
		}
		head, event, err := a.headWrites(ctx, comments, "")
		if err != nil {
			return nil, err
		}
		refused, err := a.s.transact(ctx, slices.Concat(puts, []types.TransactWriteItem{head}, event))
		if err != nil || refused == nil {
			return idsOf(comments), err
		}
		seen := item(refused[len(puts)].Item)
		if aws.ToString(refused[len(puts)].Code) != "ConditionalCheckFailed" {
			if seen, err = a.s.get(ctx, a.headKey); err != nil {
				return nil, err
			}
		}
		if done, err := a.begin(ctx, seen); done != nil || err != nil {
			return done, err
		}
		if err := a.giveWay(ctx, olds(refused[:len(puts)])); err != nil {
			return nil, err
		}
		if err := a.again(ctx, n); err != nil {
			return nil, err
		}
	}
}

// addBatch puts the comments as a batch, which the head then shows.
func (a *commentAdd) addBatch(ctx context.Context) ([]int64, error) {
	var (
		comments []collab.Comment
		batch    []item
		mark     string
	)
	for n := 0; ; n++ {
		var firstMade int64
		comments, firstMade = a.identified()
		// Comments with other generated ids are another batch: what an earlier try left is not shown with this one's.
		mark = a.mark + "-" + strconv.FormatInt(firstMade, 36)
		var err error
		if batch, _, err = newComments(a.doc, a.ann, comments, a.mark); err != nil {
			return nil, err
		}
		blocking, err := a.s.putBatch(ctx, a.head, batch, mark)
		if err != nil {
			return nil, err
		}
		if blocking == nil {
			break
		}
		if err := a.giveWay(ctx, blocking); err != nil {
			return nil, err
		}
		if err := a.again(ctx, n); err != nil {
			return nil, err
		}
	}
	for n := 0; ; n++ {
		head, event, err := a.headWrites(ctx, comments, mark)
		if err == nil {
			var refused []types.CancellationReason
			refused, err = a.s.transact(ctx, append([]types.TransactWriteItem{head}, event...))
			if err != nil || refused == nil {
				return idsOf(comments), err // on an error the batch stays: the head may have been written
			}
			if a.head = refused[0].Item; slices.Contains(a.head.set(table.Batches), mark) {
				return idsOf(comments), nil
			}
			if a.head == nil {
				err = annotationMissing(a.doc, a.ann)
			} else {
				err = a.again(ctx, n)
			}
		}
		if err != nil {
			a.s.dropBatch(ctx, batch)
			return nil, err
		}
	}
}

// giveWay makes room for the next try: ids to be generated move behind comments that have such an id, and what stands at a given id is
// cleared away when it was abandoned.
func (a *commentAdd) giveWay(ctx context.Context, blocking []item) error {
	var atGiven []item
	for _, it := range blocking {
		_, id, err := table.ParseAnnotation(it.text(table.SK))
		if err != nil {
			return fail(ctx, err)
		}
		if slices.ContainsFunc(a.add.Comments, func(c collab.Comment) bool { return c.ID == id }) {
			atGiven = append(atGiven, it)
		} else {
			a.behind = max(a.behind, id+collab.MaxComments) // behind the whole batch that it may belong to
		}
	}
	if atGiven == nil {
		return nil
	}
	return a.s.clearAbandoned(ctx, a.headKey, atGiven)
}

// again waits before the repeat of try n, where many came before it, and fails with ABORTED when there is no time for it.
func (a *commentAdd) again(ctx context.Context, n int) error {
	if n+1 >= tries && !a.s.backoff(ctx, n) {
		return collab.Errorf(collab.Aborted, "others are writing annotation %q: try again", a.ann)
	}
	return nil
}

// headWrites returns the write of the head for the comments, which shows the batch unless it is "", and those of the event.
func (a *commentAdd) headWrites(ctx context.Context, comments []collab.Comment, batch string) (types.TransactWriteItem, []types.TransactWriteItem, error) {
	var none types.TransactWriteItem
	if a.head == nil {
		w, err := a.guess(comments)
		return w, nil, fail(ctx, err)
	}
	head, err := readHead(a.head)
	if err != nil {
		return none, nil, fail(ctx, err)
	}
	var ev *collab.Event
	if a.add.Event != nil {
		if ev, err = a.add.Event(&head, comments); err != nil {
			return none, nil, err
		}
	}
	event, err := a.s.record(ctx, events(ev))
	if err != nil {
		return none, nil, err
	}
	if err := addToHead(&head, comments); err != nil {
		return none, nil, fail(ctx, err)
	}
	head.Rev++
	after := headItem(a.doc, &head).keepOurs(a.head)
	after.sign(a.mark)
	if batch != "" {
		marks := append(slices.Clone(a.head.set(table.Batches)), batch)
		after[table.Batches] = &types.AttributeValueMemberSS{Value: marks}
	}
	if err := checkSize(after, "the annotation"); err != nil {
		return none, nil, err
	}
	return a.s.onRev([]rewritten{{a.head, after}})[0], event, nil
}

// addToHead makes a head that of a thread with the comments added, or changed. Their authors are its latest; the oldest beyond
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
	mark, w, w2, w3 := e.value(str(a.mark)), e.name(table.Writer), e.name(table.Writer2), e.name(table.Writer3)
	set := "SET " + e.name(table.Rev) + " = " + e.name(table.Rev) + " + " + e.value(num(1)) +
		", " + e.name(table.LastComment) + " = " + e.value(num(added.LastComment)) +
		", " + w3 + " = if_not_exists(" + w2 + ", " + mark + "), " + w2 + " = if_not_exists(" + w + ", " + mark + "), " + w + " = " + mark
	for _, name := range []string{table.LastUpdated, table.Upd, table.OrgUpd} {
		set += ", " + e.name(name) + " = " + e.value(next[name])
	}
	authors := e.name(table.Authors)
	known, earlier := "", ""
	for id, t := range added.Authors {
		author, at := authors+"."+e.name(id), e.value(num(t))
		set += ", " + author + " = " + at
		known += " AND attribute_exists(" + author + ")"
		earlier += " AND NOT " + author + " > " + at
	}
	condition := "attribute_exists(" + e.name(table.From) + ") AND " +
		e.name(table.LastUpdated) + " < " + e.value(num(added.LastUpdated)) + " AND " +
		e.name(table.LastComment) + " < " + e.value(num(behind)) + " AND (" +
		"size(" + authors + ") <= " + e.value(num(int64(collab.MaxAuthors-len(added.Authors)))) +
		" OR (" + known[len(" AND "):] + "))" + earlier
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &a.s.table, Key: keyOf(a.headKey), UpdateExpression: &set, ConditionExpression: &condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}, nil
}

// UpdateComments changes comments of an annotation, each on condition that nobody wrote it in between; then all is computed anew,
// five times. It returns the failures by comment id: NOT_FOUND, ABORTED, INVALID_ARGUMENT for one that would be too large, and
// those of c.Change. It fails as a whole with NOT_FOUND when the annotation does not exist. The annotation's lastUpdated moves to the
// latest of theirs. Where it fails after some of them were changed, the failure is that of each of the others.
func (s *Store) UpdateComments(ctx context.Context, doc collab.DocumentRef, ann string, c collab.CommentChange) (map[int64]error, error) {
	failures := map[int64]error{}
	for n, ids := 0, c.IDs; len(ids) > 0; {
		failed, done, err := s.tryUpdateComments(ctx, doc, ann, c, ids[:min(len(ids), transactComments)])
		switch {
		case err == nil && done > 0:
			maps.Copy(failures, failed)
			ids, n = ids[done:], 0
			continue
		case err != nil && len(ids) == len(c.IDs):
			return nil, err
		case err == nil:
			if n++; n < tries && s.backoff(ctx, n-1) {
				continue
			}
			err = collab.Errorf(collab.Aborted, "others are writing annotation %q: try again", ann)
		}
		for _, id := range ids {
			failures[id] = err
		}
		break
	}
	return failures, nil
}

// tryUpdateComments is one try at a part of the comments: it does as many of them, from the first on, as one transaction takes, and says
// how many and which of them failed; 0 when others wrote in between.
func (s *Store) tryUpdateComments(ctx context.Context, doc collab.DocumentRef, ann string, c collab.CommentChange, ids []int64,
) (failed map[int64]error, done int, err error) {
	headKey := table.Annotation(doc.Account, doc.Organization, doc.Document, ann)
	keys := []table.Key{headKey}
	for _, id := range ids {
		keys = append(keys, table.Comment(doc.Account, doc.Organization, doc.Document, ann, id))
	}
	found, err := s.getAll(ctx, keys, true)
	if err != nil {
		return nil, 0, err
	}
	before := found[headKey]
	if before == nil {
		return nil, 0, annotationMissing(doc, ann)
	}
	head, err := readHead(before)
	if err != nil {
		return nil, 0, fail(ctx, err)
	}
	var (
		changes []rewritten
		changed []collab.Comment
	)
	failed = map[int64]error{}
	for i, id := range ids {
		old := found[keys[i+1]]
		if old == nil || !visible(old, before) {
			failed[id] = collab.Errorf(collab.NotFound, "comment %d does not exist in annotation %q", id, ann)
			continue
		}
		if old.writtenBy(c.Mark) {
			continue // by an earlier try
		}
		comment, err := readComment(old)
		if err != nil {
			return nil, 0, fail(ctx, err)
		}
		if err := c.Change(&comment); err != nil {
			failed[id] = err
			continue
		}
		comment.Rev++
		after := commentItem(doc, ann, &comment).keepOurs(old)
		after.sign(c.Mark)
		if err := checkSize(after, "comment "+strconv.FormatInt(id, 10)); err != nil {
			failed[id] = err
			continue
		}
		if changes = append(changes, rewritten{old, after}); inOne(changes) < len(changes) {
			changes, ids = changes[:len(changes)-1], ids[:i]
			break
		}
		changed = append(changed, comment)
		head.LastUpdated = max(head.LastUpdated, comment.LastUpdated)
	}
	if len(changes) == 0 {
		return failed, len(ids), nil
	}
	var ev *collab.Event
	if c.Event != nil {
		if ev, err = c.Event(&head, changed); err != nil {
			return nil, 0, err
		}
	}
	if err := addToHead(&head, changed); err != nil { // one may have a new author
		return nil, 0, fail(ctx, err)
	}
	outbox, err := s.record(ctx, events(ev))
	if err != nil {
		return nil, 0, err
	}
	head.Rev++
	after := headItem(doc, &head).keepOurs(before)
	after.sign(c.Mark)
	refused, err := s.transact(ctx, append(s.onRev(append(changes, rewritten{before, after})), outbox...))
	if err != nil || refused != nil {
		return nil, 0, err
	}
	return failed, len(ids), nil
}

func events(ev *collab.Event) []*collab.Event {
	if ev == nil {
		return nil
	}
	return []*collab.Event{ev}
}
