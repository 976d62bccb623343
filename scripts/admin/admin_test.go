package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/go-cmp/cmp"

	"collabdata/infra/stack"
	"collabdata/localstack"
	"collabdata/scripts/operator"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/keys"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/storetest"
	"collabdata/shared/version"
)

// cli runs commands on a table of its own.
type cli struct {
	accounts  *accounts.Store
	directory *directory.Store
	outbox    *outbox.Store
	inbox     *inbox.Store
	hooks     *hooks.Store
	global    []string // flags
}

// newCLI returns commands that reach the stand-ins as an operator reaches AWS: by the SDK's variables.
func newCLI(t *testing.T) *cli {
	t.Helper()
	a, name, db := newStore(t)
	d := directory.New(a.Table)
	environment(t)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", db)
	o := outbox.New(d.Table)
	return &cli{accounts: a, directory: d, outbox: o, hooks: hooks.New(o), inbox: inbox.New(o, d), global: []string{"--table", name}}
}

// newStore returns the accounts on a table of its own, the table's name, and where the emulator is.
func newStore(t *testing.T) (s *accounts.Store, name, url string) {
	t.Helper()
	url = localstacktest.DynamoDB(t)
	name = "admin-" + rand.Text()
	s = accounts.New(store.New(localstacktest.Config(url), name, time.Now, rand.Reader))
	if err := localstack.CreateTable(t.Context(), localstacktest.Config(url), name); err != nil {
		t.Fatal(err)
	}
	return s, name, url
}

// environment makes the process see the stand-ins' credentials, and no others.
func environment(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_REGION": localstack.Region, "AWS_ACCESS_KEY_ID": localstack.AccessKeyID, "AWS_SECRET_ACCESS_KEY": localstack.SecretAccessKey,
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "2",
		"TABLE_NAME": "", "EVENTS_QUEUE_URL": "", "WEBHOOKS_QUEUE_URL": "", "ALLOWED_PRIVATE_CIDRS": "",
	} {
		t.Setenv(name, value)
	}
}

// run runs a command line, and returns what it printed and its exit code.
func (c *cli) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), append(slices.Clone(c.global), args...), terminal{}, nil, &out, &err)
	return out.String(), err.String(), code
}

// must runs a command line that succeeds, and returns its lines as fields.
func (c *cli) must(t *testing.T, args ...string) [][]string {
	t.Helper()
	out, err, code := c.run(t, args...)
	if code != 0 {
		t.Fatalf("admin %q exits with %d: %s", args, code, err)
	}
	var lines [][]string
	for line := range strings.Lines(out) {
		lines = append(lines, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return lines
}

// call calls an operation of the API for acme, with members of the data, and returns what it answers.
func (c *cli) call(t *testing.T, path, data string) {
	t.Helper()
	out, _, code := c.run(t, "--yes", "call", "acme", path, `{"data": {`+data+`}}`)
	if code != 0 || strings.Contains(out, `"success": false`) {
		t.Fatalf("%s answers %s", path, out)
	}
}

// fails runs a command line that fails with this text in what it says, and prints no result.
func (c *cli) fails(t *testing.T, text string, args ...string) {
	t.Helper()
	out, err, code := c.run(t, args...)
	if code == 0 || out != "" || !strings.Contains(err, text) {
		t.Errorf("admin %q exits with %d, prints %q and says %q, want %q", args, code, out, err, text)
	}
}

// expect compares lines, where `TIME` stands for any time of today.
func expect(t *testing.T, got [][]string, want ...string) {
	t.Helper()
	var lines []string
	for _, fields := range got {
		for i, f := range fields {
			if at, err := time.Parse(time.RFC3339, f); err == nil && time.Since(at).Abs() < time.Hour {
				fields[i] = "TIME"
			}
		}
		lines = append(lines, strings.Join(fields, " | "))
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
}

// accepted reports whether credentials are accepted, as the authorizer judges.
func (c *cli) accepted(t *testing.T, key, token string) bool {
	t.Helper()
	h := http.Header{}
	h.Set(credentials.KeyHeader, key)
	h.Set(credentials.TokenHeader, token)
	_, err := (&credentials.Checker{Keys: c.accounts, Now: time.Now}).Check(t.Context(), h)
	if code := collab.CodeOf(err); code != "" && code != collab.PermissionDenied {
		t.Fatal(err)
	}
	return err == nil
}

func TestAccount(t *testing.T) {
	c := newCLI(t)
	expect(t, c.must(t, "account", "list"), "ACCOUNT | STATE | CREATED | NAME")
	made := c.must(t, "account", "create", "acme", "--name", "ACME & Sons")
	if len(made) != 3 || made[0][0] != "account" || made[0][1] != "acme" || made[1][0] != "key" || made[2][0] != "token" {
		t.Fatalf("made %v", made)
	}
	key, token := made[1][1], made[2][1]
	if !c.accepted(t, key, token) || c.accepted(t, key, token+"x") {
		t.Error("the credentials are not what was shown")
	}
	_, hint, _ := c.run(t, "account", "create", "other")
	if !strings.Contains(hint, "shown this once") || !strings.Contains(hint, "-H 'x-service-api-key: key-") {
		t.Errorf("what to do next: %s", hint)
	}
	c.fails(t, "account \"acme\" is there already: `admin key create acme` makes another key for it", "account", "create", "acme")
	c.fails(t, "<id>: must be 1 to 64 letters, digits, _ and -", "account", "create", "")
	c.fails(t, "<id>: must be 1 to 64 letters, digits, _ and -", "account", "create", "ACME & Sons")

	expect(t, c.must(t, "account", "disable", "acme", "--yes"), "account | acme", "state | disabled")
	if c.accepted(t, key, token) {
		t.Error("a disabled account's credentials are accepted")
	}
	expect(
		t, c.must(t, "account", "list"), "ACCOUNT | STATE | CREATED | NAME", "acme | disabled | TIME | ACME & Sons",
		"other | enabled | TIME | other",
	)
	expect(t, c.must(t, "account", "enable", "acme"), "account | acme", "state | enabled")
	if !c.accepted(t, key, token) {
		t.Error("the credentials of an enabled account are refused")
	}
	c.fails(t, "account \"nobody\" does not exist: see `admin account list`", "account", "disable", "nobody", "--yes")
}

func TestKeysAndTokens(t *testing.T) {
	c := newCLI(t)
	c.must(t, "account", "create", "acme")
	made := c.must(t, "key", "create", "acme")
	key, first := made[0][1], made[1][1]
	c.fails(t, "account \"nobody\" does not exist", "key", "create", "nobody")
	c.fails(t, "account \"nobody\" does not exist", "key", "list", "nobody")

	second := c.must(t, "token", "create", key, "--expires", "90d")
	if at, err := time.Parse(time.RFC3339, second[2][1]); err != nil || time.Until(at).Round(time.Hour) != 90*24*time.Hour {
		t.Errorf("90d is %v", second)
	}
	if !c.accepted(t, key, first) || !c.accepted(t, key, second[0][1]) {
		t.Error("one of the tokens is refused")
	}
	list := c.must(t, "token", "list", key)
	if len(list) != 3 || list[1][1] != "valid" || list[1][3] != "never" || list[2][0] != second[1][1] || list[2][3] != second[2][1] {
		t.Errorf("the tokens are %v", list)
	}
	itemKeys := c.must(t, "key", "list", "acme")
	if !slices.ContainsFunc(itemKeys, func(k []string) bool { return k[0] == key && k[1] == "2" }) || len(itemKeys) != 3 {
		t.Errorf("the keys are %v", itemKeys)
	}

	expect(t, c.must(t, "token", "revoke", key, strings.ToUpper(second[1][1][:6]), "--yes"), "revoked | "+second[1][1])
	if c.accepted(t, key, second[0][1]) || !c.accepted(t, key, first) {
		t.Error("not the token that was revoked is refused")
	}
	c.fails(t, "no token whose hash begins with "+second[1][1], "token", "revoke", key, second[1][1], "--yes")
	c.fails(t, "<hash>: must be 4 to 64 hexadecimal digits", "token", "revoke", key, first)
	c.fails(t, "<hash>: must be 4 to 64 hexadecimal digits", "token", "revoke", key, "abc")
	c.fails(t, "is past", "token", "create", key, "--expires", "2020-01-01")
	c.fails(t, "is no time", "token", "create", key, "--expires", "soon")
	c.fails(t, "see `admin key list ACCOUNT`", "token", "list", "key-unknown")
	c.fails(t, "<key>: must be 1 to 128 letters", "token", "list", "a b")
	_, hint, _ := c.run(t, "token", "revoke", key, list[1][0], "--yes")
	if !strings.Contains(hint, "`admin token create "+key+"` makes one") {
		t.Errorf("of the last token it says %s", hint)
	}
}

// TestTokenStates makes tokens whose hashes begin alike, and one that has expired.
func TestTokenStates(t *testing.T) {
	c := newCLI(t)
	if err := c.accounts.AddAccount(t.Context(), collab.Account{ID: "acme"}); err != nil {
		t.Fatal(err)
	}
	hash := func(last byte) []byte { return []byte{0xab, 0xcd, 0xef, 1, 2, 3, 31: last} }
	err := c.accounts.AddAPIKey(t.Context(), "k", "acme", []collab.Token{{Hash: hash(1)}, {Hash: hash(2), Expires: 1_000_000}})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, c.must(t, "token", "list", "k"), "HASH | STATE | CREATED | EXPIRES",
		"abcdef010203 | valid | never | never", "abcdef010203 | expired | never | 1970-01-01T00:16:40Z")
	c.fails(t, "several tokens have a hash that begins with abcdef: give more of it", "token", "revoke", "k", "abcdef", "--yes")
	c.must(t, "token", "create", "k")
	if list := c.must(t, "token", "list", "k"); len(list) != 3 || list[2][1] != "valid" {
		t.Errorf("the expired token was not forgotten: %v", list)
	}
	many := make([]collab.Token, 99)
	for i := range many {
		many[i].Hash = hash(byte(i))
	}
	if err := c.accounts.AddAPIKey(t.Context(), "many", "acme", many); err != nil {
		t.Fatal(err)
	}
	c.must(t, "token", "create", "many")
	c.fails(t, "the key has 100 tokens", "token", "create", "many")
}

// TestRotate rotates tokens: the others end after the grace, those that end sooner by themselves do so.
func TestRotate(t *testing.T) {
	c := newCLI(t)
	made := c.must(t, "account", "create", "acme")
	key, first := made[1][1], made[2][1]
	soon := c.must(t, "token", "create", key, "--expires", "1h")
	rotated := c.must(t, "token", "rotate", key)
	if !c.accepted(t, key, first) || !c.accepted(t, key, rotated[0][1]) || rotated[2][1] != "2" {
		t.Errorf("rotated %v", rotated)
	}
	for _, token := range c.must(t, "token", "list", key)[1:] {
		want := rotated[3][1]
		switch token[0] {
		case soon[1][1]:
			want = soon[2][1]
		case rotated[1][1]:
			want = "never"
		}
		if token[3] != want {
			t.Errorf("token %v ends not at %s", token, want)
		}
	}
	c.fails(
		t, "Who uses another token of the API key will be refused within 60 s. Give --yes to do it", "token", "rotate", key, "--grace", "0s",
	)
	last := c.must(t, "token", "rotate", key, "--grace", "0s", "--yes")
	if c.accepted(t, key, first) || c.accepted(t, key, rotated[0][1]) || !c.accepted(t, key, last[0][1]) {
		t.Error("after a rotation without grace not the new token alone is accepted")
	}
	c.fails(t, "grace must not be negative", "token", "rotate", key, "--grace=-1s")
	c.fails(t, "see `admin key list ACCOUNT`", "token", "rotate", "key-unknown")
}

func TestDelete(t *testing.T) {
	c := newCLI(t)
	made := c.must(t, "account", "create", "acme")
	key, token := made[1][1], made[2][1]
	other := c.must(t, "key", "create", "acme")
	c.fails(
		t, fmt.Sprintf("Back ends that use the API key %q will be refused within 60 s, for good. Give --yes to do it", key), "key", "delete", key,
	)
	expect(t, c.must(t, "key", "delete", key, "--yes"), "deleted | "+key)
	if c.accepted(t, key, token) || !c.accepted(t, other[0][1], other[1][1]) {
		t.Error("not the key that was deleted is refused")
	}
	expect(t, c.must(t, "key", "list", "acme"), "KEY | VALID TOKENS", other[0][1]+" | 1")
	c.fails(t, "see `admin key list ACCOUNT`", "key", "delete", key, "--yes")

	c.call(t, "/v2/organizations/add", `"organizations": [{"organizationId": "north"}]`)
	c.fails(t, "account \"acme\" is enabled: disable it a minute before", "account", "delete", "acme", "--yes")
	c.must(t, "account", "disable", "acme", "--yes")
	c.fails(t, "account \"acme\" has organizations", "account", "delete", "acme", "--yes")
	c.must(t, "account", "create", "empty")
	c.must(t, "account", "disable", "empty", "--yes")
	c.fails(t, "Give --yes to do it", "account", "delete", "empty")
	expect(t, c.must(t, "account", "delete", "empty", "--yes"), "deleted | empty")
	c.fails(t, "account \"empty\" does not exist", "account", "delete", "empty", "--yes")
	expect(t, c.must(t, "account", "list"), "ACCOUNT | STATE | CREATED | NAME", "acme | disabled | TIME | acme")
}

func TestLists(t *testing.T) {
	c := newCLI(t)
	c.must(t, "account", "create", "acme")
	expect(t, c.must(t, "organization", "list", "acme"), "ORGANIZATION | STATE | CREATED | NAME")
	c.call(t, "/v2/organizations/add", `"organizations": [{"organizationId": "north", "organizationName": "North"}, {"organizationId": "a south"}]`)
	expect(
		t, c.must(t, "organization", "list", "acme"), "ORGANIZATION | STATE | CREATED | NAME", "a south | enabled | TIME | a south",
		"north | enabled | TIME | North",
	)
	c.call(t, "/v2/organizations/folders/add", `"organizationId": "north", "folders": [{"folderId": "a", "folderName": "A\tB"}]`)
	c.call(t, "/v2/organizations/documents/add", `"organizationId": "north", "documents": [{"documentId": "plan"}, {"documentId": "budget"}]`)
	c.call(t, "/v2/organizations/documents/move", `"organizationId": "north", "documentIds": ["plan"], "folderId": "a"`)
	c.call(t, "/v2/users/add", `"organizationId": "north", "users": [{"userId": "ann", "email": "ann@example.com"}, {"userId": "bob", "name": "Bob"}]`)
	expect(t, c.must(t, "organization", "show", "acme", "north"), "name | North", "state | enabled", "created | TIME", "changed | TIME",
		"further-fields | none", "", "Folders in it", "FOLDER | ACCESS | CREATED | NAME", "a | inherited | TIME | A B",
		"", "Documents directly in it", "DOCUMENT | ACCESS | STATE | CREATED | NAME", "budget | inherited | enabled | TIME | budget")
	expect(t, c.must(t, "folder", "show", "acme", "north", "a")[8:], "Documents directly in it", "DOCUMENT | ACCESS | STATE | CREATED | NAME",
		"plan | inherited | enabled | TIME | plan")
	expect(t, c.must(t, "member", "list", "acme", "north"), "USER | ROLE | ADDRESS | SINCE | NAME",
		"ann | editor | ann@example.com | TIME | ", "bob | editor |  | TIME | Bob")
	c.fails(t, "organization \"east\" does not exist: see `admin organization list ACCOUNT`", "member", "list", "acme", "east")
	c.fails(t, "account \"nobody\" does not exist", "organization", "list", "nobody")
	c.fails(t, "account \"nobody\" does not exist", "member", "list", "nobody", "north")
}

// TestWhole holds that a command lists what is on several pages of the console.
func TestWhole(t *testing.T) {
	c := newCLI(t)
	c.must(t, "account", "create", "acme")
	ids := make([]string, 60)
	for i := range ids {
		ids[i] = fmt.Sprintf(`{"organizationId": "o-%02d"}`, i)
	}
	c.call(t, "/v2/organizations/add", `"organizations": [`+strings.Join(ids, ",")+`]`)
	if list := c.must(t, "organization", "list", "acme"); len(list) != 61 || list[60][0] != "o-59" {
		t.Errorf("%d lines: %v", len(list), list)
	}
}

// TestCall calls operations of the API as the account's back end would.
func TestCall(t *testing.T) {
	c := newCLI(t)
	c.must(t, "account", "create", "acme")
	c.must(t, "account", "create", "other")
	c.call(t, "/v2/organizations/add", `"organizations": [{"organizationId": "north", "plan": "pro"}]`)
	const get, body = "/v2/organizations/get", `{"data": {"organizationIds": ["north"]}}`
	for account, want := range map[string]string{"acme": `"plan": "pro"`, "other": `"data": []`} {
		out, said, code := c.run(t, "call", account, get, body)
		if code != 0 || !strings.Contains(out, want) || said != "" {
			t.Errorf("%s: %d %s %s", account, code, out, said)
		}
	}
	for _, test := range []struct {
		code       int
		text, path string
		body       string
	}{
		{2, "data.organizationIds", "/v2/organizations/get", `{"data": {"organizationIds": [1]}}`},
		{2, "the body is not valid JSON", "/v2/organizations/get", `not JSON`},
		{1, "there is no such operation", "/v2/nothing", `{}`},
		{2, "must be the path of an operation", "organizations/get", `{}`},
		{1, `/v2/organizations/delete of account "acme" deletes what is named here: {"data"`, "/v2/organizations/delete", body},
	} {
		out, said, code := c.run(t, "call", "acme", test.path, test.body)
		if code != test.code || !strings.Contains(said, test.text) {
			t.Errorf("%s %s: %d %s %s", test.path, test.body, code, out, said)
		}
	}
	c.fails(t, "account \"nobody\" does not exist", "call", "nobody", get, body)
	c.must(t, "settings", "set", "acme", "notification-preferences=off")
	config := `{"data": {"organizationId": "north", "userId": "ann", "documentIds": ["d"]}}`
	if _, said, code := c.run(t, "call", "acme", "/v2/notifications/config/get", config); code != 1 || !strings.Contains(said, "notification preferences") {
		t.Errorf("what a setting refuses: %d %s", code, said)
	}
}

// TestForms holds how a result is written for a program that reads JSON, and for a person.
func TestForms(t *testing.T) {
	c := newCLI(t)
	c.must(t, "account", "create", "acme")
	c.call(t, "/v2/organizations/add", `"organizations": [{"organizationId": "north", "organizationName": "North & South"}]`)
	var out, said bytes.Buffer
	write := func(person terminal, args ...string) string {
		out.Reset()
		if code := run(t.Context(), append(slices.Clone(c.global), args...), person, nil, &out, &said); code != 0 {
			t.Fatalf("%q exits with %d: %s", args, code, &said)
		}
		return regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:]{8}Z`).ReplaceAllString(out.String(), "TIME")
	}
	for _, test := range []struct {
		want   string
		person terminal
		args   []string
	}{
		{"[\n  {\n    \"organization\": \"north\",\n    \"state\": \"enabled\",\n    \"created\": \"TIME\",\n    \"name\": \"North & South\"\n  }\n]\n",
			terminal{}, []string{"--json", "organization", "list", "acme"}},
		{"[]\n", terminal{out: true}, []string{"member", "list", "acme", "north", "--json"}},
		{"{\n  \"account\": \"acme\",\n  \"state\": \"enabled\"\n}\n", terminal{}, []string{"account", "enable", "acme", "--json"}},
		{"ORGANIZATION  STATE    CREATED  NAME\nnorth         enabled  TIME  North & South\n", terminal{out: true}, []string{"organization", "list", "acme"}},
		{"advanced-queries          on\n", terminal{out: true}, []string{"settings", "get", "acme"}},
	} {
		got := strings.ReplaceAll(write(test.person, test.args...), "CREATED               ", "CREATED  ")
		if !strings.HasPrefix(got, test.want) || test.args[0] != "settings" && got != test.want {
			t.Errorf("%q prints\n%s\nwant\n%s", test.args, got, test.want)
		}
	}
}

// TestConfirm answers the question of a command that interrupts.
func TestConfirm(t *testing.T) {
	c := newCLI(t)
	c.must(t, "account", "create", "acme")
	for _, test := range []struct {
		answer, state string
		code          int
	}{
		{"n\n", "enabled", 1}, {"\n", "enabled", 1}, {"", "enabled", 1}, {"what?\n", "enabled", 1}, {"Yes\n", "disabled", 0},
	} {
		var out, said bytes.Buffer
		code := run(
			t.Context(), append(slices.Clone(c.global), "account", "disable", "acme"), terminal{in: true}, strings.NewReader(test.answer), &out,
			&said,
		)
		if code != test.code ||
			!strings.HasPrefix(
				said.String(), "The back ends of account \"acme\" will be refused within 60 s, and its deliveries wait. Do it? [y/N] ",
			) {
			t.Errorf("%q: %d %s", test.answer, code, &said)
		}
		if list := c.must(t, "account", "list"); list[1][1] != test.state {
			t.Errorf("after %q the account is %s", test.answer, list[1][1])
		}
	}
	c.fails(t, "Give --yes to do it", "account", "disable", "acme")
}

func TestSettings(t *testing.T) {
	c := newCLI(t)
	c.must(t, "account", "create", "acme")
	// shown is what is shown of all settings, but for these with their default values.
	shown := func(changed ...string) []string {
		lines := []string{
			"advanced-queries | on", "notification-preferences | on", "default-access | organizationPrivate", "events | triggered", "mail-grouping | on", "mail-recipients | anyone",
			"mail-from-name | none", "mail-product | none", "mail-link | none", "write-units-per-second | 1000", "read-units-per-second | 4000", "events-per-minute | 6000",
			"mails-per-day | 20000", "webhook-endpoints | 10", "live-connections | 5000", "permission-provider | none",
		}
		for i, line := range lines {
			name, _, _ := strings.Cut(line, " ")
			for _, c := range changed {
				if strings.HasPrefix(c, name+" ") {
					lines[i] = c
				}
			}
		}
		return lines
	}
	expect(t, c.must(t, "settings", "get", "acme"), shown()...)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(
		t,
		c.must(
			t, "settings", "set", "acme", "events=all", "mail-grouping=off", "permission-provider=https://example.com/may", "--secret-file", secret,
		),
		shown("events | all", "mail-grouping | off", "permission-provider | https://example.com/may")...)
	expect(
		t,
		c.must(t, "settings", "set", "acme", "advanced-queries=off", "notification-preferences=off", "default-access=public", "mail-grouping=on",
			"mails-per-day=unlimited", "events-per-minute=7", "webhook-endpoints=50"),
		shown(
			"advanced-queries | off", "notification-preferences | off", "default-access | public", "events | all",
			"permission-provider | https://example.com/may", "mails-per-day | unlimited", "events-per-minute | 7", "webhook-endpoints | 50",
		)...)
	account, err := c.accounts.Account(t.Context(), "acme")
	want := collab.Settings{
		AdvancedQueriesOff:         true,
		NotificationPreferencesOff: true,
		AllEvents:                  true,
		EventsPerMinute:            7,
		MailsPerDay:                collab.Unlimited,
		WebhookEndpoints:           50,
		DefaultAccess:              collab.AccessPublic,
		PermissionProvider:         true,
	}
	if diff := cmp.Diff(want, account.Settings); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	kept := func(want collab.PermissionProvider) {
		t.Helper()
		got, err := c.accounts.PermissionProvider(t.Context(), "acme")
		if err != nil || got == nil || *got != want {
			t.Errorf("permission provider %+v, %v; want %+v", got, err, want)
		}
	}
	kept(collab.PermissionProvider{URL: "https://example.com/may", Secret: "s3cret"})

	for _, test := range []struct{ text, value string }{
		{"events must be triggered or all, not \"none\"", "events=none"},
		{"there is no setting \"event\": the settings are advanced-queries, notification-preferences, default-access, events, mail-grouping, mail-recipients, mail-from-name, mail-product, mail-link, write-units-per-second, read-units-per-second, events-per-minute, mails-per-day, webhook-endpoints, live-connections, permission-provider", "event=all"},
		{"webhook-endpoints must be a number from 1 to 50 or default, not \"unlimited\"", "webhook-endpoints=unlimited"},
		{"mails-per-day must be a number from 1 to 1000000000, default or unlimited, not \"0\"", "mails-per-day=0"},
		{"\"events\" is not of the form NAME=VALUE", "events"},
		{"permission-provider must not name a private, local or reserved address; for one in a private network", "permission-provider=https://10.0.0.1"},
		{"permission-provider must begin with https://", "permission-provider=http://example.com"},
		{"mail-recipients must be anyone or members", "mail-recipients=all"},
		{"mail-from-name must be at most 100 bytes", "mail-from-name=a\nb"},
		{"mail-link may hold {organizationId}", "mail-link=https://app.example/{userId}"},
		{"needs its bearer secret", "permission-provider=https://example.com/other"},
	} {
		c.fails(t, test.text, "settings", "set", "acme", "advanced-queries=on", test.value)
	}
	if err := os.WriteFile(secret, []byte("two words"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.fails(t, "the secret must be", "settings", "set", "acme", "permission-provider=https://example.com", "--secret-file", secret)
	if kept, err := c.accounts.Account(t.Context(), "acme"); err != nil || !cmp.Equal(want, kept.Settings) {
		t.Errorf("what was refused changed the settings to %+v, %v", kept.Settings, err)
	}
	kept(collab.PermissionProvider{URL: "https://example.com/may", Secret: "s3cret"})
	if err := os.WriteFile(secret, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must(
		t, "settings", "set", "acme", "permission-provider=http://10.0.0.1/may", "--secret-file", secret, "--allowed-private-cidrs", "10.0.0.0/8",
	)
	kept(collab.PermissionProvider{URL: "http://10.0.0.1/may", Secret: "other"})
	c.fails(
		t, "--allowed-private-cidrs: \"10.0.0.1/8\"", "settings", "set", "acme", "permission-provider=http://10.0.0.1/may", "--secret-file",
		secret, "--allowed-private-cidrs", "10.0.0.1/8",
	)
	expect(
		t,
		c.must(
			t, "settings", "set", "acme", "permission-provider=none", "advanced-queries=on", "notification-preferences=on",
			"default-access=organizationPrivate", "events=triggered", "mails-per-day=default", "events-per-minute=default",
			"webhook-endpoints=default",
		),
		shown()...)
	const link = "https://app.example/{documentId}"
	expect(
		t,
		c.must(t, "settings", "set", "acme", "mail-recipients=members", "mail-from-name=Ledger & Co", "mail-product=Ledger", "mail-link="+link),
		shown("mail-recipients | members", "mail-from-name | Ledger & Co", "mail-product | Ledger", "mail-link | "+link)...)
	account, err = c.accounts.Account(t.Context(), "acme")
	want = collab.Settings{MailToMembersOnly: true, MailLook: collab.MailLook{FromName: "Ledger & Co", Product: "Ledger", Link: link}}
	if diff := cmp.Diff(want, account.Settings); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	expect(
		t,
		c.must(t, "settings", "set", "acme", "mail-recipients=anyone", "mail-from-name=none", "mail-product=", "mail-link=none"),
		shown()...)
	c.fails(t, "account \"nobody\" does not exist", "settings", "get", "nobody")
	c.fails(t, "account \"nobody\" does not exist", "settings", "set", "nobody", "events=all")
}

func TestOrganization(t *testing.T) {
	c := newCLI(t)
	c.must(t, "account", "create", "acme")
	org := collab.OrganizationRef{Account: "acme", Organization: "north"}
	c.call(t, "/v2/organizations/add", `"organizations": [{"organizationId": "north"}]`)
	c.fails(t, `Every operation on organization "north" of account "acme" will be refused`, "organization", "disable", "acme", "north")
	expect(t, c.must(t, "organization", "disable", "acme", "north", "--yes"), "organization | north", "state | disabled")
	if err := c.directory.CheckOrganization(t.Context(), org); collab.CodeOf(err) != collab.FailedPrecondition {
		t.Errorf("the disabled organization: %v", err)
	}
	expect(t, c.must(t, "organization", "enable", "acme", "north"), "organization | north", "state | enabled")
	c.fails(t, "does not exist", "organization", "disable", "acme", "the south", "--yes")
	c.fails(t, "account \"nobody\" does not exist", "organization", "enable", "nobody", "north")
}

func TestVersion(t *testing.T) {
	out, _, code := (&cli{}).run(t, "--version")
	if code != 0 || !strings.HasPrefix(out, version.Release) || strings.Count(out, "\n") != 1 {
		t.Errorf("printed %q, code %d", out, code)
	}
}

// TestRestore: what was deleted comes back from a copy of the table, as point-in-time recovery makes one.
func TestRestore(t *testing.T) {
	c := newCLI(t)
	c.must(t, "account", "create", "acme")
	c.call(t, "/v2/organizations/folders/add", `"organizationId": "north", "createOrganization": true, "folders": [{"folderId": "a"}]`)
	c.call(t, "/v2/commentannotations/add", `"organizationId": "north", "documentId": "plan", "createDocument": true,
		"commentAnnotations": [{"annotationId": "t", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "ann"}}]},
			{"annotationId": "stays", "commentData": [{"commentId": 1, "commentText": "y", "from": {"userId": "ann"}}]}]`)
	s, copied, _ := newStore(t)
	for _, it := range storetest.Scan(t, c.directory.Table) {
		if err := s.Put(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	file, want := filepath.Join(t.TempDir(), "north"), c.must(t, "export", "acme", "north")
	c.call(t, "/v2/commentannotations/delete", `"organizationId": "north", "documentId": "plan", "annotationIds": ["t"]`)
	of := cli{global: []string{"--table", copied}}
	of.must(t, "export", "acme", "north", file)
	if _, said, code := c.run(t, "import", "acme", file); code != 0 || !strings.Contains(said, "annotation: 1 added, 1 there already, 0 refused") {
		t.Errorf("exits with %d and says %s", code, said)
	}
	if diff := cmp.Diff(want, c.must(t, "export", "acme", "north")); diff != "" {
		t.Error(diff)
	}
}

// TestExplain: who is to be notified of an event, and who is not and why.
func TestExplain(t *testing.T) {
	c := newCLI(t)
	c.must(t, "account", "create", "acme")
	c.call(t, "/v2/commentannotations/add", `"organizationId": "north", "createOrganization": true, "documentId": "plan", "createDocument": true,
		"commentAnnotations": [{"commentData": [{"triggerNotification": true, "commentText": "@bob", "from": {"userId": "ann"},
			"taggedUserContacts": [{"userId": "bob", "contact": {"userId": "bob", "email": "bob@example.com"}}, {"userId": "cid"}]}]}]`)
	c.call(t, "/v2/notifications/config/set", `"organizationId": "north", "userIds": ["cid"], "config": {"inbox": "NONE"}`)
	event := ""
	for _, line := range c.must(t, "pending") {
		for _, field := range line {
			if _, err := c.outbox.EventBody(t.Context(), collab.EventRef{Account: "acme", ID: field}); err == nil {
				event = field
			}
		}
	}
	expect(t, c.must(t, "explain", "acme", event), "USER | INBOX | MAIL | MAIL TO", "ann | no: own action | no: own action | ",
		"bob@example.com (bob) | would be notified | would be notified | bob@example.com", "cid | no: preference for the organization | no: no address | ")
	expect(t, c.must(t, "explain", "acme", event, "cid"), "WHEN | INBOX | MAIL | MAIL TO",
		"as it would be decided now | no: preference for the organization | no: no address | ")
	expect(t, c.must(t, "explain", "acme", event, "zoe"), "WHEN | INBOX | MAIL | MAIL TO")
	c.fails(t, "the event does not exist", "explain", "acme", "none")
}

func TestWebhook(t *testing.T) {
	c := newCLI(t)
	ctx := t.Context()
	c.must(t, "account", "create", "acme")
	expect(t, c.must(t, "webhook", "list", "acme"), "WEBHOOK | STATE | FAILURES | FAILING SINCE | URL | DESCRIPTION")
	for _, w := range []collab.Webhook{{ID: "a", URL: "https://a.example.com"}, {ID: "b", URL: "https://b.example.com", Disabled: true, DisabledReason: "answered 410 Gone"}} {
		if err := c.hooks.AddWebhook(ctx, "acme", collab.MaxWebhooks, w); err != nil {
			t.Fatal(err)
		}
	}
	lane, err := c.hooks.ClaimLane(ctx, collab.LaneRef{Account: "acme", WebhookID: "a"}, "")
	if err != nil {
		t.Fatal(err)
	}
	for range collab.RestAfter {
		lane.Health.Fail(time.Now().UnixMilli())
	}
	if _, _, err := c.hooks.ReleaseLane(ctx, *lane, false); err != nil {
		t.Fatal(err)
	}
	expect(t, c.must(t, "webhook", "list", "acme"), "WEBHOOK | STATE | FAILURES | FAILING SINCE | URL | DESCRIPTION",
		"a | resting | 5 | TIME | https://a.example.com | ", "b | disabled: answered 410 Gone | 0 | never | https://b.example.com | ")

	endpoint := collab.EndpointRef{LaneRef: lane.LaneRef}
	var events []string
	for i, state := range []collab.DeliveryState{collab.DeliveryExhausted, collab.DeliveryDelivered, collab.DeliveryExhausted} {
		at := time.Now().Add(time.Duration(i-2) * time.Hour)
		d := collab.Delivery{
			WebhookID: "a", EventID: collab.NewIDs(at, make([]byte, 16)).Next(), State: state, Tries: 8, Rev: 1, CreatedAt: at.UnixMilli(),
		}
		if err := c.hooks.SaveDelivery(ctx, endpoint, collab.Delivery{}, d); err != nil {
			t.Fatal(err)
		}
		events = append(events, d.EventID)
	}
	pending := func(want string) {
		t.Helper()
		got := ""
		for _, e := range events {
			d, err := c.hooks.Delivery(ctx, endpoint, e)
			if err != nil {
				t.Fatal(err)
			}
			got += string(d.State[0])
		}
		if got != want {
			t.Errorf("the states are %s, want %s", got, want)
		}
	}
	expect(t, c.must(t, "webhook", "replay", "acme", "a", "--since", "90m", "--state", "exhausted"), "replayed | 1")
	pending("edp")
	expect(t, c.must(t, "webhook", "replay", "acme", "a", "--since", time.Now().Add(-24*time.Hour).Format(time.RFC3339)), "replayed | 3")
	pending("ppp")
	expect(t, c.must(t, "webhook", "replay", "acme", "a", "--since", time.Now().Add(48*time.Hour).Format(time.DateOnly)), "replayed | 0")
	for _, test := range []struct{ text, account, hook string }{
		{"webhook \"b\" is disabled: enable it before", "acme", "b"},
		{"webhook \"x\" does not exist: see `admin webhook list ACCOUNT`", "acme", "x"},
		{"account \"nobody\" does not exist", "nobody", "a"},
	} {
		_, text, code := c.run(t, "webhook", "replay", test.account, test.hook, "--since", "1h")
		if code == 0 || !strings.Contains(text, test.text) {
			t.Errorf("%s/%s: %d %s", test.account, test.hook, code, text)
		}
	}
	c.fails(t, "missing flags: --since=TIME", "webhook", "replay", "acme", "a")
}

// queues are the queues of a test.
type queues struct {
	cli
	live map[string]*queue.Queue
	urls map[string]string
}

// newQueues returns commands on queues of their own, which are reached through a proxy that answers the calls of an action with an error
// while refuse returns true. That a queue is empty is said at once; of SQS one must wait for that.
func newQueues(t *testing.T, refuse func(action string) bool) *queues {
	t.Helper()
	target := localstacktest.MiniStack(t)
	environment(t)
	cfg := localstacktest.Config(target)
	urls, err := queue.Create(t.Context(), cfg, fmt.Sprintf("admin-%d-", time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(u)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); refuse(action) {
			w.WriteHeader(http.StatusInternalServerError)
			return
		} else if action == "ReceiveMessage" {
			body, err := io.ReadAll(r.Body)
			patient := fmt.Appendf(nil, `"WaitTimeSeconds":%d`, operator.EmptyAfter/time.Second)
			if err != nil || !bytes.Contains(body, patient) {
				t.Errorf("%s, %v: it does not wait", body, err)
			}
			r.Body = io.NopCloser(bytes.NewReader(bytes.Replace(body, patient, []byte(`"WaitTimeSeconds":0`), 1)))
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("AWS_ENDPOINT_URL_SQS", proxy.URL)
	q := &queues{urls: urls, live: map[string]*queue.Queue{}}
	for name, url := range urls {
		q.live[name] = queue.New(cfg, url, slog.New(slog.DiscardHandler))
		q.global = append(q.global, "--"+name+"-queue-url", url)
	}
	return q
}

// take empties a queue, which has n texts or more, and returns the texts, sorted and each once: a send may be repeated.
func take(t *testing.T, q *queue.Queue, n int) []string {
	t.Helper()
	texts := map[string]bool{}
	for wait := 5 * time.Second; ; {
		messages, err := q.Receive(t.Context(), queue.MaxReceive, wait)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			texts[m.Text] = true
		}
		if err := q.Delete(t.Context(), messages...); err != nil {
			t.Fatal(err)
		}
		if len(texts) >= n {
			wait = 0
		}
		if len(messages) == 0 {
			return slices.Sorted(maps.Keys(texts))
		}
	}
}

// fill puts 12 letters into each dead-letter queue, and returns their texts by queue.
func (q *queues) fill(t *testing.T) map[string][]string {
	t.Helper()
	texts := map[string][]string{}
	for i := range 12 {
		e := queue.Event{EventRef: collab.EventRef{Account: "acme", ID: fmt.Sprintf("event-%02d", i)}}
		w := queue.Lane{LaneRef: collab.LaneRef{Account: "acme", WebhookID: fmt.Sprintf("hook-%02d", i)}}
		if err := q.dead(t, keys.EventsQueue).SendEvents(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if err := q.dead(t, keys.WebhooksQueue).SendLanes(t.Context(), 0, w); err != nil {
			t.Fatal(err)
		}
		texts[keys.EventsQueue] = append(texts[keys.EventsQueue], e.Encode())
		texts[keys.WebhooksQueue] = append(texts[keys.WebhooksQueue], w.Encode())
	}
	for _, list := range texts {
		slices.Sort(list)
	}
	return texts
}

func (q *queues) dead(t *testing.T, name string) *queue.Queue {
	t.Helper()
	dead, err := q.live[name].DeadLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return dead
}

// redrive redrives the dead letters of a queue, and reports how many there were.
func (q *queues) redrive(t *testing.T, name string) (moved int) {
	t.Helper()
	lines := q.must(t, "dead-letters", "redrive", "--queue", name)
	if len(lines) != 1 || len(lines[0]) != 2 || lines[0][0] != name {
		t.Fatalf("redriving prints %v", lines)
	}
	moved, err := strconv.Atoi(lines[0][1])
	if err != nil {
		t.Fatal(err)
	}
	return moved
}

func TestQuarantine(t *testing.T) {
	c := newCLI(t)
	ctx := t.Context()
	c.must(t, "account", "create", "acme")
	expect(t, c.must(t, "quarantine", "list"), "ACCOUNT | EVENT | SINCE | REASON")
	ref := collab.EventRef{Account: "acme", ID: "e1"}
	n := collab.Notification{ID: "n1", DocumentID: "doc"}
	ev := &collab.Event{ID: ref.ID, Type: collab.NotificationAdded, Account: "acme", OrganizationID: "north", Notification: &n}
	if _, err := c.inbox.AddNotification(ctx, storetest.Request(time.Now()), collab.OrganizationRef{Account: "acme", Organization: "north"}, n, ev); err != nil {
		t.Fatal(err)
	}
	at, err := c.outbox.Pending(ctx, ref, collab.EventWork)
	if err == nil {
		err = c.outbox.Quarantine(ctx, *at, "its handling ended three times with the process")
	}
	if err != nil {
		t.Fatal(err)
	}
	expect(
		t, c.must(t, "quarantine", "list"), "ACCOUNT | EVENT | SINCE | REASON",
		"acme | e1 | TIME | its handling ended three times with the process",
	)
	if out, _, _ := c.run(t, "event", "show", "acme", "e1"); !strings.Contains(out, `"id": "e1"`) {
		t.Errorf("shown as %s", out)
	}
	c.fails(t, "event \"e2\" does not exist", "event", "show", "acme", "e2")
	expect(t, c.must(t, "quarantine", "retry", "acme", "e1"), "retried | e1")
	c.fails(t, "event \"e1\" of account \"acme\" is not in the quarantine", "quarantine", "retry", "acme", "e1")
	expect(t, c.must(t, "quarantine", "list"), "ACCOUNT | EVENT | SINCE | REASON")
}

func TestDeadLetters(t *testing.T) {
	q := newQueues(t, func(string) bool { return false })
	header := "QUEUE | SENT | ACCOUNT | EVENT | WEBHOOK"
	expect(t, q.must(t, "dead-letters", "list"), header)
	expect(t, q.must(t, "dead-letters", "redrive"), "events | 0", "webhooks | 0")
	texts := q.fill(t)

	for range 2 { // what was listed can be listed again at once
		list := q.must(t, "dead-letters", "list")
		name := func(line []string) string { return line[0] + line[3] + line[4] }
		slices.SortFunc(list[1:], func(a, b []string) int { return strings.Compare(name(a), name(b)) })
		list = slices.CompactFunc(list, func(a, b []string) bool { return name(a) == name(b) })
		if len(list) != 25 {
			t.Fatalf("%d lines: %v", len(list), list)
		}
		expect(t, [][]string{list[0], list[1], list[24]}, header, "events | TIME | acme | event-00 | ", "webhooks | TIME | acme |  | hook-11")
	}
	if list := q.must(t, "dead-letters", "list", "--queue", "webhooks", "--most", "5"); len(list) != 6 || list[1][0] != "webhooks" {
		t.Errorf("the five that were asked for: %v", list)
	}
	for _, name := range []string{keys.WebhooksQueue, keys.EventsQueue} {
		if moved := q.redrive(t, name); moved < 12 {
			t.Errorf("%d of 12 letters were moved to %s", moved, name)
		}
		if diff := cmp.Diff(texts[name], take(t, q.live[name], 12)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	expect(t, q.must(t, "dead-letters", "list"), header)
}

// TestUnreadableDeadLetters has a letter of each queue in the other one's.
func TestUnreadableDeadLetters(t *testing.T) {
	q := newQueues(t, func(string) bool { return false })
	ref := collab.EventRef{Account: "acme", ID: "e"}
	if err := q.dead(t, keys.EventsQueue).SendLanes(t.Context(), 0, queue.Lane{LaneRef: collab.LaneRef{Account: ref.Account, WebhookID: "hook"}}); err != nil {
		t.Fatal(err)
	}
	if err := q.dead(t, keys.EventsQueue).SendEvents(t.Context(), queue.Event{EventRef: ref}); err != nil {
		t.Fatal(err)
	}
	out, text, code := q.run(t, "dead-letters", "redrive", "--queue", "events")
	if !strings.HasPrefix(out, "events\t") || code == 0 ||
		!strings.Contains(text, "messages are not of a form that this version knows, and stay") {
		t.Errorf("%q %d %s", out, code, text)
	}
	if got := take(t, q.live[keys.EventsQueue], 1); !slices.Equal(got, []string{queue.Event{EventRef: ref}.Encode()}) {
		t.Errorf("moved %q", got)
	}
	list := q.must(t, "dead-letters", "list", "--queue", "events")
	if len(list) < 2 || list[1][2] != "unreadable" || !strings.Contains(list[1][3], `\"webhookId\":\"hook\"`) {
		t.Errorf("what stays: %v", list)
	}
}

// TestRedriveEnds ends a redrive between each two of its calls: nothing is lost, and once more finishes it.
func TestRedriveEnds(t *testing.T) {
	for _, action := range []string{"ReceiveMessage", "SendMessageBatch", "DeleteMessageBatch"} {
		t.Run(action, func(t *testing.T) {
			calls := 0
			broken := false
			q := newQueues(t, func(a string) bool {
				if broken && a == action {
					calls++
				}
				return broken && a == action && calls > 1 // the second batch fails
			})
			texts := q.fill(t)[keys.EventsQueue]
			broken = true
			_, text, code := q.run(t, "dead-letters", "redrive", "--queue", "events")
			if code == 0 || !strings.Contains(text, "Nothing is lost: do it again") {
				t.Fatalf("%d %s", code, text)
			}
			broken = false
			if moved := q.redrive(t, keys.EventsQueue); moved < 2 {
				t.Errorf("%d of the two last letters were moved", moved)
			}
			got := take(t, q.live[keys.EventsQueue], 12)
			if diff := cmp.Diff(texts, got); diff != "" {
				t.Error(diff)
			}
			expect(t, q.must(t, "dead-letters", "list", "--queue", "events"), "QUEUE | SENT | ACCOUNT | EVENT | WEBHOOK")
		})
	}
}

// TestStack reads the names of table and queues from a stack.
func TestStack(t *testing.T) {
	s, name, db := newStore(t)
	cloud := localstacktest.MiniStack(t)
	if err := s.AddAccount(t.Context(), collab.Account{ID: "acme"}); err != nil {
		t.Fatal(err)
	}
	cfg := localstacktest.Config(cloud)
	prefix := fmt.Sprintf("stack-%d-", time.Now().UnixNano())
	urls, err := queue.Create(t.Context(), cfg, prefix)
	if err != nil {
		t.Fatal(err)
	}
	stack := fmt.Sprintf("admin-%d", time.Now().UnixNano())
	makeStack(t, cfg, stack, map[string]string{
		"TableName": name, "EventsQueueUrl": urls[keys.EventsQueue], "WebhooksQueueUrl": urls[keys.WebhooksQueue],
	})
	environment(t)
	t.Setenv("AWS_ENDPOINT_URL", cloud)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", db)
	c := &cli{accounts: s, global: []string{"--stack", stack}}
	expect(t, c.must(t, "account", "list"), "ACCOUNT | STATE | CREATED | NAME", "acme | enabled | never | ")
	expect(t, c.must(t, "dead-letters", "redrive"), "events | 0", "webhooks | 0")
	c.global[1] = "nothing"
	c.fails(t, "there is no stack nothing in region us-east-1: check --stack, AWS_PROFILE and AWS_REGION", "account", "list")
}

// makeStack makes a stack with outputs, and waits until they can be read.
func makeStack(t *testing.T, cfg aws.Config, name string, outputs map[string]string) {
	t.Helper()
	template := `{"Resources": {"Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}, "Outputs": {`
	for output, value := range outputs {
		template += fmt.Sprintf(`%q: {"Value": %q},`, output, value)
	}
	template = strings.TrimSuffix(template, ",") + "}}"
	_, err := cloudformation.NewFromConfig(cfg).
		CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &template})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		if got, err := stack.Outputs(ctx, cfg, name); err == nil && cmp.Equal(got, outputs) {
			return
		} else if ctx.Err() != nil {
			t.Fatalf("the outputs are %v, %v", got, err)
		}
	}
}

func TestErrors(t *testing.T) {
	c := newCLI(t)
	c.fails(t, "expected one of \"account\", \"key\",")
	c.fails(t, "unexpected argument extra", "account", "list", "extra")
	c.fails(t, "which queue? Give --stack NAME, such as collabdata-prod, or --events-queue-url URL", "dead-letters", "redrive")
	named := c.global
	c.global = nil
	c.fails(t, "which deployment? Give --stack NAME, such as collabdata-prod, or --table NAME", "account", "list")
	c.global = []string{"--table", "nothing"}
	c.fails(t, "there is no table nothing: check --table or --stack", "account", "list")
	c.global = named

	t.Setenv("AWS_ENDPOINT_URL_SQS", localstacktest.MiniStack(t))
	c.fails(t, "there is no such queue", "dead-letters", "redrive", "--events-queue-url", localstacktest.MiniStack(t)+"/000000000000/nothing")

	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1")
	c.fails(t, "nothing answers there", "account", "list")
	c.fails(t, "connection refused", "account", "list")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	c.fails(t, "no AWS credentials were found", "account", "list")
	t.Setenv("AWS_REGION", "")
	c.fails(t, "no AWS region is chosen: set AWS_REGION", "account", "list")
}

// TestHelp holds that every command says what it does, and which arguments and flags it takes.
// TestConsole opens the address that is printed, and looks at an account.
func TestConsole(t *testing.T) {
	c := newCLI(t)
	c.must(t, "account", "create", "acme")
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append(slices.Clone(c.global), "console", "--port", "0"), terminal{}, nil, io.Discard, write)
		write.Close()
	}()
	address := ""
	lines := bufio.NewScanner(read)
	for address == "" && lines.Scan() {
		address = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/console/begin\?token=[0-9a-f]{32}`).FindString(lines.Text())
	}
	go io.Copy(io.Discard, read)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	for _, test := range []struct {
		client *http.Client
		path   string
		status int
		text   string
	}{
		{browser, address, 200, "/console/account?account=acme"},
		{browser, strings.Replace(address, "/begin?", "/account?account=acme&", 1), 200, "Account acme"},
		{http.DefaultClient, address, 403, "start `admin console` again"},
	} {
		res, err := test.client.Get(test.path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != test.status || !strings.Contains(string(text), test.text) {
			t.Errorf("%s: %d %s, %v", test.path, res.StatusCode, text, err)
		}
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("it ends with %d", code)
	}
}

func TestHelp(t *testing.T) {
	c := &cli{}
	out, _, code := c.run(t, "--help")
	if code != 0 {
		t.Fatalf("exits with %d", code)
	}
	commands := regexp.MustCompile(`(?m)^  ([a-z-]+ [a-z-]+)  +[A-Z]`).FindAllStringSubmatch(out, -1)
	if len(commands) < 20 {
		t.Errorf("%d commands:\n%s", len(commands), out)
	}
	for _, command := range commands {
		out, _, code := c.run(t, append(strings.Fields(command[1]), "--help")...)
		if code != 0 || !strings.HasPrefix(out, "Usage: admin "+command[1]) {
			t.Errorf("%s: %d %s", command[1], code, out)
		}
		for _, line := range regexp.MustCompile(`(?m)^ +(<[a-z=]+>|--[a-z-]+)\S*$`).FindAllString(out, -1) {
			t.Errorf("%s does not say what%s is", command[1], line)
		}
	}
}

// TestWrongWords: an unknown word names those that there are, and what is wrong whatever the deployment holds exits with 2.
func TestWrongWords(t *testing.T) {
	c := newCLI(t)
	c.run(t, "account", "create", "acme")
	for _, test := range []struct {
		text string
		args []string
	}{
		{"there is no command frob: the commands are account, key, token,", []string{"frob"}},
		{"there is no command frob: the commands are list, show, create, disable, enable, delete", []string{"account", "frob"}},
		{"there is no flag --frob: the flags are --help, ", []string{"account", "list", "--frob"}},
		{"--state must be one of", []string{"webhook", "show", "acme", "w", "--state", "frob"}},
		{`events must be triggered or all, not "frob"`, []string{"settings", "set", "acme", "events=frob"}},
		{`there is no setting "frob": the settings are advanced-queries,`, []string{"settings", "set", "acme", "frob=1"}},
	} {
		if _, text, code := c.run(t, test.args...); code != 2 || !strings.Contains(text, test.text) {
			t.Errorf("%q exits with %d and says %s; want 2 and %s", test.args, code, text, test.text)
		}
	}
	if _, text, code := c.run(t, "account", "disable", "other", "--yes"); code != 1 {
		t.Errorf("an account that does not exist: %d %s", code, text)
	}
}

// TestTransfer: an organization goes out as a file, and into another account.
func TestTransfer(t *testing.T) {
	c := newCLI(t)
	for _, account := range []string{"acme", "other"} {
		c.must(t, "account", "create", account)
	}
	c.must(t, "settings", "set", "other", "events=all", "advanced-queries=off")
	c.call(t, "/v2/commentannotations/add", `"organizationId": "north", "createOrganization": true, "documentId": "plan", "createDocument": true,
		"commentAnnotations": [{"annotationId": "a", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "ann"}}]}]`)
	want, _, _ := c.run(t, "export", "acme", "north")
	if n := strings.Count(want, "\n"); n != 4 {
		t.Fatalf("it exports %d lines:\n%s", n, want)
	}
	file := filepath.Join(t.TempDir(), "north")
	if err := os.WriteFile(file+".part", []byte(want+"what an export left that was ended"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must(t, "export", "acme", "north", file)
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, string(got)))
	}
	c.fails(t, "is there already", "export", "acme", "north", file)
	c.fails(t, `organization "south" does not exist`, "export", "acme", "south")

	_, said, code := c.run(t, "import", "other", file, "--document", "plan=map")
	if code != 0 || !strings.Contains(said, "comment: 1 added, 0 there already, 0 refused") {
		t.Errorf("exits with %d and says %s", code, said)
	}
	got, _, _ := c.run(t, "export", "other", "north")
	if diff := cmp.Diff(strings.ReplaceAll(want, `"documentId":"plan"`, `"documentId":"map"`), got); diff != "" {
		t.Error(diff)
	}
	for _, line := range c.must(t, "pending") {
		if slices.Contains(line, "other") {
			t.Errorf("somebody is notified: %v", line)
		}
	}
	if err := os.WriteFile(file, []byte(want+"{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.fails(t, "line 5: kind must be one of", "import", "other", file)
	c.fails(t, `account "nobody" does not exist`, "import", "nobody", file)
}
