package accounts

import (
	"context"
	"time"

	"collabdata/shared/keys"
	"collabdata/shared/quota"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func paidFor() [quota.Kinds]string {
	return [quota.Kinds]string{
		quota.Writes: keys.PaidWrites,
		quota.Reads:  keys.PaidReads,
		quota.Events: keys.PaidEvents,
		quota.Mails:  keys.PaidMails,
	}
}

func readPaid(it store.Item) (p quota.Paid) {
	for k, name := range paidFor() {
		p[k] = it.Number(name)
	}
	return p
}

const (
	quotaKept = 7 * 24 * time.Hour // after the last charge
	charges   = 5                  // attempts, each with the times that the last one found
)

// Paid returns the paid-until times of a payer, with eventual consistency.
func (s *Store) Paid(ctx context.Context, p quota.Payer) (quota.Paid, error) {
	k := keys.Quota(p.Account, p.User)
	found, err := s.GetAll(ctx, []keys.Key{k}, false)
	return readPaid(found[k]), err
}

// Charge moves the paid-until times of a payer: see quota.Store. It makes one write if
// known is recent enough.
func (s *Store) Charge(ctx context.Context, p quota.Payer, last quota.Paid, costs quota.Costs) (quota.Paid, error) {
	for range charges {
		it, refused, err := s.WriteOne(ctx, s.charge(p, last, costs), types.ReturnValueAllNew)
		if err != nil {
			return last, err
		}
		if refused == nil {
			return readPaid(it), nil
		}
		last = readPaid(refused.Of[0].There)
		if refused.Lost {
			return last, nil // charged by the attempt with the lost answer
		}
	}
	return last, store.ErrAborted("the account's quota")
}

// charge returns the write of Charge. It requires that the same kinds as in known are paid beyond
// now.
func (s *Store) charge(p quota.Payer, last quota.Paid, costs quota.Costs) store.Write {
	now := s.Millis()
	update := expression.Set(expression.Name(keys.Expires), expression.Value((now+quotaKept.Milliseconds())/1000))
	var conditions []expression.ConditionBuilder
	for k, name := range paidFor() {
		ms := costs[k].Milliseconds()
		if costs[k] > time.Duration(ms)*time.Millisecond {
			ms++
		}
		if ms == 0 || ms < 0 && last[k] <= now { // nothing to take back
			continue
		}
		paid := expression.Name(name)
		later := paid.GreaterThan(expression.Value(now))
		if last[k] > now {
			update = update.Add(paid, expression.Value(ms))
		} else {
			later = expression.AttributeNotExists(paid).Or(paid.LessThanEqual(expression.Value(now)))
			update = update.Set(paid, expression.Value(now+ms))
		}
		conditions = append(conditions, later)
	}
	return store.Update(keys.Quota(p.Account, p.User), update, conditions...)
}
