package threads

import (
	"context"
	"strconv"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// keyFor returns the time key for a comment at a time. It is key if that is late enough, at if the
// thread was quiet for a quarter second, and otherwise the end of that quarter second.
func keyFor(key, at collab.Millis) collab.Millis {
	switch {
	case key >= at:
		return key
	case key < at-quarter:
		return at
	}
	return min((at/quarter+1)*quarter, collab.MaxMillis)
}

func setTimeKey(it store.Item, doc collab.DocumentRef, ann string, key collab.Millis) {
	it[keys.Upd] = store.Text(keys.UpdatedInDocument(key, ann))
	it[keys.Org] = store.Text(keys.UpdatedPartition(doc.OrganizationRef))
	it[keys.OrgUpd] = store.Text(keys.UpdatedInOrganization(key, doc, ann))
}

func timeKey(it store.Item) collab.Millis {
	digits, _, _ := strings.Cut(it.Text(keys.Upd), "#")
	key, _ := strconv.ParseInt(digits, 10, 64)
	return key
}

// touch moves a thread's time forward to a comment's time, so that the comment can follow. If the
// thread has no creator, the author of by becomes it; by may be nil. touch returns the head before.
// It returns NOT_FOUND if the annotation does not exist.
//
// If this process has seen a late enough time key, touch only reads the head. Otherwise it tries to
// move the key it has seen, or that of a quiet thread. If that fails, it tries again with the
// present key.
func (s *Store) touch(ctx context.Context, doc collab.DocumentRef, ann string, at collab.Millis, by *collab.Comment) (store.Item, error) {
	k := headKey(doc, ann)
	key, bound := at, at-quarter
	switch last, ok := s.busy.Get(k, s.Now()); {
	case ok && last >= at:
		head, err := s.Get(ctx, k)
		if err != nil {
			return nil, err
		}
		if head != nil && timeKey(head) >= at {
			return head, s.join(ctx, doc, ann, head, by)
		}
	case ok && last >= bound:
		key, bound = keyFor(last, at), at
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
			return head, s.join(ctx, doc, ann, head, by)
		}
		key, bound = keyFor(timeKey(head), at), at
	}
}

// join ends a touch that has not moved the time of a head. It stops a deletion of the thread that
// looks for answers.
func (s *Store) join(ctx context.Context, doc collab.DocumentRef, ann string, head store.Item, by *collab.Comment) error {
	if head[keys.Closing] != nil {
		refused, err := s.Write(ctx, store.Update(head.Key(), expression.Remove(expression.Name(keys.Closing)),
			expression.Name(keys.AddedBy).Equal(expression.Value(birth(head)))))
		if refused != nil {
			return collab.NoAnnotation(doc, ann)
		}
		if err != nil {
			return err
		}
	}
	return s.setCreator(ctx, doc, ann, head, by)
}

// Touch moves the time and lastUpdated of a thread to at, before a change without a request. It
// ignores a missing thread.
func (s *Store) Touch(ctx context.Context, doc collab.DocumentRef, ann string, at collab.Millis) error {
	_, err := s.touchHead(ctx, doc, ann, at)
	if collab.CodeOf(err) == collab.NotFound {
		return nil
	}
	return err
}

// touchHead is touch for a change without a new comment: the head itself shows the time.
func (s *Store) touchHead(ctx context.Context, doc collab.DocumentRef, ann string, at collab.Millis) (store.Item, error) {
	head, err := s.touch(ctx, doc, ann, at, nil)
	if err == nil && timeKey(head) >= at { // it was not moved
		now, to := expression.Name(keys.LastUpdated), expression.Value(at)
		itself := expression.Name(keys.AddedBy).Equal(expression.Value(birth(head)))
		_, err = s.Write(ctx, store.Update(head.Key(), expression.Set(now, to), now.LessThan(to), itself))
	}
	return head, err
}

// moveTimeKey returns the write that moves a thread's time key to key and its lastUpdated to at, if
// the time key is earlier than bound.
func (s *Store) moveTimeKey(doc collab.DocumentRef, ann string, at, key, bound collab.Millis) store.Write {
	itemKeys := store.Item{}
	setTimeKey(itemKeys, doc, ann, key)
	set, condition := "SET #upd = :upd, #org = :org, #orgu = :orgu, #lu = :lu REMOVE #cls", "attribute_exists(#pk) AND #upd < :bound"
	return store.Write{Update: &types.Update{
		Key: store.NewItem(headKey(doc, ann)), UpdateExpression: &set, ConditionExpression: &condition,
		ExpressionAttributeNames: map[string]string{
			"#pk": keys.PK, "#upd": keys.Upd, "#org": keys.Org, "#orgu": keys.OrgUpd, "#lu": keys.LastUpdated, "#cls": keys.Closing,
		},
		ExpressionAttributeValues: store.Item{
			":upd": itemKeys[keys.Upd], ":org": itemKeys[keys.Org], ":orgu": itemKeys[keys.OrgUpd],
			":lu": store.Number(at), ":bound": store.Text(keys.Time(max(bound, 0))),
		},
	}}
}

// setCreator makes the author of a comment the creator of a thread that has none. It is a separate
// write, because naming the creator in every touch would update every index that projects it.
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
	if mark := head[keys.AddedBy]; mark != nil { // the annotation may have been added again
		itself = expression.Name(keys.AddedBy).Equal(expression.Value(mark))
	}
	refused, err := s.Write(ctx, store.Update(head.Key(), set, itself))
	if refused != nil {
		return collab.NoAnnotation(doc, ann)
	}
	return err
}
