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

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var _ rpc.IdempotencyStore = (*Store)(nil)

var noon = time.UnixMilli(1_700_000_000_000)

var sameTime = cmp.Comparer(time.Time.Equal)

// newClaim is that of an attempt, at a key and with a body of a number, that begins at a time.
func newClaim(key int, body byte, start time.Time) request.Claim {
	c := request.Claim{
		Account: "acct", KeyHash: [32]byte{byte(key), byte(key >> 8)}, BodyHash: [32]byte{body},
		Seed: make([]byte, 16), Start: start, Lease: start.Add(request.ClaimLease), Attempt: rand.Text(),
	}
	rand.Read(c.Seed)
	return c
}

// TestDecide holds what becomes of an attempt, for each state that a key can be in.
func TestDecide(t *testing.T) {
	const lease, expiry = request.ClaimLease, request.KeyExpiry
	first := newClaim(1, 1, noon)
	held := newKeptRequest(first, noon)
	late := newClaim(1, 1, noon.Add(expiry-10*time.Second)) // took the key over shortly before a day was over
	late.Seed, late.Start = first.Seed, first.Start
	heldLate := newKeptRequest(late, noon.Add(expiry-10*time.Second))
	with := func(it keptRequest, change func(*keptRequest)) keptRequest {
		change(&it)
		return it
	}
	free := func(it *keptRequest) { it.Lease = 0 }
	finish := func(it *keptRequest) { it.HTTP, it.Code, it.Body = 409, collab.AlreadyExists, []byte("answer") }
	const (
		anew     = "claimed anew"
		takeover = "claimed with the first attempt's seed and start"
		finished = "finished"
		running  = "running"
		mismatch = "mismatch"
	)
	for _, tt := range []struct {
		name  string
		seen  keptRequest
		after time.Duration
		body  byte
		want  string
	}{
		{"no item", keptRequest{}, 0, 1, anew},
		{"held", held, 0, 1, running},
		{"held until the lease ends", held, lease - time.Millisecond, 1, running},
		{"its lease has ended", held, lease, 1, takeover},
		{"held with another body", held, 0, 2, mismatch},
		{"its lease has ended, another body", held, lease, 2, mismatch},
		{"freed", with(held, free), 0, 1, takeover},
		{"freed, another body", with(held, free), 0, 2, anew},
		{"finished", with(held, finish), 0, 1, finished},
		{"finished, when the lease has ended", with(held, finish), time.Hour, 1, finished},
		{"finished, another body", with(held, finish), 0, 2, mismatch},
		{"not quite a day later", with(held, finish), expiry, 1, finished},
		{"a day later", with(held, finish), expiry + time.Second, 1, anew},
		{"freed a day ago", with(held, free), expiry + time.Second, 1, anew},
		{"a day later, another body", with(held, finish), expiry + time.Second, 2, anew},
		{"an attempt runs across the day's end", heldLate, expiry + 5*time.Second, 1, running},
		{"it runs, another body", heldLate, expiry + 5*time.Second, 2, mismatch},
		{"it has finished", with(heldLate, finish), expiry + 15*time.Second, 1, finished},
		{"it was killed", heldLate, expiry + lease, 1, takeover},
		{"a day after it", with(heldLate, finish), 2*expiry - 9*time.Second, 1, anew},
	} {
		claim := newClaim(1, tt.body, noon.Add(tt.after))
		outcome := decide(tt.seen, claim)
		want := request.Outcome{State: request.Claimed, Claim: claim}
		switch tt.want {
		case takeover:
			want.Claim.Seed, want.Claim.Start = first.Seed, first.Start
		case running, finished:
			holder := request.Claim{Account: "acct", KeyHash: claim.KeyHash, BodyHash: claim.BodyHash, Seed: first.Seed, Start: noon}
			holder.Lease = time.UnixMilli(tt.seen.Lease)
			want = request.Outcome{State: request.Running, Claim: holder}
			if tt.want == finished {
				want.State = request.Finished
				want.Answer = request.Answer{Code: collab.AlreadyExists, HTTP: 409, Body: []byte("answer")}
			}
		case mismatch:
			want = request.Outcome{State: request.Mismatch}
		}
		if diff := cmp.Diff(want, outcome, sameTime); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// ledger is what rpc.IdempotencyStore says of one key, in memory.
type ledger struct {
	claim           request.Claim
	begun           time.Time // the latest attempt
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

// TestIdempotency claims, finishes and frees a key in any order, and holds that the store says what the ledger says.
func TestIdempotency(t *testing.T) {
	checks := flag.Lookup("rapid.checks") // set before the two tests begin, which run side by side
	if before := checks.Value.String(); before == checks.DefValue {
		must.Do(t, checks.Value.Set(strconv.Itoa(30)))
		t.Cleanup(func() { checks.Value.Set(before) })
	}
	onEach(t, testIdempotency)
}

func testIdempotency(t *testing.T, s *Store) {
	var keys atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		ctx := t.Context()
		now := noon
		var l ledger
		var claims []request.Claim // held at some time
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

// TestIdempotencyTwins has many attempts at a key in one millisecond: one of them holds it, at first and when the lease has ended.
func TestIdempotencyTwins(t *testing.T) { onEach(t, testIdempotencyTwins) }

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

// TestIdempotencyCalls holds that a new key takes one call to claim and one to finish, and one that is taken over two.
func TestIdempotencyCalls(t *testing.T) {
	s := newStore(t)
	claim := newClaim(1, 1, noon)
	begin := func(claim request.Claim) func(context.Context) {
		return func(ctx context.Context) {
			_, err := s.BeginIdempotent(ctx, claim)
			must.Do(t, err)
		}
	}
	got := []int{calls(t, begin(claim))}
	claim = newClaim(1, 1, claim.Lease)
	got = append(got, calls(t, begin(claim)), calls(t, func(ctx context.Context) {
		must.Do(t, s.FinishIdempotent(ctx, claim, request.Answer{HTTP: 200}))
	}), calls(t, begin(newClaim(1, 1, noon))))
	if diff := cmp.Diff([]int{1, 2, 1, 1}, got); diff != "" {
		t.Error(diff)
	}
}
