package request

import (
	"time"

	"collabdata/shared/collab"
)

// How long an Idempotency-Key holds.
const (
	ClaimLease    = 30 * time.Second // how long a claim holds: then another attempt may take it over
	KeyExpiry     = 24 * time.Hour   // a key is forgotten so long after its last attempt began
	MaxKeptAnswer = 350_000          // bytes of Answer.Body
)

// Claim is one attempt to carry out the request that an Idempotency-Key stands for.
type Claim struct {
	Account  string
	KeyHash  [32]byte  // SHA-256 over path and key
	BodyHash [32]byte  // SHA-256 of the body as sent
	Seed     []byte    // 16 random bytes: generated ids derive from it
	Start    time.Time // of the first attempt, in whole milliseconds: generated ids carry it; in what is asked, of this attempt
	Lease    time.Time // until when this attempt holds the key, in whole milliseconds
	Attempt  string    // not empty; no other attempt at any key has the same
}

// ClaimState is what became of the attempt to claim a key.
type ClaimState int

// The states.
const (
	Claimed  ClaimState = iota // the caller holds the key and must finish or free it
	Finished                   // the request was carried out: its answer is kept
	Running                    // another attempt holds the key until its lease ends
	Mismatch                   // the key was used for a request with another body
)

// Outcome is the answer to an attempt to claim a key.
type Outcome struct {
	State  ClaimState
	Claim  Claim  // Claimed: the claim held, with Seed and Start of the first attempt. Running, Finished: that of the holder, except Attempt
	Answer Answer // Finished
}

// Answer is an answer as it is kept.
type Answer struct {
	Code collab.Code // "" for success
	HTTP int         // the HTTP status
	Body []byte      // the answer's body in a form that package rpc knows, at most MaxKeptAnswer bytes; empty where it is not to be kept
}
