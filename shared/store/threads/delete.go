package threads

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// A thread is deleted by its head. A comment carries the birth mark of its head, the mark of the
// request that added it, and exists only if the marks are equal. So a comment that is being added
// is never shown, and the id is free at once. A job, stored before the head is deleted, sweeps the
// remains later.

// DeleteAnnotations deletes annotations with their comments: those with the distinct ids, or, if
// ids is nil, at most collab.MaxDeleted that the selector matches; a job deletes the rest. It
// returns their ids, in the order given or in id order, and the errors in that order. An error is
// NOT_FOUND if the annotation does not exist or the deletion excludes it, or FAILED_PRECONDITION if
// d.Unanswered keeps it. A retry of the request gives the same NOT_FOUND errors, and deletes
// nothing that was added since.
func (s *Store) DeleteAnnotations(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, ids []string, d collab.AnnotationDeletion,
) ([]string, []error, error) {
	job, _, _, err := s.Outbox.EarlierJob(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	var heads map[keys.Key]store.Item
	repeated := job != nil
	if job == nil {
		job, heads, err = s.keepJob(ctx, req, doc, ids, d)
	} else if heads, err = s.heads(ctx, doc, threadIDs(job)); err == nil {
		err = s.reserveDeletion(ctx, doc, job, d)
	}
	if err != nil {
		return nil, nil, err
	}
	if ids == nil {
		ids = threadIDs(job)
	}
	births := make(map[string]string, len(job.Threads))
	for _, th := range job.Threads {
		births[th.ID] = th.Birth
	}
	errs := store.All(len(ids), func(i int) error {
		mark, found := births[ids[i]]
		head := heads[headKey(doc, ids[i])]
		switch {
		case !found:
			return collab.NoAnnotation(doc, ids[i])
		case head != nil && birth(head) == mark: // otherwise it is already deleted
			return s.deleteHead(ctx, req, doc, head, i, d, !repeated)
		}
		return nil
	})
	if job.Rest != nil {
		req.Leaves(job.ID)
		err = s.Outlast(ctx, req.Now, s.skew)
	}
	return ids, errs, err
}

// DeleteRest deletes part of the selected annotations that the request left to its job, except
// annotations added after the answer. It returns the position of the next part, or "" if none
// remain.
func (s *Store) DeleteRest(ctx context.Context, job *outbox.Job, from string) (next string, err error) {
	doc := job.Document(job.Things[0])
	ids, next, err := s.selectPart(ctx, doc, job.Rest.Selector, s.MaxDeleted, from)
	if err != nil || len(ids) == 0 {
		return next, err
	}
	_, errs, err := s.DeleteAnnotations(ctx, s.Outbox.JobRequest(job), doc, ids, *job.Rest)
	for _, failure := range errs {
		if failure != nil && collab.CodeOf(failure) != collab.NotFound {
			err = failure
		}
	}
	return next, err
}

func threadIDs(job *outbox.Job) []string {
	return collab.Map(job.Threads, func(th outbox.JobThread) string { return th.ID })
}

// keepJob reads the existing ones of the annotations, and stores the job that sweeps their remains.
// It also returns the heads.
func (s *Store) keepJob(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, ids []string, d collab.AnnotationDeletion,
) (*outbox.Job, map[keys.Key]store.Item, error) {
	job := &outbox.Job{
		ID: req.JobID(), Account: req.Account, In: doc.OrganizationRef, SweepAt: s.Millis() + outbox.SweepAfter.Milliseconds(),
		Things: []outbox.JobThing{{Kind: collab.ADocument, ID: doc.Document, Incarnation: doc.Incarnation}},
	}
	if ids == nil {
		var next string
		var err error
		if ids, next, err = s.selectPart(ctx, doc, d.Selector, s.MaxDeleted, ""); err != nil {
			return nil, nil, err
		}
		if next != "" {
			job.Rest = &d
			job.Rest.Selector.Before = cmp.Or(d.Selector.Before, collab.EarliestID(req.Millis()+s.skew.Milliseconds()+1))
		}
	}
	found, err := s.heads(ctx, doc, ids)
	if err != nil {
		return nil, nil, err
	}
	selected := make([]bool, len(ids))
	err = store.Each(ctx, len(ids), func(ctx context.Context, i int) (err error) {
		selected[i], err = s.selects(ctx, doc, found[headKey(doc, ids[i])], d.Selector)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for i, id := range ids {
		if selected[i] {
			job.Threads = append(job.Threads, outbox.JobThread{ID: id, Birth: birth(found[headKey(doc, id)])})
		}
	}
	if err := s.reserveDeletion(ctx, doc, job, d); err != nil {
		return nil, nil, err
	}
	if len(job.Threads) > 0 {
		_, _, err = s.Outbox.AddJob(ctx, *job)
	}
	return job, found, err
}

// reserveDeletion reserves the writes of deleteHead for the threads of a job.
func (s *Store) reserveDeletion(ctx context.Context, doc collab.DocumentRef, job *outbox.Job, d collab.AnnotationDeletion) error {
	var calls [][]store.Write
	for _, th := range job.Threads {
		mark := []store.Write{store.Rewriting(headKey(doc, th.ID))}
		if d.Unanswered || d.Empty {
			calls = append(calls, mark)
		}
		calls = append(calls, append(mark, s.leftLookUp(doc, th.ID), s.leftWrite(ctx, doc, &collab.Annotation{ID: th.ID}, true)))
	}
	return s.Reserve(ctx, calls...)
}

// selects reports whether a selector matches an annotation with a head, which may be nil.
func (s *Store) selects(ctx context.Context, doc collab.DocumentRef, head store.Item, sel collab.Selector) (bool, error) {
	if head == nil {
		return false, nil
	}
	a, err := readHead(head)
	if err != nil || sel.Excludes(&a) || !bornBefore(head, sel.Before) {
		return false, err
	}
	if sel.Agent == nil || !a.ByAgent {
		return sel.Agent == nil, nil
	}
	mark, has, err := s.hasAgent(ctx, doc, a.ID, sel.Agent)
	return has && mark == birth(head), err
}

// deleteHead deletes a head, marks its look-up item as deleted, and records the event. It does
// nothing if the head has another birth mark. It returns NOT_FOUND if the selector of d does not
// match the head at the deletion; selected reports whether it matched the head that was read. If
// d.Unanswered or d.Empty is set, it looks for comments, and again if the head was touched since.
func (s *Store) deleteHead(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, head store.Item, n int, d collab.AnnotationDeletion, selected bool,
) error {
	a, err := readHead(head)
	if err != nil {
		return err
	}
	if !selected {
		if selected, err = s.selects(ctx, doc, head, d.Selector); err != nil || !selected {
			return cmp.Or(err, collab.NoAnnotation(doc, a.ID))
		}
	}
	same := []string{keys.AddedBy}
	if d.Selector.Narrows() {
		same = append(same, keys.Rev)
	}
	if d.Unanswered || d.Empty {
		mark := store.Text(s.NewMark())
		refused, err := s.Write(ctx, store.Update(head.Key(), expression.Set(expression.Name(keys.Closing), expression.Value(mark)),
			expression.Name(keys.AddedBy).Equal(expression.Value(birth(head)))))
		if err != nil || refused != nil {
			return err
		}
		if err := s.checkUnanswered(ctx, doc, &a, d.Empty); err != nil {
			return err
		}
		head = maps.Clone(head)
		head[keys.Closing] = mark
		same = append(same, keys.Closing)
	}
	var ev *collab.Event
	if d.Notify {
		event := collab.In(doc)
		event.ID, event.Time = req.IDs.For(n, a.ID), req.Millis()
		event.Describe(collab.AnnotationDeleted, &a)
		ev = &event
	}
	refused, err := s.Outbox.Commit(ctx, req, []store.Write{
		store.DeleteRead(head, same...), s.leftLookUp(doc, a.ID), s.leftWrite(ctx, doc, &a, true),
	}, ev)
	if err != nil || refused == nil || len(same) == 1 {
		return err
	}
	if existing := refused.Of[0].There; existing != nil && birth(existing) == birth(head) {
		return s.deleteHead(ctx, req, doc, existing, n, d, false)
	}
	return nil
}

// checkUnanswered returns FAILED_PRECONDITION if an annotation has a comment by anyone except its
// creator, or any comment if empty is set.
func (s *Store) checkUnanswered(ctx context.Context, doc collab.DocumentRef, a *collab.Annotation, empty bool) error {
	for c, err := range s.ListComments(ctx, doc, a.ID, 0, collab.MaxPageSize) {
		switch {
		case collab.CodeOf(err) == collab.NotFound:
			return nil // already deleted
		case err != nil:
			return err
		case empty || c.AuthorID != a.CreatorID:
			return collab.Errorf(collab.FailedPrecondition, "annotation %q has comments of others: it stays", a.ID)
		}
	}
	return nil
}

// DeleteComments deletes comments of an annotation: those with the distinct ids, or all if ids is
// nil, if one of authors wrote them; nil authors means anyone. It returns the ids in their order,
// or in id order, and errors by id: NOT_FOUND, also for other authors. The annotation's lastUpdated
// moves to the time of the request.
//
// It returns NOT_FOUND if the annotation does not exist. Without ids, it returns
// FAILED_PRECONDITION if more than collab.MaxDeleted comments match, or if it would have to search
// more than 10,000 comments or 10 MB. A retry of the request gives the same errors, and deletes
// nothing that was added since.
func (s *Store) DeleteComments(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, ann string, ids []int64, authors []string,
	event func(*collab.Annotation, []collab.Comment) *collab.Event,
) ([]int64, map[int64]error, error) {
	return s.deleteComments(ctx, ids, &commentDeletion{s: s, req: req, doc: doc, ann: ann, authors: authors, event: event})
}

// DeleteOwnComments is DeleteComments for the comments of a user. If the user created the
// annotation and no comment is left, it deletes the annotation, with an event if event is not nil.
func (s *Store) DeleteOwnComments(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, ann string, ids []int64, user string,
	event func(*collab.Annotation, []collab.Comment) *collab.Event,
) ([]int64, map[int64]error, error) {
	return s.deleteComments(ctx, ids, &commentDeletion{s: s, req: req, doc: doc, ann: ann, authors: []string{user}, own: true, event: event})
}

func (s *Store) deleteComments(ctx context.Context, ids []int64, d *commentDeletion) ([]int64, map[int64]error, error) {
	d.excluded = map[int64]bool{}
	if err := d.plan(ctx, ids); err != nil {
		return nil, nil, err
	}
	failures := map[int64]error{}
	missing := func(id int64) {
		failures[id] = collab.Errorf(collab.NotFound, "comment %d does not exist in annotation %q", id, d.ann)
	}
	for _, id := range ids {
		missing(id)
	}
	all := ids == nil
	for _, c := range d.planned {
		delete(failures, c.ID)
		if all {
			ids = append(ids, c.ID)
		}
	}
	if len(d.planned) == 0 {
		return ids, failures, nil
	}
	head, err := s.touchHead(ctx, d.doc, d.ann, d.req.Millis())
	if collab.CodeOf(err) == collab.NotFound && d.last != "" { // by an earlier attempt of the request
		return ids, failures, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if d.head, err = readHead(head); err != nil {
		return nil, nil, err
	}
	for group := range slices.Chunk(d.planned, collab.MaxComments) {
		if err := d.group(ctx, group); err != nil {
			for _, c := range group {
				failures[c.ID] = err
			}
		}
	}
	for id := range d.excluded {
		missing(id)
	}
	if d.last == "" || d.last != birth(head) || len(failures) > 0 {
		return ids, failures, nil
	}
	err = s.deleteHead(ctx, d.req, d.doc, head, 1, collab.AnnotationDeletion{Empty: true, Notify: d.event != nil}, true)
	if collab.CodeOf(err) == collab.FailedPrecondition { // somebody has commented
		err = nil
	}
	return ids, failures, err
}

type commentDeletion struct {
	s       *Store
	req     *request.Request
	doc     collab.DocumentRef
	ann     string
	authors []string // nil for anyone

	own     bool       // delete an annotation of the author with its last comment
	thread  store.Item // the head that was read
	last    string     // birth mark of the head if it is to be deleted
	event   func(*collab.Annotation, []collab.Comment) *collab.Event
	head    collab.Annotation
	planned []outbox.JobComment
	// Planned comments that have another author now.
	excluded map[int64]bool
}

// plan decides which comments the request deletes, and stores that, so that a retry deletes the
// same.
func (d *commentDeletion) plan(ctx context.Context, ids []int64) error {
	earlier, _, _, err := d.s.Outbox.EarlierJob(ctx, d.req)
	if err != nil {
		return err
	}
	if earlier != nil {
		d.planned = earlier.Comments
		for _, th := range earlier.Threads {
			d.last = th.Birth
		}
		return nil
	}
	items, err := d.read(ctx, ids)
	if err != nil || len(items) == 0 {
		return err
	}
	var deletes []store.Write
	for _, it := range items {
		_, id, err := keys.ParseAnnotation(it.Text(keys.SK))
		if err != nil {
			continue // from a later version
		}
		d.planned = append(d.planned, outbox.JobComment{ID: id, Mark: it.Text(keys.AddedBy)})
		deletes = append(deletes, store.Delete(it.Key()))
	}
	calls := [][]store.Write{{store.Rewriting(headKey(d.doc, d.ann))}, deletes}
	if d.event == nil { // one by one
		calls = append(calls[:1], slices.Collect(slices.Chunk(deletes, 1))...)
	}
	job := outbox.Job{ID: d.req.JobID(), Account: d.req.Account, Comments: d.planned}
	if err := d.s.Reserve(ctx, calls...); err != nil {
		return err
	}
	if err := d.planThread(ctx, &job, calls); err != nil {
		return err
	}
	if d.last == "" {
		return d.s.Outbox.Remember(ctx, job)
	}
	_, _, err = d.s.Outbox.AddJob(ctx, job)
	return err
}

// planThread adds the annotation to the job, which sweeps its remains, if it is to be deleted: own
// is set, the planned comments are all that it has, and the request may write so much.
func (d *commentDeletion) planThread(ctx context.Context, job *outbox.Job, calls [][]store.Write) error {
	if !d.own || d.thread.Text(keys.Creator) != d.authors[0] {
		return nil
	}
	planned := map[int64]bool{}
	for _, c := range d.planned {
		planned[c.ID] = true
	}
	for c, err := range d.s.ListComments(ctx, d.doc, d.ann, 0, len(planned)+1) {
		if err != nil || !planned[c.ID] {
			return err
		}
	}
	mark := []store.Write{store.Rewriting(headKey(d.doc, d.ann))}
	err := d.s.Reserve(ctx, append(calls, mark, append(mark, d.s.leftLookUp(d.doc, d.ann)))...)
	if collab.CodeOf(err) == collab.FailedPrecondition {
		return nil
	}
	if err != nil {
		return err
	}
	d.last = birth(d.thread)
	job.In, job.SweepAt = d.doc.OrganizationRef, d.s.Millis()+outbox.SweepAfter.Milliseconds()
	job.Things = []outbox.JobThing{{Kind: collab.ADocument, ID: d.doc.Document, Incarnation: d.doc.Incarnation}}
	job.Threads = []outbox.JobThread{{ID: d.ann, Birth: d.last}}
	return nil
}

func (d *commentDeletion) by(comment store.Item) bool {
	return d.authors == nil || slices.Contains(d.authors, comment.Text(keys.Creator))
}

// read returns the annotation's comments by the authors: the existing ones of ids, or all if ids is
// nil.
func (d *commentDeletion) read(ctx context.Context, ids []int64) (items []store.Item, err error) {
	k := headKey(d.doc, d.ann)
	if ids != nil {
		itemKeys := []keys.Key{k}
		for _, id := range ids {
			itemKeys = append(itemKeys, commentKey(d.doc, d.ann, id))
		}
		found, err := d.s.GetAll(ctx, itemKeys, true)
		if err == nil && found[k] == nil {
			err = collab.NoAnnotation(d.doc, d.ann)
		}
		d.thread = found[k]
		for _, key := range itemKeys[1:] {
			if it := found[key]; it != nil && belongs(it, found[k]) && d.by(it) {
				items = append(items, it)
			}
		}
		return items, err
	}
	q := store.Scan{PK: k.PK, Keys: threadSpan(k.SK), Strong: true}
	if d.authors == nil {
		q.Project = []string{keys.PK, keys.SK, keys.AddedBy, keys.Birth}
	}
	var head store.Item
	searched, bytes := 0, 0
	for it, err := range d.s.Items(ctx, q) {
		switch {
		case err != nil:
			return nil, err
		case it.Key() == k:
			head = it
		case belongs(it, head) && d.by(it):
			items = append(items, it)
		}
		searched, bytes = searched+1, bytes+it.Size()
		if len(items) > collab.MaxDeleted || searched > mostSearched || bytes > mostSearchedBytes {
			return nil, collab.Errorf(collab.FailedPrecondition,
				"annotation %q has more than %d such comments, or too many to look for them: delete it, or name the comments by commentIds",
				d.ann, collab.MaxDeleted)
		}
	}
	if d.thread = head; head == nil {
		return nil, collab.NoAnnotation(d.doc, d.ann)
	}
	return items, nil
}

// group deletes comments that fit in a transaction, and records the event.
func (d *commentDeletion) group(ctx context.Context, planned []outbox.JobComment) error {
	for {
		if done, err := d.try(ctx, planned); done || err != nil {
			return err
		}
	}
}

// try makes one attempt at group. done is false if another request wrote meanwhile.
func (d *commentDeletion) try(ctx context.Context, planned []outbox.JobComment) (done bool, err error) {
	itemKeys := make([]keys.Key, len(planned))
	for i, c := range planned {
		itemKeys[i] = commentKey(d.doc, d.ann, c.ID)
	}
	found, err := d.s.GetAll(ctx, itemKeys, true)
	if err != nil {
		return false, err
	}
	var writes []store.Write
	var gone []collab.Comment
	for i, k := range itemKeys {
		it := found[k]
		if it == nil || it.Text(keys.AddedBy) != planned[i].Mark {
			continue // deleted by another attempt or request
		}
		if !d.by(it) {
			d.excluded[planned[i].ID] = true
			continue
		}
		c, err := readComment(it)
		if err != nil {
			return false, err
		}
		gone = append(gone, c)
		writes = append(writes, store.DeleteRead(it, keys.AddedBy, keys.Creator))
	}
	if len(writes) > 0 && d.event != nil {
		refused, err := d.s.Outbox.Commit(ctx, d.req, writes, d.event(&d.head, gone))
		return refused == nil, err
	}
	var again atomic.Bool
	err = store.Each(ctx, len(writes), func(ctx context.Context, i int) error {
		refused, err := d.s.Write(ctx, writes[i])
		if refused != nil {
			again.Store(true)
		}
		return err
	})
	return !again.Load(), err
}

// Sweep deletes comments of earlier heads of a thread, which was deleted or added again. It deletes
// up to limit comments, and reports whether none is left.
func (s *Store) Sweep(ctx context.Context, doc collab.DocumentRef, ann string, limit int) (swept int, done bool, err error) {
	k := headKey(doc, ann)
	head, err := s.Get(ctx, k)
	if err != nil {
		return 0, false, err
	}
	var gone []store.Item
	q := store.Scan{PK: k.PK, Keys: threadSpan(k.SK).After(k.SK), Strong: true, Project: []string{keys.PK, keys.SK, keys.Birth}}
	done = true
	for it, err := range s.Items(ctx, q) {
		if err != nil {
			return 0, false, err
		}
		if belongs(it, head) {
			continue
		}
		if len(gone) == limit {
			done = false
			break
		}
		gone = append(gone, it)
	}
	if head, err = s.Get(ctx, k); err != nil { // it may have been added since, with these items
		return 0, false, err
	}
	gone = slices.DeleteFunc(gone, func(it store.Item) bool { return belongs(it, head) })
	err = store.Each(ctx, len(gone), func(ctx context.Context, i int) error {
		_, err := s.Write(ctx, store.DeleteRead(gone[i], keys.Birth))
		return err
	})
	return len(gone), done && err == nil, err
}
