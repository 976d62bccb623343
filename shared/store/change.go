package store

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"strings"

	"collabdata/shared/keys"
)

// tries is how often a change is computed anew because others wrote in between.
const tries = 5

// ErrOvertaken is the error by which compute asks Try to call it once more: others wrote what it read.
var ErrOvertaken = errors.New("others wrote in between")

// Try is the form of every optimistic write. compute reads what it needs and returns the writes, none where there is nothing to do; changes
// carry mark. Where others wrote in between, Try waits and calls compute once more, up to five times in all; then it fails with ABORTED. It
// fails so at once where an answer was lost and others wrote since: the write may have succeeded, and to repeat it would undo theirs.
// subject is what is written, as a caller knows it.
func (t *Table) Try(ctx context.Context, subject, mark string, compute func(ctx context.Context) ([]Write, error)) error {
	for n := range tries {
		if n > 0 && !t.Backoff(ctx, n-1) {
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
	}
	return ErrAborted(subject)
}

// Rewrite reads the item of a key into a struct with dynamodbav tags, calls change, and writes what differs: see Try. exists is false where
// there is no item; then the struct is zero. change is called once more when others wrote meanwhile; its error leaves the item unchanged.
// Attributes that the struct does not know are kept.
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

// Rewritten returns the write of Rewrite for an item as it was read, nil for none, and sets v to the changed struct.
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

// attributes returns the names of the attributes that a struct has by its dynamodbav tags.
func attributes[T any]() []string { return AttributesOf(*new(T)) }

// AttributesOf returns the names of the attributes that a struct has by its dynamodbav tags.
func AttributesOf(v any) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		if name, _, _ := strings.Cut(f.Tag.Get("dynamodbav"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// Overlay returns before, nil for none, with those attributes replaced by changed that T knows by its dynamodbav tags. Its other attributes
// are kept.
func Overlay[T any](before, changed Item) Item {
	after := Item{}
	maps.Copy(after, before)
	for _, name := range attributes[T]() {
		delete(after, name)
	}
	maps.Copy(after, changed)
	return after
}
