package accounts

import (
	"bytes"
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

type keptRequest struct {
	BodyHash  []byte        `dynamodbav:"hash"`
	Seed      []byte        `dynamodbav:"seed"`
	Holder    string        `dynamodbav:"by,omitempty"`   // the attempt that holds the key
	StartedAt collab.Millis `dynamodbav:"at"`             // of the first attempt
	Lease     collab.Millis `dynamodbav:"until"`          // latest attempt; 0 if it freed the key
	Expires   int64         `dynamodbav:"ttl"`            // Unix seconds
	HTTP      int           `dynamodbav:"code,omitempty"` // 0 until the request is finished
	Code      collab.Code   `dynamodbav:"si,omitempty"`
	Body      []byte        `dynamodbav:"body,omitempty"`
}

func newKeptRequest(claim request.Claim, begun time.Time) keptRequest {
	return keptRequest{
		BodyHash: claim.BodyHash[:], Seed: claim.Seed, Holder: claim.Attempt, StartedAt: claim.Start.UnixMilli(), Lease: claim.Lease.UnixMilli(),
		Expires: begun.Add(request.KeyExpiry).Unix() + 1,
	}
}

// decide returns the outcome of a claim. seen is the item of its key, zero if there is none.
func decide(seen keptRequest, claim request.Claim) request.Outcome {
	claimed := request.Outcome{State: request.Claimed, Claim: claim}
	if claim.Start.Unix() >= seen.Expires {
		return claimed
	}
	same := bytes.Equal(seen.BodyHash, claim.BodyHash[:])
	finished, freed := seen.HTTP != 0, seen.Lease == 0
	holder := request.Claim{
		Account: claim.Account, KeyHash: claim.KeyHash, BodyHash: claim.BodyHash,
		Seed: seen.Seed, Start: time.UnixMilli(seen.StartedAt), Lease: time.UnixMilli(seen.Lease),
	}
	switch {
	case !same && freed && !finished:
		return claimed
	case !same:
		return request.Outcome{State: request.Mismatch}
	case finished:
		answer := request.Answer{Code: seen.Code, HTTP: seen.HTTP, Body: seen.Body}
		return request.Outcome{State: request.Finished, Claim: holder, Answer: answer}
	case !freed && holder.Lease.After(claim.Start):
		return request.Outcome{State: request.Running, Claim: holder}
	}
	claimed.Claim.Seed, claimed.Claim.Start = holder.Seed, holder.Start
	return claimed
}

const contenders = 5

// BeginIdempotent claims an Idempotency-Key: see rpc.IdempotencyStore. It makes one conditional
// write if the key is new, two if it takes over the key.
func (s *Store) BeginIdempotent(ctx context.Context, claim request.Claim) (request.Outcome, error) {
	var existing store.Item // nil while unknown
	for range contenders {
		var seen keptRequest
		if err := existing.Decode(&seen); err != nil {
			return request.Outcome{}, err
		}
		outcome := decide(seen, claim)
		if outcome.State != request.Claimed {
			return outcome, nil
		}
		refused, err := s.Write(ctx, s.claim(existing, outcome.Claim, claim.Start))
		if err != nil {
			return request.Outcome{}, err
		}
		if refused == nil || refused.By(claim.Attempt) {
			return outcome, nil
		}
		existing = refused.Of[0].There
	}
	return request.Outcome{}, store.ErrAborted("with this Idempotency-Key")
}

// claim returns the write with which an attempt takes a key. there is the present item of the key,
// or nil.
func (s *Store) claim(existing store.Item, claim request.Claim, begun time.Time) store.Write {
	it := store.ItemOf(keys.Idempotency(claim.Account, claim.KeyHash), newKeptRequest(claim, begun))
	return store.Change(existing, store.Overlay[keptRequest](existing, it), claim.Attempt)
}

// FinishIdempotent stores the answer of a claim: see rpc.IdempotencyStore.
func (s *Store) FinishIdempotent(ctx context.Context, claim request.Claim, a request.Answer) error {
	return s.settle(ctx, claim, expression.
		Set(expression.Name(keys.HTTPCode), expression.Value(a.HTTP)).
		Set(expression.Name(keys.Status), expression.Value(a.Code)).
		Set(expression.Name(keys.Body), expression.Value(a.Body)))
}

// FreeIdempotent ends a claim without an answer: see rpc.IdempotencyStore.
func (s *Store) FreeIdempotent(ctx context.Context, claim request.Claim) error {
	return s.settle(ctx, claim, expression.Set(expression.Name(keys.Lease), expression.Value(0)))
}

// settle updates the item of a claim and clears its holder, if the attempt still holds the key.
func (s *Store) settle(ctx context.Context, claim request.Claim, update expression.UpdateBuilder) error {
	update = update.Remove(expression.Name(keys.Holder)).Add(expression.Name(keys.Rev), expression.Value(1))
	holds := expression.Name(keys.Holder).Equal(expression.Value(claim.Attempt))
	_, err := s.Write(ctx, store.Update(keys.Idempotency(claim.Account, claim.KeyHash), update, holds))
	return err
}
