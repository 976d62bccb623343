package rpc_test

import (
	"testing"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// TestPageExact checks that items of any size do not exceed a page.
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
