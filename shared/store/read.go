package store

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

// Concurrency bounds the calls to the table that one request has under way.
const Concurrency = 32

// Get reads one item strongly consistent; nil when it is not there.
func (t *Table) Get(ctx context.Context, k table.Key) (Item, error) {
	strong := true
	out, err := t.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: NewItem(k), ConsistentRead: &strong, ReturnConsumedCapacity: consumed})
	if err != nil {
		return nil, Fail(ctx, err)
	}
	return out.Item, nil
}

// Read is Get of an item into a struct with dynamodbav tags, the zero one where there is no item.
func Read[T any](ctx context.Context, t *Table, k table.Key) (v T, exists bool, err error) {
	it, err := t.Get(ctx, k)
	if err != nil || it == nil {
		return v, false, err
	}
	return v, true, it.Decode(&v)
}

// GetAll reads the items of the keys, any number of them, each once; what is not there is not in the map. What DynamoDB leaves over is asked for
// again until the deadline is near.
func (t *Table) GetAll(ctx context.Context, keys []table.Key, strong bool) (map[table.Key]Item, error) {
	var (
		mu    sync.Mutex
		found = make(map[table.Key]Item, len(keys))
		seen  = make(map[table.Key]bool, len(keys))
		todo  []map[string]types.AttributeValue
	)
	for _, k := range keys {
		if !seen[k] {
			seen[k] = true
			todo = append(todo, NewItem(k))
		}
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
			}
			mu.Unlock()
			ask = out.UnprocessedKeys[t.name].Keys
		}
		return nil
	})
	return found, err
}

// projection returns the expression that reads attributes and the names in it; nil for all.
func projection(attributes []string) (*string, map[string]string) {
	if len(attributes) == 0 {
		return nil, nil
	}
	names := make(map[string]string, len(attributes))
	list := make([]string, len(attributes))
	for i, a := range attributes {
		list[i] = "#" + strconv.Itoa(i)
		names[list[i]] = a
	}
	text := strings.Join(list, ", ")
	return &text, names
}

// All calls f with each of 0 to n-1, Concurrency at a time.
func All(n int, f func(i int)) {
	_ = Each(context.Background(), n, func(_ context.Context, i int) error {
		f(i)
		return nil
	})
}

// Each is All for calls that may fail. It returns the first error; then, and once the context has ended, no further call is started.
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
