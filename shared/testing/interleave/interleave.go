// Package interleave tests concurrent code. It pauses actors before their calls, and lets them
// continue one at a time, in a chosen order or in every order.
package interleave

import "sync/atomic"

// Actor runs a function in a goroutine and pauses before its calls.
type Actor struct {
	Err error // result, after it is done

	paused chan bool // true before a call
	goes   chan bool // allows the call
	done   chan error
	over   bool
	left   atomic.Int64 // remaining calls with a pause
}

// Start runs do as an actor, and returns before its first call or at its end. The actor pauses
// before its first limit calls.
func Start(limit int, do func(*Actor) error) *Actor {
	a := &Actor{paused: make(chan bool), goes: make(chan bool), done: make(chan error, 1)}
	a.left.Store(int64(limit))
	go func() { a.done <- do(a) }()
	a.wait()
	return a
}

// Pause waits until the actor may make its next call. Several goroutines of an actor may call it;
// one continues at a time.
func (a *Actor) Pause() {
	if a.left.Add(-1) >= 0 {
		a.paused <- true
		<-a.goes
	}
}

// wait waits until the actor pauses or is done.
func (a *Actor) wait() {
	select {
	case <-a.paused:
	case a.Err = <-a.done:
		a.over = true
	}
}

// Run continues actors call by call until all are done. choose returns the index of the actor to
// continue, among the given number; it is not called for one. Run calls step after each call; step
// may be nil.
func Run(choose func(among int) int, step func(), actors ...*Actor) {
	for {
		var standing []*Actor
		for _, a := range actors {
			if !a.over {
				standing = append(standing, a)
			}
		}
		if len(standing) == 0 {
			return
		}
		next := standing[0]
		if len(standing) > 1 {
			next = standing[choose(len(standing))]
		}
		next.goes <- true
		next.wait()
		if step != nil {
			step()
		}
	}
}

// Orders calls try once for every sequence of choices. try may call choose any number of times.
// Orders returns the number of sequences.
func Orders(try func(choose func(among int) int)) (tried int) {
	var choices, among []int
	for {
		n := 0
		try(func(k int) int {
			if n == len(choices) {
				choices, among = append(choices, 0), append(among, k)
			}
			n++
			return choices[n-1]
		})
		tried++
		for n = len(choices) - 1; n >= 0 && choices[n] == among[n]-1; n-- {
		}
		if n < 0 {
			return tried
		}
		choices, among = choices[:n+1], among[:n+1]
		choices[n]++
	}
}
