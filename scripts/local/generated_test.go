//go:build e2e

package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"collabdata/localstack"
)

// languages have a folder in testdata/generated with a program for a generated client. The program
// prints generatedOutput, given the URL of a server.
var languages = []struct {
	name    string
	runtime string // a command that fails without the runtime and its libraries
	install string
	script  string // generates and compiles a client of openapi-clients.json, and runs the program
}{
	{"Java", "javac -version", "a JDK (apt-get install default-jdk-headless)", `
		$GENERATE --output client
		find client/src/main -name '*.java' >sources
		javac -J-Xmx512m -nowarn -proc:none -encoding UTF-8 -cp "$TOOLS/java/*" -d classes @sources Main.java
		java -Xmx512m -cp "classes:$TOOLS/java/*" Main "$URL"`},
	{"Ruby", "ruby -r typhoeus -e ''", "Ruby with Typhoeus (apt-get install ruby ruby-typhoeus)", `
		openapi-generator-cli generate -i openapi-clients.json -g ruby --output client
		ruby -I client/lib main.rb "$URL"`},
	{"PHP", `php -r 'require "GuzzleHttp/autoload.php"; mb_strlen("");'`,
		"PHP with Guzzle (apt-get install php-cli php-mbstring php-guzzlehttp-guzzle)", `
		openapi-generator-cli generate -i openapi-clients.json -g php --output client
		php main.php "$URL"`},
	{"TypeScript", "node --version", "Node.js (apt-get install nodejs npm)", `
		ln -s "$TOOLS/node_modules" node_modules
		openapi-typescript openapi-clients.json --output schema.d.ts
		tsc --strict --target es2022 --module nodenext main.mts
		node main.mjs "$URL"`},
	{"Go", "go version", "Go", `
		mkdir api
		go tool oapi-codegen -generate types,client -package api -response-type-suffix HTTPResponse -o api/api.go openapi-clients.json
		go run . "$URL"`},
}

// generatedOutput has an added thread, a read one, and the status and field of a refused request.
const generatedOutput = "true\nIs this final? Ann OPEN\nINVALID_ARGUMENT data.pageToken\n"

// TestGenerated generates clients from the local server's document for client generators, with the
// README's command for Java. Each adds a thread, reads it, and makes a mistake.
func TestGenerated(t *testing.T) {
	t.Parallel()
	generator, err := localstack.CheckTool(t.Context(), "openapi-generator-cli", os.Stderr)
	must(t, err)
	bin := filepath.Dir(generator)
	readme, err := os.ReadFile("../../README.md")
	must(t, err)
	command := regexp.MustCompile("`(openapi-generator-cli generate [^`]+)`").FindSubmatch(readme)
	if command == nil {
		t.Fatal("the README has no command of OpenAPI Generator")
	}
	s := start(t, t.TempDir())
	env := append(os.Environ(), "GENERATE="+string(command[1]), "TOOLS="+filepath.Join(bin, "..", ".."), "URL="+s.url,
		"PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	res, err := http.Get(s.url + "/openapi-clients.json")
	must(t, err)
	document, err := io.ReadAll(res.Body)
	must(t, err)
	must(t, res.Body.Close())
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			if out, err := exec.CommandContext(t.Context(), "sh", "-c", l.runtime).CombinedOutput(); err != nil {
				t.Fatalf("%s is missing: install it and run this again.\n%s", l.install, out)
			}
			app := &outside{dir: t.TempDir(), env: env}
			must(t, os.CopyFS(app.dir, os.DirFS(filepath.Join("testdata", "generated", strings.ToLower(l.name)))))
			app.write(t, "openapi-clients.json", string(document))
			if out := app.do(t, "sh", "-euc", l.script); !strings.HasSuffix(out, generatedOutput) {
				t.Errorf("the program in %s prints\n%s", l.name, out)
			}
		})
	}
}
