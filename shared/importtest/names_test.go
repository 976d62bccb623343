package importtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/testing/golden"
	"collabdata/shared/testing/must"
)

// vague are local names that say nothing about a value: use a noun.
var vague = []string{"of", "there", "known", "made", "kept", "most", "is", "asked", "did", "said", "told", "was"}

// TestNames counts the vague names of local variables in each folder, without tests. A count may
// only become smaller: go test -update writes it.
func TestNames(t *testing.T) {
	folders, err := load(os.DirFS("../.."))
	must.Do(t, err)
	counts := map[string]int{}
	for _, f := range folders {
		for _, file := range f.files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					if n.Tok == token.DEFINE {
						for _, left := range n.Lhs {
							if name, ok := left.(*ast.Ident); ok && slices.Contains(vague, name.Name) {
								counts[f.path]++
							}
						}
					}
				case *ast.RangeStmt:
					for _, left := range []ast.Expr{n.Key, n.Value} {
						if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE && slices.Contains(vague, name.Name) {
							counts[f.path]++
						}
					}
				case *ast.ValueSpec:
					for _, name := range n.Names {
						if slices.Contains(vague, name.Name) {
							counts[f.path]++
						}
					}
				case *ast.Field:
					for _, name := range n.Names {
						if slices.Contains(vague, name.Name) {
							counts[f.path]++
						}
					}
				}
				return true
			})
		}
	}
	var table strings.Builder
	for _, path := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&table, "%s %d\n", path, counts[path])
	}
	golden.Check(t, "testdata/names.txt", table.String())
}
