package store

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"strings"

	"collabdata/shared/keys"
)

// Bounds of the attempts of Try. Each lost attempt costs the write units of its items, so more than
// fewTries are made only while the lost ones cost little.
const (
	fewTries  = 5
	mostTries = 20
	mostLost  = 100 << 10 // bytes of the items of lost attempts
)

// ErrOvertaken makes Try call compute again: an item that compute read has changed since.
var ErrOvertaken = errors.New("others wrote in between")

// Try makes an optimistic write. compute reads and returns writes that carry mark, none if nothing
// changes. If another request wrote in between, Try waits and calls compute again, five times, or
// 20 times if the items are small: a hundred people may react to one comment at once.
//
// Try returns ABORTED if every attempt loses. It also returns ABORTED if an answer is lost and
// other requests have written since, because a retry would undo their writes. subject names the
// data in the error.
func (t *Table) Try(ctx context.Context, subject, mark string, compute func(ctx context.Context) ([]Write, error)) error {
	lost := 0
	for n := range mostTries {
		if n >= fewTries && lost > mostLost || n > 0 && !t.Backoff(ctx, n-1) {
			break
		}
		writes, err := compute(ctx)
		if errors.Is(err, ErrOvertaken) {
			continue
		}
		if err != nil || len(writes) == 0 {
			return err
		}
		refused, err := t.Write(ctx, writes...)
		if err != nil || refused == nil || refused.By(mark) {
			return err
		}
		if refused.Lost {
			break
		}
		for _, result := range refused.Of {
			lost += result.There.Size()
		}
	}
	return ErrAborted(subject)
}

// Rewrite reads an item into a struct with dynamodbav tags, calls change, and writes the difference
// with Try. If there is no item, exists is false and the struct is zero. change may be called
// again, and its error leaves the item unchanged. Attributes unknown to the struct are kept.
func Rewrite[T any](ctx context.Context, t *Table, k keys.Key, subject string, change func(v *T, exists bool) error) (T, error) {
	var v T
	mark := t.NewMark()
	err := t.Try(ctx, subject, mark, func(ctx context.Context) ([]Write, error) {
		before, err := t.Get(ctx, k)
		if err != nil {
			return nil, err
		}
		w, err := Rewritten(k, before, mark, &v, change)
		return []Write{w}, err
	})
	return v, err
}

// Rewritten returns the write of Rewrite for an item that was read, and sets v to the changed
// struct. A nil before means that there is no item.
func Rewritten[T any](k keys.Key, before Item, mark string, v *T, change func(v *T, exists bool) error) (Write, error) {
	*v = *new(T)
	if err := before.Decode(v); err != nil {
		return Write{}, err
	}
	if err := change(v, before != nil); err != nil {
		return Write{}, err
	}
	return Change(before, Overlay[T](before, ItemOf(k, v)), mark), nil
}

func attributes[T any]() []string { return AttributesOf(*new(T)) }

// AttributesOf returns the attribute names in the dynamodbav tags of a struct.
func AttributesOf(v any) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		if name, _, _ := strings.Cut(f.Tag.Get("dynamodbav"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// Overlay returns before with the attributes of T replaced by those in changed. before may be nil.
// Attributes unknown to T are kept.
func Overlay[T any](before, changed Item) Item {
	after := Item{}
	maps.Copy(after, before)
	for _, name := range attributes[T]() {
		delete(after, name)
	}
	maps.Copy(after, changed)
	return after
}
