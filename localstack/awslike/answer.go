package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// consumed are the units that an answer reports.
type consumed struct {
	total, table float64
	indexes      map[string]float64
}

// capacity finds what a call consumed, without reading the rest of its answer.
func capacity(answer []byte) (sum consumed, ok bool) {
	type reported struct {
		CapacityUnits          float64
		Table                  struct{ CapacityUnits float64 }
		GlobalSecondaryIndexes map[string]struct{ CapacityUnits float64 }
	}
	_, rest, found := bytes.Cut(answer, []byte(`"ConsumedCapacity":`))
	if !found {
		return sum, false
	}
	list := make([]reported, 1)
	d := json.NewDecoder(bytes.NewReader(rest))
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(rest), []byte("[")) { // of each table
		err = d.Decode(&list)
	} else {
		err = d.Decode(&list[0])
	}
	sum.indexes = map[string]float64{}
	for _, c := range list {
		sum.total += c.CapacityUnits
		sum.table += c.Table.CapacityUnits
		for name, u := range c.GlobalSecondaryIndexes {
			sum.indexes[name] += u.CapacityUnits
		}
	}
	return sum, err == nil
}

// askCapacity makes a request ask for the capacity of each index.
func askCapacity(body []byte) []byte {
	for _, level := range []string{"TOTAL", "NONE", "INDEXES"} {
		if asked := []byte(`"ReturnConsumedCapacity":"` + level + `"`); bytes.Contains(body, asked) {
			return bytes.Replace(body, asked, []byte(`"ReturnConsumedCapacity":"INDEXES"`), 1)
		}
	}
	return replaceField(body, "ReturnConsumedCapacity", "INDEXES")
}

// without is a BatchGetItem less the keys at the positions.
func without(body []byte, items map[string]json.RawMessage, positions []int) []byte {
	_, others := split(items, positions)
	return replaceField(body, "RequestItems", others)
}

// withLeftover is the answer to a BatchGetItem that left the keys at the positions over.
func withLeftover(answer []byte, items map[string]json.RawMessage, positions []int) []byte {
	at, _ := split(items, positions)
	return replaceField(answer, "UnprocessedKeys", at)
}

// split divides the keys of a BatchGetItem of one table into those at the positions and the others.
func split(items map[string]json.RawMessage, positions []int) (at, others map[string]map[string]json.RawMessage) {
	at, others = map[string]map[string]json.RawMessage{}, map[string]map[string]json.RawMessage{}
	for table, raw := range items {
		var parts map[string]json.RawMessage
		var list []json.RawMessage
		if json.Unmarshal(raw, &parts) != nil || json.Unmarshal(parts["Keys"], &list) != nil {
			continue
		}
		var in, out []json.RawMessage
		for i, k := range list {
			if slices.Contains(positions, i) {
				in = append(in, k)
			} else {
				out = append(out, k)
			}
		}
		at[table], others[table] = maps.Clone(parts), parts
		at[table]["Keys"], _ = json.Marshal(in) // what was read can be written
		others[table]["Keys"], _ = json.Marshal(out)
	}
	return at, others
}

// replaceField gives a field of an object another value.
func replaceField(object []byte, name string, v any) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return object
	}
	fields[name], _ = json.Marshal(v) // as above
	text, _ := json.Marshal(fields)
	return text
}
