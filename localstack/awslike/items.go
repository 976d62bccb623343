package main

import (
	"sync"

	"collabdata/shared/keys"
)

// items is what the proxy knows of where items stand in the indexes, by table.
type items struct {
	ask func(op string, question, answer any) error // the emulator

	mu    sync.Mutex
	known map[string]map[key]standing
}

// standing is where an item stands.
type standing struct {
	attrs map[string]string // index key attributes
	size  int               // bytes, as last seen
}

const maxItems = 2_000_000 // of a table

// find returns where an item stands. If the proxy has not seen it written, it asks the emulator where look is set.
func (s *items) find(table string, k key, look bool) standing {
	s.mu.Lock()
	found, ok := s.known[table][k]
	s.mu.Unlock()
	if ok || !look {
		return found
	}
	var out struct{ Item item }
	question := map[string]any{"TableName": table, "ConsistentRead": true, "Key": item{keys.PK: {S: &k.pk}, keys.SK: {S: &k.sk}}}
	if s.ask("GetItem", question, &out) != nil || out.Item == nil {
		return found
	}
	found = standing{attrs: out.Item.indexed(), size: out.Item.size()}
	s.keep(table, k, found)
	return found
}

func (s *items) keep(table string, k key, st standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]map[key]standing{}
	}
	if s.known[table] == nil || len(s.known[table]) >= maxItems {
		s.known[table] = map[key]standing{}
	}
	s.known[table][k] = st
}

// wrote takes down what a call that was carried out has written. Items that stand in no index are forgotten.
func (s *items) wrote(list []*touch) {
	for _, t := range list {
		switch {
		case t.verb == remove || t.verb == put && len(t.entries) == 0:
			s.mu.Lock()
			delete(s.known[t.table], t.key)
			s.mu.Unlock()
		case t.verb == put:
			s.keep(t.table, t.key, standing{t.after, int(t.units*1024) - 1})
		case t.verb == update:
			s.keep(t.table, t.key, standing{t.after, s.find(t.table, t.key, false).size})
		}
	}
}
