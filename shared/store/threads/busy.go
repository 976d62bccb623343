package threads

import (
	"math"
	"sync"

	"collabdata/shared/collab"
	"collabdata/shared/table"
)

// busyThreads are the time keys that this process saw last, by head. They only save writes: whoever relies on a key looks again.
type busyThreads struct {
	mu  sync.Mutex
	key map[table.Key]collab.Millis
}

// mostBusy is how many threads are remembered.
const mostBusy = 1000

// seen returns where a time key stood; before all times where that is not known.
func (b *busyThreads) seen(head table.Key) collab.Millis {
	b.mu.Lock()
	defer b.mu.Unlock()
	if key, ok := b.key[head]; ok {
		return key
	}
	return math.MinInt64
}

func (b *busyThreads) note(head table.Key, key collab.Millis) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.key == nil || len(b.key) >= mostBusy {
		b.key = map[table.Key]collab.Millis{}
	}
	b.key[head] = key
}
