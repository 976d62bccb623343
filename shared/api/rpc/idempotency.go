package rpc

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/deadline"
)

// IdempotencyStore keeps what became of the requests that carried an Idempotency-Key. A key whose latest attempt began
// collab.IdempotencyExpiry ago or earlier, by claim.Start, is as new.
type IdempotencyStore interface {
	// BeginIdempotent claims the key for the attempt that claim describes, in one atomic step. Where the key
	//   - is new, or was freed and claim has another body: claim becomes the key's content: Claimed;
	//   - is finished: Finished with the answer, or Mismatch when claim has another body;
	//   - was freed, or is held on a lease that has ended by claim.Start, with the same body: it is taken over with the new lease
	//     and its own Seed and Start: Claimed;
	//   - is held: Mismatch when claim has another body (whether the lease has ended or not), else Running with the holder's claim.
	BeginIdempotent(ctx context.Context, claim collab.IdempotencyClaim) (collab.IdempotencyOutcome, error)

	// FinishIdempotent keeps the answer until the key's expiry. Where the claim is not held any more (it was finished or freed, or another
	// attempt has taken it over), it does nothing and returns nil.
	FinishIdempotent(ctx context.Context, claim collab.IdempotencyClaim, answer collab.IdempotencyAnswer) error

	// FreeIdempotent lets go of the key at once. Seed, Start and body hash stay: the attempt may have done a part, which a repetition of
	// the same request then recognizes as its own. Where the claim is not held any more it does nothing and returns nil.
	FreeIdempotent(ctx context.Context, claim collab.IdempotencyClaim) error
}

// once runs the request unless its key stands for one that was carried out, and keeps the answer. Success and ALREADY_EXISTS bind the
// key; any other failure frees it.
func (s *Server) once(x *exchange, keys []string, run func() (answer, error)) (answer, error) {
	if len(keys) > 1 || !validKey(keys[0]) {
		return answer{}, collab.Errorf(collab.InvalidArgument, "the Idempotency-Key header must be 1 to 255 printable ASCII characters")
	}
	seal, err := newSeal(x.Path, keys[0])
	if err != nil {
		return answer{}, err
	}
	seed, err := s.seed()
	if err != nil {
		return answer{}, err
	}
	start := x.Now.Truncate(time.Millisecond)
	outcome, err := s.Idempotency.BeginIdempotent(x.ctx, collab.IdempotencyClaim{
		Account:  x.Account,
		KeyHash:  sha256.Sum256([]byte(x.Path + "\n" + keys[0])),
		BodyHash: sha256.Sum256(x.body),
		Seed:     seed,
		Start:    start,
		Lease:    start.Add(collab.IdempotencyLease),
		Attempt:  collab.NewIDs(start, seed).Mark(),
	})
	if err != nil {
		return answer{}, err
	}
	switch outcome.State {
	case collab.IdempotencyFinished:
		return seal.restore(outcome.Answer)
	case collab.IdempotencyMismatch:
		return answer{}, collab.Errorf(collab.InvalidArgument, "the Idempotency-Key was used before with another body")
	case collab.IdempotencyRunning:
		return answer{}, &collab.Error{
			Code:       collab.Aborted,
			Message:    "a request with this Idempotency-Key is still running",
			RetryAfter: max(outcome.Claim.Lease.Sub(x.Now), time.Second),
		}
	}
	x.IDs = collab.NewIDs(outcome.Claim.Start, outcome.Claim.Seed)
	a, err := recovered(x, func(*exchange) (answer, error) { return run() })
	s.settle(x, outcome.Claim, seal, a, err)
	return a, err
}

func validKey(key string) bool {
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return false
		}
	}
	return 1 <= len(key) && len(key) <= 255
}

// settle finishes or frees a claim. What the request did stands even where that fails: the lease ends by itself, and a repetition then
// finds by the seed what was done.
func (s *Server) settle(x *exchange, claim collab.IdempotencyClaim, seal seal, a answer, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), deadline.Settle)
	defer cancel()
	if err != nil {
		a = failureAnswer(x.ctx, err)
	}
	if a.code == "" || a.code == collab.AlreadyExists {
		var kept collab.IdempotencyAnswer
		if kept, err = seal.keep(a, s.Random); err == nil {
			err = s.Idempotency.FinishIdempotent(ctx, claim, kept)
		}
	} else {
		err = s.Idempotency.FreeIdempotent(ctx, claim)
	}
	if err != nil {
		s.Log.LogAttrs(ctx, slog.LevelError, "idempotency", slog.String("path", x.Path), slog.Any("cause", err))
	}
}

// seal encrypts the answers that are kept, for some show a secret that nothing else shows. Its key is made of the Idempotency-Key, which
// the caller has and the store has not: that knows a hash over other text. So an answer is hidden as well as its Idempotency-Key is hard to
// guess.
type seal struct{ aead cipher.AEAD }

func newSeal(path, key string) (seal, error) {
	secret, err := hkdf.Key(sha256.New, []byte(key), nil, "kept answer\n"+path, 32)
	if err != nil {
		return seal{}, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return seal{}, err
	}
	aead, err := cipher.NewGCM(block)
	return seal{aead}, err
}

// keep returns the form in which an answer is kept: its body, compressed where it is long, and sealed. The ids and states of the largest
// adds fit so. An answer that does not fit, as no add has today, is kept without its data.
func (s seal) keep(a answer, random io.Reader) (collab.IdempotencyAnswer, error) {
	body := bytes.Join(a.body, nil)
	if len(body) > 4096 {
		body = compress(body)
	}
	if len(body)+s.aead.NonceSize()+s.aead.Overhead() > collab.MaxKeptAnswer {
		body = []byte(`{"result":{"status":"success","message":"done before; the answer was too large to be kept","data":null}}`)
	}
	nonce := make([]byte, s.aead.NonceSize())
	_, err := io.ReadFull(random, nonce)
	return collab.IdempotencyAnswer{Code: a.code, HTTP: a.http, Body: s.aead.Seal(nonce, nonce, body, nil)}, err
}

// restore returns the answer that was kept.
func (s seal) restore(kept collab.IdempotencyAnswer) (answer, error) {
	n := s.aead.NonceSize()
	if len(kept.Body) < n {
		return answer{}, errors.New("the kept answer is cut")
	}
	body, err := s.aead.Open(nil, kept.Body[:n], kept.Body[n:], nil)
	if err != nil {
		return answer{}, err
	}
	if bytes.HasPrefix(body, []byte("\x1f\x8b")) {
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return answer{}, err
		}
		if body, err = io.ReadAll(r); err != nil {
			return answer{}, err
		}
	}
	return answer{http: kept.HTTP, code: kept.Code, body: segments{body}}, nil
}

func compress(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(text) // a bytes.Buffer takes everything
	w.Close()
	return b.Bytes()
}
