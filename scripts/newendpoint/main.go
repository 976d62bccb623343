// Newendpoint begins a new endpoint: it writes a file with its row and operation, names the row in the table of endpoints, and writes its
// first script, which fails until the rule is written.
//
//	go run ./scripts/newendpoint /v2/organizations/folders/add
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"collabdata/localstack"
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
		path := filepath.Join(root, f.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(f.text), 0o644)); err != nil {
			return err
		}
		fmt.Println("wrote", f.name)
	}
	fmt.Printf("Write the rule and the script, run make openapi, then: go test ./shared/testing/apitest -run 'TestScripts%s'\n", args[0])
	return nil
}

//go:embed operation.txt
var operation string

//go:embed script.txt
var script string

// file is one to write, by its path below the repository.
type file struct{ name, text string }

var form = regexp.MustCompile(`^/v2/([a-z]+)((?:/[a-z_]+)+)$`)

const table = "shared/api/endpoints.go"

// pieces returns the files of a new endpoint, the changed table among them.
func pieces(root, path string) ([]file, error) {
	m := form.FindStringSubmatch(path)
	if m == nil {
		return nil, fmt.Errorf("%s is not like /v2/organizations/folders/add; version 1 of an operation goes into its file by hand", path)
	}
	pkg, words := m[1], strings.Split(m[2][1:], "/")
	if _, err := os.Stat(filepath.Join(root, "shared/api", pkg)); err != nil {
		return nil, fmt.Errorf("write the package shared/api/%s with its Service, and its value in shared/app, first: %w", pkg, err)
	}
	list, err := os.ReadFile(filepath.Join(root, table))
	if err != nil {
		return nil, err
	}
	row, grants := "", "rpc.ReadTable"
	for _, w := range words {
		row += strings.ToUpper(w[:1]) + w[1:]
	}
	if words[len(words)-1] != "get" {
		grants += " | rpc.WriteTable"
	}
	entry := "\t\t" + pkg + "." + row + "(),\n"
	if strings.Contains(string(list), entry) {
		return nil, fmt.Errorf("%s is there already", path)
	}
	fill := strings.NewReplacer("PATH", path, "PACKAGE", pkg, "ROW", row, "GRANTS", grants).Replace
	const end = "\t}\n}\n"
	return []file{
		{"shared/api/" + pkg + "/" + strings.Join(words, "_") + ".go", fill(operation)},
		{"shared/testing/apitest/scripts" + path + "/first.txtar", fill(script)},
		{table, strings.Replace(string(list), end, entry+end, 1)},
	}, nil
}
