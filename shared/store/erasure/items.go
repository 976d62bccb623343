package erasure

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
)

func equal[T any](a, b T) bool { return reflect.DeepEqual(a, b) }

// fields takes the people out of the attributes of an item that others have.
func (r *run) fields(ctx context.Context, it store.Item) error { return r.change(ctx, it, r.without) }

// without returns an item without the people in its attributes: in JSON, and in lists of users. Its keys stay.
func (r *run) without(it store.Item) store.Item {
	after := maps.Clone(it)
	for name := range it {
		if text := it.Text(name); text != "" && (text[0] == '{' || text[0] == '[') {
			if made, changed := r.json(name, []byte(text), object); changed {
				after[name] = store.Text(string(made))
			}
		}
	}
	return store.WithoutTexts(after, func(text string) bool { return r.ids[text] })
}

// body returns an item without the people in its JSON body, nil where it does not name them. name is as for people.json.
func (r *run) body(it store.Item, name string, of form) store.Item {
	made, changed := r.json(name, []byte(it.Text(keys.Body)), of)
	if !changed {
		return nil
	}
	after := maps.Clone(it)
	after[keys.Body] = store.Text(string(made))
	return after
}

// inThread forgets people in a head or a comment.
func (r *run) inThread(ctx context.Context, it store.Item) error {
	_, comment, err := keys.ParseAnnotation(it.Text(keys.SK))
	switch theirs := r.ids[it.Text(keys.Creator)]; {
	case err != nil:
		return r.other(ctx, it)
	case !r.old(it):
		return nil
	case comment == 0:
		return r.change(ctx, it, r.head)
	case !theirs:
		return r.change(ctx, it, r.comment)
	}
	answered, err := r.answered(ctx, it)
	if err != nil || answered <= it.Text(keys.SK) { // else it is deleted
		return err
	}
	return r.change(ctx, it, r.blank)
}

// head returns a head without the people. One that they made keeps what places it, and loses what they wrote.
func (r *run) head(it store.Item) store.Item {
	after := r.without(it)
	if by := it.Text(keys.Creator); r.ids[by] {
		after[keys.Creator] = store.Text(collab.ErasedUser)
		if of, ok := strings.CutSuffix(it.Text(keys.By), keys.Escape(by)); ok {
			after[keys.By] = store.Text(of + collab.ErasedUser)
		}
		delete(after, "ctx")
		var kept map[string]json.RawMessage
		if json.Unmarshal([]byte(after.Text("kept")), &kept) == nil && kept["suggestion"] != nil {
			delete(kept, "suggestion")
			text, err := collab.EncodeJSON(kept)
			if err == nil {
				after["kept"] = store.Text(string(text))
			}
		}
	}
	if r.ids[it.Text("rby")] {
		after["rby"] = store.Text(collab.ErasedUser)
	}
	return after
}

// comment returns another's comment without the people.
func (r *run) comment(it store.Item) store.Item {
	after := r.without(it)
	for _, name := range []string{"txt", "htm"} {
		if text := it.Text(name); text != "" {
			after[name] = store.Text(r.withoutMentions(text))
		}
	}
	return after
}

// blank returns what stays of a comment of theirs that others answered after: that there was one, and when.
func (r *run) blank(it store.Item) store.Item {
	if !r.ids[it.Text(keys.Creator)] {
		return nil
	}
	var c collab.Comment
	if it.Decode(&c) != nil {
		return nil
	}
	by, err := collab.EncodeJSON(collab.Erased())
	if err != nil {
		return nil // it has a JSON form
	}
	left := collab.Comment{From: by, AuthorID: collab.ErasedUser, CreatedAt: c.CreatedAt, LastUpdated: c.LastUpdated, AddedAt: c.AddedAt}
	return store.Overlay[collab.Comment](it, store.ItemOf(it.Key(), left))
}

// thread is what is known of a thread in which one of the people wrote.
type thread struct {
	once     sync.Once
	answered string // the key of its last comment by anybody else, "" for none
	err      error
}

// answered returns the key of the last comment in a comment's thread by anybody but the people, "" for none. It deletes theirs behind it,
// from the end on, so that what it deletes it never reads twice; where they are many, it leaves the rest to a further step.
func (r *run) answered(ctx context.Context, comment store.Item) (string, error) {
	k := comment.Key()
	end := strings.LastIndex(k.SK, "#CMT#")
	r.mu.Lock()
	th := r.threads[k.PK+" "+k.SK[:end]]
	if th == nil {
		th = &thread{}
		r.threads[k.PK+" "+k.SK[:end]] = th
	}
	r.mu.Unlock()
	th.once.Do(func() {
		th.answered, th.err = r.deleteEnd(ctx, k.PK, store.Span{From: k.SK[:end] + "#CMT#", To: k.SK[:end] + keys.AfterComments})
	})
	return th.answered, th.err
}

func (r *run) deleteEnd(ctx context.Context, pk string, comments store.Span) (answered string, err error) {
	q := store.Scan{
		PK: pk, Keys: comments, Limit: 100, Newest: true, Strong: true,
		Project: []string{keys.PK, keys.SK, keys.Creator, keys.AddedBy, keys.From},
	}
	for more := true; more; {
		var items []store.Item
		if items, more, err = r.QueryPage(ctx, q); err != nil {
			return "", err
		}
		end := slices.IndexFunc(items, func(it store.Item) bool { return !r.ids[it.Text(keys.Creator)] || !r.old(it) })
		if end < 0 {
			end = len(items)
		} else {
			answered, more = items[end].Text(keys.SK), false
		}
		for _, it := range items[:end] {
			r.json(keys.From, []byte(it.Text(keys.From)), object) // it knows their names
		}
		if r.learned() { // they are kept first
			r.mu.Lock()
			defer r.mu.Unlock()
			r.again = true
			return "", nil
		}
		err = store.Each(ctx, end, func(ctx context.Context, i int) error {
			r.count()
			_, err := r.Write(ctx, store.DeleteRead(items[i], keys.AddedBy))
			return err
		})
		if err != nil {
			return "", err
		}
		r.mu.Lock()
		r.deleted += end
		r.again = r.again || more && r.deleted >= r.atOnce
		more = more && !r.again
		r.mu.Unlock()
		if end > 0 {
			q.Keys = q.Keys.Before(items[end-1].Text(keys.SK))
		}
	}
	return answered, nil
}

// notification forgets people in a notification, or in a list of those whom one is for. One that they caused, or that is for them alone,
// goes, and the entries of everybody for it.
func (r *run) notification(ctx context.Context, org collab.OrganizationRef, sk []string, it store.Item) error {
	if sk[0] == "TO" {
		return r.audience(ctx, org, sk, it)
	}
	var n struct {
		Body store.Encoded[collab.Notification] `dynamodbav:"body"`
		All  bool                               `dynamodbav:"all,omitempty"`
		To   []string                           `dynamodbav:"to,omitempty"`
	}
	if err := it.Decode(&n); err != nil {
		return nil // of a later version
	}
	of := n.Body.Value
	if of.CreatedAt > r.derived {
		return nil
	}
	theirs := r.ids[of.ActionUser.UserID]
	if !theirs && !n.All && len(n.To) > 0 && !slices.ContainsFunc(n.To, func(u string) bool { return !r.ids[u] }) {
		first := keys.Audience(org, of.CreatedAt, of.ID, "")
		further, err := r.Query(ctx, store.Scan{PK: first.PK, Keys: store.Span{From: first.SK, To: keys.AudienceEnd(of.CreatedAt)}, Strong: true})
		if err != nil {
			return err
		}
		theirs = len(further) == 0
	}
	if theirs {
		r.json("", []byte(it.Text(keys.Body)), object) // it knows their names
		r.count()
		return r.Inbox.EraseNotification(ctx, org, outbox.JobNotification{ID: of.ID, At: of.CreatedAt})
	}
	return r.change(ctx, it, func(it store.Item) store.Item {
		after := r.without(it)
		if body := r.body(it, "", prose); body != nil {
			after[keys.Body] = body[keys.Body]
		}
		return after
	})
}

// audience takes the people out of a list of those whom a notification is for, which is found by the first of them. What is left of a
// notification that was deleted, by a step that died, goes.
func (r *run) audience(ctx context.Context, org collab.OrganizationRef, sk []string, it store.Item) error {
	if !r.made(part(sk, 1)) {
		return nil
	}
	if part(sk, 2) == "" {
		id, err := keys.Unescape(it.Text(keys.PK)[strings.LastIndexByte(it.Text(keys.PK), '#')+1:])
		at, _, parseErr := keys.ParseListed(part(sk, 1) + "#")
		if err != nil || parseErr != nil {
			return nil
		}
		there, err := r.Get(ctx, keys.Notification(org, id))
		if err != nil {
			return err
		}
		if there == nil {
			return r.Inbox.SweepNotification(ctx, org, outbox.JobNotification{ID: id, At: at})
		}
	}
	after := r.without(it)
	left := store.Texts(after["to"])
	switch {
	case equal(it, after):
		return nil
	case len(left) == 0:
		return r.remove(ctx, it)
	case r.escaped[part(sk, 2)]:
		after[keys.SK] = store.Text(strings.Join(sk[:2], "#") + "#" + keys.Escape(left[0]))
		r.count()
		_, err := r.Write(ctx, store.Put(after), store.Delete(it.Key()))
		return err
	}
	return r.fields(ctx, it)
}
