package api_test

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
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
			if got.Status != collab.InvalidArgument || len(got.Details) != 1 || !strings.HasPrefix(path, got.Details[0].Field) ||
				sends(allowed, got.Details[0].Field) || got.Details[0].Message != "must be left out: only a back end may set it" {
				t.Errorf("%s %s: %d %s", e.Path, path, w.Code, w.Body)
			}
		})
	}
	if tried < 600 {
		t.Errorf("only %d fields were tried", tried)
	}
}

// TestPersonRows holds which fields a person may send and is answered: what is within the last name of a path goes with it.
func TestPersonRows(t *testing.T) {
	var lines []string
	for _, e := range api.Endpoints() {
		if e.Person.Sends == "" {
			continue
		}
		allowed := rpc.ParseFields(e.Person.Sends)
		visit(rpc.ShapeOf(e.Operation.Request), "", 7, func(path string, _ any) {
			if path = strings.ReplaceAll(path, "[0]", ""); sends(allowed, path) {
				lines = append(lines, e.Path+" sends "+path[1:])
			}
		})
		for _, path := range seen(rpc.ParseFields(e.Person.Sees), "") {
			lines = append(lines, e.Path+" is answered "+path)
		}
	}
	slices.Sort(lines)
	text := strings.Join(slices.Compact(lines), "\n") + "\n"
	const file = "testdata/person.txt"
	golden.Check(t, file, text)
}

// seen returns the paths of fields.
func seen(f rpc.Fields, path string) (paths []string) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if at := path + name; f[name] != nil {
			paths = append(paths, seen(f[name], at+".")...)
		} else {
			paths = append(paths, at)
		}
	}
	return paths
}
