// Package clientts builds and tests the TypeScript client.
package clientts

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collabdata/shared/client/npmtest"
	"collabdata/shared/client/proxy/proxytest"
)

// runProxy starts the application of testapp/proxy.ts before a service and holds it to the protocol. It returns what the document is called
// in the end.
func runProxy(t *testing.T, variables ...string) (documentName string) {
	t.Helper()
	service := proxytest.Serve(t)
	cmd := exec.Command("node", "dist/testapp/proxy.js")
	cmd.Env = append(os.Environ(), "COLLABDATA_URL="+service, "COLLABDATA_KEY="+proxytest.Key, "COLLABDATA_TOKEN="+proxytest.Token)
	cmd.Env = append(cmd.Env, variables...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the application ended with %v", err)
		}
	})
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	proxytest.Run(t, strings.TrimSpace(url), service)
	return proxytest.DocumentName(t, service)
}

// TestClient builds the client, runs its tests, and uses the packed client from another project, with its types, in each way that there is
// to import it.
func TestClient(t *testing.T) {
	npmtest.Install(t)
	npmtest.Run(t, ".", "npm", "test", "--silent")
	t.Run("proxy, users of the service", func(t *testing.T) {
		if named := runProxy(t); named != "" {
			t.Errorf("the document is called %q", named)
		}
	})
	t.Run("proxy, people of the application", func(t *testing.T) {
		if named := runProxy(t, "COLLABDATA_PEOPLE=yes"); named != "The plan of acme" {
			t.Errorf("the document is called %q", named)
		}
	})

	project, here := npmtest.Pack(t, "collabdata-client", "standardwebhooks", "@stablelib", "fast-sha256", "@types", "undici-types")
	npmtest.WantFiles(t, project, "collabdata-client", map[string]string{"LICENSE": "Apache License"})
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const use = `import {Client, ServiceError} from 'collabdata-client';
const client = new Client({baseURL: 'http://127.0.0.1:1', apiKey: 'k', authToken: 't', attempts: 1});
// @ts-expect-error a misspelt field
void (() => client.call('/v2/organizations/get', {pagesize: 1}));
client.call('/v2/organizations/get', {pageSize: 1}).catch((e) => console.log((e as ServiceError).code));
`
	write("use.ts", use)
	for name, how := range map[string]struct{ kind, module, resolution string }{
		"modules":             {"module", "NodeNext", "NodeNext"},
		"require":             {"commonjs", "NodeNext", "NodeNext"},
		"require, as of old":  {"commonjs", "CommonJS", "Node10"},
		"a bundler's modules": {"module", "ESNext", "Bundler"},
	} {
		t.Run(name, func(t *testing.T) {
			write("package.json", fmt.Sprintf(`{"type": %q}`, how.kind))
			npmtest.Run(t, project, "node", filepath.Join(here, "typescript", "bin", "tsc"), "--strict", "--skipLibCheck", "--target", "ES2022",
				"--types", "node", "--module", how.module, "--moduleResolution", how.resolution, "use.ts")
			if got := npmtest.Run(t, project, "node", "use.js"); got != "UNAVAILABLE\n" {
				t.Errorf("the packed client printed %q", got)
			}
		})
	}
}
