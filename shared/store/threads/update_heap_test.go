package threads

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/storetest"
)

func inUse() uint64 {
	runtime.GC()
	runtime.GC() // the first leaves the contents of pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestSwapIsBounded swaps the users of a thread of 12 MB. It needs the memory of a page and a
// transaction, so that concurrent threads fit in a function.
func TestSwapIsBounded(t *testing.T) {
	tb := storetest.New(t)
	w := newWriting(t, tb)
	text := strings.Repeat("x", 330_000)
	const comments = 36
	for first := int64(2); first < 2+comments; first += 9 {
		var list []collab.Comment
		for id := first; id < first+9; id++ {
			c := storetest.Comment("ann", id, 1_000)
			c.Text = &text
			list = append(list, c)
		}
		_, err := w.add(w.ann, list...)
		w.must(err)
	}
	most := uint64(0)
	// Calls are sequential.
	weighing := on(storetest.Watched(t, tb, func(string, string) *http.Response {
		most = max(most, inUse())
		return nil
	}))
	before := inUse()
	w.must(weighing.UpdateAnnotations(t.Context(), newRequest(5_000), w.doc, []string{w.ann}, swap("ann", "bob", 5_000))[0])
	swapped, err := w.Query(t.Context(), store.Scan{
		PK: keys.DocumentPartition(w.doc), Keys: store.Children(keys.Annotations), Project: []string{keys.SK, keys.Creator},
	})
	w.must(err)
	bobs := 0
	for _, it := range swapped {
		if it.Text(keys.Creator) == "bob" {
			bobs++
		}
	}
	if bobs != 1+1+comments || len(swapped) != bobs { // the head and its first comment
		t.Errorf("%d items, %d of them swapped", len(swapped), bobs)
	}
	const function = 512_000_000
	if took := most - before; took > 10_000_000 || took*threadsAtOnce > function/3 {
		t.Errorf("a thread takes %d MB", took/1e6)
	} else {
		t.Logf("%d MB", took/1e6)
	}
}
