package hooks

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A lane has one holder at a time. Adding deliveries to a free lane reserves it for the receiver of a message; adding them to a held one
// sets Asked. A holder releases its lane only if Asked was not set since it began to look. Until then the lane is pending work, and the
// relay makes up for a lost message or run.
const (
	LaneLease   = time.Minute      // of a holder, and of the receiver of a message
	takenAtOnce = 20 * time.Second // the receiver of an older message claims the lane anew
	wakeAfter   = 2 * time.Minute  // from a reservation or claim until the relay wakes the lane
)

// Lane is the state of all deliveries to a webhook endpoint together. One process at a time works on it: its holder.
type Lane struct {
	collab.LaneRef `dynamodbav:"-"`
	Holder         string               `dynamodbav:"by,omitempty"`    // the run or the message that has it; "" for none
	Until          collab.Millis        `dynamodbav:"until,omitempty"` // the end of the holder's lease
	Asked          bool                 `dynamodbav:"ask"`             // something was added since its holder looked
	Since          collab.Millis        `dynamodbav:"at,omitempty"`    // when the first message was sent that nobody has received; 0 for none
	Next           collab.Millis        `dynamodbav:"next,omitempty"`  // when the relay wakes it, 0 for never
	Alarm          collab.Millis        `dynamodbav:"alarm,omitempty"` // the last delayed message for it comes then
	Pause          collab.Millis        `dynamodbav:"pause,omitempty"` // nothing is posted before: the endpoint rests, or asked for it
	Health         collab.WebhookHealth `dynamodbav:"health"`

	read store.Item // the lane as it was read
}

// Held reports whether the lane has a holder.
func (l *Lane) Held(now collab.Millis) bool { return l.Until > now }

func laneKey(ref collab.LaneRef) keys.Key { return keys.Lane(ref.Account, ref.WebhookID) }

func readLane(ref collab.LaneRef, it store.Item) (l Lane, err error) {
	err = it.Decode(&l)
	l.LaneRef, l.read = ref, it
	return l, err
}

// Lanes returns the lanes, in the order asked for. Strongly consistent.
func (s *Store) Lanes(ctx context.Context, refs ...collab.LaneRef) ([]Lane, error) {
	itemKeys := collab.Map(refs, laneKey)
	found, err := s.GetAll(ctx, itemKeys, true)
	if err != nil {
		return nil, err
	}
	list := make([]Lane, len(refs))
	for i, ref := range refs {
		if list[i], err = readLane(ref, found[itemKeys[i]]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// hold is the update that gives a lane a holder, and clears Asked.
func (s *Store) hold(holder string, now collab.Millis) expression.UpdateBuilder {
	return expression.Set(expression.Name(keys.Holder), expression.Value(holder)).
		Set(expression.Name(keys.Lease), expression.Value(now+LaneLease.Milliseconds())).
		Set(expression.Name(keys.Next), expression.Value(now+wakeAfter.Milliseconds())).
		Set(expression.Name(keys.Asked), expression.Value(false))
}

func free(now collab.Millis) expression.ConditionBuilder {
	until := expression.Name(keys.Lease)
	return expression.AttributeNotExists(until).Or(until.LessThanEqual(expression.Value(now)))
}

// WakeLane has what was added to a lane posted. It reserves a free lane for the receiver of a message, which the caller sends with the
// token. It sets Asked of a held one, and the token is "": no message is needed. l is the lane as last read; its LaneRef is enough.
func (s *Store) WakeLane(ctx context.Context, l Lane) (token string, err error) {
	mark := s.NewMark()
	err = s.Try(ctx, "the lane of webhook "+l.WebhookID, mark, func(ctx context.Context) ([]store.Write, error) {
		now, holder := s.Millis(), expression.Name(keys.Holder)
		w := store.Update(
			laneKey(l.LaneRef), expression.Set(expression.Name(keys.Asked), expression.Value(true)), holder.Equal(expression.Value(l.Holder)),
		)
		if token = ""; !l.Held(now) {
			token = mark
			since := expression.Name(keys.StartedAt)
			w = store.Update(laneKey(l.LaneRef), s.hold(mark, now).Set(since, expression.IfNotExists(since, expression.Value(now))), free(now))
		} else if l.Asked {
			return nil, nil
		}
		_, refused, err := s.WriteOne(ctx, w, types.ReturnValueNone)
		if err != nil || refused == nil {
			return nil, err
		}
		if l, err = readLane(l.LaneRef, refused.Of[0].There); err != nil || l.Holder == mark { // its answer was lost
			return nil, err
		}
		return nil, store.ErrOvertaken
	})
	return token, err
}

// ClaimLane makes the caller the holder of a lane that is free, or held by the token ("" for none), and returns the lane with Asked
// cleared. It returns nil where another holds the lane.
func (s *Store) ClaimLane(ctx context.Context, ref collab.LaneRef, token string) (*Lane, error) {
	now := s.Millis()
	mark, condition := s.NewMark(), free(now)
	if token != "" {
		it, err := s.Get(ctx, laneKey(ref))
		if err != nil {
			return nil, err
		}
		l, err := readLane(ref, it)
		if err != nil || l.Holder == token && !l.Asked && l.Until-now > (LaneLease-takenAtOnce).Milliseconds() {
			return &l, err
		}
		condition = condition.Or(expression.Name(keys.Holder).Equal(expression.Value(token)))
	}
	it, refused, err := s.WriteOne(ctx, store.Update(laneKey(ref), s.hold(mark, now), condition), types.ReturnValueAllNew)
	if err != nil {
		return nil, err
	}
	if refused != nil {
		it = refused.Of[0].There
	}
	l, err := readLane(ref, it)
	if err != nil || l.Holder != mark {
		return nil, err
	}
	return &l, nil
}

// ReleaseLane frees a lane and writes the other fields of l. With more it reserves the lane instead, for the receiver of a message that the
// caller sends with the token. It reports false, and nothing has changed, when Asked was set, or l.Holder holds the lane no more.
func (s *Store) ReleaseLane(ctx context.Context, l Lane, more bool) (token string, released bool, err error) {
	l.Holder, l.Until, l.Asked, l.Since = "", 0, false, 0
	if more {
		now := s.Millis()
		token = s.NewMark()
		l.Holder, l.Until, l.Since, l.Next = token, now+LaneLease.Milliseconds(), now, now+wakeAfter.Milliseconds()
	}
	k, mark := laneKey(l.LaneRef), s.NewMark()
	refused, err := s.Write(ctx, store.Change(l.read, store.Overlay[Lane](l.read, store.ItemOf(k, l)), mark, keys.Holder, keys.Asked))
	return token, err == nil && (refused == nil || refused.By(mark)), err
}

// addedToLane sets Asked of a lane, and has the relay wake it.
func (s *Store) addedToLane(ctx context.Context, ref collab.LaneRef) error {
	_, err := s.Write(ctx, store.Update(laneKey(ref), s.added()))
	return err
}

func (s *Store) added() expression.UpdateBuilder {
	return expression.Set(expression.Name(keys.Asked), expression.Value(true)).Set(expression.Name(keys.Next), expression.Value(s.Millis()))
}

// DropLane deletes the lane of an endpoint that is gone, unless another has claimed it.
func (s *Store) DropLane(ctx context.Context, l *Lane) error {
	_, err := s.Write(ctx, store.DeleteRead(store.ItemOf(laneKey(l.LaneRef), l), keys.Holder))
	return err
}
