// Package heaptest measures the memory allocations of code.
package heaptest

import "runtime"

// Allocated returns the total bytes that f allocates, including freed ones and those of concurrent
// goroutines. Unlike a duration, it is almost constant.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
