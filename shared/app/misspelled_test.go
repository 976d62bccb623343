package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"collabdata/shared/api"
	"collabdata/shared/api/openapi"
	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// TestMisspelled misspells each selector, filter and flag of each operation, in an account that
// refuses unknown fields and in one that drops them. Each request must be refused and change
// nothing.
func TestMisspelled(t *testing.T) {
	t.Parallel()
	examples, err := apitest.Examples()
	must.Do(t, err)
	example := map[string]json.RawMessage{}
	for _, x := range examples {
		example[x.Path] = x.Request
	}
	begun, err := openapi.Start("https://hooks.example.com/collab")
	must.Do(t, err)
	for _, mode := range []collab.UnknownFields{collab.RefuseUnknown, collab.DropUnknown} {
		t.Run(string(mode), func(t *testing.T) {
			s := apitest.Start(t, func(c *app.Config) { c.LiveURL = "ws://live.example" })
			_, err := s.Accounts.ChangeAccount(t.Context(), "acme", func(a *collab.Account) error {
				a.Settings.UnknownFields = mode
				return nil
			})
			must.Do(t, err)
			h, job := s.Handler(), ""
			for _, r := range begun {
				answer := apitest.Post(h, r.Path, fmt.Sprintf(`{"data": %s}`, r.Data))
				var of struct{ Result struct{ JobID string } }
				must.Do(t, json.Unmarshal(answer.Body.Bytes(), &of))
				if job = of.Result.JobID; answer.Code >= 300 {
					t.Fatal(r.Path, answer.Body)
				}
			}
			before := storetest.Scan(t, s.Outbox.Table)
			sent := 0
			for _, e := range api.Endpoints() {
				if e.Public {
					continue // a page, outside the envelope
				}
				for _, f := range rpc.ShapeOf(e.Operation.Request).Object.Fields {
					var body struct {
						Data map[string]json.RawMessage `json:"data"`
					}
					must.Do(t, json.Unmarshal([]byte(strings.ReplaceAll(string(example[e.Path]), openapi.StartJob, job)), &body))
					value, there := body.Data[f.Name]
					if !there {
						value = json.RawMessage("null")
					}
					delete(body.Data, f.Name)
					body.Data[f.Name+"x"] = value
					text, err := json.Marshal(body)
					must.Do(t, err)
					sent++
					answer := apitest.Post(h, e.Path, string(text))
					refused := fmt.Sprintf(`{"field":"data.%sx","message":"is not a known field"}`, f.Name)
					if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), refused) {
						t.Errorf("%s %s\nis answered with %d %s", e.Path, text, answer.Code, answer.Body)
					}
				}
			}
			if sent < 300 {
				t.Errorf("only %d requests were sent", sent)
			}
			if after := storetest.Scan(t, s.Outbox.Table); !reflect.DeepEqual(before, after) {
				t.Errorf("the table has changed: %d items, and %d before", len(after), len(before))
			}
		})
	}
}
