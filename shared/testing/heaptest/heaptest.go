// Package heaptest measures for tests what code takes of memory.
package heaptest

import "runtime"

// Allocated returns how many bytes f takes from the heap in all, those that were freed meanwhile too, with what other goroutines take while
// it runs. Unlike a duration it hardly differs from run to run.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
