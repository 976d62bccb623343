package threads

import (
	"math"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
)

// Limits of the reads for one page of a walk: at most 400 capacity units, apart from its threads.
const (
	mostEntries = 10_000 // index entries
	mostSources = 500    // ranges of keys
	mostUnits   = 330    // capacity units of index reads
	// Capacity units of index reads and rejected threads, if there are any; one more read may take
	// 250.
	mostSifted = 150
	// Documents that a Sight decides about; each may be a call to a permission provider.
	mostAsked = 150

	// After this time the walk leaves further documents to the next page.
	askingTime = 5 * time.Second
)

const (
	// Index entries for each read if only threads show whether they match.
	siftedAtOnce = 100
	readAhead    = 16 // maximum of ranges read concurrently
	threadsAhead = 8  // threads fetched concurrently while their size is unknown
)

// pageBytes is the approximate size of a page; the walk reads no further ahead.
const pageBytes = 5_000_000

// bytesPerUnit is the size that an eventually consistent read of one capacity unit returns.
const bytesPerUnit = 8192

func readUnits(bytes int) float64 { return max(1, math.Ceil(2*float64(bytes)/bytesPerUnit)) / 2 }

type cost struct {
	entries int     // index entries
	bytes   int     // of the entries
	units   float64 // capacity units for the entries
	threads int     // read completely from the table
	items   int     // of the threads
}

// query adds the cost of an index query.
func (c *cost) query(entries []store.Item) {
	n := bytes(entries)
	c.entries += len(entries)
	c.bytes += n
	c.units += readUnits(n)
}

// budget tracks the reads for a page, and sizes the next read.
type budget struct {
	usage     *collab.Usage // of the request
	limit     int           // annotations on the page
	taken     int           // threads
	content   int           // bytes of threads taken
	sources   int           // finished ranges
	spent     cost
	sifted    float64 // capacity units of rejected threads
	dearest   float64 // of the largest rejected thread
	decisions int     // documents that a Sight decided about
}

func (b *budget) count(c cost) {
	b.spent.entries += c.entries
	b.spent.bytes += c.bytes
	b.spent.units += c.units
	b.spent.threads += c.threads
	b.spent.items += c.items
}

func (b *budget) want() int { return b.limit - b.taken }

// over reports whether the page ends because it is full or at its limits.
func (b *budget) over() bool {
	return b.want() == 0 || b.usage.PageLeft() <= 0 || b.spent.entries >= mostEntries || b.spent.units >= mostUnits || b.siftedEnough() || b.sources >= mostSources || b.decisions >= mostAsked
}

// sift counts a rejected thread or head. inRange is true if it was read in a range.
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

func (b *budget) siftedEnough() bool { return b.sifted > 0 && b.sifted+b.spent.units >= mostSifted }

// siftable returns the number of threads or heads to read if most may be rejected.
func (b *budget) siftable() int { return max(1, int((mostSifted-b.sifted)/max(1, b.dearest))) }

// siftAhead returns the number of threads to fetch concurrently if most may be rejected.
func (b *budget) siftAhead() int { return min(4, b.siftable()) }

func (b *budget) entryBytes() float64 {
	if b.spent.entries == 0 {
		return 300
	}
	return float64(b.spent.bytes) / float64(b.spent.entries)
}

// allowance returns the number of index entries that each of n concurrent reads may examine.
func (b *budget) allowance(n int) int {
	left := min(float64(mostEntries-b.spent.entries), (mostUnits-b.spent.units)*bytesPerUnit/b.entryBytes())
	return max(1, int(left)/n)
}

// entriesFor estimates the number of entries to examine for want annotations, plus one to detect
// the end.
func (b *budget) entriesFor(want int) int {
	if b.spent.entries == 0 {
		return want + 1
	}
	return max(want+1, int(float64(want)*float64(b.spent.entries)/float64(b.taken+1)))
}

// itemsFor estimates the number of items to read for want annotations, plus the head that ends the
// last.
func (b *budget) itemsFor(want int) int {
	perThread := 2.0
	if b.spent.threads > 0 {
		perThread = float64(b.spent.items) / float64(b.spent.threads)
	}
	return int(math.Ceil(float64(want)*perThread)) + 1
}

// mostQuery is the most units of one query with eventual consistency.
const mostQuery = 128

// fitting returns how many of n reads of about units fit on the page, at least 1.
func (b *budget) fitting(n int, units float64) int {
	return max(1, int(min(float64(n), b.usage.PageLeft()/units)))
}

// window returns the number of threads to fetch concurrently, no more than the page needs.
func (b *budget) window(entries, concurrency int) int {
	units := 2.0 * mostQuery // strong
	if b.taken > 0 {
		units = 2 * readUnits(b.content/b.taken)
	}
	n := b.fitting(min(concurrency, b.want()), units)
	switch average := b.content / max(1, b.taken); {
	case b.taken == 0 && entries > concurrency:
		n = min(n, threadsAhead)
	case average > 0:
		n = min(n, (pageBytes-b.content)/average+1)
	}
	return max(n, 1)
}

func (b *budget) perSource() int { return b.taken / max(1, b.sources) }

// width returns the number of ranges to read concurrently: one at first, more if they are small.
func (b *budget) width() int {
	if b.sources == 0 {
		return 1
	}
	n := min(readAhead, math.Ceil(float64(b.want())/float64(max(1, b.perSource()))))
	if average := b.content / b.sources; average > 0 {
		n = min(n, math.Ceil(float64(pageBytes-b.content)/float64(average)))
	}
	if b.usage.Limited() {
		return b.fitting(int(n), mostQuery)
	}
	return max(1, int(n))
}

func bytes(items []store.Item) (n int) {
	for _, it := range items {
		n += it.Size()
	}
	return n
}
