package importtest

import (
	"go/ast"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestAttributes holds that every attribute that items are encoded with is in package table.
func TestAttributes(t *testing.T) {
	folders, err := load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, file := range folders["shared/table"].files {
		ast.Inspect(file, func(n ast.Node) bool {
			if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
				for _, spec := range d.Specs {
					for _, v := range spec.(*ast.ValueSpec).Values {
						if text, ok := v.(*ast.BasicLit); ok && text.Kind == token.STRING {
							name, _ := strconv.Unquote(text.Value)
							documented[name] = true
						}
					}
				}
			}
			return true
		})
	}
	found := 0
	for _, f := range folders {
		for _, file := range f.files {
			ast.Inspect(file, func(n ast.Node) bool {
				field, ok := n.(*ast.Field)
				if !ok || field.Tag == nil {
					return true
				}
				tag, _ := strconv.Unquote(field.Tag.Value)
				name, _, _ := strings.Cut(reflect.StructTag(tag).Get("dynamodbav"), ",")
				if name == "" || name == "-" {
					return true
				}
				if found++; !documented[name] {
					t.Errorf("%s: the attribute %q is no constant of package table", f.path, name)
				}
				return true
			})
		}
	}
	if found < 50 {
		t.Errorf("only %d attributes were found", found)
	}
}
