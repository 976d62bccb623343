package importtest

import (
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/testing/golden"
	"collabdata/shared/testing/must"

	"golang.org/x/tools/go/packages"
)

// TestFiles counts the files of each package that use each other in a circle, without tests. Files
// that use lower ones alone can be read from the bottom up. A count may only become smaller: go
// test -update writes it.
func TestFiles(t *testing.T) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
		Dir:  "../..",
	}, "./shared/...", "./scripts/...", "./localstack/...", "./functions/...")
	must.Do(t, err)
	var list []string
	for _, p := range loaded {
		for _, err := range p.Errors {
			t.Fatal(err)
		}
		if n := inCircles(uses(p)); n > 0 {
			list = append(list, fmt.Sprintf("%s %d", strings.TrimPrefix(p.PkgPath, "collabdata/"), n))
		}
	}
	if len(loaded) < 50 {
		t.Fatalf("%d packages", len(loaded))
	}
	slices.Sort(list)
	golden.Check(t, "testdata/files.txt", strings.Join(list, "\n")+"\n")
}

// uses returns the files of a package by the files that use their declarations.
func uses(p *packages.Package) map[string]map[string]bool {
	used := map[string]map[string]bool{}
	for _, file := range p.Syntax {
		from := filepath.Base(p.Fset.Position(file.Pos()).Filename)
		used[from] = map[string]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			name, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			object := p.TypesInfo.Uses[name]
			if object == nil || object.Pkg() != p.Types {
				return true
			}
			_, variable := object.(*types.Var)
			if to := filepath.Base(p.Fset.Position(object.Pos()).Filename); to != from && (!variable || object.Parent() == nil || object.Parent() == p.Types.Scope()) {
				used[from][to] = true
			}
			return true
		})
	}
	return used
}

// inCircles returns the number of files that use themselves through others.
func inCircles(used map[string]map[string]bool) (n int) {
	for file := range used {
		reached := map[string]bool{}
		var follow func(string)
		follow = func(from string) {
			for to := range used[from] {
				if !reached[to] {
					reached[to] = true
					follow(to)
				}
			}
		}
		if follow(file); reached[file] {
			n++
		}
	}
	return n
}
