package threads

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// AddAnnotation adds an annotation with its comments, which have distinct ids, and records the
// event in one transaction. It succeeds if an earlier attempt of the request added the annotation.
// It marks the thread as read by the authors of comments, unless add.Moved.
//
// It returns ALREADY_EXISTS if another annotation has the id, and INVALID_ARGUMENT if an item
// exceeds collab.MaxItemBytes or all of them exceed a transaction.
func (s *Store) AddAnnotation(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, th *collab.Thread, add collab.NewAnnotation,
) error {
	writes, head, err := addition(req, doc, th, add)
	if err != nil {
		return err
	}
	refused, err := s.Outbox.Commit(ctx, req, writes, add.Event)
	switch {
	case err != nil:
		return err
	case refused == nil:
	case refused.Of[0].There.Text(keys.AddedBy) == req.Mark():
		req.Recorded(add.Event)
	default:
		return collab.Errorf(collab.AlreadyExists, "annotation %q already exists in document %q", th.ID, doc.Document)
	}
	if add.Moved || collab.Alone(th.Comments) {
		return nil
	}
	return s.answered(ctx, req, doc, th.ID, head, th.Comments)
}

// addition returns the writes that add an annotation, and its head.
func addition(req *request.Request, doc collab.DocumentRef, th *collab.Thread, add collab.NewAnnotation) ([]store.Write, store.Item, error) {
	head := headItem(doc, &th.Annotation)
	head[keys.AddedBy] = store.Text(req.Mark())
	setTimeKey(head, doc, th.ID, th.Latest())
	if err := store.CheckSize(head, add.Field); err != nil {
		return nil, nil, err
	}
	look := store.NewItem(keys.AnnotationID(doc, th.ID))
	writes := []store.Write{store.Create(head), store.Put(look)}
	comments, err := newComments(req, doc, th.ID, th.Comments, req.Mark(), add.Field+"."+add.Comments)
	if err != nil {
		return nil, nil, err
	}
	if bytes(comments)+head.Size() > store.MaxWriteBytes {
		return nil, nil, tooMuch(add.Field)
	}
	for _, c := range comments {
		writes = append(writes, replaceComment(c))
	}
	if add.Import {
		writes = append(writes, importedWrite(doc, th.ID, req.Millis(), th.Comments))
	}
	return writes, head, nil
}

// AddAnnotations calls AddAnnotation concurrently for several annotations. The errors correspond to
// list.
func (s *Store) AddAnnotations(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, list []*collab.Thread, adds []collab.NewAnnotation,
) []error {
	if collab.UsageOf(ctx).Limited() {
		calls := make([][]store.Write, len(list))
		for i := range list {
			calls[i], _, _ = addition(req, doc, list[i], adds[i])
			calls[i] = append(calls[i], s.Outbox.Record(adds[i].Event)...)
		}
		if err := s.Reserve(ctx, calls...); err != nil {
			return slices.Repeat([]error{err}, len(list))
		}
	}
	return store.All(len(list), func(i int) error { return s.AddAnnotation(ctx, req, doc, list[i], adds[i]) })
}

// newComments returns the items of comments to add to an annotation with the birth mark birth.
// field is their field in the request.
func newComments(
	req *request.Request, doc collab.DocumentRef, ann string, comments []collab.Comment, birth, field string,
) ([]store.Item, error) {
	items := make([]store.Item, len(comments))
	for i, c := range comments {
		var err error
		if items[i], err = commentItem(doc, ann, &c, fmt.Sprintf("%s[%d]", field, i)); err != nil {
			return nil, err
		}
		items[i][keys.AddedBy] = store.Text(req.Mark())
		if birth != "" {
			items[i][keys.Birth] = store.Text(birth)
		}
	}
	return items, nil
}

// replaceComment creates a comment unless its head has one with its id. It replaces remains of a
// deleted thread, so its transaction must require the head.
func replaceComment(it store.Item) store.Write {
	w := store.Create(it)
	if mark := it[keys.Birth]; mark != nil {
		condition := *w.Put.ConditionExpression + " OR #of <> :of"
		w.Put.ConditionExpression = &condition
		w.Put.ExpressionAttributeNames = map[string]string{"#of": keys.Birth}
		w.Put.ExpressionAttributeValues = store.Item{":of": mark}
	}
	return w
}

func tooMuch(field string) error {
	return collab.FieldErrorf(field, "is too large: at most %d bytes stored in one call; send the rest by comments add", store.MaxWriteBytes)
}

// AddComments adds comments to an annotation and records the event, all or nothing. It returns
// their ids in order. The annotation's lastUpdated moves to the latest comment's time, never back.
// The first comment's author becomes the creator if there is none. If an earlier attempt of the
// request added the comments, AddComments succeeds and changes nothing.
//
// It returns NOT_FOUND if the annotation does not exist, and ALREADY_EXISTS if a comment has a
// given id. It returns INVALID_ARGUMENT if a comment exceeds collab.MaxItemBytes, or if all of them
// exceed a transaction.
//
// It marks the thread as read by the authors, unless add.Moved, or an author has since marked it
// differently.
//
// It looks for given ids first, so that a call that fails or repeats leaves the thread unchanged.
// Then it touches the head and puts the comments: see the package.
func (s *Store) AddComments(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, ann string, add collab.NewComments,
) ([]int64, error) {
	a := &adding{s: s, req: req, doc: doc, ann: ann, add: add}
	err := a.run(ctx)
	return a.ids(), err
}

// run adds the comments, unless an earlier attempt of the request did, and marks the thread as read
// by their authors meanwhile.
func (a *adding) run(ctx context.Context) error {
	if err := a.number(0); err != nil {
		return err
	}
	done, err := a.lookForGiven(ctx)
	if err == nil && !done && a.req.Repeat && slices.ContainsFunc(a.add.Comments, func(c collab.Comment) bool { return c.ID == 0 }) {
		done, err = a.recall(ctx)
	}
	if err != nil {
		return err
	}
	if done {
		head, err := a.s.Get(ctx, headKey(a.doc, a.ann))
		if err != nil || head == nil {
			return err
		}
		return a.answered(ctx, head)
	}
	latest := collab.Millis(0)
	for i := range a.comments {
		latest = max(latest, a.comments[i].Moved())
	}
	if err := a.reserve(ctx); err != nil {
		return err
	}
	head, err := a.s.touch(ctx, a.doc, a.ann, latest, &a.comments[0])
	if err != nil {
		return err
	}
	answered := collab.Later(ctx, func() (any, error) { return nil, a.answered(ctx, head) })
	err = a.putAll(ctx, head)
	_, failed := answered()
	return cmp.Or(err, failed)
}

// answered is Store.answered, unless add.Moved.
func (a *adding) answered(ctx context.Context, head store.Item) error {
	if a.add.Moved {
		return nil
	}
	return a.s.answered(ctx, a.req, a.doc, a.ann, head, a.add.Comments)
}

// putAll is put with further ids as long as the generated ones are taken.
func (a *adding) putAll(ctx context.Context, head store.Item) error {
	for n := range tries {
		done, err := a.put(ctx, head)
		if done || err != nil {
			return err
		}
		if err := a.number(a.req.IDs.Elsewhere(n)); err != nil {
			return err
		}
	}
	return store.ErrAborted(nameOf(a.ann))
}

// reserve reserves the writes of run.
func (a *adding) reserve(ctx context.Context) error {
	if !collab.UsageOf(ctx).Limited() {
		return nil
	}
	touch := []store.Write{store.Rewriting(headKey(a.doc, a.ann))}
	put := collab.Map(a.items, store.Put)
	if a.add.Event != nil {
		put = append(put, a.s.Outbox.Record(a.add.Event(&collab.Annotation{ID: a.ann}, a.comments))...)
	}
	if a.add.First {
		return a.s.Reserve(ctx, touch, touch, put)
	}
	return a.s.Reserve(ctx, touch, put)
}

const tries = 20

type adding struct {
	s        *Store
	req      *request.Request
	doc      collab.DocumentRef
	ann      string
	add      collab.NewComments
	comments []collab.Comment // with ids
	items    []store.Item
}

func (a *adding) ids() []int64 {
	return collab.Map(a.comments, func(c collab.Comment) int64 { return c.ID })
}

func (a *adding) given(i int) bool { return a.add.Comments[i].ID != 0 }

func (a *adding) mine(it store.Item) bool { return it.Text(keys.AddedBy) == a.req.Mark() }

// first returns the lowest id that an attempt that began at start generates.
func (a *adding) first(start time.Time) int64 { return collab.FirstCommentID(start, a.add.Comments) }

// number assigns ids to the comments, and skips the first ones that it would generate.
func (a *adding) number(skip int64) (err error) {
	a.comments = slices.Clone(a.add.Comments)
	collab.NumberComments(a.comments, a.first(a.req.Now)+skip)
	a.items, err = newComments(a.req, a.doc, a.ann, a.comments, "", a.add.Field)
	if err == nil && bytes(a.items) > store.MaxWriteBytes {
		err = tooMuch(a.add.Field)
	}
	return err
}

// lookForGiven looks for comments with the given ids. done is true if an earlier attempt of the
// request added all comments.
func (a *adding) lookForGiven(ctx context.Context) (done bool, err error) {
	var itemKeys []keys.Key
	for i := range a.comments {
		if a.given(i) {
			itemKeys = append(itemKeys, a.items[i].Key())
		}
	}
	found, err := a.s.GetAll(ctx, itemKeys, true)
	if err != nil {
		return false, err
	}
	for i, c := range a.comments {
		existing := found[a.items[i].Key()]
		switch {
		case existing == nil:
		case a.mine(existing):
			return a.recall(ctx)
		default:
			head, err := a.s.Get(ctx, headKey(a.doc, a.ann))
			if err != nil {
				return false, err
			}
			if belongs(existing, head) {
				return false, a.exists(c.ID)
			}
		}
	}
	return false, nil
}

func (a *adding) exists(id int64) error {
	return collab.Errorf(collab.AlreadyExists, "comment %d already exists in annotation %q", id, a.ann)
}

// put writes the comments with their event. before is the head. done is false if generated ids are
// taken.
func (a *adding) put(ctx context.Context, before store.Item) (done bool, err error) {
	writes := make([]store.Write, len(a.items))
	for i, it := range a.items {
		if before[keys.AddedBy] != nil {
			it[keys.Birth] = before[keys.AddedBy]
		}
		writes[i] = store.Create(it)
	}
	refused, err := a.commit(ctx, before, writes)
	if err != nil || refused == nil {
		return err == nil, err
	}
	if slices.ContainsFunc(refused.Of[:len(a.items)], func(r store.Refused) bool { return r.There != nil && !belongs(r.There, before) }) {
		for i, it := range a.items {
			writes[i] = replaceComment(it)
		}
		refused, err = a.commit(ctx, before, append(writes, store.Require(before, keys.AddedBy)))
		if err != nil || refused == nil {
			return err == nil, err
		}
		if refused.Of[len(a.items)].Refused {
			return false, collab.NoAnnotation(a.doc, a.ann)
		}
	}
	for i, c := range a.comments {
		switch {
		case a.mine(refused.Of[i].There):
			return a.recall(ctx)
		case refused.Of[i].Refused && a.given(i):
			return false, a.exists(c.ID)
		}
	}
	return false, nil
}

// commit executes writes of comments with their event. before is the head.
func (a *adding) commit(ctx context.Context, before store.Item, writes []store.Write) (refused *store.Refusal, err error) {
	if a.add.Import {
		writes = append(writes, importedWrite(a.doc, a.ann, a.req.Millis(), a.comments))
	}
	var ev *collab.Event
	if a.add.Event != nil {
		head, err := readHead(before)
		if err != nil {
			return nil, err
		}
		ev = a.add.Event(&head, a.comments)
	}
	return a.s.Outbox.Commit(ctx, a.req, writes, ev)
}

// recall assigns the ids with which an earlier attempt of the request added the comments. done is
// false if there was none.
func (a *adding) recall(ctx context.Context) (done bool, err error) {
	k := headKey(a.doc, a.ann)
	q := store.Scan{
		PK:      k.PK,
		Keys:    threadSpan(k.SK),
		Limit:   2 * len(a.comments),
		Strong:  true,
		Project: []string{keys.PK, keys.SK, keys.AddedBy},
	}
	q.Keys.From = commentKey(a.doc, a.ann, a.first(a.req.IDs.Start())).SK
	var generated []*int64
	for i := range a.comments {
		if !a.given(i) {
			generated = append(generated, &a.comments[i].ID)
		}
	}
	if generated == nil {
		return true, nil // the caller has found them by id
	}
	for it, err := range a.s.Items(ctx, q) {
		if err != nil {
			return false, err
		}
		_, id, err := keys.ParseAnnotation(it.Text(keys.SK))
		if err != nil || !a.mine(it) || slices.ContainsFunc(a.add.Comments, func(c collab.Comment) bool { return c.ID == id }) {
			continue
		}
		*generated[0] = id
		if generated = generated[1:]; len(generated) == 0 {
			return true, nil
		}
	}
	return false, nil
}

// importedWrite returns the write that remembers which comments of a thread an import adds or
// finds, so that a later import leaves deleted ones deleted. It belongs in the same transaction as
// an addition.
func importedWrite(doc collab.DocumentRef, ann string, at collab.Millis, comments []collab.Comment) store.Write {
	set := "SET #lu = :lu"
	w := &types.Update{
		Key: store.NewItem(keys.ImportedThread(doc, ann)), UpdateExpression: &set,
		ExpressionAttributeNames:  map[string]string{"#lu": keys.LastUpdated},
		ExpressionAttributeValues: store.Item{":lu": store.Number(at)},
	}
	if len(comments) > 0 {
		ids := collab.Map(comments, func(c collab.Comment) string { return strconv.FormatInt(c.ID, 10) })
		set += " ADD #ids :ids"
		w.ExpressionAttributeNames["#ids"] = keys.ImportedComments
		w.ExpressionAttributeValues[":ids"] = &types.AttributeValueMemberNS{Value: ids}
	}
	return store.Write{Update: w}
}
