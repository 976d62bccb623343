package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed start.json
var start string

// Request is a request to an operation.
type Request struct {
	Path string          `json:"path"`
	Data json.RawMessage `json:"data"`
}

// StartJob is the job id in an example. Replace it by the job of the last request of Start, which
// deletes something.
const StartJob = "06bq2x9a4000000000000004"

// Start returns the requests that create the data of the examples in an empty account, so that each
// example works at once. receiver is the address of its webhook endpoints.
func Start(receiver string) ([]Request, error) {
	var list []Request
	if err := json.Unmarshal([]byte(strings.ReplaceAll(start, "RECEIVER", receiver)), &list); err != nil {
		return nil, fmt.Errorf("start.json: %w", err)
	}
	return list, nil
}
