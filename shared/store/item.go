package store

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is a stored item. Its setters leave out what is absent; its getters answer zero for it.
type item map[string]types.AttributeValue

func newItem(k table.Key) item {
	return item{table.PK: str(k.PK), table.SK: str(k.SK)}
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func keyOf(k table.Key) item { return newItem(k) }

func (it item) setText(name, s string) {
	if s != "" {
		it[name] = str(s)
	}
}

func (it item) setOptText(name string, s *string) {
	if s != nil {
		it[name] = str(*s)
	}
}

func (it item) setJSON(name string, j collab.JSON) {
	if j != nil {
		it[name] = str(string(j))
	}
}

func (it item) setNum(name string, n int64) { it[name] = num(n) }

func (it item) setBool(name string, b *bool) {
	if b != nil {
		it[name] = &types.AttributeValueMemberBOOL{Value: *b}
	}
}

func (it item) setTexts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	l := make([]types.AttributeValue, len(list))
	for i, s := range list {
		l[i] = str(s)
	}
	it[name] = &types.AttributeValueMemberL{Value: l}
}

func (it item) text(name string) string {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func (it item) optText(name string) *string {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return &v.Value
	}
	return nil
}

func (it item) json(name string) collab.JSON {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return collab.JSON(v.Value)
	}
	return nil
}

func (it item) num(name string) int64 {
	if v, ok := it[name].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(v.Value, 10, 64)
		return n
	}
	return 0
}

func (it item) bytes(name string) []byte {
	if v, ok := it[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

func (it item) bool(name string) *bool {
	if v, ok := it[name].(*types.AttributeValueMemberBOOL); ok {
		return &v.Value
	}
	return nil
}

func (it item) texts(name string) []string {
	l, ok := it[name].(*types.AttributeValueMemberL)
	if !ok {
		return nil
	}
	list := make([]string, 0, len(l.Value))
	for _, v := range l.Value {
		if s, ok := v.(*types.AttributeValueMemberS); ok {
			list = append(list, s.Value)
		}
	}
	return list
}

func (it item) set(name string) []string {
	if v, ok := it[name].(*types.AttributeValueMemberSS); ok {
		return v.Value
	}
	return nil
}

func (it item) times(name string) map[string]collab.Millis {
	m, ok := it[name].(*types.AttributeValueMemberM)
	if !ok {
		return nil
	}
	times := make(map[string]collab.Millis, len(m.Value))
	for k := range m.Value {
		times[k] = item(m.Value).num(k)
	}
	return times
}

func timesAttribute(times map[string]collab.Millis) types.AttributeValue {
	m := make(map[string]types.AttributeValue, len(times))
	for k, t := range times {
		m[k] = num(t)
	}
	return &types.AttributeValueMemberM{Value: m}
}

// keep sets the attributes to what they are in before, and returns the item.
func (it item) keep(before item, names ...string) item {
	for _, name := range names {
		if v, ok := before[name]; ok {
			it[name] = v
		}
	}
	return it
}

func (it item) key() table.Key { return table.Key{PK: it.text(table.PK), SK: it.text(table.SK)} }

// size returns the bytes that DynamoDB counts for the item: names and values.
func (it item) size() int {
	n := 0
	for name, v := range it {
		n += len(name) + attributeSize(v)
	}
	return n
}

func attributeSize(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 2
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberSS:
		n := 0
		for _, s := range v.Value {
			n += len(s)
		}
		return n
	case *types.AttributeValueMemberL:
		n := 3
		for _, e := range v.Value {
			n += 1 + attributeSize(e)
		}
		return n
	case *types.AttributeValueMemberM:
		n := 3
		for k, e := range v.Value {
			n += 1 + len(k) + attributeSize(e)
		}
		return n
	}
	return 1
}

// equal compares attributes as values.
func equal(a, b types.AttributeValue) bool {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		b, ok := b.(*types.AttributeValueMemberS)
		return ok && a.Value == b.Value
	case *types.AttributeValueMemberN:
		b, ok := b.(*types.AttributeValueMemberN)
		return ok && a.Value == b.Value
	case *types.AttributeValueMemberBOOL:
		b, ok := b.(*types.AttributeValueMemberBOOL)
		return ok && a.Value == b.Value
	case *types.AttributeValueMemberSS:
		b, ok := b.(*types.AttributeValueMemberSS)
		return ok && slices.Equal(slices.Sorted(slices.Values(a.Value)), slices.Sorted(slices.Values(b.Value)))
	case *types.AttributeValueMemberM:
		b, ok := b.(*types.AttributeValueMemberM)
		return ok && maps.EqualFunc(a.Value, b.Value, equal)
	case *types.AttributeValueMemberL:
		b, ok := b.(*types.AttributeValueMemberL)
		return ok && slices.EqualFunc(a.Value, b.Value, equal)
	}
	return a == nil && b == nil
}

// expression collects the names and values that the texts of an update, a condition or a projection stand for.
type expression struct {
	names  map[string]string               // by placeholder; nil when there is none
	values map[string]types.AttributeValue // the same
	byName map[string]string               // placeholders
}

func newExpression() *expression { return &expression{} }

// name returns the placeholder of an attribute name.
func (e *expression) name(attribute string) string {
	p, ok := e.byName[attribute]
	if !ok {
		p = "#n" + strconv.Itoa(len(e.names))
		if e.names == nil {
			e.names, e.byName = map[string]string{}, map[string]string{}
		}
		e.byName[attribute] = p
		e.names[p] = attribute
	}
	return p
}

// value returns a placeholder for a value.
func (e *expression) value(v types.AttributeValue) string {
	p := ":v" + strconv.Itoa(len(e.values))
	if e.values == nil {
		e.values = map[string]types.AttributeValue{}
	}
	e.values[p] = v
	return p
}

// projection returns the list of attributes to read, nil for all.
func (e *expression) projection(attributes []string) *string {
	if len(attributes) == 0 {
		return nil
	}
	list := e.name(attributes[0])
	for _, a := range attributes[1:] {
		list += ", " + e.name(a)
	}
	return &list
}

// difference returns the update expression that makes before into after, "" when they are alike. Keys of the table are left alone.
func (e *expression) difference(before, after item) string {
	var set, remove string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if name != table.PK && name != table.SK && !equal(before[name], after[name]) {
			set += fmt.Sprintf(", %s = %s", e.name(name), e.value(after[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[name]; !ok {
			remove += ", " + e.name(name)
		}
	}
	var update string
	if set != "" {
		update = "SET " + set[2:]
	}
	if remove != "" {
		update += " REMOVE " + remove[2:]
	}
	return update
}
