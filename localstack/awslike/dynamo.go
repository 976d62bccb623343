package main

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

func isData(op string) bool { return isRead(op) || isWrite(op) }

func isRead(op string) bool {
	return slices.Contains([]string{"GetItem", "BatchGetItem", "Query", "TransactGetItems"}, op)
}

func isWrite(op string) bool {
	return slices.Contains([]string{"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}, op)
}

const (
	exception = "com.amazonaws.dynamodb.v20120810#"
	exceeded  = "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so " +
		"please try again shortly. If exceptions persist, check if you have a hot key: " +
		"https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
	ongoing = "Transaction is ongoing for the item"
)

// call is a call of DynamoDB under way.
type call struct {
	*proxy
	settings settings
	w        http.ResponseWriter
	r        *http.Request
	body     []byte
	request  request
	touches  []*touch
	reads    []charge // of the partitions
	writes   []charge
	left     []int // positions of a BatchGetItem's keys for which there is no capacity
	latency  time.Duration
	release  func() // of the items that it holds against others
	record   *record
}

// dynamo carries out a call as AWS would.
func (p *proxy) dynamo(w http.ResponseWriter, r *http.Request, op string, body []byte, arrival time.Time) {
	c := &call{
		proxy: p, settings: p.current(), w: w, r: r, body: body, release: func() {}, record: &record{op: op, start: arrival, in: len(body)},
	}
	if json.Unmarshal(body, &c.request) != nil {
		p.pass(w, r, body)
		return
	}
	c.touches = p.touches(op, &c.request)
	c.record.background = background(op, c.touches)
	switch s := c.settings; {
	case c.transaction():
		c.latency = s.duration(s.TxMs, s.TxP99)
	case isWrite(op):
		c.latency = s.duration(s.WriteMs, s.WriteP99)
	default:
		c.latency = s.duration(s.ReadMs, s.ReadP99)
	}
	if c.throttleAtRandom() || c.conflict() || c.throttle() {
		return
	}
	c.carryOut()
}

func (c *call) transaction() bool { return strings.HasPrefix(c.record.op, "Transact") }

// sleepUntil returns once a share of the latency is over.
func (c *call) sleepUntil(share float64) {
	time.Sleep(time.Until(c.record.start.Add(time.Duration(share * float64(c.latency)))))
}

// finish comes before the answer: whoever has it finds the items free and the call counted.
func (c *call) finish(bytes int) {
	c.release()
	c.record.end, c.record.out = c.now(), bytes
	c.stats.add(c.record)
}

// refuse answers with an error once a share of the latency is over.
func (c *call) refuse(share float64, problem map[string]any) {
	text, _ := json.Marshal(problem) // maps and texts always have a form
	c.sleepUntil(share)
	c.finish(len(text))
	reply(c.w, http.StatusBadRequest, http.Header{"Content-Type": {jsonType}}, text)
}

// cancelled is the error of a transaction that items at some positions stood in the way of.
func (c *call) cancelled(code, message string, at func(i int) bool) map[string]any {
	codes := make([]string, len(c.request.TransactItems))
	reasons := make([]map[string]string, len(codes))
	for i := range codes {
		codes[i], reasons[i] = "None", map[string]string{"Code": "None"}
		if at(i) {
			codes[i], reasons[i] = code, map[string]string{"Code": code, "Message": message}
		}
	}
	return map[string]any{
		"__type": exception + "TransactionCanceledException", "CancellationReasons": reasons,
		"Message": "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]",
	}
}

// refuseCapacity answers that there is no capacity for the item at a position.
func (c *call) refuseCapacity(position int, reason string) {
	if c.transaction() {
		c.refuse(0.5, c.cancelled("ThrottlingError", exceeded, func(i int) bool { return i == position }))
		return
	}
	problem := map[string]any{"__type": exception + "ThrottlingException", "message": exceeded}
	if reason != "" {
		problem["throttlingReasons"] = []map[string]string{{"reason": reason}}
	}
	c.refuse(0.5, problem)
}

func (c *call) throttleAtRandom() (answered bool) {
	if c.settings.Throttle == 0 || rand.Float64() >= c.settings.Throttle {
		return false
	}
	c.record.random = true
	c.refuseCapacity(rand.IntN(max(1, len(c.request.TransactItems))), "")
	return true
}

// conflict answers a call that other writes stand in the way of, else holds its items against others until it ends.
func (c *call) conflict() (answered bool) {
	op := c.record.op
	single := slices.Contains([]string{"PutItem", "UpdateItem", "DeleteItem"}, op)
	if !c.settings.Conflicts || !single && !c.transaction() {
		return false
	}
	items := make([]key, len(c.touches))
	for i, t := range c.touches {
		items[i] = t.key
	}
	conflicts := c.proxy.writes.begin(op, items)
	switch c.record.conflict = conflicts != nil; {
	case conflicts == nil:
		c.release = func() { c.proxy.writes.end(op, items) }
		return false
	case single:
		c.refuse(1, map[string]any{"__type": exception + "TransactionConflictException", "message": ongoing})
	default:
		c.refuse(0.5, c.cancelled("TransactionConflict", ongoing, func(i int) bool { return i < len(conflicts) && conflicts[i] }))
	}
	return true
}

// throttle answers a call for which a partition has no capacity left, else takes what it needs. A BatchGetItem takes the keys for which
// there is some.
func (c *call) throttle() (answered bool) {
	for i, t := range c.touches {
		if t.verb == get || t.verb == query {
			c.reads = append(c.reads, charge{place: t.place(), pk: t.key.pk, item: i})
			continue
		}
		c.writes = append(c.writes, charge{tablePlace, t.key.pk, t.units, i})
		for _, e := range t.entries {
			e.item = i
			c.writes = append(c.writes, e)
		}
	}
	if c.record.op == "BatchGetItem" {
		for i := range c.reads {
			if c.buckets.take(true, c.settings.RCU, c.reads[i:i+1], c.record.start) >= 0 {
				c.left = append(c.left, i)
			}
		}
		if c.record.leftover = len(c.left); len(c.left) == 0 || len(c.left) < len(c.reads) {
			return false
		}
		c.record.leftover, c.record.throttled = 0, true
		c.refuseCapacity(0, "TableReadKeyRangeThroughputExceeded")
		return true
	}
	for _, kind := range []struct {
		read    bool
		rate    float64
		charges []charge
	}{{true, c.settings.RCU, c.reads}, {false, c.settings.WCU, c.writes}} {
		i := c.buckets.take(kind.read, kind.rate, kind.charges, c.record.start)
		if i < 0 {
			continue
		}
		place, direction := "Index", "Write"
		if kind.charges[i].place == tablePlace {
			place = "Table"
		}
		if kind.read {
			direction = "Read"
		}
		c.stats.throttledAt(kind.read, kind.charges[i])
		c.record.throttled = true
		c.refuseCapacity(kind.charges[i].item, place+direction+"KeyRangeThroughputExceeded")
		return true
	}
	return false
}

// carryOut has the emulator do it. A transaction takes effect in the middle of its time, anything else at once.
func (c *call) carryOut() {
	if c.transaction() {
		c.sleepUntil(0.5)
	}
	body := c.body
	if len(c.left) > 0 {
		body = without(body, c.request.RequestItems, c.left)
	}
	status, header, answer, err := c.forward(c.r, askCapacity(body))
	if err != nil {
		c.record.failed = true
		c.finish(0)
		http.Error(c.w, err.Error(), http.StatusBadGateway)
		return
	}
	if len(c.left) > 0 && status == http.StatusOK {
		answer = withLeftover(answer, c.request.RequestItems, c.left)
		header.Del("X-Amz-Crc32")
	}
	c.account(status, answer)
	c.latency += c.settings.duration(c.settings.MsPer100KB*float64(len(answer))/100_000, 0)
	c.sleepUntil(1)
	c.record.lost = rand.Float64() < c.settings.Lose
	c.finish(len(answer))
	if h, ok := c.w.(http.Hijacker); ok && c.record.lost {
		if conn, _, err := h.Hijack(); err == nil {
			conn.Close()
			return
		}
	}
	reply(c.w, status, header, answer)
}

// account counts what a call that was answered has cost.
func (c *call) account(status int, answer []byte) {
	used, known := capacity(answer)
	switch {
	case status != http.StatusOK:
		c.record.failed = true
		c.record.condition = bytes.Contains(answer, []byte("ConditionalCheckFailed"))
		for _, ch := range c.writes { // a refused condition costs the table's units too
			if ch.place == tablePlace {
				c.record.write += ch.units
				c.stats.charge(false, ch)
			}
		}
	case len(c.reads) > 0:
		c.record.read = used.total
		if !known {
			c.record.read = math.Ceil(float64(len(answer))/4096) / 2
		}
		for i := range c.reads {
			c.reads[i].units = c.record.read / float64(len(c.reads))
		}
		c.buckets.owe(true, c.settings.RCU, c.reads, c.now())
		c.stats.charge(true, c.reads...)
	default:
		if known {
			c.correct(used)
		}
		for _, ch := range c.writes {
			c.record.write += ch.units
		}
		c.stats.charge(false, c.writes...)
		c.items.wrote(c.touches)
	}
}

// correct moves what writes were reckoned to cost to what the emulator says they did: the rest of the table's units goes to the updates,
// whose items' sizes are not in the request.
func (c *call) correct(used consumed) {
	sums, updates := map[string]float64{}, 0
	for _, ch := range c.writes {
		if sums[ch.place] += ch.units; ch.place == tablePlace && c.touches[ch.item].verb != put {
			updates++
		}
	}
	for i, ch := range c.writes {
		switch {
		case ch.place == tablePlace && used.table > 0 && c.touches[ch.item].verb != put:
			c.writes[i].units = max(0, ch.units+(used.table-sums[tablePlace])/float64(updates))
		case ch.place != tablePlace && used.indexes[ch.place] > 0:
			c.writes[i].units = ch.units * used.indexes[ch.place] / sums[ch.place]
		}
	}
}

// background reports a call that is not part of a request: of the relay, which looks for pending work, and of deliver, which ends it.
func background(op string, list []*touch) bool {
	if len(list) == 0 || !strings.HasPrefix(list[0].key.pk, "DUE#") {
		return false
	}
	return op != "TransactWriteItems" && op != "DeleteItem" || list[0].verb == remove
}
