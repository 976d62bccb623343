package accounts

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/request"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var _ rpc.IdempotencyStore = (*Store)(nil)

var noon = time.UnixMilli(1_700_000_000_000)

var sameTime = cmp.Comparer(time.Time.Equal)

// newClaim returns the claim of an attempt that begins at a time.
func newClaim(key int, body byte, start time.Time) request.Claim {
	c := request.Claim{
		Account: "acct", KeyHash: [32]byte{byte(key), byte(key >> 8)}, BodyHash: [32]byte{body},
		Seed: make([]byte, 16), Start: start, Lease: start.Add(request.ClaimLease), Attempt: rand.Text(),
	}
	rand.Read(c.Seed)
	return c
}

// ledger is a model of rpc.IdempotencyStore for one key.
type ledger struct {
	claim           request.Claim
	begun           time.Time // of the latest attempt
	there           bool
	freed, finished bool
	answer          request.Answer
}

func (l *ledger) begin(claim request.Claim) request.Outcome {
	if claim.Start.Unix() > l.begun.Add(request.KeyExpiry).Unix() {
		*l = ledger{}
	}
	same := l.claim.BodyHash == claim.BodyHash
	holder := l.claim
	holder.Attempt = ""
	switch {
	case !l.there || l.freed && !same:
		*l = ledger{claim: claim, there: true}
	case !same:
		return request.Outcome{State: request.Mismatch}
	case l.finished:
		return request.Outcome{State: request.Finished, Claim: holder, Answer: l.answer}
	case !l.freed && claim.Start.Before(l.claim.Lease):
		return request.Outcome{State: request.Running, Claim: holder}
	default:
		l.claim.Lease, l.claim.Attempt, l.freed = claim.Lease, claim.Attempt, false
	}
	l.begun = claim.Start
	return request.Outcome{State: request.Claimed, Claim: l.claim}
}

func (l *ledger) holds(claim request.Claim) bool {
	return l.there && !l.freed && !l.finished && l.claim.Attempt == claim.Attempt
}

// TestIdempotency claims, finishes and frees a key in random order, and compares the store with the
// model.
func TestIdempotency(t *testing.T) {
	checks := flag.Lookup("rapid.checks") // before the two parallel tests begin
	if before := checks.Value.String(); before == checks.DefValue {
		must.Do(t, checks.Value.Set(strconv.Itoa(30)))
		t.Cleanup(func() { checks.Value.Set(before) })
	}
	storetest.OnEach(t, New, testIdempotency)
}

func testIdempotency(t *testing.T, s *Store) {
	var keys atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		ctx := t.Context()
		now := noon
		var l ledger
		var claims []request.Claim // that held the key
		key := int(keys.Add(1))
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				now = now.Add(rapid.SampledFrom([]time.Duration{
					time.Millisecond, 2 * time.Second, request.ClaimLease - time.Millisecond, request.ClaimLease,
					time.Hour, request.KeyExpiry - time.Millisecond, request.KeyExpiry, request.KeyExpiry + time.Second,
				}).Draw(t, "later"))
				claim := newClaim(key, byte(rapid.IntRange(1, 2).Draw(t, "body")), now)
				got, err := s.BeginIdempotent(ctx, claim)
				must.Do(t, err)
				if diff := cmp.Diff(l.begin(claim), got, sameTime); diff != "" {
					t.Fatal(diff)
				}
				if got.State == request.Claimed {
					claims = append(claims, got.Claim)
				}
			},
			"finish": func(t *rapid.T) {
				if claims == nil {
					t.Skip("none is held")
				}
				claim := rapid.SampledFrom(claims).Draw(t, "claim")
				a := request.Answer{
					Code: rapid.SampledFrom([]collab.Code{"", collab.AlreadyExists}).Draw(t, "code"), HTTP: 200,
					Body: []byte(fmt.Sprint(now.UnixNano(), len(claims))),
				}
				must.Do(t, s.FinishIdempotent(ctx, claim, a))
				if l.holds(claim) {
					l.finished, l.answer = true, a
				}
			},
			"free": func(t *rapid.T) {
				if claims == nil {
					t.Skip("none is held")
				}
				claim := rapid.SampledFrom(claims).Draw(t, "claim")
				must.Do(t, s.FreeIdempotent(ctx, claim))
				l.freed = l.freed || l.holds(claim)
			},
		})
	})
}

// TestIdempotencyTwins makes many attempts in one millisecond: one of them holds the key, at first
// and after the lease ends.
func TestIdempotencyTwins(t *testing.T) { storetest.OnEach(t, New, testIdempotencyTwins) }

func testIdempotencyTwins(t *testing.T, s *Store) {
	for round := range 10 {
		twins := func(start time.Time) (held request.Claim) {
			var mu sync.Mutex
			states := map[request.ClaimState]int{}
			var wg sync.WaitGroup
			for range 12 {
				wg.Go(func() {
					got, err := s.BeginIdempotent(t.Context(), newClaim(round, 1, start))
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					states[got.State]++
					if got.State == request.Claimed {
						held = got.Claim
					}
				})
			}
			wg.Wait()
			if diff := cmp.Diff(map[request.ClaimState]int{request.Claimed: 1, request.Running: 11}, states); diff != "" {
				t.Error(diff)
			}
			return held
		}
		first := twins(noon)
		second := twins(noon.Add(request.ClaimLease))
		if diff := cmp.Diff(first.Seed, second.Seed); diff != "" || !second.Start.Equal(first.Start) {
			t.Error("the attempt that takes over does not take seed and start", diff)
		}
		// Both finish: only the holder's answer counts.
		var wg sync.WaitGroup
		for body, claim := range map[string]request.Claim{"first": first, "second": second} {
			wg.Go(func() {
				if err := s.FinishIdempotent(context.WithoutCancel(t.Context()), claim, request.Answer{HTTP: 200, Body: []byte(body)}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got, err := s.BeginIdempotent(t.Context(), newClaim(round, 1, noon))
		if err != nil || got.State != request.Finished || string(got.Answer.Body) != "second" {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestIdempotencyCalls: a new key takes one call to claim and one to finish; taking over a key
// takes two.
func TestIdempotencyCalls(t *testing.T) {
	s := newStore(t)
	claim := newClaim(1, 1, noon)
	begin := func(claim request.Claim) func(context.Context) {
		return func(ctx context.Context) {
			_, err := s.BeginIdempotent(ctx, claim)
			must.Do(t, err)
		}
	}
	got := []int{storetest.Calls(t, begin(claim))}
	claim = newClaim(1, 1, claim.Lease)
	got = append(got, storetest.Calls(t, begin(claim)), storetest.Calls(t, func(ctx context.Context) {
		must.Do(t, s.FinishIdempotent(ctx, claim, request.Answer{HTTP: 200}))
	}), storetest.Calls(t, begin(newClaim(1, 1, noon))))
	if diff := cmp.Diff([]int{1, 2, 1, 1}, got); diff != "" {
		t.Error(diff)
	}
}
