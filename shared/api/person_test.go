package api_test

import (
	"encoding/json"
	"log/slog"
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

// visit calls f with each field of a shape, and a further one of open objects: its path, with [0]
// for arrays, and a value of its kind.
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
		if p.Object.Open {
			f(path+".further", "x")
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

// TestPersonFields sends each single field of each operation as a person. Unlisted fields, and
// operations without persons, are refused.
func TestPersonFields(t *testing.T) {
	now, tried := time.Now(), 0
	h := app.New(app.Config{Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }}).HandlerFor(
		collab.Identity{Account: "acme", Person: &collab.Person{UserID: "ann"}})
	for _, e := range api.Endpoints() {
		if e.Public {
			continue
		}
		shape := rpc.ShapeOf(e.Operation.Request)
		allowed := rpc.Sent(shape)
		visit(shape, "data", 7, func(path string, value any) {
			if e.Person != rpc.BackEnd && sends(allowed, path) {
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
			if e.Person == rpc.BackEnd {
				if got.Status != collab.PermissionDenied {
					t.Errorf("%s %s: %d %s", e.Path, path, w.Code, w.Body)
				}
				return
			}
			// If a parent field is refused, the error has the parent.
			if got.Status != collab.InvalidArgument || len(got.Details) == 0 || !strings.HasPrefix(path, got.Details[0].Field) ||
				sends(allowed, got.Details[0].Field) || got.Details[0].Message != "must be absent: only a back end may set it" {
				t.Errorf("%s %s: %d %s", e.Path, path, w.Code, w.Body)
			}
		})
	}
	if tried < 600 {
		t.Errorf("only %d fields were tried", tried)
	}
}

// TestPersonGolden lists all fields that a person can send and receive.
func TestPersonGolden(t *testing.T) {
	var list []string
	for _, e := range api.Endpoints() {
		if e.Person != rpc.BackEnd {
			list = append(list, paths(e.Path+" sends", rpc.Sent(rpc.ShapeOf(e.Operation.Request)))...)
			list = append(list, paths(e.Path+" receives", rpc.Received(e.Operation.Data))...)
		}
	}
	slices.Sort(list)
	golden.Check(t, "testdata/person.txt", strings.Join(list, "\n")+"\n")
}

func paths(path string, f rpc.Fields) (list []string) {
	if f == nil {
		return []string{path}
	}
	for name, within := range f {
		at := path + " " + name
		if name == "*" {
			at = path
		} else if strings.Count(path, " ") > 1 {
			at = path + "." + name
		}
		list = append(list, paths(at, within)...)
	}
	return list
}
