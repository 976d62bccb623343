package outbox

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// How long what is under way is waited for.
const (
	messageTime = time.Minute     // a message that was sent for a lane and not taken: then it is taken to be lost
	wakeAgain   = 2 * time.Minute // a lane that was woken or claimed: then the relay wakes it again
)

// laneItem is a lane. Whoever adds deliveries that wait, or changes how the endpoint is, changes Late, so that the holder notices.
type laneItem struct {
	Holder string               `dynamodbav:"by,omitempty"`
	Until  collab.Millis        `dynamodbav:"until,omitempty"`
	Woken  collab.Millis        `dynamodbav:"wk,omitempty"`
	Since  collab.Millis        `dynamodbav:"at,omitempty"` // when it was first woken and not claimed yet
	Next   collab.Millis        `dynamodbav:"next,omitempty"`
	Due    collab.Millis        `dynamodbav:"due,omitempty"`
	Low    string               `dynamodbav:"low,omitempty"`
	Late   string               `dynamodbav:"late,omitempty"`
	Pause  collab.Millis        `dynamodbav:"pause,omitempty"`
	Shards int                  `dynamodbav:"shn,omitempty"`
	Health collab.WebhookHealth `dynamodbav:"health"`
}

// laneAttributes are those of laneItem that may be absent.
var laneAttributes = []string{
	table.Holder, table.Lease, table.Woken, table.StartedAt, table.Next, table.DueAt, table.Low, table.Late, table.Pause, table.Shards,
}

func laneKey(ref collab.LaneRef) table.Key { return table.Lane(ref.Account, ref.WebhookID) }

func readLane(ref collab.LaneRef, it store.Item) (l collab.Lane, err error) {
	var stored laneItem
	err = it.Decode(&stored)
	return collab.Lane{
		LaneRef: ref, Holder: stored.Holder, Until: stored.Until, Woken: stored.Woken, Next: stored.Next, Due: stored.Due,
		Low: stored.Low, Late: stored.Late, Pause: stored.Pause, Shards: stored.Shards, Health: stored.Health,
	}, err
}

// Lanes returns the lanes, in the order asked for. Strongly consistent.
func (s *Store) Lanes(ctx context.Context, refs ...collab.LaneRef) ([]collab.Lane, error) {
	keys := make([]table.Key, len(refs))
	for i, ref := range refs {
		keys[i] = laneKey(ref)
	}
	found, err := s.GetAll(ctx, keys, true)
	if err != nil {
		return nil, err
	}
	list := make([]collab.Lane, len(refs))
	for i, ref := range refs {
		if list[i], err = readLane(ref, found[keys[i]]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// passed is the condition that a time is passed, or none.
func (s *Store) passed(attribute string) expression.ConditionBuilder {
	name := expression.Name(attribute)
	return expression.AttributeNotExists(name).Or(name.LessThanEqual(expression.Value(s.Millis())))
}

// WakeLane notes that a message is sent for a lane, and returns the lane's Woken, which the message is to carry; 0 when none is to be sent: there
// is one under way, or the lane is held.
func (s *Store) WakeLane(ctx context.Context, ref collab.LaneRef) (woken collab.Millis, err error) {
	mark, now := s.NewMark(), s.Millis()
	woken = now + messageTime.Milliseconds()
	since := expression.Name(table.StartedAt)
	free := s.passed(table.Lease).And(s.passed(table.Woken))
	w, err := s.update(laneKey(ref), expression.
		Set(expression.Name(table.Woken), expression.Value(woken)).
		Set(expression.Name(table.Next), expression.Value(now+wakeAgain.Milliseconds())).
		Set(since, expression.IfNotExists(since, expression.Value(now))).
		Set(expression.Name(table.Writer), expression.Value(mark)), &free)
	if err != nil {
		return 0, err
	}
	refused, err := s.Write(ctx, w)
	if err != nil || refused != nil && !refused.By(mark) {
		return 0, err
	}
	return woken, nil
}

// ClaimLane claims a lane for a time, and returns it as its last holder left it; nil when somebody else holds it, or a message is under way that
// carries another Woken: of two messages one is left. Where the last holder did not release the lane, deliveries may wait of which it does
// not know: then Due is now.
func (s *Store) ClaimLane(ctx context.Context, ref collab.LaneRef, woken collab.Millis, lease time.Duration) (*collab.Lane, error) {
	mark, now := s.NewMark(), s.Millis()
	free := s.passed(table.Lease).And(s.passed(table.Woken).Or(expression.Name(table.Woken).Equal(expression.Value(woken))))
	w, err := s.update(laneKey(ref), expression.
		Set(expression.Name(table.Holder), expression.Value(mark)).
		Set(expression.Name(table.Lease), expression.Value(now+lease.Milliseconds())).
		Set(expression.Name(table.Next), expression.Value(now+wakeAgain.Milliseconds())).
		Set(expression.Name(table.Writer), expression.Value(mark)).
		Remove(expression.Name(table.Woken)).Remove(expression.Name(table.StartedAt)), &free)
	if err != nil {
		return nil, err
	}
	before, refused, err := s.WriteOne(ctx, w, types.ReturnValueAllOld)
	if err != nil || refused != nil && !refused.By(mark) {
		return nil, err
	}
	if refused != nil {
		before = refused.Of[0].There // as it was is not known: its answer was lost
	}
	l, err := readLane(ref, before)
	if l.Holder != "" {
		l.Due = now
	}
	l.Holder, l.Woken = mark, 0
	return &l, err
}

// ReleaseLane writes a lane as its holder leaves it; with Woken the holder sends a message. It reports false, and nothing has changed,
// when others have added to the lane meanwhile, which l then tells, or have claimed it, which leaves it without a holder.
func (s *Store) ReleaseLane(ctx context.Context, l *collab.Lane) (bool, error) {
	mark := s.NewMark()
	late := expression.Name(table.Late)
	same := expression.AttributeNotExists(late)
	if l.Late != "" {
		same = late.Equal(expression.Value(l.Late))
	}
	same = same.And(expression.Name(table.Holder).Equal(expression.Value(l.Holder)))
	it, err := store.Encode(laneKey(l.LaneRef), laneItem{
		Woken: l.Woken, Next: l.Next, Due: l.Due, Low: l.Low, Late: l.Late, Pause: l.Pause, Shards: l.Shards, Health: l.Health,
	})
	if err != nil {
		return false, err
	}
	u := expression.Set(expression.Name(table.Writer), expression.Value(mark)).
		Set(expression.Name(table.Health), expression.Value(it[table.Health]))
	for _, name := range laneAttributes {
		if v := it[name]; v != nil {
			u = u.Set(expression.Name(name), expression.Value(v))
		} else {
			u = u.Remove(expression.Name(name))
		}
	}
	w, err := s.update(laneKey(l.LaneRef), u, &same)
	if err != nil {
		return false, err
	}
	refused, err := s.Write(ctx, w)
	if err != nil || refused == nil || refused.By(mark) {
		return err == nil, err
	}
	there, err := readLane(l.LaneRef, refused.Of[0].There)
	if there.Holder != l.Holder {
		l.Holder = ""
		return false, err
	}
	l.Late, l.Due = there.Late, there.Due
	if there.Health.Failures == 0 {
		l.Health, l.Pause = there.Health, there.Pause
	}
	return false, err
}

// addedTo is the write that tells the holder of a lane, and else the relay, that there is something new. afresh forgets how the endpoint
// has failed.
func (s *Store) addedTo(ref collab.LaneRef, afresh bool) (store.Write, error) {
	now := expression.Value(s.Millis())
	u := expression.Set(expression.Name(table.Late), expression.Value(s.NewMark())).
		Set(expression.Name(table.DueAt), now).Set(expression.Name(table.Next), now)
	if afresh {
		u = u.Remove(expression.Name(table.Pause)).Remove(expression.Name(table.Health))
	}
	return s.update(laneKey(ref), u, nil)
}

// addedToLane tells the holder of a lane, and else the relay, that deliveries were added that wait.
func (s *Store) addedToLane(ctx context.Context, ref collab.LaneRef) error {
	w, err := s.addedTo(ref, false)
	if err != nil {
		return err
	}
	_, err = s.Write(ctx, w)
	return err
}

// DropLane deletes the lane of an endpoint that is gone, unless another has claimed it.
func (s *Store) DropLane(ctx context.Context, l *collab.Lane) error {
	_, err := s.Write(ctx, s.RemoveIf(laneKey(l.LaneRef), store.Item{table.Holder: store.Text(l.Holder)}))
	return err
}
