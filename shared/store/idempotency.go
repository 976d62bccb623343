package store

import (
	"bytes"
	"context"
	"errors"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// BeginIdempotent claims an Idempotency-Key: see rpc.IdempotencyStore. It is one conditional write where the key is new, two where it
// is taken over.
func (s *Store) BeginIdempotent(ctx context.Context, claim collab.IdempotencyClaim) (collab.IdempotencyOutcome, error) {
	var none collab.IdempotencyOutcome
	var seen item // the item on which this try is computed; nil: there is none
	for n := 0; ; n++ {
		outcome := judge(seen, claim)
		if outcome.State != collab.IdempotencyClaimed {
			return outcome, nil
		}
		held := outcome.Claim
		it := newItem(table.Idempotency(claim.Account, claim.KeyHash))
		it[table.BodyHash] = &types.AttributeValueMemberB{Value: held.BodyHash[:]}
		it[table.Seed] = &types.AttributeValueMemberB{Value: held.Seed}
		it[table.Writer] = &types.AttributeValueMemberB{Value: claim.Seed} // random: tells this attempt from its twins
		it.setNum(table.StartedAt, held.Start.UnixMilli())
		it.setNum(table.Lease, held.Lease.UnixMilli())
		it.setNum(table.Expires, claim.Start.Add(collab.IdempotencyExpiry).Unix()+1)
		e := newExpression()
		condition := unchanged(e, seen)
		_, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &s.table, Item: it, ConditionExpression: &condition,
			ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
		switch {
		case err == nil:
			return outcome, nil
		case !ok:
			return none, fail(ctx, err)
		}
		seen = refused.Item
		switch {
		case seen[table.HTTPCode] == nil && bytes.Equal(seen.bytes(table.Writer), claim.Seed):
			return outcome, nil // our own write, whose answer was lost
		case n == tries:
			return none, collab.Errorf(collab.Aborted, "others are using this Idempotency-Key: try again")
		}
	}
}

// judge says what becomes of a claim where a key's item is as it was seen, nil for none.
func judge(seen item, claim collab.IdempotencyClaim) collab.IdempotencyOutcome {
	claimed := collab.IdempotencyOutcome{State: collab.IdempotencyClaimed, Claim: claim}
	if seen == nil || expired(seen, claim.Start) {
		return claimed
	}
	stored := readClaim(claim, seen)
	finished, freed := seen[table.HTTPCode] != nil, seen.num(table.Lease) == 0
	switch {
	case stored.BodyHash != claim.BodyHash && (finished || !freed):
		return collab.IdempotencyOutcome{State: collab.IdempotencyMismatch}
	case stored.BodyHash != claim.BodyHash:
		return claimed
	case finished:
		return collab.IdempotencyOutcome{State: collab.IdempotencyFinished, Claim: stored, Answer: collab.IdempotencyAnswer{
			Code: collab.Code(seen.text(table.Status)), HTTP: int(seen.num(table.HTTPCode)), Body: seen.bytes(table.Body),
		}}
	case stored.Lease.After(claim.Start):
		return collab.IdempotencyOutcome{State: collab.IdempotencyRunning, Claim: stored}
	}
	claimed.Claim.Seed, claimed.Claim.Start = stored.Seed, stored.Start
	return claimed
}

// unchanged is the condition that a key's item is as it was seen; nil: that there is none.
func unchanged(e *expression, seen item) string {
	if seen == nil {
		return "attribute_not_exists(" + e.name(table.PK) + ")"
	}
	condition := e.name(table.StartedAt) + " = " + e.value(seen[table.StartedAt]) + " AND " + e.name(table.Expires) + " = " + e.value(seen[table.Expires])
	if seen[table.HTTPCode] != nil {
		return condition // a finished item changes no more
	}
	return condition + " AND " + e.name(table.Lease) + " = " + e.value(seen[table.Lease]) +
		" AND attribute_not_exists(" + e.name(table.HTTPCode) + ")"
}

func expired(it item, now time.Time) bool {
	return now.Unix() >= it.num(table.Expires)
}

// readClaim returns the claim that an item holds; its Lease is the epoch when it was freed.
func readClaim(claim collab.IdempotencyClaim, it item) collab.IdempotencyClaim {
	copy(claim.BodyHash[:], it.bytes(table.BodyHash))
	claim.Seed = it.bytes(table.Seed)
	claim.Start = time.UnixMilli(it.num(table.StartedAt))
	claim.Lease = time.UnixMilli(it.num(table.Lease))
	return claim
}

// FinishIdempotent keeps an answer under a claim: see rpc.IdempotencyStore.
func (s *Store) FinishIdempotent(ctx context.Context, claim collab.IdempotencyClaim, a collab.IdempotencyAnswer) error {
	e := newExpression()
	set := "SET " + e.name(table.HTTPCode) + " = " + e.value(num(int64(a.HTTP))) +
		", " + e.name(table.Status) + " = " + e.value(str(string(a.Code))) +
		", " + e.name(table.Body) + " = " + e.value(&types.AttributeValueMemberB{Value: a.Body})
	return s.settle(ctx, claim, e, set)
}

// FreeIdempotent lets go of a claim: see rpc.IdempotencyStore.
func (s *Store) FreeIdempotent(ctx context.Context, claim collab.IdempotencyClaim) error {
	e := newExpression()
	return s.settle(ctx, claim, e, "SET "+e.name(table.Lease)+" = "+e.value(num(0)))
}

// settle updates the item of a claim while the claim is held.
func (s *Store) settle(ctx context.Context, claim collab.IdempotencyClaim, e *expression, update string) error {
	condition := e.name(table.Lease) + " = " + e.value(num(claim.Lease.UnixMilli())) + " AND " +
		e.name(table.Seed) + " = " + e.value(&types.AttributeValueMemberB{Value: claim.Seed}) + " AND attribute_not_exists(" + e.name(table.HTTPCode) + ")"
	_, err := s.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: keyOf(table.Idempotency(claim.Account, claim.KeyHash)),
		UpdateExpression: &update, ConditionExpression: &condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
	})
	if isConditionFailed(err) {
		return nil
	}
	return fail(ctx, err)
}
