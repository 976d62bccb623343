package rpc

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/platform"
	"collabdata/shared/request"
)

// IdempotencyStore keeps what became of the requests that carried an Idempotency-Key. A key is forgotten request.KeyExpiry after
// its last attempt began: its item is as no item from then on, as of claim.Start of who asks.
type IdempotencyStore interface {
	// BeginIdempotent claims the key for the attempt that claim describes, in one atomic step. Where the key
	//   - is new, or was freed and claim has another body: claim becomes the key's content: Claimed;
	//   - is finished: Finished with the answer and the claim, or Mismatch when claim has another body;
	//   - was freed, or is held on a lease that has ended by claim.Start, with the same body: it is taken over with the new lease
	//     and its own Seed and Start: Claimed;
	//   - is held: Mismatch when claim has another body (whether the lease has ended or not), else Running with the holder's claim.
	BeginIdempotent(ctx context.Context, claim request.Claim) (request.Outcome, error)

	// FinishIdempotent keeps the answer until the key's expiry. Where the claim is not held any more (it was finished or freed, or another
	// attempt has taken it over), it does nothing and returns nil.
	FinishIdempotent(ctx context.Context, claim request.Claim, answer request.Answer) error

	// FreeIdempotent lets go of the key at once. Seed, Start and body hash stay: the attempt may have done a part, which a repetition of
	// the same request then recognizes as its own. Where the claim is not held any more it does nothing and returns nil.
	FreeIdempotent(ctx context.Context, claim request.Claim) error
}

// once runs the request, unless one with its key was carried out, and keeps the answer. The claim of the key is the first that is written:
// so a repeat that finds the key finished, or held, has changed nothing.
func (s *Server) once(x *exchange, run func() (response, error)) (response, error) {
	claim, err := s.claim(x)
	if err != nil {
		return response{}, err
	}
	outcome, err := s.Idempotency.BeginIdempotent(x.ctx, claim)
	if err != nil {
		return response{}, err
	}
	x.IDs = collab.NewIDs(outcome.Claim.Start, outcome.Claim.Seed)
	x.Repeat = !bytes.Equal(outcome.Claim.Seed, claim.Seed)
	switch outcome.State {
	case request.Mismatch:
		return response{}, collab.Errorf(collab.InvalidArgument, "the Idempotency-Key was used before with another body")
	case request.Running:
		return response{}, &collab.Error{
			Code:       collab.Aborted,
			Message:    "a request with this Idempotency-Key is still running",
			RetryAfter: max(outcome.Claim.Lease.Sub(x.Now), time.Second),
		}
	case request.Finished:
		if x.Again = len(outcome.Answer.Body) == 0; x.Again {
			return run()
		}
		return restore(outcome.Answer)
	}
	a, err := recovered(run)
	s.settle(x, outcome.Claim, a, err)
	return a, err
}

// claim returns the claim on the key that a request carries.
func (s *Server) claim(x *exchange) (request.Claim, error) {
	if len(x.keys) > 1 || !validKey(x.keys[0]) {
		return request.Claim{}, collab.Errorf(collab.InvalidArgument, "the Idempotency-Key header must be 1 to 255 printable ASCII characters")
	}
	scope := x.Path
	if x.Person != nil {
		scope += "\n" + x.Person.UserID
	}
	seed, err := s.seed()
	start := x.Now.Truncate(time.Millisecond)
	return request.Claim{
		Account:  x.Account,
		KeyHash:  sha256.Sum256([]byte(scope + "\n" + x.keys[0])),
		BodyHash: sha256.Sum256(x.body),
		Seed:     seed,
		Start:    start,
		Lease:    start.Add(request.ClaimLease),
		Attempt:  collab.NewIDs(start, seed).Mark(),
	}, err
}

func validKey(key string) bool {
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return false
		}
	}
	return 1 <= len(key) && len(key) <= 255
}

// settle finishes or frees a claim. Success and ALREADY_EXISTS bind the key, unless a repetition may carry out an item that failed;
// any other failure frees it. The work of the request stays even where that fails: the lease ends by itself, and a repetition then finds
// by the seed what was done.
func (s *Server) settle(x *exchange, claim request.Claim, a response, err error) {
	if err != nil {
		a = failureResponse(x.ctx, err)
	}
	binds := a.code == "" && !x.unfinished || a.code == collab.AlreadyExists
	var answer request.Answer
	if binds {
		answer = keep(a, x.Secret) // before the time runs: it compresses
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), platform.SettleTime)
	defer cancel()
	if binds {
		err = s.Idempotency.FinishIdempotent(ctx, claim, answer)
	} else {
		err = s.Idempotency.FreeIdempotent(ctx, claim)
	}
	if err != nil {
		s.Log.LogAttrs(ctx, slog.LevelError, "idempotency", slog.String("path", x.Path), slog.Any("cause", err))
	}
}

// keep returns the form in which an answer is kept: its body, compressed where it is long; none where that shows a secret. The ids and
// states of the largest adds fit so. An answer that does not fit is kept without its data.
func keep(a response, secret bool) request.Answer {
	kept := request.Answer{Code: a.code, HTTP: a.http, Body: []byte{}}
	if secret {
		return kept
	}
	kept.Body = bytes.Join(a.body, nil)
	if len(kept.Body) > 4096 {
		kept.Body = compress(kept.Body)
	}
	if len(kept.Body) > request.MaxKeptAnswer {
		kept.Body = []byte(`{"result":{"status":"success","message":"done before; the answer was too large to be kept","data":null}}`)
	}
	return kept
}

// restore returns the answer that was kept.
func restore(kept request.Answer) (response, error) {
	body := kept.Body
	if bytes.HasPrefix(body, []byte("\x1f\x8b")) {
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return response{}, err
		}
		if body, err = io.ReadAll(r); err != nil {
			return response{}, err
		}
	}
	return response{http: kept.HTTP, code: kept.Code, body: segments{body}}, nil
}

func compress(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text) // a bytes.Buffer takes everything
	_ = w.Close()
	return b.Bytes()
}
