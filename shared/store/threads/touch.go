package threads

import (
	"context"
	"strconv"
	"strings"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// quarter is the step, in milliseconds, by which a busy thread's time key moves.
const quarter = 250

const (
	mostBusy = 1000        // threads whose time keys are remembered
	busyFor  = time.Minute // after it a thread counts as quiet
)

// keyFor returns the time key that a thread with a key needs for a comment of the time at: the same key, if it is late enough; at itself, if
// the thread was quiet for a quarter of a second; else the end of that quarter.
func keyFor(key, at collab.Millis) collab.Millis {
	switch {
	case key >= at:
		return key
	case key < at-quarter:
		return at
	}
	return min((at/quarter+1)*quarter, collab.MaxMillis)
}

// setTimeKey sets a head's time key, and the indexes' keys that hold it.
func setTimeKey(it store.Item, doc collab.DocumentRef, ann string, key collab.Millis) {
	it[keys.Upd] = store.Text(keys.UpdatedInDocument(key, ann))
	it[keys.Org] = store.Text(keys.UpdatedPartition(doc.OrganizationRef))
	it[keys.OrgUpd] = store.Text(keys.UpdatedInOrganization(key, doc, ann))
}

// timeKey returns the time key of a stored head.
func timeKey(it store.Item) collab.Millis {
	digits, _, _ := strings.Cut(it.Text(keys.Upd), "#")
	key, _ := strconv.ParseInt(digits, 10, 64)
	return key
}

// touch moves a thread's time forward to a comment's time at, so that the comment can follow. The author of by, unless nil, becomes the
// creator of a thread that has none. touch returns the head as it was; NOT_FOUND when the annotation does not exist.
//
// Where this process has seen a time key that is late enough, touch only reads the head. Else it tries to move the key from what was seen,
// or as in a quiet thread; a refusal brings the present head, and with it the key to try next.
func (s *Store) touch(ctx context.Context, doc collab.DocumentRef, ann string, at collab.Millis, by *collab.Comment) (store.Item, error) {
	k := headKey(doc, ann)
	key, bound := at, at-quarter
	switch seen, ok := s.busy.Get(k, s.Now()); {
	case ok && seen >= at:
		head, err := s.Get(ctx, k)
		if err != nil {
			return nil, err
		}
		if head != nil && timeKey(head) >= at {
			return head, s.setCreator(ctx, doc, ann, head, by)
		}
	case ok && seen >= bound:
		key, bound = keyFor(seen, at), at
	}
	for {
		head, refused, err := s.WriteOne(ctx, s.moveTimeKey(doc, ann, at, key, bound), types.ReturnValueAllOld)
		if err != nil {
			return nil, err
		}
		if refused == nil {
			s.busy.Put(k, key, s.Now().Add(busyFor))
			return head, s.setCreator(ctx, doc, ann, head, by)
		}
		if head = refused.Of[0].There; head == nil {
			return nil, collab.NoAnnotation(doc, ann)
		}
		s.busy.Put(k, timeKey(head), s.Now().Add(busyFor))
		if timeKey(head) >= at {
			return head, s.setCreator(ctx, doc, ann, head, by)
		}
		key, bound = keyFor(timeKey(head), at), at
	}
}

// Touch moves the time and the lastUpdated of a thread to at, before it changes without a request. A thread that is gone is no error.
func (s *Store) Touch(ctx context.Context, doc collab.DocumentRef, ann string, at collab.Millis) error {
	_, err := s.touchHead(ctx, doc, ann, at)
	if collab.CodeOf(err) == collab.NotFound {
		return nil
	}
	return err
}

// touchHead is touch for a change that no comment tells the time of: the head does.
func (s *Store) touchHead(ctx context.Context, doc collab.DocumentRef, ann string, at collab.Millis) (store.Item, error) {
	head, err := s.touch(ctx, doc, ann, at, nil)
	if err == nil && timeKey(head) >= at { // it was left as it was
		now, to := expression.Name(keys.LastUpdated), expression.Value(at)
		itself := expression.Name(keys.AddedBy).Equal(expression.Value(birth(head)))
		_, err = s.Write(ctx, store.Update(head.Key(), expression.Set(now, to), now.LessThan(to), itself))
	}
	return head, err
}

// moveTimeKey returns the write that moves a thread's time key to key and its lastUpdated to at, if the time key is earlier than bound.
func (s *Store) moveTimeKey(doc collab.DocumentRef, ann string, at, key, bound collab.Millis) store.Write {
	itemKeys := store.Item{}
	setTimeKey(itemKeys, doc, ann, key)
	set, condition := "SET #upd = :upd, #org = :org, #orgu = :orgu, #lu = :lu", "attribute_exists(#pk) AND #upd < :bound"
	return store.Write{Update: &types.Update{
		Key: store.NewItem(headKey(doc, ann)), UpdateExpression: &set, ConditionExpression: &condition,
		ExpressionAttributeNames: map[string]string{
			"#pk": keys.PK, "#upd": keys.Upd, "#org": keys.Org, "#orgu": keys.OrgUpd, "#lu": keys.LastUpdated,
		},
		ExpressionAttributeValues: store.Item{
			":upd": itemKeys[keys.Upd], ":org": itemKeys[keys.Org], ":orgu": itemKeys[keys.OrgUpd],
			":lu": store.Number(at), ":bound": store.Text(keys.Time(max(bound, 0))),
		},
	}}
}

// setCreator makes the author of a comment the creator of a thread that has none. It is a write of its own, as naming the creator in every
// touch would change every index that carries it.
func (s *Store) setCreator(ctx context.Context, doc collab.DocumentRef, ann string, head store.Item, by *collab.Comment) error {
	if by == nil || head[keys.Creator] != nil {
		return nil
	}
	var set expression.UpdateBuilder
	for name, value := range map[string]string{
		keys.From: string(by.From), keys.Creator: by.AuthorID, keys.By: keys.CreatorPartition(doc.OrganizationRef, by.AuthorID),
	} {
		set = set.Set(expression.Name(name), expression.IfNotExists(expression.Name(name), expression.Value(value)))
	}
	itself := expression.AttributeExists(expression.Name(keys.PK))
	if mark := head[keys.AddedBy]; mark != nil { // another may be there by now, added again
		itself = expression.Name(keys.AddedBy).Equal(expression.Value(mark))
	}
	refused, err := s.Write(ctx, store.Update(head.Key(), set, itself))
	if refused != nil {
		return collab.NoAnnotation(doc, ann)
	}
	return err
}
