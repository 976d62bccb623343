package importtest

import (
	"go/ast"
	"go/token"
	"os"
	"slices"
	"testing"

	"collabdata/shared/testing/must"
)

// vague are local names that say nothing about a value: use a noun.
var vague = []string{"of", "there", "known", "made", "kept", "most", "is", "asked", "did", "said", "told", "was"}

// TestNames looks for vague names of variables, parameters and fields, without tests.
func TestNames(t *testing.T) {
	folders, err := load(os.DirFS("../.."))
	must.Do(t, err)
	for _, f := range folders {
		for _, file := range f.files {
			check := func(name ast.Expr) {
				if id, ok := name.(*ast.Ident); ok && slices.Contains(vague, id.Name) {
					t.Errorf("%s has the name %s: use a noun", f.path, id.Name)
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					if n.Tok == token.DEFINE {
						for _, left := range n.Lhs {
							check(left)
						}
					}
				case *ast.RangeStmt:
					if n.Tok == token.DEFINE {
						check(n.Key)
						check(n.Value)
					}
				case *ast.ValueSpec:
					for _, name := range n.Names {
						check(name)
					}
				case *ast.Field:
					for _, name := range n.Names {
						check(name)
					}
				}
				return true
			})
		}
	}
}
