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
	if err := beforeRead(ctx, true, k); err != nil {
		return nil, err
	}
	out, err := t.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.name, Key: NewItem(k), ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: consumed,
	})
	if err != nil {
		return nil, Fail(ctx, err)
	}
	saw(ctx, out.Item)
	return out.Item, nil
}

// saw tells a person's bound the sizes of items.
func saw(ctx context.Context, items ...Item) {
	u := collab.UsageOf(ctx)
	if !u.Bounded() {
		return
	}
	for _, it := range items {
		if it != nil {
			k := it.Key()
			u.Saw(k.PK+"\x00"+k.SK, it.Size())
		}
	}
}

func sizeOf(ctx context.Context, k keys.Key) int {
	return collab.UsageOf(ctx).Size(k.PK + "\x00" + k.SK)
}

// beforeRead asks a person's bound before items are read, as far as their sizes are known.
func beforeRead(ctx context.Context, strong bool, itemKeys ...keys.Key) error {
	u := collab.UsageOf(ctx)
	if !u.Bounded() {
		return nil
	}
	units := 0.0
	for _, k := range itemKeys {
		units += math.Ceil(float64(max(sizeOf(ctx, k), 1)) / 4096)
	}
	if !strong {
		units /= 2
	}
	return u.BeforeRead(units)
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
// leaves unprocessed, until the deadline is near. In a person's request, it reads many threads and
// comments in steps, because the size of each is unknown.
func (t *Table) GetAll(ctx context.Context, itemKeys []keys.Key, strong bool) (map[keys.Key]Item, error) {
	const step = 10
	if !collab.UsageOf(ctx).Bounded() || len(itemKeys) <= step {
		return t.getAll(ctx, itemKeys, strong)
	}
	found, others := map[keys.Key]Item{}, make([]keys.Key, 0, len(itemKeys))
	var threads []keys.Key
	for _, k := range itemKeys {
		if strings.HasPrefix(k.SK, keys.Annotations) {
			threads = append(threads, k)
		} else {
			others = append(others, k)
		}
	}
	parts := [][]keys.Key{others}
	if len(threads) <= step {
		parts[0] = itemKeys
	} else {
		parts = append(parts, slices.Collect(slices.Chunk(threads, step))...)
	}
	for _, part := range parts {
		some, err := t.getAll(ctx, part, strong)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, some)
	}
	return found, nil
}

func (t *Table) getAll(ctx context.Context, itemKeys []keys.Key, strong bool) (map[keys.Key]Item, error) {
	var (
		mu    sync.Mutex
		found = make(map[keys.Key]Item, len(itemKeys))
		seen  = make(map[keys.Key]bool, len(itemKeys))
		todo  []map[string]types.AttributeValue
	)
	for _, k := range itemKeys {
		if !seen[k] {
			seen[k] = true
			todo = append(todo, NewItem(k))
		}
	}
	if err := beforeRead(ctx, strong, itemKeys...); err != nil {
		return nil, err
	}
	const most = 100 // keys in one BatchGetItem
	parts := slices.Collect(slices.Chunk(todo, most))
	err := Each(ctx, len(parts), func(ctx context.Context, i int) error {
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
				saw(ctx, it)
			}
			mu.Unlock()
			ask = out.UnprocessedKeys[t.name].Keys
		}
		return nil
	})
	return found, err
}

// GetSettled reads items with eventual consistency, then reads missing ones again with strong
// consistency. It finds every item, but may miss changes of the last second.
func (t *Table) GetSettled(ctx context.Context, itemKeys []keys.Key) (map[keys.Key]Item, error) {
	found, err := t.GetAll(ctx, itemKeys, false)
	if err != nil {
		return nil, err
	}
	late, err := t.GetAll(ctx, slices.DeleteFunc(slices.Clone(itemKeys), func(k keys.Key) bool { return found[k] != nil }), true)
	maps.Copy(found, late)
	return found, err
}

// All calls f with 0 to n-1, at most Concurrency at a time.
func All(n int, f func(i int)) {
	_ = Each(context.Background(), n, func(_ context.Context, i int) error {
		f(i)
		return nil
	})
}

// Each is All for functions that can fail. It returns the first error. After an error, or if the
// context ends, it starts no further call.
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
	if err := beforeRead(ctx, q.Strong); err != nil {
		return nil, false, err
	}
	out, err := t.db.Query(ctx, in)
	if err != nil {
		return nil, false, Fail(ctx, err)
	}
	items = make([]Item, len(out.Items))
	for i, it := range out.Items {
		items[i] = it
	}
	if q.Index == "" && q.Project == nil {
		saw(ctx, items...)
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
