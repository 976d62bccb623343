// Package deadline divides the time that a function has for a request: first comes the operation, then what follows its end, then the
// answer.
package deadline

import "time"

// The parts of a request's time, each the most that it takes.
const (
	Function  = 28 * time.Second                           // all of it; the gateway waits a second longer
	Operation = Function - Send - Settle - Charge - Answer // the operation's context ends then
	// telling the queue of the operation's events, once; the relay tells it what was not told
	Send   = 3 * time.Second
	Settle = 1 * time.Second // keeping or freeing the Idempotency-Key
	Charge = time.Second / 2 // charging the account's quota
	Answer = 1 * time.Second // writing the answer, which the function's end must not cut off
)
