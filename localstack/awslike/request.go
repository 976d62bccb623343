package main

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"collabdata/shared/keys"
)

// attr is an attribute value as the protocol writes it.
type attr struct {
	S    *string         `json:",omitempty"`
	N    *string         `json:",omitempty"`
	B    *string         `json:",omitempty"`
	SS   []string        `json:",omitempty"`
	NS   []string        `json:",omitempty"`
	L    []attr          `json:",omitempty"`
	M    map[string]attr `json:",omitempty"`
	BOOL *bool           `json:",omitempty"`
	NULL *bool           `json:",omitempty"`
}

// text is the value of a key attribute.
func (a attr) text() string {
	for _, s := range []*string{a.S, a.N, a.B} {
		if s != nil {
			return *s
		}
	}
	return ""
}

// size is about the bytes that DynamoDB counts.
func (a attr) size() int {
	n := 0
	switch {
	case a.S != nil:
		return len(*a.S)
	case a.N != nil:
		return len(*a.N)/2 + 2
	case a.B != nil:
		return len(*a.B) * 3 / 4
	case a.L != nil:
		n = 3
		for _, e := range a.L {
			n += 1 + e.size()
		}
		return n
	case a.M != nil:
		return 3 + len(a.M) + item(a.M).size()
	}
	for _, s := range slices.Concat(a.SS, a.NS) {
		n += len(s)
	}
	return max(n, 1)
}

type item map[string]attr

func (it item) size() int {
	n := 0
	for name, a := range it {
		n += len(name) + a.size()
	}
	return n
}

func (it item) key() key { return key{it[keys.PK].text(), it[keys.SK].text()} }

// indexed returns the attributes that are keys of indexes.
func (it item) indexed() map[string]string {
	found := map[string]string{}
	for _, ix := range keys.Indexes() {
		for _, name := range []string{ix.PartitionKey, ix.SortKey} {
			if v, ok := it[name]; ok {
				found[name] = v.text()
			}
		}
	}
	return found
}

// key is an item's.
type key struct{ pk, sk string }

// action is one write, or one read, of a call.
type action struct {
	TableName                 string
	Key, Item                 item
	UpdateExpression          string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]attr
}

// request is what the proxy reads of a request.
type request struct {
	action
	IndexName              string
	KeyConditionExpression string
	TransactItems          []struct{ Put, Update, Delete, ConditionCheck, Get *action }
	RequestItems           map[string]json.RawMessage
}

type verb int

const (
	get verb = iota
	query
	put
	update
	remove
	check
)

// touch is an item, or with query a range of items, that a call reads or writes.
type touch struct {
	verb    verb
	table   string
	key     key
	index   string            // of a query
	units   float64           // written to the table
	entries []charge          // of the indexes
	after   map[string]string // index key attributes once the write was carried out
}

// place is where a read's units are counted.
func (t *touch) place() string {
	if t.index != "" {
		return t.index
	}
	return tablePlace
}

// touches lists what a call touches. Writes carry what they cost; reads carry nothing yet.
func (p *proxy) touches(op string, q *request) (list []*touch) {
	add := func(v verb, a *action) {
		if a != nil {
			list = append(list, p.touch(v, a))
		}
	}
	switch op {
	case "GetItem":
		add(get, &q.action)
	case "PutItem":
		add(put, &q.action)
	case "UpdateItem":
		add(update, &q.action)
	case "DeleteItem":
		add(remove, &q.action)
	case "Query":
		list = []*touch{{verb: query, table: q.TableName, index: q.IndexName, key: key{pk: q.partition()}}}
	case "TransactWriteItems", "TransactGetItems":
		for _, part := range q.TransactItems {
			add(put, part.Put)
			add(update, part.Update)
			add(remove, part.Delete)
			add(check, part.ConditionCheck)
			add(get, part.Get)
		}
		for _, t := range list {
			t.units *= 2 // prepare and commit
		}
	case "BatchGetItem":
		for table, raw := range q.RequestItems {
			var ask struct{ Keys []item }
			_ = json.Unmarshal(raw, &ask) // the emulator says what is wrong with it
			for _, k := range ask.Keys {
				add(get, &action{TableName: table, Key: k})
			}
		}
	case "BatchWriteItem":
		for table, raw := range q.RequestItems {
			var ask []struct{ PutRequest, DeleteRequest *action }
			_ = json.Unmarshal(raw, &ask) // as above
			for _, w := range ask {
				for v, a := range map[verb]*action{put: w.PutRequest, remove: w.DeleteRequest} {
					if a != nil {
						a.TableName = table
						add(v, a)
					}
				}
			}
		}
	}
	return list
}

var equality = regexp.MustCompile(`(#?\w+)\s*=\s*(:\w+)`)

// partition is the partition key value that a query reads.
func (q *request) partition() string {
	for _, m := range equality.FindAllStringSubmatch(q.KeyConditionExpression, -1) {
		if q.name(m[1]) == keys.IndexOf(q.IndexName).PartitionKey {
			return q.ExpressionAttributeValues[m[2]].text()
		}
	}
	return ""
}

// name is an attribute's name for what stands for it in an expression.
func (a *action) name(text string) string {
	if full, ok := a.ExpressionAttributeNames[text]; ok {
		return full
	}
	return text
}

func kilobytes(bytes int) float64 { return max(1, math.Ceil(float64(bytes)/1024)) }

// touch works out what one write costs the table and its indexes.
func (p *proxy) touch(v verb, a *action) *touch {
	t := &touch{verb: v, table: a.TableName, key: a.Key.key()}
	if v == put {
		t.key = a.Item.key()
	}
	if v == get {
		return t
	}
	before := p.items.find(a.TableName, t.key, v == update || v == remove)
	t.units = kilobytes(before.size)
	if v == check {
		return t
	}
	var changed map[string]bool // attributes that an update sets
	switch v {
	case put:
		t.units, t.after = kilobytes(a.Item.size()), a.Item.indexed()
	case update:
		var values map[string]string
		changed, values = assignments(a)
		t.after = maps.Clone(before.attrs)
		if t.after == nil {
			t.after = map[string]string{}
		}
		for name := range changed {
			if value, ok := values[name]; ok {
				t.after[name] = value
			} else {
				delete(t.after, name)
			}
		}
		t.after[keys.PK], t.after[keys.SK] = t.key.pk, t.key.sk
	}
	for _, ix := range keys.Indexes() {
		from, was := entry(ix, before.attrs)
		to, is := entry(ix, t.after)
		moved := v == put || changed[ix.PartitionKey] || changed[ix.SortKey]
		touched := v == put || slices.ContainsFunc(ix.Projected, func(name string) bool { return changed[name] })
		switch {
		case was && is && moved:
			t.entries = append(t.entries, charge{place: ix.Name, pk: from, units: 1}, charge{place: ix.Name, pk: to, units: 1})
		case was && is && touched, is && !was:
			t.entries = append(t.entries, charge{place: ix.Name, pk: to, units: 1})
		case was && !is:
			t.entries = append(t.entries, charge{place: ix.Name, pk: from, units: 1})
		}
	}
	return t
}

// entry returns the partition key value of an item's entry in an index, and whether the item has one.
func entry(ix keys.Index, attrs map[string]string) (pk string, is bool) {
	pk, is = attrs[ix.PartitionKey]
	_, sorted := attrs[ix.SortKey]
	return pk, is && sorted
}

var clause = regexp.MustCompile(`(?i)\b(SET|REMOVE|ADD|DELETE)\s`)

// assignments reads which attributes an update changes, and those of their new values that stand in the request.
func assignments(a *action) (changed map[string]bool, values map[string]string) {
	changed, values = map[string]bool{}, map[string]string{}
	starts := clause.FindAllStringSubmatchIndex(a.UpdateExpression, -1)
	for i, m := range starts {
		end := len(a.UpdateExpression)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		kind := strings.ToUpper(a.UpdateExpression[m[2]:m[3]])
		for _, part := range splitTop(a.UpdateExpression[m[1]:end]) {
			left, right, _ := strings.Cut(strings.TrimSpace(part), "=")
			if kind != "SET" {
				left, _, _ = strings.Cut(left, " ")
			}
			left = strings.TrimSpace(left)
			if i := strings.IndexAny(left, ".["); i >= 0 {
				left = left[:i]
			}
			left = a.name(left)
			changed[left] = true
			if v, ok := a.ExpressionAttributeValues[strings.TrimSpace(right)]; ok {
				values[left] = v.text()
			}
		}
	}
	return changed, values
}

// splitTop splits at the commas outside of parentheses.
func splitTop(s string) (parts []string) {
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, s[from:])
}
