package apitest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

//go:embed contract.txtar
var contract []byte

// RunContract sends the requests of contract.txtar and compares their responses with it. An
// accepted request must have every field of its operation.
func RunContract(t *testing.T, target Target) {
	vars := variables{}
	(&script{}).account(t, target.Seeder, Account{}, vars, "key", "token")
	shown := map[string]map[string]json.RawMessage{} // sent fields, by path
	accepted := map[string]bool{}
	for _, e := range api.Endpoints() {
		accepted[e.Path] = e.Accepted
	}
	for _, f := range txtar.Parse(contract).Files {
		if shown[f.Name] == nil {
			shown[f.Name] = map[string]json.RawMessage{}
		}
		for line := range strings.Lines(string(f.Data)) {
			data, refusal, refused := strings.Cut(strings.TrimSpace(line), " => ")
			code, words, _ := strings.Cut(refusal, " ")
			status, members := http.StatusOK, []string{"result"}
			switch {
			case code == string(collab.NotFound):
				status, members = http.StatusNotFound, []string{"error"}
			case refused:
				status, members = http.StatusBadRequest, []string{"error"}
			case accepted[f.Name]:
				status, members = http.StatusAccepted, append(members, "status", "message", "data", "statusCode")
			}
			body := value{kind: '{', keys: members}
			for _, name := range members {
				body.items = append(body.items, textValue("${"+name+":any}"))
			}
			s := &step{method: http.MethodPost, path: f.Name, body: fmt.Sprintf(`{"data": %s}`, data), answer: answer{
				status: status, body: body,
			}}
			if code != string(collab.InvalidArgument) {
				if err := json.Unmarshal([]byte(data), new(shown[f.Name])); err != nil {
					t.Fatalf("%s: %s: %v", f.Name, data, err)
				}
			}
			problems, err := s.run(t.Context(), target, vars)
			if err != nil {
				t.Fatalf("%s: %s: %v", f.Name, data, err)
			}
			failure := vars["error"]
			if refused && (failure.member("status").text != code || !strings.Contains(failure.member("message").text, words)) {
				problems += fmt.Sprintf("\nthe error is %v, want %s", failure, refusal)
			}
			if problems != "" {
				t.Errorf("%s: %s: %s", f.Name, data, problems)
			}
		}
	}
	for _, e := range api.Endpoints() {
		sent := shown[e.Path]
		if sent == nil {
			continue // not part of the contract
		}
		for _, field := range rpc.ShapeOf(e.Operation.Request).Object.Fields {
			if sent[field.Name] == nil && field.Name != "pageToken" {
				t.Errorf("no request to %s has %s", e.Path, field.Name)
			}
		}
	}
}
