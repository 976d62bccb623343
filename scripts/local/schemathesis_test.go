//go:build e2e

package main

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/directory"
	"collabdata/shared/testing/localstacktest"
)

// TestSchemathesis sends valid and invalid requests that Schemathesis generates from the OpenAPI
// document. No response is a fault or undocumented.
func TestSchemathesis(t *testing.T) {
	t.Parallel()
	program, err := localstack.CheckTool(t.Context(), "schemathesis", os.Stderr)
	must(t, err)
	data, dynamoDB := t.TempDir(), localstacktest.DynamoDB(t)
	s := start(t, data, "AWS_ENDPOINT_URL_DYNAMODB="+dynamoDB)
	d := directory.New(store.New(localstacktest.Config(dynamoDB), readEnvironment(t, filepath.Join(data, "env"))["TABLE_NAME"], time.Now, rand.Reader))
	unlimited := collab.Settings{WriteUnitsPerSecond: collab.Unlimited, EventsPerMinute: collab.Unlimited}
	tokens := []collab.Token{{Hash: collab.HashToken("token")}}
	must(t, accounts.New(d.Table).EnsureAccount(t.Context(), collab.Account{ID: "acme", Settings: unlimited}, "key", tokens))
	create := collab.CreateFlags{Organization: true, Document: true}
	_, err = d.OpenDocument(t.Context(), "acme", "acme", "plan", create) // as in the examples
	must(t, err)
	const drawn = "10" // requests per operation, besides 12,000 that cover the document
	// one worker, because CPython's parser sometimes fails with two threads
	cmd := exec.CommandContext(
		t.Context(), program, "run", "../../shared/api/openapi.json", "--url", s.url, "--no-color", "--seed", "1",
		"--header", credentials.KeyHeader+": key", "--header", credentials.TokenHeader+": token",
		"--phases", "examples,coverage,fuzzing", "--max-examples", drawn, "--workers", "1", "--generation-database", "none", "--checks",
		"not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance",
		"--max-failures", "10", "--warnings", "off",
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
