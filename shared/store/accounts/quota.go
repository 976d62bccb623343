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

// paidFor returns the attributes that hold until when an account is paid, by kind.
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
	quotaKept = 7 * 24 * time.Hour // after the last charge; no debt that matters is as old
	charges   = 5                  // tries of a charge: each reads what the one before found
)

// Paid returns until when a payer is paid. Eventually consistent.
func (s *Store) Paid(ctx context.Context, p quota.Payer) (quota.Paid, error) {
	k := keys.Quota(p.Account, p.User)
	found, err := s.GetAll(ctx, []keys.Key{k}, false)
	return readPaid(found[k]), err
}

// Charge moves the times until which a payer is paid forward: see quota.Store. It is one write where known is not too old, else a few.
func (s *Store) Charge(ctx context.Context, p quota.Payer, known quota.Paid, costs quota.Costs) (quota.Paid, error) {
	for range charges {
		it, refused, err := s.WriteOne(ctx, s.charge(p, known, costs), types.ReturnValueAllNew)
		if err != nil {
			return known, err
		}
		if refused == nil {
			return readPaid(it), nil
		}
		known = readPaid(refused.Of[0].There)
		if refused.Lost {
			return known, nil // by the try whose answer was lost
		}
	}
	return known, store.ErrAborted("the account's quota")
}

// charge is the write of Charge. Its condition: each kind's time has passed, or has not, as known says.
func (s *Store) charge(p quota.Payer, known quota.Paid, costs quota.Costs) store.Write {
	now := s.Millis()
	update := expression.Set(expression.Name(keys.Expires), expression.Value((now+quotaKept.Milliseconds())/1000))
	var conditions []expression.ConditionBuilder
	for k, name := range paidFor() {
		ms := (costs[k] + time.Millisecond - 1).Milliseconds()
		if ms == 0 {
			continue
		}
		paid := expression.Name(name)
		is := paid.GreaterThan(expression.Value(now))
		if known[k] > now {
			update = update.Add(paid, expression.Value(ms))
		} else {
			is = expression.AttributeNotExists(paid).Or(paid.LessThanEqual(expression.Value(now)))
			update = update.Set(paid, expression.Value(now+ms))
		}
		conditions = append(conditions, is)
	}
	return store.Update(keys.Quota(p.Account, p.User), update, conditions...)
}
