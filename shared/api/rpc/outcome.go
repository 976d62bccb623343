package rpc

import (
	"fmt"

	"collabdata/shared/collab"
)

// Outcome is what became of one item of a bulk request: embed it in what is answered for the item.
type Outcome struct {
	Success bool        `json:"success"`
	Message string      `json:"message"`
	Code    collab.Code `json:"code,omitempty"` // when not successful
}

// Outcome tells how the write of an item ended, and counts it; done is the message of success. The cause of a failure that the caller cannot
// mend goes into the log.
func (c *Call) Outcome(err error, done string) Outcome {
	c.Items++
	if err == nil {
		return Outcome{Success: true, Message: done}
	}
	c.failed++
	code := collab.CodeOf(err)
	c.unfinished = c.unfinished || code.MayRepeat()
	if HTTPStatus(code) >= 500 {
		c.cause = err
	}
	return Outcome{Message: collab.MessageOf(err), Code: code}
}

// Sum sets the message to how many items were done, and how many failed: the noun is as for Count, done a participle such as "updated".
func (c *Call) Sum(noun, done string) {
	c.Message = Count(c.Items-c.failed, noun) + " " + done
	if c.failed > 0 {
		c.Message += fmt.Sprintf(", %d failed", c.failed)
	}
}
