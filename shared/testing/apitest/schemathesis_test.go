package apitest_test

import (
	"os"
	"os/exec"
	"testing"

	"collabdata/localstack"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
)

// TestSchemathesis has Schemathesis make requests from the OpenAPI document, good ones and bad ones: none is answered with a fault of the
// service, or with anything that the document does not say.
func TestSchemathesis(t *testing.T) {
	program, err := localstack.CheckTool(t.Context(), "schemathesis", os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	s, url := serve(t)
	tokens := []collab.Token{{Hash: collab.HashToken("token")}}
	if err := s.Directory.EnsureAccount(t.Context(), collab.Account{ID: "acme", Settings: collab.Settings{WriteUnitsPerSecond: collab.Unlimited, EventsPerMinute: collab.Unlimited}}, "key", tokens); err != nil {
		t.Fatal(err)
	}
	plan := collab.OrganizationRef{Account: "acme", Organization: "acme"}.Document("plan") // as in the examples
	if _, err := s.Directory.OpenDocument(t.Context(), plan.Account, plan.Organization, plan.Document, collab.CreateFlags{Organization: true, Document: true}); err != nil {
		t.Fatal(err)
	}
	const drawn = "10" // requests for each operation, beside some 5,000 that cover the document
	cmd := exec.CommandContext(
		t.Context(), program, "run", "../../api/openapi.json", "--url", url, "--no-color", "--seed", "1", "--header", credentials.KeyHeader+": key",
		"--header", credentials.TokenHeader+": token", "--phases", "examples,coverage,fuzzing", "--max-examples", drawn, "--workers", "2",
		"--generation-database", "none", "--checks",
		"not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance",
		"--max-failures", "10", "--warnings", "off",
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
