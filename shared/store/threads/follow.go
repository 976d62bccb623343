package threads

import (
	"context"
	"strconv"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// followersItem lists the followers of a document. Its Follows has only LevelAll.
type followersItem struct {
	Follows *collab.Follows `dynamodbav:"flw,omitempty"`
}

// Followers returns the followers of a document, with eventual consistency. It costs half a read
// unit if there are none.
func (s *Store) Followers(ctx context.Context, doc collab.DocumentRef) ([]string, error) {
	found, err := s.GetAll(ctx, []keys.Key{keys.Followers(doc)}, false)
	if err != nil {
		return nil, err
	}
	var v followersItem
	err = found[keys.Followers(doc)].Decode(&v)
	return collab.Deref(v.Follows).All, err
}

// Following returns a user's levels for documents, in order, with strong consistency.
func (s *Store) Following(ctx context.Context, docs []collab.DocumentRef, user string) ([]collab.Level, error) {
	found, err := s.GetAll(ctx, collab.Map(docs, keys.Followers), true)
	if err != nil {
		return nil, err
	}
	levels := make([]collab.Level, len(docs))
	for i, doc := range docs {
		var v followersItem
		if err := found[keys.Followers(doc)].Decode(&v); err != nil {
			return nil, err
		}
		levels[i] = v.Follows.Of(user)
	}
	return levels, nil
}

// FollowAll is Follow for several documents. It reserves the writes of all before the first.
func (s *Store) FollowAll(ctx context.Context, req *request.Request, docs []collab.DocumentRef, users []string, level collab.Level) error {
	if collab.UsageOf(ctx).Limited() {
		itemKeys := collab.Map(docs, keys.Followers)
		if _, err := s.GetAll(ctx, itemKeys, false); err != nil {
			return err
		}
		if err := s.Reserve(ctx, collab.Map(itemKeys, func(k keys.Key) []store.Write { return []store.Write{store.Rewriting(k)} })...); err != nil {
			return err
		}
	}
	return store.Each(ctx, len(docs), func(ctx context.Context, i int) error {
		_, err := s.Follow(ctx, req, docs[i], users, level)
		return err
	})
}

// Follow sets the level of users for a document to LevelAll or LevelDefault, and returns their
// previous levels. It returns RESOURCE_EXHAUSTED, and changes nothing, if more than
// collab.MaxFollowers would follow the document.
func (s *Store) Follow(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, users []string, level collab.Level,
) (before []collab.Level, err error) {
	err = s.Try(ctx, "document "+strconv.Quote(doc.Document), req.Mark(), func(ctx context.Context) ([]store.Write, error) {
		k := keys.Followers(doc)
		it, err := s.Get(ctx, k)
		if err != nil {
			return nil, err
		}
		var v followersItem
		changed := false
		write, err := store.Rewritten(k, it, req.Mark(), &v, func(v *followersItem, _ bool) error {
			previous := v.Follows
			before = collab.Map(users, previous.Of)
			for i, u := range users {
				if before[i] != level {
					v.Follows, changed = v.Follows.Set(u, level), true
				}
			}
			return collab.CheckFollows(previous, v.Follows, collab.MaxFollowers, req.Person != nil)
		})
		if err != nil || !changed {
			return nil, err
		}
		return []store.Write{write}, nil
	})
	return before, err
}
