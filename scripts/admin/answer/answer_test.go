package answer_test

import (
	"testing"

	"collabdata/scripts/admin/answer"
	"collabdata/shared/collab"
)

// TestString checks the text of values in a cell of a table.
func TestString(t *testing.T) {
	for text, want := range map[string]string{
		`{"userId": "ann", "name": "Ann"}`:             "Ann (ann)",
		`{"id": "x", "name": "Plan"}`:                  "Plan",
		`["a", "b"]`:                                   "a, b",
		`[{"at": "2027-01-01"}, {"at": "2027-01-02"}]`: "2",
		`[{"status": 200, "durationMs": 3}, {"status": 503, "durationMs": 1}]`:                  "2, last 503",
		`[{"status": 200, "durationMs": 3}, {"reason": "connection refused", "durationMs": 1}]`: "2, last connection refused",
	} {
		if got := answer.Parse(collab.JSON(text)).String(); got != want {
			t.Errorf("%s is shown as %q, want %q", text, got, want)
		}
	}
}
