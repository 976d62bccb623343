package rpc_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
)

func TestSuccess(t *testing.T) {
	type item struct {
		Success bool   `json:"success"`
		Message string `json:"message"`
	}
	tests := []struct {
		name string
		data any
		want string
	}{
		{"struct", item{true, "<b>"}, `{"success":true,"message":"<b>"}`},
		{"array", []int64{1, 9007199254740991}, `[1,9007199254740991]`},
		{"nil array", []int64(nil), `[]`},
		{"nothing", nil, `null`},
		{"page", []collab.JSON{collab.JSON(`{"a":"<&>","n":1.0}`), nil, collab.JSON(`null`)}, `[{"a":"<&>","n":1.0},null,null]`},
		{"nil page", []collab.JSON(nil), `[]`},
		{"text", collab.JSON(`{"a":1}`), `{"a":1}`},
		{"nil text", collab.JSON(nil), `null`},
		{
			"keyed",
			rpc.Keyed[item]{{"z\"", item{true, "m"}}, {"a<", item{}}},
			`{"z\"":{"success":true,"message":"m"},"a<":{"success":false,"message":""}}`,
		},
		{"nil keyed", rpc.Keyed[item](nil), `{}`},
		{"pages by key", rpc.Keyed[[]collab.JSON]{{"d2", []collab.JSON{collab.JSON(`{}`)}}, {"d1", nil}}, `{"d2":[{}],"d1":[]}`},
		{"keyed within", struct {
			Items rpc.Keyed[int] `json:"items"`
		}{rpc.Keyed[int]{{"b", 1}, {"a", 2}}}, `{"items":{"b":1,"a":2}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := operation(newServer(), func(context.Context, *rpc.Call) (any, error) { return test.data, nil })
			w := serve(h, newRequest(t.Context(), `{"data":{}}`))
			want := `{"result":{"status":"success","message":"done","data":` + test.want + `}}`
			if w.Code != http.StatusOK || w.Body.String() != want {
				t.Errorf("%d\n     %s\nwant %s", w.Code, w.Body, want)
			}
			for name, value := range map[string]string{
				"Content-Type":   "application/json",
				"Cache-Control":  "no-store",
				"Content-Length": strconv.Itoa(len(want)),
			} {
				if got := w.Header().Get(name); got != value {
					t.Errorf("%s is %q", name, got)
				}
			}
		})
	}
}

func TestMessageAndNextPage(t *testing.T) {
	h := operation(newServer(), func(_ context.Context, call *rpc.Call) (any, error) {
		call.Message, call.NextPageToken = `2 of "3"`, "AQ-_"
		return []int{1, 2}, nil
	})
	w := serve(h, newRequest(t.Context(), `{"data":{}}`))
	if want := `{"result":{"status":"success","message":"2 of \"3\"","data":[1,2],"nextPageToken":"AQ-_"}}`; w.Body.String() != want {
		t.Errorf("got %s", w.Body)
	}
}

// FuzzWrappedLen compares WrappedLen with encoding/json.
func FuzzWrappedLen(f *testing.F) {
	for i := range 0x100 {
		f.Add(string(rune(i)))
	}
	for _, s := range []string{"", `{"a":"b\\n"}`, "\u2027\u2028\u2029\u202a", "\u0928\ue028\u2128", "🙂", "\ufffd", "\u2028"[:2]} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		must.Do(t, enc.Encode(s))
		if got, want := rpc.WrappedLen(s), b.Len()-len("\"\"\n"); got != want || rpc.WrappedLen([]byte(s)) != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	})
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 comments": rpc.Count(0, "comment"), "1 comment": rpc.Count(1, "comment"), "2 deliveries": rpc.Count(2, "delivery"), "1 delivery": rpc.Count(1, "delivery"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
