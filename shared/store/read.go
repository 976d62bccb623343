package store

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"collabdata/shared/collab"
	"collabdata/shared/keys"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

// Concurrency is the maximum of concurrent table calls of one request.
const Concurrency = 32

// Get reads an item with strong consistency. It returns nil if the item does not exist.
func (t *Table) Get(ctx context.Context, k keys.Key) (Item, error) {
	end, err := collab.UsageOf(ctx).BeginRead(mostRead(ctx, k, true))
	if err != nil {
		return nil, err
	}
	defer end()
	out, err := t.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.name, Key: NewItem(k), ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: consumed,
	})
	if err != nil {
		return nil, Fail(ctx, err)
	}
	saw(ctx, k, out.Item)
	return out.Item, nil
}

// saw tells a person's bound the size of an item, which may be nil.
func saw(ctx context.Context, k keys.Key, it Item) {
	if u := collab.UsageOf(ctx); u.Limited() {
		u.Saw(k.String(), it.Size())
	}
}

// mostRead returns the most units of reading an item by its key: those of its size, if it was read
// before.
func mostRead(ctx context.Context, k keys.Key, strong bool) float64 {
	bytes, ok := collab.UsageOf(ctx).Size(k.String())
	if !ok && keys.Large(k) {
		bytes = collab.MaxItemBytes
	}
	return readUnits(bytes, strong)
}

func readUnits(bytes int, strong bool) float64 {
	units := math.Ceil(float64(max(bytes, 1)) / 4096)
	if strong {
		return units
	}
	return units / 2
}

// Read reads an item like Get, into a struct with dynamodbav tags. The struct is zero if the item
// does not exist.
func Read[T any](ctx context.Context, t *Table, k keys.Key) (v T, exists bool, err error) {
	it, err := t.Get(ctx, k)
	if err != nil || it == nil {
		return v, false, err
	}
	return v, true, it.Decode(&v)
}

// GetAll reads items by key. The map lacks items that do not exist. It retries keys that DynamoDB
// leaves unprocessed, until the deadline is near.
func (t *Table) GetAll(ctx context.Context, itemKeys []keys.Key, strong bool) (map[keys.Key]Item, error) {
	found, _, err := t.GetSome(ctx, itemKeys, strong, math.Inf(1))
	return found, err
}

// GetSome is GetAll for the first n keys: as many as about units read units allow, at least one. It
// reads in parts: the first one is cheap enough whatever the sizes of its items are, and gives the
// expected size of the others. No part may exceed a person's bound.
func (t *Table) GetSome(ctx context.Context, itemKeys []keys.Key, strong bool, units float64) (found map[keys.Key]Item, n int, err error) {
	found = make(map[keys.Key]Item, len(itemKeys))
	spent, each := 0.0, math.Inf(1)
	for n < len(itemKeys) && (n == 0 || spent < units) {
		end, largest, expected, left := n, 0.0, 0.0, collab.UsageOf(ctx).ReadLeft()
		for end < len(itemKeys) {
			next := mostRead(ctx, itemKeys[end], strong)
			expected += min(next, each)
			if end > n && (largest+next > left || spent+expected > units) {
				break
			}
			largest, end = largest+next, end+1
		}
		switch err := t.getAll(ctx, itemKeys[n:end], strong, largest, found); {
		case err == collab.ErrRead && end > n+1: // others have read meanwhile
			continue
		case err != nil:
			return nil, 0, err
		}
		for ; n < end; n++ {
			spent += readUnits(found[itemKeys[n]].Size(), strong)
		}
		each = 2 * spent / float64(n)
	}
	return found, n, nil
}

// getAll adds the items with keys to found. units are the most that they cost.
func (t *Table) getAll(ctx context.Context, itemKeys []keys.Key, strong bool, units float64, found map[keys.Key]Item) error {
	var (
		mu   sync.Mutex
		seen = make(map[keys.Key]bool, len(itemKeys))
		todo []map[string]types.AttributeValue
	)
	for _, k := range itemKeys {
		if !seen[k] {
			seen[k] = true
			todo = append(todo, NewItem(k))
		}
	}
	end, err := collab.UsageOf(ctx).BeginRead(units)
	if err != nil {
		return err
	}
	defer end()
	const limit = 100 // keys in one BatchGetItem
	parts := slices.Collect(slices.Chunk(todo, limit))
	err = Each(ctx, len(parts), func(ctx context.Context, i int) error {
		ask := parts[i]
		for n := 0; len(ask) > 0; n++ {
			if n > 0 && !t.Backoff(ctx, n-1) {
				return Fail(ctx, cmp.Or[error](ctx.Err(), busy(nil)))
			}
			out, err := t.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
				RequestItems:           map[string]types.KeysAndAttributes{t.name: {Keys: ask, ConsistentRead: &strong}},
				ReturnConsumedCapacity: consumed,
			})
			if err != nil {
				return Fail(ctx, err)
			}
			mu.Lock()
			for _, it := range out.Responses[t.name] {
				found[Item(it).Key()] = it
			}
			mu.Unlock()
			ask = out.UnprocessedKeys[t.name].Keys
		}
		return nil
	})
	if err == nil {
		for _, k := range itemKeys {
			saw(ctx, k, found[k])
		}
	}
	return err
}

// GetSettled reads items with eventual consistency, then reads missing ones again with strong
// consistency. It finds every item, but may miss changes of the last second.
func (t *Table) GetSettled(ctx context.Context, itemKeys []keys.Key) (map[keys.Key]Item, error) {
	found, _, err := t.GetSomeSettled(ctx, itemKeys, math.Inf(1))
	return found, err
}

// GetSomeSettled is GetSettled for the first n keys: see GetSome.
func (t *Table) GetSomeSettled(ctx context.Context, itemKeys []keys.Key, units float64) (found map[keys.Key]Item, n int, err error) {
	found, n, err = t.GetSome(ctx, itemKeys, false, units)
	if err != nil {
		return nil, 0, err
	}
	missing := slices.DeleteFunc(slices.Clone(itemKeys[:n]), func(k keys.Key) bool { return found[k] != nil })
	late, err := t.GetAll(ctx, missing, true)
	maps.Copy(found, late)
	return found, n, err
}

// All calls f with 0 to n-1, at most Concurrency at a time, and returns the errors in that order.
func All(n int, f func(i int) error) []error {
	errs := make([]error, n)
	_ = Each(context.Background(), n, func(_ context.Context, i int) error {
		errs[i] = f(i)
		return nil
	})
	return errs
}

// Each is All for calls that succeed only together. It returns the first error. After an error, or
// if the context ends, it starts no further call.
func Each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	if n == 1 {
		return f(ctx, 0)
	}
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(Concurrency)
	for i := range n {
		g.Go(func() error {
			if err := inner.Err(); err != nil {
				return err
			}
			return f(inner, i)
		})
	}
	return Fail(ctx, g.Wait())
}

// Span is an inclusive range of sort keys. An empty end is open.
type Span struct{ From, To string }

// Everything spans all keys of a partition: no key sorts before `#`.
var Everything = Span{From: "#"}

// Children spans the keys that begin with prefix. The prefix must end in `#`.
func Children(prefix string) Span {
	return Span{prefix, prefix[:len(prefix)-1] + keys.AfterChildren}
}

// After limits the span to keys after key. "" has no effect.
func (r Span) After(key string) Span {
	if key >= r.From {
		r.From = key + "\x00"
	}
	return r
}

// Before limits the span to keys before key, which must end in a letter or digit. "" has no effect.
func (r Span) Before(key string) Span {
	if n := len(key) - 1; n >= 0 {
		key = key[:n] + string(key[n]-1) + string(utf8.MaxRune)
		if r.To == "" || key < r.To {
			r.To = key
		}
	}
	return r
}

type Scan struct {
	Index  string // "" for the table itself
	PK     string
	Keys   Span
	Limit  int // maximum of items to examine; 0 for 1 MB
	Strong bool
	Newest bool // descending
	// Attributes to read, all if nil. Items needs the sort key.
	Project []string
}

// most returns the most units of one Query.
func (q *Scan) largest() float64 {
	const mostBytes, small = 1 << 20, 4096
	each := small
	if q.Index == "" && keys.Large(keys.Key{PK: q.PK, SK: q.Keys.From}) {
		each = collab.MaxItemBytes
	}
	if q.Limit == 0 || q.Limit > mostBytes/each {
		return readUnits(mostBytes, q.Strong)
	}
	return readUnits(q.Limit*each, q.Strong)
}

// QueryPage runs one Query. more reports whether the range continues. It returns INVALID_ARGUMENT
// if a key is too long for DynamoDB, which only a forged page token can cause.
func (t *Table) QueryPage(ctx context.Context, q Scan) (items []Item, more bool, err error) {
	if q.Keys.To != "" && q.Keys.From > q.Keys.To {
		return nil, false, nil
	}
	if max(len(q.Keys.From), len(q.Keys.To)) > keys.MaxSortKey {
		return nil, false, collab.PageTokenError(nil)
	}
	index := keys.IndexOf(q.Index)
	names := map[string]string{"#partition": index.PartitionKey, "#sort": index.SortKey}
	values := map[string]types.AttributeValue{":partition": Text(q.PK), ":from": Text(q.Keys.From)}
	condition := "#partition = :partition AND #sort >= :from"
	if q.Keys.To != "" {
		condition = "#partition = :partition AND #sort BETWEEN :from AND :to"
		values[":to"] = Text(q.Keys.To)
	}
	forward := !q.Newest
	in := &dynamodb.QueryInput{
		TableName: &t.name, KeyConditionExpression: &condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values, ScanIndexForward: &forward, ReturnConsumedCapacity: consumed,
	}
	if q.Index != "" {
		in.IndexName = &q.Index
	}
	if q.Limit > 0 {
		limit := int32(q.Limit)
		in.Limit = &limit
	}
	if q.Strong {
		in.ConsistentRead = &q.Strong
	}
	if q.Project != nil {
		list := "#" + strings.Join(q.Project, ", #")
		for _, name := range q.Project {
			names["#"+name] = name
		}
		in.ProjectionExpression = &list
	}
	end, err := collab.UsageOf(ctx).BeginRead(q.largest())
	if err != nil {
		return nil, false, err
	}
	defer end()
	out, err := t.db.Query(ctx, in)
	if err != nil {
		return nil, false, Fail(ctx, err)
	}
	items = make([]Item, len(out.Items))
	for i, it := range out.Items {
		items[i] = it
	}
	if q.Index == "" && q.Project == nil {
		for _, it := range items {
			saw(ctx, it.Key(), it)
		}
	}
	return items, len(out.LastEvaluatedKey) > 0, nil
}

// Items yields the items of the range, and an error last. It reads pages as needed. q.Limit is a
// hint: the number of items that the caller expects to take.
func (t *Table) Items(ctx context.Context, q Scan) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		sk := keys.IndexOf(q.Index).SortKey
		wanted := q.Limit
		for more := true; more; {
			var items []Item
			var err error
			if items, more, err = t.QueryPage(ctx, q); err != nil {
				yield(nil, err)
				return
			}
			for _, it := range items {
				if !yield(it, nil) {
					return
				}
				if q.Newest {
					q.Keys = q.Keys.Before(it.Text(sk))
				} else {
					q.Keys = q.Keys.After(it.Text(sk))
				}
			}
			if q.Limit -= len(items); q.Limit <= 0 {
				q.Limit = wanted
			}
		}
	}
}

// Query reads the whole range.
func (t *Table) Query(ctx context.Context, q Scan) (all []Item, err error) {
	for it, err := range t.Items(ctx, q) {
		if err != nil {
			return nil, err
		}
		all = append(all, it)
	}
	return all, nil
}
