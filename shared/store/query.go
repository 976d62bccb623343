package store

import (
	"context"
	"iter"
	"unicode/utf8"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Span is a range of sort keys, both ends inclusive; an empty end is open.
type Span struct{ From, To string }

// Everything is the span of all keys of a partition: no key sorts before `#`.
var Everything = Span{From: "#"}

// Children is the span of the keys that begin with prefix, which ends in `#`.
func Children(prefix string) Span {
	return Span{prefix, prefix[:len(prefix)-1] + table.AfterChildren}
}

// After narrows the span to what is behind a key; "" is before all keys.
func (r Span) After(key string) Span {
	if key >= r.From {
		r.From = key + "\x00"
	}
	return r
}

// Before narrows the span to what sorts before a key that ends in a letter or digit; "" is behind all keys.
func (r Span) Before(key string) Span {
	if n := len(key) - 1; n >= 0 {
		key = key[:n] + string(key[n]-1) + string(utf8.MaxRune)
		if r.To == "" || key < r.To {
			r.To = key
		}
	}
	return r
}

// Scan is one read of a range of keys.
type Scan struct {
	Index   string // "" for the table
	PK      string
	Keys    Span
	Limit   int // most items to examine; 0 for as many as 1 MB holds
	Strong  bool
	Newest  bool     // descending
	Project []string // only these attributes; nil for all
}

// QueryPage runs one Query. more reports that the range goes on. It fails with INVALID_ARGUMENT for a key longer than DynamoDB takes, as
// only a forged position makes one.
func (t *Table) QueryPage(ctx context.Context, q Scan) (items []Item, more bool, err error) {
	if q.Keys.To != "" && q.Keys.From > q.Keys.To {
		return nil, false, nil
	}
	if max(len(q.Keys.From), len(q.Keys.To)) > table.MaxSortKey {
		return nil, false, collab.PageTokenError(nil)
	}
	list, names := projection(q.Project)
	if names == nil {
		names = make(map[string]string, 2)
	}
	index := table.IndexOf(q.Index)
	names["#pk"], names["#sk"] = index.PartitionKey, index.SortKey
	values := map[string]types.AttributeValue{":pk": Text(q.PK), ":from": Text(q.Keys.From)}
	condition := "#pk = :pk AND #sk >= :from"
	if q.Keys.To != "" {
		condition = "#pk = :pk AND #sk BETWEEN :from AND :to"
		values[":to"] = Text(q.Keys.To)
	}
	forward := !q.Newest
	in := &dynamodb.QueryInput{
		TableName: &t.name, KeyConditionExpression: &condition, ProjectionExpression: list,
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
	out, err := t.db.Query(ctx, in)
	if err != nil {
		return nil, false, Fail(ctx, err)
	}
	items = make([]Item, len(out.Items))
	for i, it := range out.Items {
		items[i] = it
	}
	return items, len(out.LastEvaluatedKey) > 0, nil
}

// Items yields the items of the range, or an error as the last. It reads them page by page, as they are asked for; q.Limit is how many the caller
// wants, so that no more are read unless it goes on behind them.
func (t *Table) Items(ctx context.Context, q Scan) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		sk := table.IndexOf(q.Index).SortKey
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
