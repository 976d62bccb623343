package apitest_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collabdata/shared/client"
	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/tokentest"
)

// TestTokens sends the same requests to the examples of a product's server in all installed
// languages, and to those in the documentation for TypeScript and for assistants.
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
		{file: "token.go", program: "go"},
		{file: "token.py", program: "python3"},
		{file: "token.mjs", program: "node"},
		{file: "token.rb", program: "ruby", optional: true},
		{file: "token.php", program: "php", args: []string{"-S", "127.0.0.1:PORT", "-t", "public"}, optional: true},
	} {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(test.program)
			if err != nil && test.optional {
				t.Logf("%s is not installed: nothing ran %s", test.program, test.file)
				return
			}
			must.Do(t, err)
			file, err := filepath.Abs(filepath.Join(folder, test.file))
			must.Do(t, err)
			args := append(test.args, file)
			if test.program == "go" {
				built := filepath.Join(t.TempDir(), "token")
				out, err := exec.CommandContext(t.Context(), program, "build", "-o", built, file).CombinedOutput()
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
			cmd.Dir = t.TempDir()
			must.Do(t, os.Mkdir(filepath.Join(cmd.Dir, "public"), 0o755))
			must.Do(t, os.WriteFile(filepath.Join(cmd.Dir, "public", "index.html"), []byte("<p>Hello"), 0o644))
			cmd.Env = append(os.Environ(), "COLLABDATA_URL="+url, "COLLABDATA_KEY=dev-key", "COLLABDATA_TOKEN=dev-token", "PORT="+port)
			cmd.Stderr = os.Stderr
			must.Do(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Wait() }) // it was killed
			tokentest.Run(t, "http://"+address, url, origin)
		})
	}
}
