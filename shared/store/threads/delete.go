package threads

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
	"collabdata/shared/tx"
)

// A thread is deleted by its head: a comment carries the birth mark of its head, which is the mark of the request that added that, and one
// whose mark is not its head's does not exist. So a comment that was on its way is never shown, and the id may be added again at once. What is
// left of the thread is swept later, by a job that is there before the head goes.

// birth is the birth mark of a head; a comment's is what belongs compares.
func birth(head store.Item) string { return head.Text(table.AddedBy) }

// belongs reports whether a comment is one of a head, nil for none.
func belongs(comment, head store.Item) bool { return head != nil && comment.Text(table.Birth) == birth(head) }

// DeleteAnnotations deletes annotations of a document with their comments, each by itself, and returns their failures in the order of ids, nil
// for success: NOT_FOUND for one that does not exist, and those of d.Select. A repeat of the request fails where its first attempt failed, and
// deletes nothing that was added since. The ids are distinct.
func (s *Store) DeleteAnnotations(ctx context.Context, t *tx.Tx, doc collab.DocumentRef, ids []string, d collab.AnnotationDeletion) []error {
	errs := make([]error, len(ids))
	fail := func(err error) []error {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	job, err := s.begun(ctx, t)
	if err == nil && job == nil {
		job, err = s.intend(ctx, t, doc, ids, d, errs)
	}
	if err != nil {
		return fail(err)
	}
	births := make(map[string]string, len(job.Threads))
	for _, th := range job.Threads {
		births[th.ID] = th.Birth
	}
	store.All(len(ids), func(i int) {
		mark, meant := births[ids[i]]
		if !meant {
			if errs[i] == nil {
				errs[i] = annotationMissing(doc, ids[i])
			}
			return
		}
		errs[i] = s.deleteHead(ctx, t, doc, ids[i], mark, i, d)
	})
	return errs
}

// begun returns the job of an earlier attempt at the request, nil where none has begun.
func (s *Store) begun(ctx context.Context, t *tx.Tx) (*collab.Job, error) {
	if !t.Repeat {
		return nil, nil
	}
	job, err := s.Outbox.Job(ctx, t.Account, t.JobID())
	if collab.CodeOf(err) == collab.NotFound {
		return nil, nil
	}
	return &job, err
}

// intend reads which of the annotations are there, notes why the others are not deleted, and keeps the job that sweeps what is left of them.
func (s *Store) intend(
	ctx context.Context, t *tx.Tx, doc collab.DocumentRef, ids []string, d collab.AnnotationDeletion, errs []error,
) (*collab.Job, error) {
	keys := make([]table.Key, len(ids))
	for i, id := range ids {
		keys[i] = headKey(doc, id)
	}
	found, err := s.GetAll(ctx, keys, true)
	if err != nil {
		return nil, err
	}
	job := &collab.Job{ID: t.JobID(), Account: t.Account, Documents: []collab.DocumentRef{doc}}
	for i, k := range keys {
		head := found[k]
		if head == nil {
			continue
		}
		a, err := readHead(head)
		if err == nil && d.Select != nil {
			err = d.Select(&a)
		}
		if errs[i] = err; err == nil {
			job.Threads = append(job.Threads, collab.JobThread{ID: ids[i], Birth: birth(head)})
		}
	}
	if len(job.Threads) == 0 {
		return job, nil
	}
	return job, s.Outbox.AddJob(ctx, *job, collab.SweepAfter)
}

// deleteHead deletes a head that has a birth mark, with its look-up, and records the event. A head that is gone, or of another birth, was deleted.
func (s *Store) deleteHead(ctx context.Context, t *tx.Tx, doc collab.DocumentRef, id, mark string, n int, d collab.AnnotationDeletion) error {
	head, err := s.Get(ctx, headKey(doc, id))
	if err != nil || head == nil || birth(head) != mark {
		return err
	}
	a, err := readHead(head)
	if err != nil {
		return err
	}
	var ev *collab.Event
	if d.Event != nil {
		ev = d.Event(n, &a)
	}
	k := headKey(doc, id)
	has := store.Item{table.PK: store.Text(k.PK)}
	if mark != "" {
		has = store.Item{table.AddedBy: store.Text(mark)}
	}
	_, err = s.Outbox.Commit(ctx, t, []store.Write{s.RemoveIf(k, has), s.Remove(table.AnnotationID(doc, id))}, ev)
	return err // where the head was not as it was, it is deleted by now
}

// DeleteComments deletes comments of an annotation: those of the ids, or for nil all. It returns the ids in their order, those of all by id, with the
// failures by id: NOT_FOUND. The annotation stays, and its lastUpdated moves to the time of the request. It fails as a whole with NOT_FOUND when the
// annotation does not exist, and with FAILED_PRECONDITION when it has more than collab.MaxDeleted comments and no ids are given. A repeat of the request
// fails where its first attempt failed. The ids are distinct.
func (s *Store) DeleteComments(
	ctx context.Context, t *tx.Tx, doc collab.DocumentRef, ann string, ids []int64, event func(*collab.Annotation, []collab.Comment) *collab.Event,
) ([]int64, map[int64]error, error) {
	meant, err := s.meant(ctx, t, doc, ann, ids)
	if err != nil {
		return nil, nil, err
	}
	if ids == nil {
		ids = meant
	}
	failures := map[int64]error{}
	for _, id := range ids {
		if !slices.Contains(meant, id) {
			failures[id] = collab.Errorf(collab.NotFound, "comment %d does not exist in annotation %q", id, ann)
		}
	}
	if len(meant) == 0 {
		return ids, failures, nil
	}
	head, err := s.touch(ctx, doc, ann, t.Millis(), nil)
	if err != nil {
		return nil, nil, err
	}
	a, err := readHead(head)
	if err != nil {
		return nil, nil, err
	}
	for group := range slices.Chunk(meant, collab.MaxComments) {
		if err := s.deleteGroup(ctx, t, doc, ann, group, head, &a, event); err != nil {
			for _, id := range group {
				failures[id] = err
			}
		}
	}
	return ids, failures, nil
}

// meant returns which comments a request deletes, and keeps that: so a repeat of it deletes the same, and answers so.
func (s *Store) meant(ctx context.Context, t *tx.Tx, doc collab.DocumentRef, ann string, ids []int64) (meant []int64, err error) {
	kept := struct {
		IDs     []int64 `dynamodbav:"ids"`
		Expires int64   `dynamodbav:"ttl"`
	}{}
	k := table.Removal(t.Account, t.Mark())
	if t.Repeat {
		it, err := s.Get(ctx, k)
		if err == nil && it != nil {
			err = it.Decode(&kept)
		}
		if err != nil || it != nil {
			return kept.IDs, err
		}
	}
	if ids != nil {
		found, err := s.Comments(ctx, doc, ann, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if _, ok := found[id]; ok {
				meant = append(meant, id)
			}
		}
	} else {
		for c, err := range s.ListComments(ctx, doc, ann, 0, collab.MaxDeleted) {
			if err != nil {
				return nil, err
			}
			if meant = append(meant, c.ID); len(meant) > collab.MaxDeleted {
				return nil, collab.Errorf(collab.FailedPrecondition,
					"annotation %q has more than %d comments: delete it, or name the comments by commentIds", ann, collab.MaxDeleted)
			}
		}
	}
	if len(meant) == 0 {
		return nil, nil
	}
	kept.IDs, kept.Expires = meant, s.Millis()/1000+int64(collab.IdempotencyExpiry.Seconds())
	return meant, s.Put(ctx, store.ItemOf(k, kept))
}

// deleteGroup deletes comments of a thread, as many as a transaction takes, and records the event: with one all or none.
func (s *Store) deleteGroup(
	ctx context.Context, t *tx.Tx, doc collab.DocumentRef, ann string, ids []int64, head store.Item, a *collab.Annotation,
	event func(*collab.Annotation, []collab.Comment) *collab.Event,
) error {
	return s.Try(ctx, nameOf(ann), t.Mark(), func(ctx context.Context) ([]store.Write, error) {
		keys := make([]table.Key, len(ids))
		for i, id := range ids {
			keys[i] = commentKey(doc, ann, id)
		}
		found, err := s.GetAll(ctx, keys, true)
		if err != nil {
			return nil, err
		}
		var writes []store.Write
		var gone []collab.Comment
		for _, k := range keys {
			it := found[k]
			if it == nil || !belongs(it, head) {
				continue
			}
			c, err := readComment(it)
			if err != nil {
				return nil, err
			}
			gone = append(gone, c)
			writes = append(writes, s.Remove(k))
		}
		if len(writes) == 0 || event == nil {
			return nil, store.Each(ctx, len(writes), func(ctx context.Context, i int) error {
				_, err := s.Write(ctx, writes[i])
				return err
			})
		}
		_, err = s.Outbox.Commit(ctx, t, writes, event(a, gone))
		return nil, err
	})
}

// Sweep deletes what is left of a thread whose head is gone, or was added again: comments that do not belong to it. It deletes up to most of them,
// and reports whether none is left.
func (s *Store) Sweep(ctx context.Context, doc collab.DocumentRef, ann string, most int) (swept int, done bool, err error) {
	k := headKey(doc, ann)
	head, err := s.Get(ctx, k)
	if err != nil {
		return 0, false, err
	}
	var gone []store.Item
	q := store.Scan{PK: k.PK, Keys: threadSpan(k.SK).After(k.SK), Strong: true, Project: []string{table.PK, table.SK, table.Birth}}
	done = true
	for it, err := range s.Items(ctx, q) {
		if err != nil {
			return 0, false, err
		}
		if belongs(it, head) {
			continue
		}
		if len(gone) == most {
			done = false
			break
		}
		gone = append(gone, it)
	}
	err = store.Each(ctx, len(gone), func(ctx context.Context, i int) error {
		has := store.Item{table.PK: gone[i][table.PK]}
		if mark := gone[i][table.Birth]; mark != nil {
			has = store.Item{table.Birth: mark}
		}
		_, err := s.Write(ctx, s.RemoveIf(gone[i].Key(), has))
		return err
	})
	return len(gone), done && err == nil, err
}
