package threads

import (
	"math"
	"time"

	"collabdata/shared/store"
)

// Limits of the reads for one page of a walk. So a page costs at most 400 capacity units, apart from its threads.
const (
	mostEntries = 10_000 // index entries
	mostSources = 500    // ranges of keys
	mostUnits   = 330    // capacity units of index reads
	mostSifted  = 150    // capacity units of index reads and of threads that did not pass, where there are any: one more read may take 250
	mostAsked   = 150    // documents of which a Sight is asked: each may be a question to a permission provider

	askingTime = 5 * time.Second // after which a Sight is asked nothing more: what it does not know is for the next page
)

const (
	siftedAtOnce = 100 // index entries per read where only the threads show whether they pass
	readAhead    = 16  // ranges read concurrently at most, when they turn out small
	threadsAhead = 8   // threads fetched concurrently while their size is unknown
)

// pageBytes is about how much content fits on a page: the walk reads no further ahead.
const pageBytes = 5_000_000

// bytesPerUnit is what a capacity unit reads, eventually consistent.
const bytesPerUnit = 8192

// readUnits returns the capacity units of an eventually consistent read.
func readUnits(bytes int) float64 { return max(1, math.Ceil(2*float64(bytes)/bytesPerUnit)) / 2 }

// cost is what a read of a range consumed.
type cost struct {
	entries int     // of indexes
	bytes   int     // of the entries
	units   float64 // of capacity, for the entries
	threads int     // read whole from the table itself
	items   int     // that the threads are made of
}

// query adds an index query that gave these entries.
func (c *cost) query(entries []store.Item) {
	n := bytes(entries)
	c.entries += len(entries)
	c.bytes += n
	c.units += readUnits(n)
}

// budget counts what a walk has read for its page, and sizes the next read by it.
type budget struct {
	most    int // annotations that the page takes
	taken   int // threads
	content int // of the threads taken, in bytes
	sources int // ranges examined to their end
	spent   cost
	sifted  float64 // capacity units of threads that did not pass
	dearest float64 // of the largest of them
	asked   int     // documents of which a Sight was asked
}

// count adds a read's cost.
func (b *budget) count(c cost) {
	b.spent.entries += c.entries
	b.spent.bytes += c.bytes
	b.spent.units += c.units
	b.spent.threads += c.threads
	b.spent.items += c.items
}

// want returns how many more annotations the page takes.
func (b *budget) want() int { return b.most - b.taken }

// over reports whether the page ends: it is full, or the walk has read as much as it may.
func (b *budget) over() bool {
	return b.want() == 0 || b.spent.entries >= mostEntries || b.spent.units >= mostUnits || b.siftedEnough() || b.sources >= mostSources || b.asked >= mostAsked
}

// sift counts a thread, or its head, that was read and did not pass. inRange: it was read with what lies next to it.
func (b *budget) sift(bytes int, strong, inRange bool) {
	units := readUnits(bytes)
	if inRange {
		units = float64(bytes) / bytesPerUnit
	}
	if strong {
		units *= 2
	}
	b.sifted += units
	b.dearest = max(b.dearest, units)
}

// siftedEnough reports whether the page ends because too much was read that did not pass.
func (b *budget) siftedEnough() bool { return b.sifted > 0 && b.sifted+b.spent.units >= mostSifted }

// siftable returns how many more threads, or heads, may be read of which most may not pass.
func (b *budget) siftable() int { return max(1, int((mostSifted-b.sifted)/max(1, b.dearest))) }

// siftAhead returns how many threads to fetch concurrently where most may not pass.
func (b *budget) siftAhead() int { return min(4, b.siftable()) }

// entryBytes estimates the size of an index entry.
func (b *budget) entryBytes() float64 {
	if b.spent.entries == 0 {
		return 300
	}
	return float64(b.spent.bytes) / float64(b.spent.entries)
}

// allowance returns how many index entries each of n concurrent reads may examine.
func (b *budget) allowance(n int) int {
	left := min(float64(mostEntries-b.spent.entries), (mostUnits-b.spent.units)*bytesPerUnit/b.entryBytes())
	return max(1, int(left)/n)
}

// entriesFor estimates how many entries to examine for want annotations, and one more to see whether the list goes on.
func (b *budget) entriesFor(want int) int {
	if b.spent.entries == 0 {
		return want + 1
	}
	return max(want+1, int(float64(want)*float64(b.spent.entries)/float64(b.taken+1)))
}

// itemsFor estimates how many items of a document to read for want annotations, and the head of the next one, which ends the last.
func (b *budget) itemsFor(want int) int {
	perThread := 2.0
	if b.spent.threads > 0 {
		perThread = float64(b.spent.items) / float64(b.spent.threads)
	}
	return int(math.Ceil(float64(want)*perThread)) + 1
}

// window returns how many threads of a list of entries to fetch concurrently: no more than the page may take.
func (b *budget) window(entries, concurrency int) int {
	n := min(concurrency, b.want())
	switch average := b.content / max(1, b.taken); {
	case b.taken == 0 && entries > concurrency:
		n = min(n, threadsAhead)
	case average > 0:
		n = min(n, (pageBytes-b.content)/average+1)
	}
	return max(n, 1)
}

// perSource returns how many annotations each range had so far, on average.
func (b *budget) perSource() int { return b.taken / max(1, b.sources) }

// width returns how many ranges to read concurrently: one at first, many when they turn out small.
func (b *budget) width() int {
	if b.sources == 0 {
		return 1
	}
	n := min(readAhead, math.Ceil(float64(b.want())/float64(max(1, b.perSource()))))
	if average := b.content / b.sources; average > 0 {
		n = min(n, math.Ceil(float64(pageBytes-b.content)/float64(average)))
	}
	return max(1, int(n))
}
