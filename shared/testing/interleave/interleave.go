// Package interleave is for tests of what several do side by side: it has each of them pause before its calls, and lets them go on one at a
// time, in an order that the test chooses, or in every order there is.
package interleave

import "sync/atomic"

// Actor does one thing in a goroutine of its own, and pauses before its calls.
type Actor struct {
	Err error // of what it did, once it is over

	paused chan bool // it stands before a call
	goes   chan bool // it makes that call
	done   chan error
	over   bool
	left   atomic.Int64 // calls before which it still pauses
}

// Start has an actor do its thing, and returns when that stands before its first call, or is done. It pauses before its first calls, most
// of them; those after them it makes at once.
func Start(most int, do func(*Actor) error) *Actor {
	a := &Actor{paused: make(chan bool), goes: make(chan bool), done: make(chan error, 1)}
	a.left.Store(int64(most))
	go func() { a.done <- do(a) }()
	a.wait()
	return a
}

// Pause is called before each call of the actor, and returns when it is to be made. It may be called by several goroutines of an actor's,
// of which one goes on at a time.
func (a *Actor) Pause() {
	if a.left.Add(-1) >= 0 {
		a.paused <- true
		<-a.goes
	}
}

// wait waits until the actor stands before a call, or is done.
func (a *Actor) wait() {
	select {
	case <-a.paused:
	case a.Err = <-a.done:
		a.over = true
	}
}

// Run lets actors go on, call by call, until all are done: choose says which of those goes on that stand before a call, from 0, told how
// many there are; it is not asked about one alone. After each call step is called, nil for nothing.
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

// Orders calls try once for every sequence of choices: try chooses by the function that it is given, as often as it likes. It returns how
// many sequences there were.
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
