package main

import "sync"

// underWay are the writes that have arrived and were not answered yet, by item.
//
// DynamoDB's rules ("Transaction conflict handling" in its developer guide): a PutItem, UpdateItem or DeleteItem fails while a
// TransactWriteItems with its item is under way; a TransactWriteItems while another one is; a TransactGetItems while any write is. A
// ConditionCheck is an item of its transaction like the others. Reads that are no transactions never fail.
type underWay struct {
	mu           sync.Mutex
	transactions map[key]int
	single       map[key]int
}

func (u *underWay) reset() { u.transactions, u.single = map[key]int{}, map[key]int{} }

// begin enters the items of a call. If others write some of them, and the rules forbid both, it enters none and reports them.
func (u *underWay) begin(op string, items []key) (conflicts []bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, k := range items {
		n := u.transactions[k]
		if op == "TransactGetItems" {
			n += u.single[k]
		}
		if n == 0 {
			continue
		}
		if conflicts == nil {
			conflicts = make([]bool, len(items))
		}
		conflicts[i] = true
	}
	if conflicts == nil {
		u.add(op, items, 1)
	}
	return conflicts
}

// end takes out what begin entered.
func (u *underWay) end(op string, items []key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(op, items, -1)
}

func (u *underWay) add(op string, items []key, n int) {
	to := u.single
	switch op {
	case "TransactWriteItems":
		to = u.transactions
	case "TransactGetItems":
		return // reads stand in nobody's way
	}
	for _, k := range items {
		if to[k] += n; to[k] == 0 {
			delete(to, k)
		}
	}
}
