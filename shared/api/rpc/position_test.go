package rpc_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type listThings struct {
	OrganizationID string   `json:"organizationId"`
	IDs            []string `json:"ids"`
	After          *int64   `json:"after"`
	PageSize       int64    `json:"pageSize"`
	PageToken      string   `json:"pageToken"`
}

type position struct{ Source, Offset int }

// list answers the position that the page begins at, and leads to the one behind it.
func list(_ context.Context, call *rpc.Call, req *listThings) (position, error) {
	var p position
	if err := call.Position(req.PageToken, &p); err != nil {
		return p, err
	}
	call.NextPageToken = call.PageToken(position{p.Source + 1, p.Offset + 10})
	return p, nil
}

func TestPages(t *testing.T) {
	h := rpc.Handle(newServer(), list, rpc.Options{})
	page := func(data string) string {
		t.Helper()
		w := serve(h, newRequest(t.Context(), data))
		if w.Code != 200 {
			return failureOf(t, w).Error.Message
		}
		return w.Body.String()
	}
	token := func(answer string) string {
		_, token, _ := strings.Cut(answer, `"nextPageToken":"`)
		token, _, _ = strings.Cut(token, `"`)
		return token
	}
	at := func(source string) string {
		return `{"result":{"status":"success","message":"done","data":{"Source":` + source
	}

	first := page(`{"data":{"organizationId":"o","ids":["a","b"],"after":5,"pageSize":10}}`)
	second := page(`{"data":{"organizationId":"o","ids":["a","b"],"after":5,"pageSize":10,"pageToken":"` + token(first) + `"}}`)
	if !strings.HasPrefix(first, at("0")) || !strings.HasPrefix(second, at("1")) {
		t.Fatalf("pages begin at %s and %s", first, second)
	}
	for name, data := range map[string]string{
		"other page size": `"organizationId":"o","ids":["a","b"],"after":5,"pageSize":3`,
		"no page size":    `"organizationId":"o","ids":["a","b"],"after":5`,
		"written in another order and form": ` "after" :5.0,"pageSize":1, "ids":[ "a","\u0062"],
			"organizat\u0069onId":"o"`,
	} {
		if got := page(`{"data":{` + data + `,"pageToken":"` + token(first) + `"}}`); !strings.HasPrefix(got, at("1")) {
			t.Errorf("%s: %s", name, got)
		}
	}
	const refused = "data.pageToken must be the nextPageToken of this same query, unchanged"
	for name, data := range map[string]string{
		"other organization": `"organizationId":"p","ids":["a","b"],"after":5`,
		"other order of ids": `"organizationId":"o","ids":["b","a"],"after":5`,
		"filter left out":    `"organizationId":"o","ids":["a","b"]`,
		"other bound":        `"organizationId":"o","ids":["a","b"],"after":6`,
	} {
		if got := page(`{"data":{` + data + `,"pageToken":"` + token(first) + `"}}`); got != refused {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := page(`{"data":{"organizationId":"o","pageToken":""}}`); !strings.HasPrefix(got, at("0")) {
		t.Errorf("an empty token: %s", got)
	}
	scope := rpc.PageScope{Account: "acme", Path: "/v2/things/add", Filters: []byte(`{"organizationId":"o"}`)}
	if got := page(`{"data":{"organizationId":"o","pageToken":"` + scope.Encode([]byte(`{"Source":4}`)) + `"}}`); !strings.HasPrefix(
		got, at("4"),
	) {
		t.Errorf("the scope is not what this test takes it to be: %s", got)
	}
	for name, forged := range map[string]string{
		"of another account":   rpc.PageScope{Account: "other", Path: scope.Path, Filters: scope.Filters}.Encode([]byte(`{}`)),
		"of another path":      rpc.PageScope{Account: "acme", Path: "/v2/other/get", Filters: scope.Filters}.Encode([]byte(`{}`)),
		"position not JSON":    scope.Encode([]byte(`{`)),
		"position of no shape": scope.Encode([]byte(`{"Source":"x"}`)),
		"no token":             "x",
	} {
		w := serve(h, newRequest(t.Context(), `{"data":{"organizationId":"o","pageToken":"`+forged+`"}}`))
		f := failureOf(t, w)
		want := []collab.FieldError{{Field: "data.pageToken", Message: strings.TrimPrefix(refused, "data.pageToken ")}}
		if diff := cmp.Diff(want, f.Error.Details); diff != "" || f.Error.Message != refused || f.Error.Status != collab.InvalidArgument {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
}
