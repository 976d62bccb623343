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

// StartJob is the job that an example asks for. The last request of Start deletes something: the job of that is to take its place.
const StartJob = "06bq2x9a4000000000000004"

// Start returns the requests that make what the examples name, in an account in which nothing of it is, so that each example works at once.
// Events that its webhook endpoints ask for are posted to an address.
func Start(receiver string) ([]Request, error) {
	var list []Request
	if err := json.Unmarshal([]byte(strings.ReplaceAll(start, "RECEIVER", receiver)), &list); err != nil {
		return nil, fmt.Errorf("start.json: %w", err)
	}
	return list, nil
}
