package rpc

import (
	"bytes"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"collabdata/shared/collab"
)

func (d *decoder) array(p *Shape, v reflect.Value) error {
	n, err := d.elements(p.Elem, p.MaxLen, v)
	switch {
	case err != nil:
		return err
	case n == 0 && p.NonEmpty:
		d.add("must not be empty")
	case n == 0:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	case p.MaxLen > 0 && n > p.MaxLen:
		further := ""
		if p.rest != "" {
			further = ": send the rest by " + p.rest
		}
		d.add("must have at most %d items, not %d%s", p.MaxLen, n, further)
	}
	return nil
}

// one reads an array of exactly one element into v.
func (d *decoder) one(p *Shape, v reflect.Value) error {
	list := reflect.New(reflect.SliceOf(v.Type())).Elem()
	n, err := d.elements(p, 1, list)
	if err == nil && n > 0 {
		v.Set(list.Index(0))
	}
	if err == nil && n != 1 {
		d.add("must be one value, or an array of exactly one value, not %d", n)
	}
	return err
}

// elements reads an array into the slice v, at most limit elements if limit is not 0. It returns
// the number of elements.
func (d *decoder) elements(p *Shape, limit int, v reflect.Value) (n int, err error) {
	if _, err := d.dec.ReadToken(); err != nil {
		return 0, err
	}
	for ; d.dec.PeekKind() != ']'; n++ {
		if limit > 0 && n >= limit {
			if err := d.dec.SkipValue(); err != nil {
				return n, err
			}
			continue
		}
		v.Grow(1)
		v.SetLen(n + 1)
		if err := d.value(p, v.Index(n)); err != nil {
			return n, err
		}
	}
	_, err = d.dec.ReadToken()
	return n, err
}

func (d *decoder) object(p *Shape, v reflect.Value) error {
	o := p.Object
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	var seen uint64
	further := false
	for d.dec.PeekKind() != '}' {
		name, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		i, known := o.lookup(name)
		if d.person != nil && (known && !o.Fields[i].In || !known && o.Open) {
			if err := d.dec.SkipValue(); err != nil {
				return err
			}
			d.add("must be absent: only a back end may set it")
			continue
		}
		if !known && o.Open {
			member := Member[collab.JSON]{Key: unquote(name)}
			value, err := d.dec.ReadValue()
			if err != nil {
				return err
			}
			member.Value = compact(value)
			members := v.FieldByIndex(o.further).Addr().Interface().(*Keyed[collab.JSON])
			*members = append(*members, member)
			further = true
			continue
		}
		if !known {
			if err := d.unknown(unquote(name)); err != nil {
				return err
			}
			continue
		}
		seen |= 1 << i
		if o.given != nil {
			given := v.FieldByIndex(o.given)
			given.Set(reflect.Append(given, reflect.ValueOf(o.Fields[i].Name)))
		}
		if err := d.field(&o.Fields[i], v); err != nil {
			return err
		}
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for i := range o.Fields {
		if o.Fields[i].Required && seen&(1<<i) == 0 && (d.person == nil || o.Fields[i].In) {
			d.note(join(d.at(), o.Fields[i].Name), "is required")
		}
	}
	if p.NonEmpty && seen == 0 && !further {
		d.Add("", "must have at least one field")
	}
	if d.person != nil {
		o.forSelf(v, d.person)
		if filler, ok := v.Addr().Interface().(Filler); ok {
			filler.Fill(d.person, &d.Violations)
		}
	}
	if o.validates {
		v.Addr().Interface().(Validator).Validate(&d.Violations)
	}
	return nil
}

// lookup returns the field of a quoted name.
func (o *Object) lookup(quoted []byte) (i int, known bool) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		i, known = o.byName[string(quoted[1:len(quoted)-1])] // does not allocate
	} else {
		i, known = o.byName[unquote(quoted)]
	}
	return i, known
}

// unknown skips the value of an unknown field, and drops or rejects it.
func (d *decoder) unknown(name string) error {
	if err := d.dec.SkipValue(); err != nil {
		return err
	}
	if d.more {
		return errEnough
	}
	if d.drop != nil && mayDrop(d.dec.StackDepth(), name) {
		d.dropped()
		return nil
	}
	text := "is not a known field"
	if d.root == "" && d.dec.StackDepth() == 1 {
		text += ": the body has the single key data"
	}
	d.add("%s", text)
	return nil
}

// mayDrop reports whether an unknown field can be dropped without widening the request. data itself
// (depth 1) has selectors, filters and flags, and some names limit the audience of stored objects.
func mayDrop(depth int, name string) bool {
	return depth > 2 && !slices.ContainsFunc(limiting, func(limit string) bool { return strings.EqualFold(limit, name) })
}

var limiting = []string{"visibility", "visibilityConfig", "access", "accessFields", "accessRole", "accessType"}

func (d *decoder) field(f *Field, v reflect.Value) error {
	v = v.FieldByIndex(f.index)
	if f.Exact {
		defer func(drop *[]string) { d.drop = drop }(d.drop)
		d.drop = nil
	}
	if d.dec.PeekKind() != 'n' {
		return d.value(f.Shape, v)
	}
	if err := d.dec.SkipValue(); err != nil {
		return err
	}
	switch {
	case f.Required:
		d.add("is required and must not be null")
	case f.NotNull:
		d.add("must not be null")
	case f.Shape.Kind == KindOpt:
		v.Field(1).SetBytes([]byte("null"))
	}
	return nil
}

var indexes = regexp.MustCompile(`\[[0-9]+\]`)

// dropped adds the path of the last value to the header DroppedFields.
func (d *decoder) dropped() {
	if len(*d.drop) > maxDropped {
		return
	}
	path := strconv.QuoteToASCII(clip(indexes.ReplaceAllLiteralString(d.at(), "[]"), 200))
	if path = path[1 : len(path)-1]; len(*d.drop) == maxDropped {
		path = "..."
	}
	if !slices.Contains(*d.drop, path) {
		*d.drop = append(*d.drop, path)
	}
}
