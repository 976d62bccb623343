package platform

import "time"

// The parts of a request's time, each the most that it takes: first comes the operation, then what follows its end, then the answer.
const (
	FunctionTime  = 28 * time.Second                                               // all of it; the gateway waits a second longer
	OperationTime = FunctionTime - SendTime - SettleTime - ChargeTime - AnswerTime // the operation's context ends then
	// telling the queue of the operation's events, once; the relay tells it what was not told
	SendTime   = 3 * time.Second
	SettleTime = 1 * time.Second // keeping or freeing the Idempotency-Key
	ChargeTime = time.Second / 2 // charging the account's quota
	AnswerTime = 1 * time.Second // writing the answer, which the function's end must not cut off
)
