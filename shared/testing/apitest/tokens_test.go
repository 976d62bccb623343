package apitest_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collabdata/shared/client"
	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
)

// TestTokens runs the examples of a product's server in all installed languages: a signed-in user's
// page gets a token there, and reads a document with it from another origin.
func TestTokens(t *testing.T) {
	const folder, origin = "../../client/example/token", "https://product.example.com"
	s, url := serve(t)
	must.Do(t, s.Accounts.EnsureAccount(t.Context(), collab.Account{ID: "dev"}, "dev-key", []collab.Token{{Hash: collab.HashToken("dev-token")}}))
	_, err := s.Accounts.ChangeAccount(t.Context(), "dev", func(a *collab.Account) error {
		a.Settings.AllowedOrigins = []string{origin}
		return nil
	})
	must.Do(t, err)
	c := client.New(client.Config{BaseURL: url, APIKey: "dev-key", AuthToken: "dev-token"})
	_, err = c.CommentAnnotations.Add(t.Context(), &client.CommentAnnotationsAddRequest{
		OrganizationID: "acme", CreateOrganization: true, DocumentID: "plan", CreateDocument: true,
		CommentAnnotations: []client.NewAnnotation{{CommentData: []client.AnnotationComment{{CommentText: "Hello", From: client.User{UserID: "bob"}}}}},
	})
	must.Do(t, err)

	for _, test := range []struct {
		file, program string
		args          []string
		optional      bool
	}{
		{file: "token.sh", program: "sh"},
		{file: "token.go", program: "go"},
		{file: "token.py", program: "python3"},
		{file: "token.mjs", program: "node"},
		{file: "token.rb", program: "ruby", optional: true},
		{file: "token.php", program: "php", args: []string{"-S", "127.0.0.1:PORT"}, optional: true},
	} {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(test.program)
			if err != nil && test.optional {
				t.Logf("%s is not installed: nothing ran %s", test.program, test.file)
				return
			}
			must.Do(t, err)
			args := append(test.args, filepath.Join(folder, test.file))
			if test.program == "go" {
				built := filepath.Join(t.TempDir(), "token")
				out, err := exec.CommandContext(t.Context(), program, "build", "-o", built, args[0]).CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				program, args = built, nil
			}
			free, err := net.Listen("tcp", "127.0.0.1:0")
			must.Do(t, err)
			address := free.Addr().String()
			_, port, _ := net.SplitHostPort(address)
			must.Do(t, free.Close())
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "PORT", port)
			}
			cmd := exec.CommandContext(t.Context(), program, args...)
			cmd.Env = append(os.Environ(), "COLLABDATA_URL="+url, "COLLABDATA_KEY=dev-key", "COLLABDATA_TOKEN=dev-token", "PORT="+port)
			cmd.Stderr = os.Stderr

			var answer []byte
			if test.program == "sh" { // only the call, no server
				out, err := cmd.Output()
				must.Do(t, err)
				var said struct {
					Result struct{ Data json.RawMessage }
				}
				must.Do(t, json.Unmarshal(out, &said))
				answer = said.Result.Data
			} else {
				must.Do(t, cmd.Start())
				t.Cleanup(func() { _ = cmd.Wait() }) // it was killed
				ask := func(session, document string) (int, []byte) {
					t.Helper()
					return post(t, "http://"+address+"/collab-token", `{"documentId": "`+document+`"}`, "Cookie", "session="+session)
				}
				var status int
				for _, refused := range []struct {
					session, document string
					status            int
				}{{"2", "plan", 401}, {"1", "secret", 403}} {
					if status, _ := ask(refused.session, refused.document); status != refused.status {
						t.Errorf("session %s is answered %d about %s, want %d", refused.session, status, refused.document, refused.status)
					}
				}
				if status, answer = ask("1", "plan"); status != http.StatusOK {
					t.Fatalf("the page is answered %d %s", status, answer)
				}
			}
			var person struct{ Token string }
			must.Do(t, json.Unmarshal(answer, &person))
			status, threads := post(t, url+"/v2/commentannotations/get", `{"data": {"organizationId": "acme", "documentId": "plan"}}`,
				"Authorization", "Bearer "+person.Token, "Origin", origin)
			if status != http.StatusOK || !strings.Contains(string(threads), `"commentText":"Hello"`) {
				t.Errorf("with the token %q the page reads %d %s", person.Token, status, threads)
			}
		})
	}
}

// post posts JSON with further headers when the server listens, and returns the response.
func post(t *testing.T, url, body string, headers ...string) (status int, answer []byte) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		must.Do(t, err)
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil && time.Now().Before(deadline) {
			continue
		}
		must.Do(t, err)
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		must.Do(t, err)
		return res.StatusCode, answer
	}
}
