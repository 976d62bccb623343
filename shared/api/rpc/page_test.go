package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// numbers is a list of the numbers below 10, the long ones of them.
type numbers struct {
	rpc.PageRequest
	Long    int64 `json:"long"` // how many bytes each item has
	Grouped bool  `json:"grouped"`
}

func listNumbers(_ context.Context, call *rpc.Call, req *numbers) (*rpc.GroupedPage[string], error) {
	next := 0
	page, err := rpc.NewPage[string](call, "number", req.PageRequest, &next)
	if err != nil {
		return nil, err
	}
	grouped := page.Group(req.Grouped)
	for ; next < 10; next++ {
		text, err := json.Marshal(fmt.Sprint(next, strings.Repeat("x", int(req.Long))))
		if err != nil {
			return nil, err
		}
		if !grouped.AddTo([]string{"even", "odd"}[next%2], text, rpc.WrappedLen(text)) {
			page.Next(next)
			break
		}
	}
	return grouped, nil
}

func TestPage(t *testing.T) {
	h := rpc.Handle(newServer(), listNumbers, rpc.Options{})
	ask := func(data string) (answer struct {
		Result struct {
			Message, NextPageToken string
			Data                   any
		}
	}) {
		t.Helper()
		w := serve(h, newRequest(t.Context(), `{"data":`+data+`}`))
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 {
			t.Fatal(w.Code, w.Body, err)
		}
		return answer
	}
	all := []any{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
	if a := ask(`{}`); !cmp.Equal(a.Result.Data, any(all)) || a.Result.NextPageToken != "" || a.Result.Message != "10 numbers" {
		t.Errorf("all: %+v", a)
	}
	first := ask(`{"pageSize":3}`)
	if !cmp.Equal(first.Result.Data, any(all[:3])) || first.Result.NextPageToken == "" || first.Result.Message != "3 numbers" {
		t.Errorf("first: %+v", first)
	}
	if a := ask(`{"pageSize":9,"pageToken":"` + first.Result.NextPageToken + `"}`); !cmp.Equal(a.Result.Data, any(all[3:])) ||
		a.Result.NextPageToken != "" {
		t.Errorf("second: %+v", a)
	}
	if a := ask(`{"long":2000000}`); len(a.Result.Data.([]any)) != 2 || a.Result.NextPageToken == "" {
		t.Errorf("of 2 MB each: %d", len(a.Result.Data.([]any)))
	}
	if a := ask(`{"long":6000000}`); len(a.Result.Data.([]any)) != 1 || a.Result.NextPageToken == "" {
		t.Errorf("larger than a page: %d", len(a.Result.Data.([]any)))
	}
	want := map[string]any{"even": []any{"0", "2", "4"}, "odd": []any{"1", "3"}}
	if a := ask(`{"grouped":true,"pageSize":5}`); !cmp.Equal(a.Result.Data, any(want)) || a.Result.Message != "5 numbers" {
		t.Errorf("grouped: %+v", a)
	}
	if a := ask(`{"grouped":true,"long":2000000}`); len(a.Result.Data.(map[string]any)) != 2 || a.Result.NextPageToken == "" {
		t.Errorf("grouped, of 2 MB each: %+v", a.Result.Message)
	}
}

// TestPageExact holds that the items of a page take no more than they may, whatever their sizes.
func TestPageExact(t *testing.T) {
	for _, size := range []int{100, 101, 4_989_997, 4_989_998} {
		list := rpc.NewList[collab.JSON](&rpc.Call{}, "item")
		taken := 0
		for list.AddEncoded(nil, size) {
			taken += size + 1
		}
		if taken > rpc.MaxPage || taken+size+1 <= rpc.MaxPage || list.Room() >= size {
			t.Errorf("items of %d take %d of %d", size, taken, rpc.MaxPage)
		}
	}
}
