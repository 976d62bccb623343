package rpc

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"collabdata/shared/collab"
)

// Kind is the kind of a decoded JSON value.
type Kind int

const (
	KindString Kind = iota
	KindBool
	KindInteger
	KindRaw     // collab.JSON, or another json.Unmarshaler
	KindStruct  // object with known fields
	KindArray   // of Elem
	KindPointer // to Elem
	KindOpt     // of Elem
	KindOne     // of Elem
)

// Shape describes how a JSON value is decoded into a Go type, with its rules: see the package
// comment.
type Shape struct {
	Kind     Kind
	Type     reflect.Type
	Elem     *Shape
	Object   *Object  // KindStruct
	Form     string   // the rule id, docid, notificationid, url, time or commentid, or ""
	Enum     []string // KindString: allowed values, nil for any
	Only     string   // KindBool: the allowed value, "" for both; KindRaw: "object", "number" or ""
	NonEmpty bool     // KindString, KindArray, KindStruct
	Min, Max int64    // KindInteger: bounds
	MaxLen   int      // KindString, KindArray: bytes, items; 0 for no limit

	rest  string             // KindArray: the operation for items beyond MaxLen, or ""
	check func(string) error // KindString: nil for none
}

type Object struct {
	Partial bool // required fields are optional: see rule partial
	Open    bool // members of any other name are allowed: see Open
	Fields  []Field

	byName    map[string]int
	further   []int // index of the Further of an Open
	validates bool
}

type Field struct {
	Name     string // JSON name
	Tag      reflect.StructTag
	Shape    *Shape
	Required bool
	NotNull  bool
	In, Self bool // see Access
	Exact    bool // unknown fields within it are not dropped: see mayDrop

	index []int
}

const maxInteger = 1<<53 - 1

// ShapeOf returns the shape of a request type. It panics if the type breaks the conventions of the
// package comment.
func ShapeOf(t reflect.Type) *Shape {
	shape, ok := shapes.Load(t)
	if !ok {
		shape, _ = shapes.LoadOrStore(t, planner{}.shape(t, nil, t.String()))
	}
	return shape.(*Shape)
}

// shapes caches the results of ShapeOf by type.
var shapes sync.Map

// planner caches structs, so that types can be recursive.
type planner map[structOf]*Object

// structOf is a struct, or a partial one: see rule partial.
type structOf struct {
	reflect.Type
	partial bool
}

func (pl planner) shape(t reflect.Type, rules []string, where string) *Shape {
	p := &Shape{Type: t, Min: -maxInteger, Max: maxInteger}
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		p.Kind = KindRaw
	case t.Kind() == reflect.String:
		p.Kind, p.Enum = KindString, valuesOf(t)
	case t.Kind() == reflect.Bool:
		p.Kind = KindBool
	case t.Kind() == reflect.Int64:
		p.Kind = KindInteger
	case t.Kind() == reflect.Pointer:
		p.Kind, p.Elem = KindPointer, pl.shape(t.Elem(), rules, where)
		return p
	case t.Kind() == reflect.Struct && t.Implements(reflect.TypeFor[interface{ isOpt() }]()):
		p.Kind, p.Elem = KindOpt, pl.shape(t.Field(0).Type, rules, where)
		return p
	case t.Kind() == reflect.Struct && t.Implements(reflect.TypeFor[interface{ isOne() }]()):
		p.Kind, p.Elem = KindOne, pl.shape(t.Field(0).Type, rules, where)
		return p
	case t.Kind() == reflect.Struct:
		whole := slices.DeleteFunc(slices.Clone(rules), func(rule string) bool { return rule == "partial" })
		p.Kind, p.Object, rules = KindStruct, pl.object(structOf{t, len(whole) < len(rules)}), whole
	case t.Kind() == reflect.Slice:
		var own, each []string
		for _, rule := range rules {
			if rest, ok := strings.CutPrefix(rule, "each="); ok {
				each = append(each, rest)
			} else {
				own = append(own, rule)
			}
		}
		p.Kind, p.Elem, rules = KindArray, pl.shape(t.Elem(), each, where+"[]"), own
	default:
		panic(fmt.Sprintf("rpc: %s: a request cannot hold a %s", where, t))
	}
	for _, rule := range rules {
		p.add(rule, where)
	}
	return p
}

func (pl planner) object(t structOf) *Object {
	if o := pl[t]; o != nil {
		return o
	}
	o := &Object{Partial: t.partial, byName: make(map[string]int), validates: validates(t.Type) && !t.partial}
	pl[t] = o
	for _, f := range reflect.VisibleFields(t.Type) {
		if f.Anonymous && f.Type == reflect.TypeFor[Open]() {
			o.Open, o.further = true, append(slices.Clone(f.Index), 0)
		}
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			if validates(f.Type) && !validates(t.Type) {
				panic(fmt.Sprintf("rpc: %s: Validate of the embedded %s is ambiguous", t, f.Type))
			}
			continue
		}
		where := t.String() + "." + f.Name
		name := jsonName(f.Tag)
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			panic(fmt.Sprintf("rpc: %s: a field of a request has a json tag", where))
		}
		if _, twice := o.byName[name]; twice {
			panic(fmt.Sprintf("rpc: %s: there are two fields %q", where, name))
		}
		field := Field{Name: name, Tag: f.Tag, In: tagged(f.Tag, "in"), Self: tagged(f.Tag, "self"), index: f.Index}
		var rules []string
		for rule := range strings.SplitSeq(f.Tag.Get("rule"), ",") {
			switch rule {
			case "":
			case "required":
				field.Required = !t.partial
			case "notnull":
				field.NotNull = true
			case "exact":
				field.Exact = true
			default:
				rules = append(rules, rule)
			}
		}
		field.Shape = pl.shape(f.Type, rules, where)
		if s := field.Shape; field.Required && s.Kind == KindString && s.Enum == nil && s.check == nil {
			s.NonEmpty = true
		}
		o.byName[name] = len(o.Fields)
		o.Fields = append(o.Fields, field)
	}
	if len(o.Fields) > 64 {
		panic(fmt.Sprintf("rpc: %s has more than 64 fields", t))
	}
	return o
}

func validates(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[Validator]())
}

// add adds a rule to the shape.
func (p *Shape) add(rule, where string) {
	name, argument, _ := strings.Cut(rule, "=")
	number := func() int64 {
		n, err := strconv.ParseInt(argument, 10, 64)
		if err != nil {
			panic(fmt.Sprintf("rpc: %s: rule %q needs an integer", where, rule))
		}
		return n
	}
	switch name {
	case "id", "docid", "notificationid", "url", "time", "commentid":
		p.Form = name
	}
	text, integer, array, object := p.Kind == KindString, p.Kind == KindInteger, p.Kind == KindArray, p.Kind == KindStruct
	switch {
	case name == "id" && text:
		p.check = func(s string) error { return collab.CheckID(s, collab.MaxID) }
	case name == "docid" && text:
		p.check = func(s string) error { return collab.CheckID(s, collab.MaxDocumentID) }
	case name == "notificationid" && text:
		p.check = collab.CheckNotificationID
	case name == "locale" && text:
		p.check = collab.CheckLocale
	case name == "zone" && text:
		p.check = collab.CheckZone
	case name == "url" && text:
		p.NonEmpty = true
	case name == "true" && p.Kind == KindBool:
		p.Only = name
	case name == "nonempty" && (text || array || object):
		p.NonEmpty = true
	case name == "max" && (text || array):
		p.MaxLen = int(number())
	case name == "rest" && array:
		p.rest = argument
	case name == "max" && integer:
		p.Max = number()
	case name == "min" && integer:
		p.Min = number()
	case name == "time" && integer:
		p.Min, p.Max = 0, collab.MaxMillis
	case name == "commentid" && integer:
		p.Min, p.Max = 1, collab.MaxCommentID
	case (name == "object" || name == "number") && p.Kind == KindRaw:
		p.Only = name
	default:
		panic(fmt.Sprintf("rpc: %s: rule %q does not apply", where, rule))
	}
}

// valuesOf returns the values of an enum type, or nil.
func valuesOf(t reflect.Type) []string {
	if e, ok := reflect.Zero(t).Interface().(interface{ Values() []string }); ok {
		return e.Values()
	}
	return nil
}
