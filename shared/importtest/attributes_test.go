package importtest

import (
	"go/ast"
	"go/token"
	"os"
	"testing"

	"collabdata/shared/testing/must"
)

// TestAttributes checks that code uses each attribute name of package keys.
func TestAttributes(t *testing.T) {
	folders, err := load(os.DirFS("../.."))
	must.Do(t, err)
	uses := map[string]int{} // of the names that package keys gives to texts, by name
	for _, file := range folders["shared/keys"].files {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
				for _, spec := range d.Specs {
					v := spec.(*ast.ValueSpec)
					if len(v.Values) == 0 {
						continue // of a list of numbers
					}
					if text, ok := v.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
						uses[v.Names[0].Name] = -1 // its declaration
					}
				}
			}
		}
	}
	if len(uses) < 30 {
		t.Fatalf("only %d names were found", len(uses))
	}
	use := func(name string) {
		if _, known := uses[name]; known {
			uses[name]++
		}
	}
	for _, f := range folders {
		for _, file := range f.files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "keys" {
						use(n.Sel.Name)
					}
				case *ast.Ident:
					if f.path == "shared/keys" {
						use(n.Name)
					}
				}
				return true
			})
		}
	}
	for name, n := range uses {
		if n <= 0 && ast.IsExported(name) {
			t.Errorf("keys.%s is not used", name)
		}
	}
}
