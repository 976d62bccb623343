package collab

import (
	"fmt"
	"time"
)

// Timestamp is a time in responses and events: an ISO 8601 string in JSON, in UTC, with
// milliseconds. Requests and the table use Millis.
type Timestamp Millis

const timestampForm = "2006-01-02T15:04:05.000Z"

// String returns the text, such as 2026-03-01T12:00:00.250Z.
func (t Timestamp) String() string {
	text, _ := t.AppendText(nil)
	return string(text)
}

// AppendText appends the text to b.
func (t Timestamp) AppendText(b []byte) ([]byte, error) {
	return time.UnixMilli(Millis(t)).UTC().AppendFormat(b, timestampForm), nil
}

func (t Timestamp) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// UnmarshalText parses the text. It returns an error if the form is different.
func (t *Timestamp) UnmarshalText(text []byte) error {
	at, err := time.Parse(timestampForm, string(text))
	if err != nil {
		return fmt.Errorf("%q is no time in the form %s", text, timestampForm)
	}
	*t = Timestamp(at.UnixMilli())
	return nil
}

// Millis is a time in milliseconds since the Unix epoch, 0 to MaxMillis.
type Millis = int64

// MaxMillis is the last millisecond of the year 9999, the maximum accepted time.
const MaxMillis Millis = 253402300799999
