package erasure

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

type pass struct {
	*Store
	*people
	before  collab.Millis // later items are new
	earlier string        // items with a lower request mark are old
	written atomic.Int64

	mu      sync.Mutex
	threads map[keys.Key]*thread // threads that the step changes, by head
}

// old reports whether an item was added before the deletion was answered. An item without a time is
// old.
func (r *pass) old(f store.Found) bool {
	if f.Parts.At != 0 {
		return f.Parts.At <= r.before
	}
	if mark := f.Text(keys.AddedBy); mark != "" {
		return mark < r.earlier
	}
	for _, name := range []string{keys.LastUpdated, keys.CreatedAt, keys.StartedAt} {
		if at := f.Number(name); at != 0 {
			return at <= r.before
		}
	}
	return true
}

// item deletes an item that belongs to an erased user, or removes the users from it.
func (r *pass) item(ctx context.Context, f store.Found) error {
	switch {
	case f.Kind.NamesUser():
		if !r.old(f) {
			return nil
		}
		if slices.Contains([]*keys.Kind{keys.ARemoval, keys.ARemovalFromFolder, keys.ARemovalFromDocument}, f.Kind) {
			return r.forget(ctx, f)
		}
		r.written.Add(1)
		_, err := r.Write(ctx, store.DeleteRead(f.Item, keys.AddedBy, keys.LastUpdated, keys.CreatedAt))
		return err
	case f.Kind == keys.AThread, f.Kind == keys.AComment:
		return r.inThread(ctx, f)
	case f.Kind == keys.ANotification:
		if id, at, theirs := r.theirs(f); theirs {
			r.written.Add(1)
			return r.Inbox.DeleteNotification(ctx, f.Parts.Organization(), "", outbox.JobNotification{ID: id, At: at})
		}
	}
	return r.change(ctx, f, nil)
}

// forget removes the user id from a removal. A removal of the erasure itself expires after 48
// hours.
func (r *pass) forget(ctx context.Context, f store.Found) error {
	if f.Text(keys.RemovedUser) == "" {
		return nil
	}
	r.written.Add(1)
	update := expression.Remove(expression.Name(keys.RemovedUser))
	if f.Item[keys.Expires] != nil {
		update = update.Set(expression.Name(keys.Expires), expression.Value(r.RemovalExpiry()))
	}
	_, err := r.Write(ctx, store.Update(f.Key(), update,
		expression.Name(keys.LastUpdated).Equal(expression.Value(f.Number(keys.LastUpdated)))))
	return err
}

// theirs reports whether an erased user caused a notification or is its only recipient. It returns
// its id and time.
func (r *pass) theirs(f store.Found) (id string, at collab.Millis, theirs bool) {
	var n struct {
		Body store.Encoded[collab.Notification] `dynamodbav:"body"`
		All  bool                               `dynamodbav:"all,omitempty"`
		To   []string                           `dynamodbav:"to,omitempty"`
	}
	if f.Decode(&n) != nil {
		return "", 0, false
	}
	recipient := n.Body.Value
	alone := !n.All && len(n.To) > 0 && len(n.To) < collab.MaxAudience && !slices.ContainsFunc(n.To, func(u string) bool { return !r.ids[u] })
	return recipient.ID, recipient.CreatedAt, recipient.CreatedAt <= r.before && recipient.ID != "" && (r.ids[recipient.ActionUser.UserID] || alone)
}

// change removes the users from an item, and then applies more unless it is nil. It reads the item
// again if another request has written it.
func (r *pass) change(ctx context.Context, f store.Found, more func(after store.Item) store.Item) error {
	mark, first := r.NewMark(), true
	return r.Try(ctx, "an item", mark, func(ctx context.Context) ([]store.Write, error) {
		if !first {
			it, err := r.Get(ctx, f.Key())
			if f.Item = it; err != nil || it == nil || !r.old(f) {
				return nil, err
			}
		}
		first = false
		after := r.without(f.Item, f.Kind)
		if more != nil {
			after = more(after)
		}
		if reflect.DeepEqual(f.Item, after) {
			return nil, nil
		}
		if th := r.thread(f); th != nil {
			if err := th.touch(ctx, r, f); err != nil {
				return nil, err
			}
		}
		r.written.Add(1)
		return []store.Write{store.Change(f.Item, after, mark, keys.Rev, keys.AddedBy)}, nil
	})
}

// inThread deletes personal data in an old head or comment.
func (r *pass) inThread(ctx context.Context, f store.Found) error {
	theirs := r.ids[f.Text(keys.Creator)]
	switch {
	case !r.old(f):
		return nil
	case f.Kind == keys.AThread && theirs:
		return r.change(ctx, f, r.head)
	case f.Kind == keys.AThread:
		return r.change(ctx, f, reason)
	case !theirs:
		return r.change(ctx, f, unused)
	}
	answered, err := r.thread(f).lastAnswer(ctx, r, f)
	if err != nil || answered <= f.Text(keys.SK) { // otherwise it is deleted
		return err
	}
	return r.change(ctx, f, blank)
}

// head removes the content of a thread by an erased user from its head, except its location and the
// status of its suggestion.
func (r *pass) head(it store.Item) store.Item {
	pk, by, _ := strings.Cut(it.Text(keys.By), "#U#")
	if user, err := keys.Unescape(by); err == nil && r.ids[user] {
		it[keys.By] = store.Text(pk + "#U#" + collab.ErasedUser)
	}
	delete(it, "ctx")
	if status := collab.JSON(it.Text("sug")).Only("status"); status != nil {
		it["sug"] = store.Text(string(status))
	}
	return it
}

// reason removes the reason of a suggestion's rejection by an erased user.
func reason(it store.Item) store.Item {
	suggestion := collab.JSON(it.Text("sug"))
	if suggestion.Get("resolvedBy").Text("userId") == collab.ErasedUser {
		it["sug"] = store.Text(string(suggestion.Merge(collab.JSON(`{"rejectReason":null}`))))
	}
	return it
}

// unused removes the emojis that nobody else used from a comment.
func unused(it store.Item) store.Item {
	var c collab.Comment
	if it.Decode(&c) != nil || !slices.ContainsFunc(c.Reactions, collab.Reaction.Unused) {
		return it
	}
	c.Reactions = slices.DeleteFunc(c.Reactions, collab.Reaction.Unused)
	return store.Overlay[collab.Comment](it, store.ItemOf(it.Key(), c))
}

// blank returns an erased comment that keeps only its id and times, because others replied.
func blank(it store.Item) store.Item {
	var c collab.Comment
	by, err := collab.EncodeJSON(collab.Erased())
	if err != nil || it.Decode(&c) != nil {
		return it
	}
	left := collab.Comment{From: by, AuthorID: collab.ErasedUser, CreatedAt: c.CreatedAt, LastUpdated: c.LastUpdated, AddedAt: c.AddedAt}
	return store.Overlay[collab.Comment](it, store.ItemOf(it.Key(), left))
}

type thread struct {
	touching, answering sync.Once
	touched, failed     error
	answered            string // sort key of the last comment of another user, or ""
}

func (r *pass) thread(f store.Found) *thread {
	if f.Kind != keys.AThread && f.Kind != keys.AComment {
		return nil
	}
	k := keys.Annotation(f.Parts.Document(), f.Parts.Ann)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.threads[k] == nil {
		r.threads[k] = &thread{}
	}
	return r.threads[k]
}

// touch updates the time of a thread before a change, so that readers fetch it again.
func (th *thread) touch(ctx context.Context, r *pass, f store.Found) error {
	th.touching.Do(func() { th.touched = r.Threads.Touch(ctx, f.Parts.Document(), f.Parts.Ann, r.Millis()) })
	return th.touched
}

// lastAnswer returns the sort key of the last comment of another user, or "". It deletes later
// comments of erased users.
func (th *thread) lastAnswer(ctx context.Context, r *pass, f store.Found) (string, error) {
	th.answering.Do(func() { th.answered, th.failed = th.deleteEnd(ctx, r, f) })
	return th.answered, th.failed
}

func (th *thread) deleteEnd(ctx context.Context, r *pass, f store.Found) (string, error) {
	head := keys.Annotation(f.Parts.Document(), f.Parts.Ann).SK
	q := store.Scan{
		PK: f.Text(keys.PK), Keys: store.Span{From: head + "#", To: head + keys.AfterComments}, Limit: 100, Newest: true, Strong: true,
		Project: []string{keys.PK, keys.SK, keys.Creator, keys.AddedBy, keys.LastUpdated},
	}
	for {
		items, more, err := r.QueryPage(ctx, q)
		if err != nil {
			return "", err
		}
		end := slices.IndexFunc(items, func(it store.Item) bool {
			return !r.ids[it.Text(keys.Creator)] || !r.old(store.Found{Item: it, Kind: f.Kind})
		})
		answered := ""
		if end < 0 {
			end = len(items)
		} else {
			answered = items[end].Text(keys.SK)
		}
		if end > 0 {
			if err := th.touch(ctx, r, f); err != nil {
				return "", err
			}
			q.Keys = q.Keys.Before(items[end-1].Text(keys.SK))
		}
		err = store.Each(ctx, end, func(ctx context.Context, i int) error {
			r.written.Add(1)
			_, err := r.Write(ctx, store.DeleteRead(items[i], keys.AddedBy))
			return err
		})
		if err != nil || answered != "" || !more {
			return answered, err
		}
	}
}

// without removes the users from the attributes that the table of kinds lists.
func (p *people) without(it store.Item, k *keys.Kind) store.Item {
	after := maps.Clone(it)
	for _, path := range strings.Fields(k.Users) {
		name, member, _ := strings.Cut(path, ".")
		if after[name] != nil {
			after[name] = p.attribute(after[name], name, member)
		}
	}
	for _, name := range strings.Fields(k.Mentions) {
		if text := after.Text(name); text != "" {
			after[name] = store.Text(p.withoutMentions(text))
		}
	}
	return after
}
