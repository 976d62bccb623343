package request

import (
	"time"

	"collabdata/shared/collab"
)

// Lifetimes of an Idempotency-Key.
const (
	ClaimLease    = 30 * time.Second // after it, another attempt may take over
	KeyExpiry     = 24 * time.Hour   // after the start of the last attempt
	MaxKeptAnswer = 350_000          // bytes of Answer.Body
)

// Claim is one attempt of a request with an Idempotency-Key.
type Claim struct {
	Account  string
	KeyHash  [32]byte // SHA-256 of path and key
	BodyHash [32]byte // SHA-256 of the body as sent
	Seed     []byte   // 16 random bytes, from which generated ids derive
	// Start is the start of the first attempt, in whole milliseconds; generated ids contain it. In
	// the claim that a caller passes, it is the start of this attempt.
	Start   time.Time
	Lease   time.Time // end of this attempt's hold, in whole milliseconds
	Attempt string    // unique and not empty
}

// ClaimState is the result of claiming a key.
type ClaimState int

// The states.
const (
	Claimed  ClaimState = iota // the caller must finish or free it
	Finished                   // the answer is stored
	Running                    // another attempt holds the key
	Mismatch                   // the key was used with another body
)

type Outcome struct {
	State ClaimState
	// Claimed: the claim with Seed and Start of the first attempt. Running, Finished: the holder's
	// claim, except Attempt.
	Claim  Claim
	Answer Answer // Finished
}

type Answer struct {
	Code collab.Code // "" for success
	HTTP int         // HTTP status
	// In a form of package rpc, at most MaxKeptAnswer bytes; empty if it is not stored.
	Body []byte
}
