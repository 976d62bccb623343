package rpc

import "collabdata/shared/collab"

// Outcome is what became of one item of a bulk request: embed it in what is answered for the item.
type Outcome struct {
	Success bool        `json:"success"`
	Message string      `json:"message"`
	Code    collab.Code `json:"code,omitempty"` // when not successful
}

// OutcomeOf tells how a write ended: done is the message of success.
func OutcomeOf(err error, done string) Outcome {
	if err != nil {
		return Outcome{Message: collab.MessageOf(err), Code: collab.CodeOf(err)}
	}
	return Outcome{Success: true, Message: done}
}

func (o Outcome) outcome() Outcome { return o }

// unfinished reports whether an item failed that a repetition of the request may carry out.
func (k Keyed[T]) unfinished() bool {
	for _, m := range k {
		if o, ok := any(m.Value).(interface{ outcome() Outcome }); ok && o.outcome().Code.MayRepeat() {
			return true
		}
	}
	return false
}
