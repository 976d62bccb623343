package threads

import (
	"context"
	"iter"
	"slices"
	"strconv"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Part is the head or a comment of a thread.
type Part struct {
	Key        string             // its position among the parts of a document
	ID         string             // of the annotation
	Annotation *collab.Annotation // nil for a comment
	Comment    *collab.Comment    // nil for a head
}

// ListParts yields the heads and comments of a document after a key, each comment after its head.
// An error comes last. It reads with strong consistency.
func (s *Store) ListParts(ctx context.Context, doc collab.DocumentRef, after string, limit int) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		q := store.Scan{PK: keys.DocumentPartition(doc), Keys: store.Children(keys.Annotations), Limit: limit + 1, Strong: true}
		if after != "" {
			q.Keys = q.Keys.After(after)
		}
		births := map[string]store.Item{} // heads by id, without their content
		for it, err := range s.Items(ctx, q) {
			if err != nil {
				yield(Part{}, err)
				return
			}
			p := Part{Key: it.Text(keys.SK)}
			id, comment, err := keys.ParseAnnotation(p.Key)
			if err != nil {
				continue // from a later version
			}
			p.ID = id
			if comment == 0 {
				var a collab.Annotation
				if a, err = readHead(it); err == nil {
					p.Annotation, births[id] = &a, store.Item{keys.AddedBy: store.Text(birth(it))}
					a.LastUpdated, err = s.latest(ctx, doc, it, &a)
				}
			} else {
				head, read := births[id]
				if !read {
					if head, err = s.Get(ctx, headKey(doc, id)); err != nil {
						yield(Part{}, err)
						return
					}
					births[id] = head
				}
				if !belongs(it, head) {
					continue
				}
				var c collab.Comment
				if c, err = readComment(it); err == nil {
					p.Comment = &c
				}
			}
			if err != nil {
				err = store.Unreadable(it.Key(), err)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// latest returns the lastUpdated of a thread. It reads the comments only if the head does not show
// the time of the last one.
func (s *Store) latest(ctx context.Context, doc collab.DocumentRef, head store.Item, a *collab.Annotation) (collab.Millis, error) {
	latest := a.LastUpdated
	if timeKey(head) <= latest {
		return latest, nil
	}
	for c, err := range s.ListComments(ctx, doc, a.ID, 0, collab.MaxPageSize) {
		if collab.CodeOf(err) == collab.NotFound {
			break // deleted meanwhile
		}
		if err != nil {
			return 0, err
		}
		latest = max(latest, c.LastUpdated)
	}
	return latest, nil
}

// Imported tells of a thread that an import adds.
type Imported struct {
	Head     *collab.Annotation       // nil if it does not exist
	Comments map[int64]collab.Comment // those with the given ids that exist
	Before   bool                     // an earlier import added the thread, or found it
	earlier  []string                 // ids of comments that imports added or found
}

// Had reports whether an earlier import added a comment, or found it.
func (i *Imported) Had(comment int64) bool {
	return slices.Contains(i.earlier, strconv.FormatInt(comment, 10))
}

// ImportedThreads returns the threads of a document by id, with comments by thread, as an import
// finds them. It reads with strong consistency.
func (s *Store) ImportedThreads(
	ctx context.Context, doc collab.DocumentRef, comments map[string][]int64,
) (map[string]*Imported, error) {
	var itemKeys []keys.Key
	for ann, ids := range comments {
		itemKeys = append(itemKeys, headKey(doc, ann), keys.ImportedThread(doc, ann))
		for _, id := range ids {
			itemKeys = append(itemKeys, commentKey(doc, ann, id))
		}
	}
	found, err := s.GetAll(ctx, itemKeys, true)
	if err != nil {
		return nil, err
	}
	list := make(map[string]*Imported, len(comments))
	for ann, ids := range comments {
		t := &Imported{Comments: map[int64]collab.Comment{}}
		list[ann] = t
		if it := found[keys.ImportedThread(doc, ann)]; it != nil {
			t.Before = true
			if set, ok := it[keys.ImportedComments].(*types.AttributeValueMemberNS); ok {
				t.earlier = set.Value
			}
		}
		head := found[headKey(doc, ann)]
		if head == nil {
			continue
		}
		a, err := readHead(head)
		if err != nil {
			return nil, store.Unreadable(head.Key(), err)
		}
		t.Head = &a
		for _, id := range ids {
			if it := found[commentKey(doc, ann, id)]; it != nil && belongs(it, head) {
				if t.Comments[id], err = readComment(it); err != nil {
					return nil, store.Unreadable(it.Key(), err)
				}
			}
		}
	}
	return list, nil
}

// SetImported remembers that an import found an annotation with some comments.
func (s *Store) SetImported(ctx context.Context, doc collab.DocumentRef, ann string, comments []collab.Comment) error {
	_, err := s.Write(ctx, importedWrite(doc, ann, s.Millis(), comments))
	return err
}

// RestoreHead changes the head of an annotation by an import. It raises no event.
func (s *Store) RestoreHead(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, ann string, change func(*collab.Annotation),
) error {
	return s.UpdateAnnotations(ctx, req, doc, []string{ann}, collab.AnnotationChange{
		Head: func(_ int, a *collab.Annotation, _ bool) ([]*collab.Event, error) {
			change(a)
			return nil, nil
		},
	})[0]
}
