package platform

import "time"

// Maximum times of the parts of a request, in order: the operation, the steps after it, and the
// response.
const (
	FunctionTime = 28 * time.Second // total; the gateway waits a second longer
	// end of the operation's context
	OperationTime = FunctionTime - SendTime - SettleTime - ChargeTime - AnswerTime
	// one message about the operation's events; the relay resends it if it fails
	SendTime   = 3 * time.Second
	SettleTime = 1 * time.Second // completing or releasing the Idempotency-Key
	ChargeTime = time.Second / 2 // charging the account's quota
	AnswerTime = 1 * time.Second // writing the response before the function stops
)
