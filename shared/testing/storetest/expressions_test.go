package storetest

import (
	"encoding/json"
	"testing"

	"collabdata/shared/testing/must"
)

func TestPathTwice(t *testing.T) {
	for _, test := range []struct{ expression, want string }{
		{"SET #0 = :0, rev = :1\nREMOVE #1", ""},
		{"SET #0 = if_not_exists(#0, :0), #2 = :1, ttl = :2", "ttl"},
		{"SET #0 = :0, #1=:1\nADD #0 :2", "a"},
		{"REMOVE #0, #1, #0", "a"},
	} {
		body, err := json.Marshal(map[string]any{
			"TransactItems": []any{
				map[string]any{"Put": map[string]any{}},
				map[string]any{"Update": map[string]any{
					"UpdateExpression":         test.expression,
					"ExpressionAttributeNames": map[string]string{"#0": "a", "#1": "b", "#2": "ttl"},
				}},
			},
		})
		must.Do(t, err)
		if got, err := pathTwice(body); got != test.want || err != nil {
			t.Errorf("%q: %q, %v", test.expression, got, err)
		}
	}
}
