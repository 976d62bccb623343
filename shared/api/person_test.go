package api_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/testing/golden"
	"collabdata/shared/testing/must"
)

// visit calls f with each field of a shape: its path, with [0] where the fields before hold arrays, and a value of its kind.
func visit(p *rpc.Shape, path string, depth int, f func(path string, value any)) any {
	switch p.Kind {
	case rpc.KindString:
		return strings.Join(append(p.Enum, "x")[:1], "")
	case rpc.KindBool:
		return true
	case rpc.KindInteger:
		return max(p.Min, 1)
	case rpc.KindRaw:
		return map[bool]any{true: 1, false: map[string]any{}}[p.Only == "number"]
	case rpc.KindArray:
		return []any{visit(p.Elem, path+"[0]", depth, f)}
	case rpc.KindStruct:
		object := map[string]any{}
		for _, field := range p.Object.Fields {
			if depth > 0 {
				at := path + "." + field.Name
				object[field.Name] = visit(field.Shape, at, depth-1, f)
				f(at, object[field.Name])
			}
		}
		return object
	default:
		return visit(p.Elem, path, depth, f)
	}
}

// nested returns a body with a value at a path of visit.
func nested(path string, value any) any {
	i := strings.LastIndexAny(path, ".[")
	switch {
	case i < 0:
		return map[string]any{path: value}
	case path[i] == '[':
		return nested(path[:i], []any{value})
	}
	return nested(path[:i], map[string]any{path[i+1:]: value})
}

// sends reports whether fields have a path of visit.
func sends(f rpc.Fields, path string) bool {
	for _, name := range strings.Split(strings.ReplaceAll(path, "[0]", ""), ".")[1:] {
		within, ok := f[name]
		if !ok {
			return false
		}
		if f = within; f == nil {
			return true
		}
	}
	return true
}

// TestPersonFields sends each single field of each operation as a person: what the row does not list is refused by its name, and so is each
// operation that has no row for persons.
func TestPersonFields(t *testing.T) {
	now, tried := time.Now(), 0
	h := app.New(app.Config{Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }}).HandlerFor(
		collab.Identity{Account: "acme", Person: &collab.Person{UserID: "ann"}})
	for _, e := range api.Endpoints() {
		if e.Public {
			continue
		}
		allowed := rpc.ParseFields(e.Person.Sends)
		shape := rpc.ShapeOf(e.Operation.Request)
		visit(shape, "data", 7, func(path string, value any) {
			if e.Person.Sends != "" && sends(allowed, path) {
				return
			}
			now, tried = now.Add(10*time.Second), tried+1
			body, err := json.Marshal(nested(path, value))
			must.Do(t, err)
			r := httptest.NewRequest(http.MethodPost, "http://localhost"+e.Path, strings.NewReader(string(body)))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			var answer struct {
				Error struct {
					Status  collab.Code
					Details []collab.FieldError
				}
			}
			must.Do(t, json.Unmarshal(w.Body.Bytes(), &answer))
			got := answer.Error
			if e.Person.Sends == "" {
				if got.Status != collab.PermissionDenied {
					t.Errorf("%s %s: %d %s", e.Path, path, w.Code, w.Body)
				}
				return
			}
			// Where a field around it may not be sent, that one is named.
			if got.Status != collab.InvalidArgument || len(got.Details) == 0 || !strings.HasPrefix(path, got.Details[0].Field) ||
				sends(allowed, got.Details[0].Field) || got.Details[0].Message != "must be left out: only a back end may set it" {
				t.Errorf("%s %s: %d %s", e.Path, path, w.Code, w.Body)
			}
		})
	}
	if tried < 600 {
		t.Errorf("only %d fields were tried", tried)
	}
}

// TestPersonSees lists every field that a person can receive. Each is one of the answer's type, and none brings members without names.
func TestPersonSees(t *testing.T) {
	var list []string
	for _, e := range api.Endpoints() {
		if e.Person.Sees != "" {
			list = append(list, seen(t, e.Path+" data", rpc.ParseFields(e.Person.Sees), e.Operation.Data)...)
		}
	}
	slices.Sort(list)
	golden.Check(t, "testdata/person.txt", strings.Join(list, "\n")+"\n")
}

// seen returns the paths of fields, which it compares with a type of answers.
func seen(t *testing.T, path string, f rpc.Fields, of reflect.Type) (list []string) {
	switch v := reflect.Zero(of).Interface().(type) {
	case interface{ ItemType() reflect.Type }:
		of = v.ItemType()
	case interface{ StoredType() reflect.Type }:
		of = v.StoredType()
	case interface{ ValueType() reflect.Type }:
		of, f = v.ValueType(), f["*"]
	}
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if (f == nil) != (of.Kind() != reflect.Struct) {
		t.Fatalf("%s: the members of %v must be named, if it has some", path, of)
	}
	if f == nil {
		return []string{path}
	}
	for name, within := range f {
		i := slices.IndexFunc(reflect.VisibleFields(of), func(field reflect.StructField) bool {
			return strings.Split(field.Tag.Get("json"), ",")[0] == name
		})
		if i < 0 {
			t.Errorf("%s has no %s", path, name)
		} else {
			list = append(list, seen(t, path+"."+name, within, reflect.VisibleFields(of)[i].Type)...)
		}
	}
	return list
}
