// Package importtest checks which package may import which, and that packages have no hidden state.
package importtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/testing/must"
)

var module = strings.TrimSuffix(reflect.TypeFor[folder]().PkgPath(), "/shared/importtest")

// folder is one package without its tests.
type folder struct {
	path    string // within the module, such as shared/store
	name    string // of the package
	files   []*ast.File
	imports []string
}

// load reads every package of a module.
func load(module fs.FS) (map[string]*folder, error) {
	folders := make(map[string]*folder)
	err := fs.WalkDir(module, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if file != "." && (name[0] == '.' || name == "testdata" || name == "node_modules" || name == "cdk.out") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(module, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		if err != nil {
			return err
		}
		f := folders[path.Dir(file)]
		if f == nil {
			f = &folder{path: path.Dir(file), name: parsed.Name.Name}
			folders[f.path] = f
		}
		f.files = append(f.files, parsed)
		for _, i := range parsed.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if !slices.Contains(f.imports, p) {
				f.imports = append(f.imports, p)
			}
		}
		return nil
	})
	return folders, err
}

// under reports whether a path is one of the folders, or below one.
func under(p string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return p == f || strings.HasPrefix(p, f+"/") })
}

// standard reports whether a path is of the standard library.
func standard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return first != module && !strings.Contains(first, ".")
}

// owned are the paths that one place alone imports. Others may in their tests.
var owned = []struct {
	prefix string
	owners []string
}{
	{"github.com/aws/aws-sdk-go-v2/service/dynamodb", []string{"shared/store", "shared/testing/storetest", "localstack"}},
	{"github.com/aws/aws-sdk-go-v2/feature/dynamodb", []string{"shared/store"}},
	{"github.com/aws/aws-sdk-go-v2/service/sqs", []string{"shared/queue"}},
	{"github.com/aws/aws-sdk-go-v2/service/ses", []string{"shared/mail", "infra/awsaccount"}},
	{"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi", []string{"shared/live/gateway"}},
	{"github.com/aws/aws-sdk-go-v2/service/cloudformation", []string{"infra/stack"}},
	{"github.com/aws/aws-cdk-go", []string{"infra"}},
	{"github.com/aws/constructs-go", []string{"infra"}},
	{"github.com/aws/jsii-runtime-go", []string{"infra"}},
	{"github.com/cdklabs", []string{"infra"}},
}

// storeParts lists the imports from the store that its parts, and the packages that deliver, may
// have.
var storeParts = map[string][]string{
	"shared/store":             {},
	"shared/store/accounts":    {"shared/store"},
	"shared/store/connections": {"shared/store"},
	"shared/store/directory":   {"shared/store"},
	"shared/store/task":        {"shared/store"},
	"shared/store/outbox":      {"shared/store", "shared/store/task"},
	"shared/store/hooks":       {"shared/store", "shared/store/outbox", "shared/store/task"},
	"shared/store/inbox":       {"shared/store", "shared/store/outbox"},
	"shared/store/threads":     {"shared/store", "shared/store/directory", "shared/store/outbox"},
	"shared/store/erasure": {
		"shared/store", "shared/store/directory", "shared/store/inbox", "shared/store/outbox", "shared/store/threads",
	},
	"shared/store/deletion": {
		"shared/store", "shared/store/directory", "shared/store/erasure", "shared/store/outbox", "shared/store/inbox", "shared/store/task", "shared/store/threads",
	},
	"shared/delivery": {
		"shared/store/accounts", "shared/store/deletion", "shared/store/directory", "shared/store/hooks", "shared/store/inbox", "shared/store/outbox", "shared/store/task",
		"shared/store/threads",
	},
	"shared/delivery/pending": {"shared/store/task"},
	"shared/app/relay":        {"shared/store", "shared/store/outbox"},
}

// check returns the violations, sorted.
func check(folders map[string]*folder) []string {
	var broken []string
	for _, f := range folders {
		report := func(format string, args ...any) {
			broken = append(broken, f.path+" "+fmt.Sprintf(format, args...))
		}
		for _, p := range f.imports {
			if under(f.path, "shared/collab", "shared/keys") && !standard(p) &&
				!under(p, "golang.org/x/text", "golang.org/x/net/idna", "github.com/rivo/uniseg", "github.com/go-json-experiment/json/jsontext") &&
				!(f.path == "shared/keys" && p == module+"/shared/collab") {
				report("imports %s: it may import the standard library and packages for texts only", p)
			}
			if under(f.path, "functions") && !under(p, module+"/shared/app", module+"/shared/api") {
				report("imports %s: a main may import shared/app and operations of shared/api only", p)
			}
			for _, o := range owned {
				if strings.HasPrefix(p, o.prefix) && !under(f.path, o.owners...) {
					report("imports %s: only %s may", p, strings.Join(o.owners, ", "))
				}
			}
			part, ours := strings.CutPrefix(p, module+"/")
			if of, ok := storeParts[f.path]; ok && ours && under(part, "shared/store") && !slices.Contains(of, part) {
				report("imports %s: of the store it may import %v", p, of)
			}
			if p == "crypto/rand" && under(f.path, "shared") && !under(f.path, "shared/app", "shared/client", "shared/testing") {
				report("imports crypto/rand: randomness comes from shared/app")
			}
			if ours && under(part, "shared/testing") && !under(f.path, "shared/testing") && !strings.HasSuffix(f.path, "test") {
				report("imports %s: only tests may", p)
			}
			if ours && under(f.path, "shared/client") && !under(part, "shared/client") && !strings.HasSuffix(f.path, "test") {
				report("imports %s: others copy the client, without the service", p)
			}
			if p == "os" && under(f.path, "shared/api") {
				report("imports os")
			}
		}
		if under(f.path, "shared/api") && f.path != "shared/api/operator" { // which no function serves
			for _, p := range f.imports {
				if strings.HasPrefix(p, "github.com/aws/") || under(p, module+"/shared/queue", module+"/shared/delivery") {
					report("imports %s: operations know stores alone", p)
				}
			}
		}
		for _, name := range []string{f.name, path.Base(f.path)} {
			if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "types", "models"}, name) {
				report("is called %s, which says nothing", name)
				break
			}
		}
		f.checkState(report)
	}
	slices.Sort(broken)
	return broken
}

// checkState reports hidden inputs and state: init, package variables that change, and, below
// shared, reads of environment and clock outside shared/app.
func (f *folder) checkState(report func(string, ...any)) {
	variables := make(map[string]bool)
	for _, file := range f.files {
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				for _, spec := range g.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						variables[name.Name] = true
					}
				}
			}
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				report("has an init function")
			}
		}
	}
	for _, file := range f.files {
		assigned := func(target ast.Expr) {
			if id := root(target); id != nil && variables[id.Name] && (id.Obj == nil || id.Obj == file.Scope.Lookup(id.Name)) {
				report("changes the package variable %s", id.Name)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, target := range n.Lhs {
					assigned(target)
				}
			case *ast.IncDecStmt:
				assigned(n.X)
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if !ok || x.Obj != nil || !under(f.path, "shared") || under(f.path, "shared/app") {
					break
				}
				switch name := x.Name + "." + n.Sel.Name; name {
				case "os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv":
					if under(f.path, "shared/testing", "shared/client/example") {
						break
					}
					report("uses %s: only shared/app reads the environment", name)
				case "time.Now", "time.Since":
					if !under(f.path, "shared/client", "shared/testing") {
						report("uses %s: the clock comes from shared/app", name)
					}
				}
			}
			return true
		})
	}
}

// root returns the variable that an assignment to target changes, nil where that is not plain.
func root(target ast.Expr) *ast.Ident {
	for {
		switch t := target.(type) {
		case *ast.Ident:
			return t
		case *ast.SelectorExpr:
			target = t.X
		case *ast.IndexExpr:
			target = t.X
		case *ast.StarExpr:
			target = t.X
		case *ast.ParenExpr:
			target = t.X
		default:
			return nil
		}
	}
}

func TestModule(t *testing.T) {
	folders, err := load(os.DirFS("../.."))
	must.Do(t, err)
	for _, p := range append(slices.Collect(maps.Keys(storeParts)), "shared/api", "shared/collab", "infra", "functions/relay") {
		if folders[p] == nil {
			t.Errorf("%s was not read", p)
		}
	}
	for _, b := range check(folders) {
		t.Error(b)
	}
}

// TestRules breaks each rule once.
func TestRules(t *testing.T) {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"shared/collab/a.go":           `package collab; import ("fmt"; "collabdata/shared/keys"; "golang.org/x/sync/errgroup")`,
		"shared/keys/a.go":             `package keys; import "fmt"`,
		"shared/store/a.go":            `package store; import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"`,
		"shared/queue/a.go":            `package queue; import "github.com/aws/aws-sdk-go-v2/service/dynamodb"`,
		"shared/mail/a.go":             `package mail; import ("github.com/aws/aws-sdk-go-v2/service/sqs"; "github.com/aws/aws-sdk-go-v2/service/sesv2")`,
		"shared/store/outbox/a.go":     `package outbox; import ("collabdata/shared/store"; "collabdata/shared/store/directory")`,
		"shared/store/threads/a.go":    `package threads; import ("collabdata/shared/store/directory"; "github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression")`,
		"shared/delivery/pending/a.go": `package relay; import ("collabdata/shared/store/outbox"; "collabdata/shared/store/threads")`,
		"shared/delivery/a.go":         `package delivery; import ("collabdata/shared/store"; "github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression")`,
		"shared/credentials/a.go":      `package auth; import "collabdata/shared/store"`,
		"shared/api/x/a.go":            `package x; import ("os"; "collabdata/shared/credentials")`,
		"shared/api/x/b.go":            `package x; import "github.com/aws/aws-lambda-go/events"; var e = os.ErrExist`,
		"shared/app/a.go":              `package app; import ("crypto/rand"; "time"); var now = time.Now; var home = os.Getenv("HOME")`,
		"shared/webhook/a.go":          `package webhook; import ("crypto/rand"; "os"; "time"); var _ = os.Getenv; func f() { time.Now(); time.Until(t) }`,
		"shared/api/y/a.go":            `package y; import "fmt"; func f(time clock) { time.Now() }`,
		"shared/client/transfer/a.go":  `package transfer; import ("collabdata/shared/client"; "collabdata/shared/collab")`,
		"shared/types/a.go":            `package types; func init() {}`,
		"scripts/util/a.go":            `package main; import ("os"; "github.com/aws/constructs-go/constructs/v10"); var x = os.Args`,
		"functions/v2/x/a.go":          `package main; import ("collabdata/shared/api/organizations"; "collabdata/shared/app"; "collabdata/shared/app/deliver"; "collabdata/shared/store")`,
		"infra/a.go":                   `package main; import "github.com/aws/aws-cdk-go/awscdk/v2"; func (s stack) init() {}`,
		"localstack/a.go":              `package localstack; var a, b, c, d = 1, m{}, &s{}, 2; var e int`,
		"localstack/b.go":              `package localstack; func f(e int) { a = 2; b["x"] = 3; (*c).y++; d := 3; d = 4; e = 5; other.z = 6 }`,
		"localstack/c.go":              `package localstack; func (d *t) f() { d.x = 1 }; var g int; func h() { g += 1; g := 2; g++ }`,
		"localstack/a_test.go":         `package localstack; import "github.com/aws/aws-sdk-go-v2/service/sqs"; func init() {}`,
		"infra/testdata/a.go":          `package broken; func`,
		"infra/cdk.out/bundle.go":      `package broken; func`,
		".local/a.go":                  `package broken; func`,
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	folders, err := load(files)
	must.Do(t, err)
	want := []string{
		`functions/v2/x imports collabdata/shared/store: a main may import shared/app and operations of shared/api only`,
		`localstack changes the package variable a`,
		`localstack changes the package variable b`,
		`localstack changes the package variable c`,
		`localstack changes the package variable g`,
		`scripts/util imports github.com/aws/constructs-go/constructs/v10: only infra may`,
		`scripts/util is called util, which says nothing`,
		`shared/api/x imports os`,
		`shared/api/x imports github.com/aws/aws-lambda-go/events: operations know stores alone`,
		`shared/client/transfer imports collabdata/shared/collab: others copy the client, without the service`,
		`shared/collab imports collabdata/shared/keys: it may import the standard library and packages for texts only`,
		`shared/collab imports golang.org/x/sync/errgroup: it may import the standard library and packages for texts only`,
		`shared/delivery imports collabdata/shared/store: of the store it may import [shared/store/accounts shared/store/deletion shared/store/directory shared/store/hooks shared/store/inbox shared/store/outbox shared/store/task shared/store/threads]`,
		`shared/delivery imports github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression: only shared/store may`,
		`shared/mail imports github.com/aws/aws-sdk-go-v2/service/sqs: only shared/queue may`,
		`shared/queue imports github.com/aws/aws-sdk-go-v2/service/dynamodb: only shared/store, shared/testing/storetest, localstack may`,
		`shared/delivery/pending imports collabdata/shared/store/outbox: of the store it may import [shared/store/task]`,
		`shared/delivery/pending imports collabdata/shared/store/threads: of the store it may import [shared/store/task]`,
		`shared/store/outbox imports collabdata/shared/store/directory: of the store it may import [shared/store shared/store/task]`,
		`shared/types has an init function`,
		`shared/types is called types, which says nothing`,
		`shared/webhook imports crypto/rand: randomness comes from shared/app`,
		`shared/webhook uses os.Getenv: only shared/app reads the environment`,
		`shared/webhook uses time.Now: the clock comes from shared/app`,
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, check(folders)); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
}
