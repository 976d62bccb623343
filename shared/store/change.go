package store

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
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

// Change writes what differs between an item as it was read, nil for none, and as it is to be, on condition that nobody wrote it in
// between: every change counts its rev up. What the item has beside is kept. same names further attributes that must be as they were.
func (t *Table) Change(before, after Item, mark string, same ...string) Write {
	after = maps.Clone(after)
	after[table.Writer] = Text(mark)
	after[table.Rev] = Number(before.Number(table.Rev) + 1)
	if before == nil {
		return t.Create(after)
	}
	var update expression.UpdateBuilder
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if name != table.PK && name != table.SK && !reflect.DeepEqual(before[name], after[name]) {
			update = update.Set(expression.NameNoDotSplit(name), expression.Value(after[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[name]; !ok {
			update = update.Remove(expression.NameNoDotSplit(name))
		}
	}
	conditions := []expression.ConditionBuilder{unchanged(before, table.Rev), expression.AttributeExists(expression.NameNoDotSplit(table.PK))}
	for _, name := range same {
		conditions = append(conditions, unchanged(before, name))
	}
	return t.Update(before.Key(), update, conditions...)
}

func unchanged(before Item, name string) expression.ConditionBuilder {
	if before[name] == nil {
		return expression.AttributeNotExists(expression.NameNoDotSplit(name))
	}
	return expression.NameNoDotSplit(name).Equal(expression.Value(before[name]))
}

// Rewrite reads the item of a key into a struct with dynamodbav tags, has change change it, and writes what differs: see Try. exists is
// false where there is no item; then the struct is the zero one. change may be called again with what others wrote meanwhile; its error
// leaves the item as it is. Attributes that the struct does not know are kept.
func Rewrite[T any](ctx context.Context, t *Table, k table.Key, subject string, change func(v *T, exists bool) error) (T, error) {
	var v T
	mark := t.NewMark()
	err := t.Try(ctx, subject, mark, func(ctx context.Context) ([]Write, error) {
		before, err := t.Get(ctx, k)
		if err != nil {
			return nil, err
		}
		w, err := Rewritten(t, k, before, mark, &v, change)
		return []Write{w}, err
	})
	return v, err
}

// Rewritten is the write of Rewrite for an item as it was read, nil for none. v is the struct as it is to be.
func Rewritten[T any](t *Table, k table.Key, before Item, mark string, v *T, change func(v *T, exists bool) error) (Write, error) {
	*v = *new(T)
	if err := before.Decode(v); err != nil {
		return Write{}, err
	}
	if err := change(v, before != nil); err != nil {
		return Write{}, err
	}
	return t.Change(before, Overlay[T](before, ItemOf(k, v)), mark), nil
}

// Save writes an item of a T, a struct with dynamodbav tags, where there is one that has these attributes. What T does not know of it is kept.
func Save[T any](t *Table, it, has Item) Write {
	condition, names, values := equal(has)
	var set, remove []string
	for name, v := range it {
		if name != table.PK && name != table.SK {
			set = append(set, "#"+name+" = :to"+name)
			names["#"+name], values[":to"+name] = name, v
		}
	}
	update := "SET " + strings.Join(set, ", ")
	for _, name := range attributes[T]() {
		if it[name] == nil {
			remove = append(remove, "#"+name)
			names["#"+name] = name
		}
	}
	if len(remove) > 0 {
		update += " REMOVE " + strings.Join(remove, ", ")
	}
	return t.UpdateText(it.Key(), &update, &condition, names, values)
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

// Overlay returns an item as it was read, nil for none, with the attributes that T, a struct with dynamodbav tags, knows as they are in changed.
// What the item has beside is kept.
func Overlay[T any](before, changed Item) Item {
	after := Item{}
	maps.Copy(after, before)
	for _, name := range attributes[T]() {
		delete(after, name)
	}
	maps.Copy(after, changed)
	return after
}
