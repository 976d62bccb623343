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

// once runs the request unless an earlier one with its key is finished or running, and stores the
// response. The claim is its first write.
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
		return response{}, collab.Errorf(collab.InvalidArgument, "the Idempotency-Key was already used with another body")
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

// claim returns the claim for the request's key.
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

// settle finishes or frees a claim. Success and ALREADY_EXISTS bind the key, unless a retry can
// complete a failed item; other failures free it. If settle fails, the lease ends by itself, and a
// retry recognizes earlier writes by the seed.
func (s *Server) settle(x *exchange, claim request.Claim, a response, err error) {
	if err != nil {
		a = failureResponse(x.ctx, err)
	}
	binds := a.code == "" && !x.unfinished || a.code == collab.AlreadyExists
	var answer request.Answer
	if binds {
		answer = keep(a, x.Secret) // compresses, so it comes before the timeout
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

// keep returns the stored form of a response: compressed if long, and empty if it has a secret. The
// ids and states of the largest requests fit; a larger response is stored without its data.
func keep(a response, secret bool) request.Answer {
	answer := request.Answer{Code: a.code, HTTP: a.http, Body: []byte{}}
	if secret {
		return answer
	}
	answer.Body = bytes.Join(a.body, nil)
	if len(answer.Body) > 4096 {
		answer.Body = compress(answer.Body)
	}
	if len(answer.Body) > request.MaxKeptAnswer {
		answer.Body = []byte(`{"result":{"status":"success","message":"already done; the response was too large to store","data":null}}`)
	}
	return answer
}

// restore returns a stored response.
func restore(answer request.Answer) (response, error) {
	body := answer.Body
	if bytes.HasPrefix(body, []byte("\x1f\x8b")) {
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return response{}, err
		}
		if body, err = io.ReadAll(r); err != nil {
			return response{}, err
		}
	}
	return response{http: answer.HTTP, code: answer.Code, body: segments{body}}, nil
}

func compress(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text) // bytes.Buffer never fails
	_ = w.Close()
	return b.Bytes()
}

func (s *Server) seed() ([]byte, error) {
	seed := make([]byte, 16)
	if _, err := io.ReadFull(s.Random, seed); err != nil {
		return nil, &collab.Error{Code: collab.Internal, Err: err}
	}
	return seed, nil
}
