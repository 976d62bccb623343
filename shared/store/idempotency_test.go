package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var _ rpc.IdempotencyStore = (*Store)(nil)

// ledger is what rpc.IdempotencyStore says of one key, in memory.
type ledger struct {
	claim           collab.IdempotencyClaim
	expires         time.Time
	there           bool
	freed, finished bool
	answer          collab.IdempotencyAnswer
}

func (l *ledger) begin(claim collab.IdempotencyClaim) collab.IdempotencyOutcome {
	if !claim.Start.Before(l.expires) {
		*l = ledger{}
	}
	expires := claim.Start.Add(collab.IdempotencyExpiry).Truncate(time.Second).Add(time.Second)
	same := l.claim.BodyHash == claim.BodyHash
	switch {
	case !l.there || l.freed && !same:
		*l = ledger{claim: claim, expires: expires, there: true}
	case !same:
		return collab.IdempotencyOutcome{State: collab.IdempotencyMismatch}
	case l.finished:
		return collab.IdempotencyOutcome{State: collab.IdempotencyFinished, Claim: l.claim, Answer: l.answer}
	case !l.freed && claim.Start.Before(l.claim.Lease):
		return collab.IdempotencyOutcome{State: collab.IdempotencyRunning, Claim: l.claim}
	default:
		l.claim.Lease, l.expires, l.freed = claim.Lease, expires, false
	}
	return collab.IdempotencyOutcome{State: collab.IdempotencyClaimed, Claim: l.claim}
}

func (l *ledger) holds(claim collab.IdempotencyClaim) bool {
	return l.there && !l.freed && !l.finished && l.claim.Lease.Equal(claim.Lease)
}

var sameTime = cmp.Comparer(time.Time.Equal)

// TestIdempotency claims, finishes and frees a key in any order, and holds that the store says what the ledger says.
func TestIdempotency(t *testing.T) { onEach(t, testIdempotency) }

func testIdempotency(t *testing.T, s *Store) {
	fewChecks(t, 30)
	var keys atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		ctx := t.Context()
		now := time.UnixMilli(1_700_000_000_000)
		var l ledger
		var claims []collab.IdempotencyClaim // held at some time
		hash := [32]byte{byte(keys.Add(1)), byte(keys.Load() >> 8)}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				now = now.Add(rapid.SampledFrom([]time.Duration{
					time.Millisecond, 2 * time.Second, collab.IdempotencyLease - time.Millisecond, collab.IdempotencyLease,
					time.Hour, collab.IdempotencyExpiry - time.Millisecond, collab.IdempotencyExpiry,
				}).Draw(t, "later"))
				claim := collab.IdempotencyClaim{
					Account: "acct", KeyHash: hash, BodyHash: [32]byte{byte(rapid.IntRange(1, 2).Draw(t, "body"))},
					Seed: make([]byte, 16), Start: now, Lease: now.Add(collab.IdempotencyLease),
				}
				rand.Read(claim.Seed)
				got, err := s.BeginIdempotent(ctx, claim)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(l.begin(claim), got, sameTime); diff != "" {
					t.Fatal(diff)
				}
				if got.State == collab.IdempotencyClaimed {
					claims = append(claims, got.Claim)
				}
			},
			"finish": func(t *rapid.T) {
				if claims == nil {
					t.Skip("none is held")
				}
				claim := rapid.SampledFrom(claims).Draw(t, "claim")
				a := collab.IdempotencyAnswer{
					Code: rapid.SampledFrom([]collab.Code{"", collab.AlreadyExists}).Draw(t, "code"), HTTP: 200,
					Body: []byte(fmt.Sprint(now.UnixNano(), len(claims))),
				}
				if err := s.FinishIdempotent(ctx, claim, a); err != nil {
					t.Fatal(err)
				}
				if l.holds(claim) {
					l.finished, l.answer = true, a
				}
			},
			"free": func(t *rapid.T) {
				if claims == nil {
					t.Skip("none is held")
				}
				claim := rapid.SampledFrom(claims).Draw(t, "claim")
				if err := s.FreeIdempotent(ctx, claim); err != nil {
					t.Fatal(err)
				}
				l.freed = l.freed || l.holds(claim)
			},
		})
	})
}

// TestIdempotencyTwins has many attempts at a key in one millisecond: one of them holds it, at first and when the lease has ended.
func TestIdempotencyTwins(t *testing.T) { onEach(t, testIdempotencyTwins) }

func testIdempotencyTwins(t *testing.T, s *Store) {
	for round := range 10 {
		start := time.UnixMilli(1_700_000_000_000)
		key := [32]byte{byte(round)}
		twins := func(start time.Time) (held collab.IdempotencyClaim) {
			var mu sync.Mutex
			states := map[collab.IdempotencyState]int{}
			var wg sync.WaitGroup
			for range 12 {
				wg.Go(func() {
					claim := collab.IdempotencyClaim{
						Account: "acct", KeyHash: key, Seed: make([]byte, 16), Start: start, Lease: start.Add(collab.IdempotencyLease),
					}
					rand.Read(claim.Seed)
					got, err := s.BeginIdempotent(t.Context(), claim)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					states[got.State]++
					if got.State == collab.IdempotencyClaimed {
						held = got.Claim
					}
				})
			}
			wg.Wait()
			if diff := cmp.Diff(map[collab.IdempotencyState]int{collab.IdempotencyClaimed: 1, collab.IdempotencyRunning: 11}, states); diff != "" {
				t.Error(diff)
			}
			return held
		}
		first := twins(start)
		second := twins(start.Add(collab.IdempotencyLease))
		if diff := cmp.Diff(first.Seed, second.Seed); diff != "" || !second.Start.Equal(first.Start) {
			t.Error("the attempt that takes over does not take seed and start", diff)
		}
		// Both finish: only the holder's answer counts.
		var wg sync.WaitGroup
		for body, claim := range map[string]collab.IdempotencyClaim{"first": first, "second": second} {
			wg.Go(func() {
				if err := s.FinishIdempotent(context.WithoutCancel(t.Context()), claim, collab.IdempotencyAnswer{HTTP: 200, Body: []byte(body)}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got, err := s.BeginIdempotent(t.Context(), second)
		if err != nil || got.State != collab.IdempotencyFinished || string(got.Answer.Body) != "second" {
			t.Errorf("%+v, %v", got, err)
		}
	}
}
