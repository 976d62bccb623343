package store

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// get reads one item strongly consistent; nil when it is not there.
func (s *Store) get(ctx context.Context, k table.Key) (item, error) {
	strong := true
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: keyOf(k), ConsistentRead: &strong})
	if err != nil {
		return nil, fail(ctx, err)
	}
	return out.Item, nil
}

// getAll reads the items of the keys, any number of them, each once; what is not there is not in the map. project names the attributes
// to read, those of the key among them; none for all. What DynamoDB leaves over is asked for again until the deadline is near.
func (s *Store) getAll(ctx context.Context, keys []table.Key, strong bool, project ...string) (map[table.Key]item, error) {
	var (
		mu    sync.Mutex
		found = make(map[table.Key]item, len(keys))
		seen  = make(map[table.Key]bool, len(keys))
		todo  []map[string]types.AttributeValue
	)
	for _, k := range keys {
		if !seen[k] {
			seen[k] = true
			todo = append(todo, keyOf(k))
		}
	}
	const most = 100 // keys in one BatchGetItem
	parts := slices.Collect(slices.Chunk(todo, most))
	e := newExpression()
	list := e.projection(project)
	err := each(ctx, len(parts), func(ctx context.Context, i int) error {
		ask := parts[i]
		for n := 0; len(ask) > 0; n++ {
			if n > 0 && !s.backoff(ctx, n-1) {
				return fail(ctx, cmp.Or[error](ctx.Err(), busy(nil)))
			}
			out, err := s.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
				RequestItems: map[string]types.KeysAndAttributes{s.table: {
					Keys: ask, ConsistentRead: &strong, ProjectionExpression: list, ExpressionAttributeNames: e.names,
				}},
			})
			if err != nil {
				return fail(ctx, err)
			}
			mu.Lock()
			for _, it := range out.Responses[s.table] {
				found[item(it).key()] = it
			}
			mu.Unlock()
			ask = out.UnprocessedKeys[s.table].Keys
		}
		return nil
	})
	return found, err
}

// each runs f for 0 to n-1 with bounded concurrency, and returns the first error; then no further call is started.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	if n == 1 {
		return f(ctx, 0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	slots := make(chan struct{}, concurrency)
	for i := range n {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := f(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return fail(ctx, err)
	}
	return nil
}

// span is a range of sort keys, both ends inclusive; an empty end is open.
type span struct{ from, to string }

// everything is the span of all keys of a partition: no key sorts before `#`.
var everything = span{from: "#"}

// children is the span of the keys that begin with prefix, which ends in `#`.
func children(prefix string) span {
	return span{prefix, prefix[:len(prefix)-1] + table.AfterChildren}
}

// after narrows the span to what is behind a key; "" is before all keys.
func (r span) after(key string) span {
	if key >= r.from {
		r.from = key + "\x00"
	}
	return r
}

// scan is one read of a range of keys.
type scan struct {
	index   string // "" for the table
	pk      string
	keys    span
	limit   int // most items to examine; 0 for as many as 1 MB holds
	strong  bool
	newest  bool     // descending
	project []string // only these attributes; nil for all
}

// keyNames returns the names of the key attributes of an index, or of the table for "".
func keyNames(index string) (pk, sk string) {
	for _, ix := range table.Indexes() {
		if ix.Name == index {
			return ix.PartitionKey, ix.SortKey
		}
	}
	return table.PK, table.SK
}

// queryPage runs one Query. more reports that the range goes on. It fails with INVALID_ARGUMENT for a key longer than DynamoDB takes, as
// only a forged position makes one.
func (s *Store) queryPage(ctx context.Context, q scan) (items []item, more bool, err error) {
	if q.keys.to != "" && q.keys.from > q.keys.to {
		return nil, false, nil
	}
	if max(len(q.keys.from), len(q.keys.to)) > table.MaxSortKey {
		return nil, false, errPosition()
	}
	pkName, skName := keyNames(q.index)
	in := &dynamodb.QueryInput{TableName: &s.table}
	if q.index != "" {
		in.IndexName = &q.index
	}
	e := newExpression()
	condition := e.name(pkName) + " = " + e.value(str(q.pk)) + " AND " + e.name(skName)
	if q.keys.to == "" {
		condition += " >= " + e.value(str(q.keys.from))
	} else {
		condition += " BETWEEN " + e.value(str(q.keys.from)) + " AND " + e.value(str(q.keys.to))
	}
	in.KeyConditionExpression = &condition
	in.ProjectionExpression = e.projection(q.project)
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.names, e.values
	if q.limit > 0 {
		limit := int32(q.limit)
		in.Limit = &limit
	}
	if q.strong {
		in.ConsistentRead = &q.strong
	}
	forward := !q.newest
	in.ScanIndexForward = &forward
	out, err := s.db.Query(ctx, in)
	if err != nil {
		return nil, false, fail(ctx, err)
	}
	items = make([]item, len(out.Items))
	for i, it := range out.Items {
		items[i] = it
	}
	return items, len(out.LastEvaluatedKey) > 0, nil
}

// query reads the whole range, in ascending order.
func (s *Store) query(ctx context.Context, q scan) ([]item, error) {
	_, skName := keyNames(q.index)
	var all []item
	for {
		items, more, err := s.queryPage(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if !more || len(items) == 0 {
			return all, nil
		}
		q.keys = q.keys.after(items[len(items)-1].text(skName))
	}
}
