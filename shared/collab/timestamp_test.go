package collab

import (
	"encoding/json"
	"testing"
)

func TestTimestamp(t *testing.T) {
	for ms, want := range map[Millis]string{
		0:             `"1970-01-01T00:00:00.000Z"`,
		1772366400250: `"2026-03-01T12:00:00.250Z"`,
		MaxMillis:     `"9999-12-31T23:59:59.999Z"`,
	} {
		text, err := json.Marshal(Timestamp(ms))
		if err != nil || string(text) != want {
			t.Errorf("%d is %s, %v, want %s", ms, text, err, want)
		}
		var back Timestamp
		if err := json.Unmarshal(text, &back); err != nil || Millis(back) != ms {
			t.Errorf("%s is %d, %v", text, back, err)
		}
	}
	for _, text := range []string{`1`, `""`, `"2026-03-01"`, `"2026-03-01T12:00:00+01:00"`} {
		var got Timestamp
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s is taken as %s", text, got)
		}
	}
}
