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

// A lane has one holder at a time. Adding deliveries to a free lane reserves it for the receiver of
// a message; adding them to a held one sets Asked. A holder can release its lane only if Asked was
// not set since its last look. Until then the lane is pending work, and the relay replaces a lost
// message or run.
const (
	LaneLease   = time.Minute      // of a holder or a reservation
	takenAtOnce = 20 * time.Second // for older messages, the receiver claims the lane anew
	wakeAfter   = 2 * time.Minute  // from a reservation or claim to the relay's wake-up
)

// Lane is the common state of all deliveries to a webhook endpoint. Only its holder works on it.
type Lane struct {
	collab.LaneRef `dynamodbav:"-"`
	// Run or message that has the lane, or "".
	Holder string `dynamodbav:"by,omitempty"`
	// End of the holder's lease.
	Until collab.Millis `dynamodbav:"until,omitempty"`
	// Deliveries were added since the holder looked.
	Asked bool `dynamodbav:"ask"`
	// Time of the first unreceived message, or 0.
	Since collab.Millis `dynamodbav:"at,omitempty"`
	// Time of the relay's wake-up, or 0.
	Next collab.Millis `dynamodbav:"next,omitempty"`
	// Arrival of the last delayed message.
	Alarm collab.Millis `dynamodbav:"alarm,omitempty"`
	// Nothing is posted before.
	Pause  collab.Millis        `dynamodbav:"pause,omitempty"`
	Health collab.WebhookHealth `dynamodbav:"health"`

	read store.Item
}

// Held reports whether the lane has a holder.
func (l *Lane) Held(now collab.Millis) bool { return l.Until > now }

func laneKey(ref collab.LaneRef) keys.Key { return keys.Lane(ref.Account, ref.WebhookID) }

func readLane(ref collab.LaneRef, it store.Item) (l Lane, err error) {
	err = it.Decode(&l)
	l.LaneRef, l.read = ref, it
	return l, err
}

// Lanes returns lanes in the order of refs, with strong consistency.
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

// WakeLane schedules the delivery of new events in a lane. If the lane is free, it reserves it, and
// the caller must send a message with the token. If the lane is held, it sets Asked and returns no
// token. l is the lane as last read; only its LaneRef is required.
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
		// If the lane has our mark, only the answer was lost.
		if l, err = readLane(l.LaneRef, refused.Of[0].There); err != nil || l.Holder == mark {
			return nil, err
		}
		return nil, store.ErrOvertaken
	})
	return token, err
}

// ClaimLane makes the caller the holder of a lane that is free or reserved by the token, and clears
// Asked. It returns nil if the lane has another holder.
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

// ReleaseLane frees a lane and writes the other fields of l. If more is true, it reserves the lane
// instead, and the caller must send a message with the token. It returns false, and changes
// nothing, if Asked was set or l.Holder no longer holds the lane.
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

func (s *Store) addedToLane(ctx context.Context, ref collab.LaneRef) error {
	_, err := s.Write(ctx, store.Update(laneKey(ref), s.added()))
	return err
}

func (s *Store) added() expression.UpdateBuilder {
	return expression.Set(expression.Name(keys.Asked), expression.Value(true)).Set(expression.Name(keys.Next), expression.Value(s.Millis()))
}

// DropLane deletes the lane of a deleted endpoint, unless another process has claimed it.
func (s *Store) DropLane(ctx context.Context, l *Lane) error {
	_, err := s.Write(ctx, store.DeleteRead(store.ItemOf(laneKey(l.LaneRef), l), keys.Holder))
	return err
}
