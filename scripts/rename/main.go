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
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rename:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: make rename MODULE=github.com/you/collabdata")
	}
	if err := module.CheckPath(args[0]); err != nil {
		return fmt.Errorf("%w: it is the address of a repository, such as github.com/you/collabdata", err)
	}
	old, changed, err := rename(".", args[0])
	if err != nil {
		return err
	}
	fmt.Printf(
		"%s is %s now, in %d files. Commit and push that; then, in other modules: go get %s/shared/client\n", old, args[0], changed, args[0],
	)
	return nil
}

// others are folders that hold nothing of the module.
var others = []string{".git", ".local", "node_modules", "dist", "cdk.out"}

// rename gives the module in a folder the path to. It returns its path before, and how many files changed.
func rename(root, to string) (old string, changed int, err error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", 0, err
	}
	old = modfile.ModulePath(mod)
	entries, err := os.ReadDir(root)
	if err != nil {
		return "", 0, err
	}
	var folders []string
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(others, e.Name()) {
			folders = append(folders, e.Name())
		}
	}
	replace := replacer(old, to, folders)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(others, d.Name()) {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		renamed := replace(text)
		if bytes.Equal(renamed, text) {
			return nil
		}
		if strings.HasSuffix(path, ".go") {
			if renamed, err = format.Source(renamed); err != nil { // another path may be sorted elsewhere
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		changed++
		return os.WriteFile(path, renamed, info.Mode())
	})
	return old, changed, err
}

// replacer returns what replaces the path of a module that has certain folders. The name of the project, which may be the same word, stays.
func replacer(old, to string, folders []string) func([]byte) []byte {
	for i, f := range folders {
		folders[i] = regexp.QuoteMeta(f)
	}
	quoted := regexp.QuoteMeta(old)
	var places []*regexp.Regexp // the first group stands before the path, the second behind it
	for _, place := range []string{
		`(?m)(^|[^\w./-]|\\[nt])` + quoted + `(/(?:` + strings.Join(folders, "|") + `)\b)`, // a package
		`(?m)(\bmodule )` + quoted + `($|\\n)`,                                             // go.mod
		`(\bmodule = ")` + quoted + `(")`,
		`(")` + quoted + `(/")`, // what packages begin with
		`((?:-require |-replace ))` + quoted + `([@=])`,
	} {
		places = append(places, regexp.MustCompile(place))
	}
	with := []byte("${1}" + strings.ReplaceAll(to, "$", "$$") + "${2}")
	return func(text []byte) []byte {
		lines := bytes.SplitAfter(text, []byte("\n"))
		for i, line := range lines {
			if !bytes.Contains(line, []byte(old)) {
				continue
			}
			for _, p := range places {
				line = p.ReplaceAll(line, with)
			}
			lines[i] = line
		}
		return bytes.Join(lines, nil)
	}
}
