// Rename gives the module another path in every file, so that other modules can get its packages:
//
//	make rename MODULE=github.com/you/collabdata
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

func main() {
	if err := run(".", os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rename:", err)
		os.Exit(1)
	}
}

func run(root string, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: make rename MODULE=github.com/you/collabdata")
	}
	to := args[0]
	if err := module.CheckPath(to); err != nil {
		return fmt.Errorf("%w: it is the address of a repository, such as github.com/you/collabdata", err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	from := modfile.ModulePath(mod)
	if err := rename(root, from, to); err != nil {
		return err
	}
	fmt.Printf("%s is %s now. Commit and push that; then, in other modules: go get %[2]s/shared/client\n", from, to)
	return nil
}

// rename replaces the path of the module in go.mod and before each folder of it, in every file but those that git ignores. The name of
// the project, which may be the same word, stays.
func rename(root, from, to string) error {
	quoted := regexp.QuoteMeta(from)
	const folder = `(/(?:functions|infra|localstack|scripts|shared)\b)`
	path := regexp.MustCompile(`(?m)^(module )` + quoted + `$|(^|[^\w./-]|\\[nt])` + quoted + folder)
	with := []byte("${1}${2}" + strings.ReplaceAll(to, "$", "$$") + "${3}")
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".local", "node_modules", "dist", "cdk.out"}, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte(from)) {
			return err
		}
		renamed := path.ReplaceAll(text, with)
		if strings.HasSuffix(file, ".go") {
			if renamed, err = format.Source(renamed); err != nil { // another path may be sorted elsewhere
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		info, err := d.Info()
		if err != nil || bytes.Equal(renamed, text) {
			return err
		}
		return os.WriteFile(file, renamed, info.Mode())
	})
}
