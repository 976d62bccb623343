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

// Whoever adds deliveries that wait to a lane, or changes how the endpoint is, changes Late, so that the holder notices.

func laneKey(ref collab.LaneRef) table.Key { return table.Lane(ref.Account, ref.WebhookID) }

func readLane(ref collab.LaneRef, it store.Item) (l collab.Lane, err error) {
	err = it.Decode(&l)
	l.LaneRef = ref
	return l, err
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
	refused, err := s.Write(ctx, s.Update(laneKey(ref), expression.
		Set(expression.Name(table.Woken), expression.Value(woken)).
		Set(expression.Name(table.Next), expression.Value(now+wakeAgain.Milliseconds())).
		Set(since, expression.IfNotExists(since, expression.Value(now))).
		Set(expression.Name(table.Writer), expression.Value(mark)),
		s.passed(table.Lease), s.passed(table.Woken)))
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
	late := expression.Name(table.Late)
	before, refused, err := s.WriteOne(ctx, s.Update(laneKey(ref), expression.
		Set(expression.Name(table.Holder), expression.Value(mark)).
		Set(expression.Name(table.Lease), expression.Value(now+lease.Milliseconds())).
		Set(expression.Name(table.Next), expression.Value(now+wakeAgain.Milliseconds())).
		Set(late, expression.IfNotExists(late, expression.Value(""))).
		Set(expression.Name(table.Writer), expression.Value(mark)).
		Remove(expression.Name(table.Woken)).Remove(expression.Name(table.StartedAt)),
		s.passed(table.Lease), s.passed(table.Woken).Or(expression.Name(table.Woken).Equal(expression.Value(woken)))),
		types.ReturnValueAllOld)
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
	released, mark := *l, s.NewMark()
	released.Holder, released.Until = "", 0
	it := store.ItemOf(laneKey(l.LaneRef), released)
	it[table.Writer] = store.Text(mark)
	refused, err := s.Write(ctx, store.Save[collab.Lane](s.Table, it, store.Item{table.Holder: store.Text(l.Holder), table.Late: store.Text(l.Late)}))
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
func (s *Store) addedTo(ref collab.LaneRef, afresh bool) store.Write {
	now := expression.Value(s.Millis())
	u := expression.Set(expression.Name(table.Late), expression.Value(s.NewMark())).
		Set(expression.Name(table.DueAt), now).Set(expression.Name(table.Next), now)
	if afresh {
		u = u.Remove(expression.Name(table.Pause)).Remove(expression.Name(table.Health))
	}
	return s.Update(laneKey(ref), u)
}

// addedToLane tells the holder of a lane, and else the relay, that deliveries were added that wait.
func (s *Store) addedToLane(ctx context.Context, ref collab.LaneRef) error {
	_, err := s.Write(ctx, s.addedTo(ref, false))
	return err
}

// DropLane deletes the lane of an endpoint that is gone, unless another has claimed it.
func (s *Store) DropLane(ctx context.Context, l *collab.Lane) error {
	_, err := s.Write(ctx, s.RemoveIf(laneKey(l.LaneRef), store.Item{table.Holder: store.Text(l.Holder)}))
	return err
}
