package apitest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collabdata/localstack"
	"collabdata/shared/collab"
)

// callsInPython calls the service by the client that openapi-python-client makes: it adds a thread, reads it, and makes a mistake.
const callsInPython = `
import sys
from collabdata import Client
from collabdata.api.commentannotations import comment_annotations_add, comment_annotations_get, comment_annotations_get_comments
from collabdata.models import *

client = Client(base_url=sys.argv[1], headers={"x-service-api-key": "key", "x-service-auth-token": "token"})

comment = AnnotationComment(from_=UserInput(user_id="ann", name="Ann"), comment_text="Is this final?")
thread = NewAnnotation(annotation_id="a1", status=Status(id="OPEN"), comment_data=[comment])
request = CommentAnnotationsAddRequest(
    organization_id="acme", create_organization=True, document_id="plan", create_document=True, comment_annotations=[thread])
added = comment_annotations_add.sync(client=client, body=CommentAnnotationsAddBody(data=request), idempotency_key="python")
print(added.result.data["a1"].success)

request = CommentAnnotationsGetRequest(organization_id="acme", document_id="plan")
for thread in comment_annotations_get.sync(client=client, body=CommentAnnotationsGetBody(data=request)).result.data:
    print(thread.comments[0].comment_text, thread.comments[0].from_.name, thread.status.type_.value, thread.created_at.year > 2000)

request = CommentAnnotationsGetCommentsRequest(organization_id="acme", document_id="plan", annotation_id="unknown")
refused = comment_annotations_get_comments.sync(client=client, body=CommentAnnotationsGetCommentsBody(data=request))
print(refused.error.status.value)
`

// TestPythonClient holds that openapi-python-client makes a client of the document, without a warning, which works.
func TestPythonClient(t *testing.T) {
	generator, err := localstack.CheckTool(t.Context(), "openapi-python-client", os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	python, err := localstack.CheckTool(t.Context(), "python", os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	s, url := serve(t)
	if err := s.Directory.EnsureAccount(t.Context(), collab.Account{ID: "acme"}, "key", []collab.Token{{Hash: collab.HashToken("token")}}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(generator)+":"+os.Getenv("PATH"), "PYTHONPATH="+dir) // for ruff, and what it makes
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	run(
		generator, "generate", "--path", "../../api/openapi-clients.json", "--meta", "none", "--output-path", filepath.Join(dir, "collabdata"),
		"--fail-on-warning",
	)
	const want = "True\nIs this final? Ann default True\nNOT_FOUND\n"
	if got := run(python, "-c", strings.TrimSpace(callsInPython), url); got != want {
		t.Errorf("the calls print\n%s, want\n%s", got, want)
	}
}
