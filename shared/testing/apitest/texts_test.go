package apitest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"collabdata/shared/testing/golden"
	"collabdata/shared/testing/must"
)

// verbs matches placeholders of a format.
var verbs = regexp.MustCompile(`%[sdqv]`)

// TestErrorTexts compares the error texts in the source with those in responses to scripts, and
// with the reference. The golden file lists the remaining ones, which need a race, a limit or a
// fault.
func TestErrorTexts(t *testing.T) {
	met, err := os.ReadFile("testdata/errors.txt")
	must.Do(t, err)
	reference, err := os.ReadFile("../../api/openapi.json")
	must.Do(t, err)
	known := string(met) + string(reference)
	var unmet []string
	note := func(path string, v ast.Expr) {
		literal, ok := v.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return
		}
		text, err := strconv.Unquote(literal.Value)
		must.Do(t, err)
		if !strings.Contains(text, " ") {
			return
		}
		said := regexp.MustCompile(verbs.ReplaceAllString(regexp.QuoteMeta(text), ".*"))
		if !said.MatchString(known) {
			unmet = append(unmet, filepath.ToSlash(path)+": "+text)
		}
	}
	for _, dir := range []string{"access", "api", "collab", "credentials", "store", "webhook"} {
		must.Do(t, filepath.WalkDir(filepath.Join("../..", dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "openapi") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			must.Do(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if f, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Errorf", "FieldErrorf", "Add", "add"}, f.Sel.Name) {
						for _, arg := range n.Args {
							note(path[len("../../"):], arg)
						}
					}
				case *ast.KeyValueExpr:
					if name, ok := n.Key.(*ast.Ident); ok && name.Name == "Message" {
						note(path[len("../../"):], n.Value)
					}
				}
				return true
			})
			return nil
		}))
	}
	slices.Sort(unmet)
	golden.Check(t, "testdata/unmet.txt", strings.Join(unmet, "\n")+"\n")
}
