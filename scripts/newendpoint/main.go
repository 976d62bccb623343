// Newendpoint writes the pieces of a new endpoint: its operation file, its row in the table of endpoints, its main and its first script
// test, which fails until the rule is written.
//
//	go run ./scripts/newendpoint /v2/organizations/folders/add
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"collabdata/localstack"
	"collabdata/shared/api"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "newendpoint:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: newendpoint <path>, such as /v2/organizations/folders/add")
	}
	local, err := localstack.Dir()
	if err != nil {
		return err
	}
	root := filepath.Dir(local)
	files, err := pieces(root, args[0])
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(root, f.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f.text), 0o644); err != nil {
			return err
		}
		fmt.Printf("wrote %s: %s\n", f.path, f.next)
	}
	fmt.Printf(`Then: go test ./shared/testing/apitest -run 'TestScripts%s'
CONTRIBUTING.md lists the other tests that it meets.
`, args[0])
	return nil
}

// piece is a file to write.
type piece struct{ path, text, next string }

var (
	form    = regexp.MustCompile(`^/v[0-9]+/([a-z]+)((?:/[a-z]+)+)$`)
	lastRow = "\t}\n}\n"
)

// pieces returns the files of a new endpoint, the changed table among them.
func pieces(root, path string) ([]piece, error) {
	m := form.FindStringSubmatch(path)
	if m == nil {
		return nil, fmt.Errorf("%s is not like /v2/organizations/folders/add", path)
	}
	if slices.ContainsFunc(api.Endpoints(), func(e api.Endpoint) bool { return e.Path == path }) {
		return nil, fmt.Errorf("%s is there already", path)
	}
	pkg, words := m[1], strings.Split(m[2][1:], "/")
	operation := filepath.Join("shared", "api", pkg, strings.Join(words, "_")+".go")
	if _, err := os.Stat(filepath.Join(root, operation)); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is there already: another version belongs into it by hand, under or over the one that is there", operation)
	}
	const table = "shared/api/endpoints.go"
	list, err := os.ReadFile(filepath.Join(root, table))
	if err != nil {
		return nil, err
	}
	deps, err := os.ReadFile(filepath.Join(root, "shared/api/endpoint.go"))
	if err != nil {
		return nil, err
	}
	service := regexp.MustCompile(`(?m)^func (\w+)\(d Deps\) \*` + pkg + `\.Service `).FindSubmatch(deps)
	if service == nil {
		return nil, fmt.Errorf(
			"api.Deps has no %s.Service: write the package shared/api/%s with its Service, its field of Deps and the function that returns that, and its value in shared/app, first",
			pkg, pkg,
		)
	}
	rows := "shared/api/" + pkg + ".go"
	others, err := os.ReadFile(filepath.Join(root, rows))
	if err != nil {
		return nil, err
	}
	row := name(strings.Split(path[1:], "/"))
	grants := "ReadTable"
	if words[len(words)-1] != "get" {
		grants += " | WriteTable"
	}
	fill := strings.NewReplacer(
		"PATH",
		path,
		"PACKAGE",
		pkg,
		"FIELD",
		string(service[1]),
		"METHOD",
		name(words),
		"ROW",
		row,
		"GRANTS",
		grants,
		"'",
		"`",
	).Replace
	return []piece{
		{operation, fill(operationText), "write the request's fields, the rule and the answer"},
		{rows, string(others) + fill(rowText), "say what it does, and what rights it has"},
		{table, strings.Replace(string(list), lastRow, "\t\t"+row+"(),\n"+lastRow, 1), "done"},
		{"functions" + path + "/main.go", fill(mainText), "done"},
		{"shared/testing/apitest/scripts" + path + "/first.txtar", fill(scriptText), "say what it shows; it fails until the rule is written"},
	}, nil
}

// name makes one name of words: folders, add is FoldersAdd.
func name(words []string) string {
	name := ""
	for _, w := range words {
		name += strings.ToUpper(w[:1]) + w[1:]
	}
	return name
}

const operationText = `package PACKAGE

import (
	"context"
	"errors"

	"collabdata/shared/api/rpc"
)

// METHODRequest is the data of POST PATH.
type METHODRequest struct {
	OrganizationID string 'json:"organizationId" rule:"required,id"'
}

// METHODResult is what METHOD answers.
type METHODResult struct{}

// METHOD has yet to be written.
func (s *Service) METHOD(ctx context.Context, call *rpc.Call, req *METHODRequest) (METHODResult, error) {
	return METHODResult{}, errors.New("METHOD has yet to be written")
}
`

const rowText = `
// ROW is POST PATH.
func ROW() Endpoint {
	return Endpoint{
		Path:    "PATH",
		Summary: "METHOD has yet to be written",
		Description: '
METHOD has yet to be described: order, limits, what fails with which code.',
		Grants:    GRANTS,
		Operation: operation(FIELD, (*PACKAGE.Service).METHOD),
	}
}
`

const mainText = `package main

import (
	"collabdata/shared/api"
	"collabdata/shared/app"
)

func main() { app.Serve(api.ROW()) }
`

const scriptText = `What PATH does.

-- seed --
{"organizations": [{"id": "acme"}]}
-- the plainest request --
{"data": {"organizationId": "acme"}}
-- 200 --
{"result": {"status": "success", "message": "${:text}", "data": {}}}
`
