package cache_test

import (
	"testing"
	"time"

	"collabdata/shared/cache"
)

func TestCache(t *testing.T) {
	c := cache.New[string, int](3)
	start := time.UnixMilli(1_700_000_000_000)
	want := func(key string, now time.Time, value int, ok bool) {
		t.Helper()
		if got, there := c.Get(key, now); got != value || there != ok {
			t.Errorf("%s: %d, %v; want %d, %v", key, got, there, value, ok)
		}
	}
	want("a", start, 0, false)
	c.Put("a", 1, start.Add(time.Second))
	c.Put("b", 2, start)
	want("a", start.Add(time.Second-1), 1, true)
	want("a", start.Add(time.Second), 0, false)
	want("b", start, 0, false)
	c.Put("a", 3, start.Add(time.Minute))
	want("a", start.Add(time.Second), 3, true)
	c.Put("c", 4, start.Add(time.Minute))
	want("a", start, 3, true)
	c.Put("d", 5, start.Add(time.Minute)) // one too many
	want("a", start, 0, false)
	want("c", start, 0, false)
	want("d", start, 5, true)
	c.Expire("d")
	want("d", start, 0, false)
	if last, ok := c.Last("d"); last != 5 || !ok {
		t.Errorf("the last value of an expired key: %d, %v", last, ok)
	}
}
