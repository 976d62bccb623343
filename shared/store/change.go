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

// ErrOvertaken is the error with which a computation in Try asks to be called again: others wrote what it read.
var ErrOvertaken = errors.New("others wrote in between")

// Try is the form of every optimistic write. compute reads what it needs and returns the writes, none where there is nothing to do; the
// changes among them carry mark. Where others wrote in between it is called again, five times in all with waits between them; then Try
// fails with ABORTED. So it does where an answer was lost and others wrote since: the write may have been carried out, and doing it again
// would undo theirs. subject is what is written, as a caller knows it.
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

// Rewrite reads the item of a key into a struct with dynamodbav tags, has change change it, and writes what differs: see Try. exists is
// false where there is no item; then the struct is the zero one. change may be called again with what others wrote meanwhile; its error
// leaves the item as it is. Attributes that the struct does not know are kept.
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

// Rewritten is the write of Rewrite for an item as it was read, nil for none. v is the struct as it is to be.
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

// attributes are those that a struct with dynamodbav tags has.
func attributes[T any]() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("dynamodbav"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// Overlay returns an item as it was read, nil for none, with the attributes that T, a struct with dynamodbav tags, knows as they are in
// changed. What the item has beside is kept.
func Overlay[T any](before, changed Item) Item {
	after := Item{}
	maps.Copy(after, before)
	for _, name := range attributes[T]() {
		delete(after, name)
	}
	maps.Copy(after, changed)
	return after
}
