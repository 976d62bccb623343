//go:build e2e

package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"collabdata/localstack"
)

// languages have a folder in testdata/generated with a program for a generated client. Given the
// URL of a server, the program adds the thread "typed" to its document, and prints the threads of
// the document, bob's notifications there, and an error: the client's values in JSON, one a line.
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
	{"Kotlin", "java -version", "a JRE (apt-get install default-jre-headless)", `
		openapi-generator-cli generate -i openapi-clients.json -g kotlin --output client
		java -Xmx1g -cp "$TOOLS/kotlin/*" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib -no-reflect -nowarn \
			-cp "$(echo "$TOOLS"/kotlin/*.jar | tr ' ' ':')" -d classes client/src/main/kotlin Main.kt
		java -Xmx512m -cp "classes:$TOOLS/kotlin/*" MainKt "$URL"`},
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

// sent has values of the thread "typed" that the programs add.
const sent = `["2023-11-14T22:13:20.123Z", "2023-11-14T22:13:21.456Z",
	{"id": "MINE", "name": "Mine", "type": "ongoing", "iconUrl": "https://acme.example/icon"},
	9007199254740991, "2023-11-14T22:13:20.789Z", "Is this final?"]`

// missing are the members of a type that no response in the test has.
var missing = map[string][]string{
	"Annotation":   {"commentsTruncated", "deleted", "unread"},
	"Comment":      nil,
	"Notification": nil,
}

// TestGenerated generates clients from the local server's document for client generators, with the
// README's command for Java. Each reads each member of threads and notifications, and an error,
// with the values that the server sends, and sends its own.
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
			place := `"organizationId": "acme", "documentId": "Übersicht ` + l.name + `"`
			s.fill(t, l.name, place)
			out := app.do(t, "sh", "-euc", l.script)

			threads := s.list(t, "/v2/commentannotations/get", place)
			notifications := s.list(t, "/v2/notifications/get", place+`, "userId": "bob"`)
			want := append(threads, notifications...)
			want = append(want, normal(t, `{"status": "INVALID_ARGUMENT", "message": "data.pageToken must be the nextPageToken of this same query, unchanged",
				"details": [{"field": "data.pageToken", "message": "must be the nextPageToken of this same query, unchanged"}]}`))
			var got []any
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "{") {
					got = append(got, normal(t, line))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the program reads other values (-server +client):\n%s", diff)
			}
			checkMembers(t, document, "Annotation", threads)
			checkMembers(t, document, "Notification", notifications)
			for _, thread := range threads {
				thread := thread.(map[string]any)
				comments := thread["comments"].([]any)
				if thread["annotationId"] == "full" {
					checkMembers(t, document, "Comment", comments)
					continue
				}
				comment := comments[0].(map[string]any)
				stored := []any{thread["createdAt"], thread["lastUpdated"], thread["status"], comment["commentId"], comment["createdAt"], comment["commentText"]}
				if diff := cmp.Diff(normal(t, sent), stored); diff != "" {
					t.Errorf("the server stores other values than the program sends (-sent +stored):\n%s", diff)
				}
			}
		})
	}
}

// fill sends the requests of testdata/generated/requests.txtar, the last one when the notifications
// have arrived.
func (s *server) fill(t *testing.T, language, place string) {
	t.Helper()
	requests, err := txtar.ParseFile("testdata/generated/requests.txtar")
	must(t, err)
	for i, r := range requests.Files {
		end := time.Now().Add(time.Minute)
		for last := i == len(requests.Files)-1; last && len(s.list(t, "/v2/notifications/get", place+`, "userId": "bob"`)) < 2; {
			if time.Now().After(end) {
				t.Fatal("the notifications do not arrive")
			}
		}
		answer := s.post(t, "dev-key", "dev-token", r.Name, strings.ReplaceAll(string(r.Data), "$LANGUAGE", language))
		if strings.Contains(answer, `"error":`) || strings.Contains(answer, `"success":false`) {
			t.Fatal(r.Name, answer)
		}
	}
}

// list returns the normal items of a response.
func (s *server) list(t *testing.T, path, data string) []any {
	t.Helper()
	answer := normal(t, s.post(t, "dev-key", "dev-token", path, `{"data": {`+data+`}}`))
	return answer.(map[string]any)["result"].(map[string]any)["data"].([]any)
}

// normal parses JSON into the form that all languages agree on: without null members, with times in
// UTC, and with an empty list as an empty object.
func normal(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(text, err)
	}
	var normalize func(value any) any
	normalize = func(value any) any {
		switch value := value.(type) {
		case map[string]any:
			maps.DeleteFunc(value, func(_ string, member any) bool { return member == nil })
			for key, member := range value {
				value[key] = normalize(member)
			}
			if len(value) == 0 {
				return []any{}
			}
		case []any:
			for i := range value {
				value[i] = normalize(value[i])
			}
		case string:
			if at, err := time.Parse(time.RFC3339, value); err == nil {
				return at.UTC().Format(time.RFC3339Nano)
			}
		}
		return value
	}
	return normalize(value)
}

// checkMembers checks that the items have each member of the type, except the missing ones.
func checkMembers(t *testing.T, document []byte, name string, items []any) {
	t.Helper()
	var d struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	must(t, json.Unmarshal(document, &d))
	all := map[string]any{}
	for _, item := range items {
		maps.Copy(all, item.(map[string]any))
	}
	for member := range d.Components.Schemas[name].Properties {
		if _, found := all[member]; found == slices.Contains(missing[name], member) {
			t.Errorf("a member %q of %s in responses: %v", member, name, found)
		}
	}
}
