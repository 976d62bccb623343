package rpc

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"collabdata/shared/collab"
)

// kind is how a JSON value is decoded.
type kind int

const (
	kindString kind = iota
	kindBool
	kindInteger
	kindRaw     // collab.JSON
	kindStruct  // object with known fields
	kindArray   // elem
	kindPointer // elem
	kindOpt     // elem
	kindOne     // elem
)

// plan says how a JSON value becomes a Go value of one type, and the rules that hold for it. It is made once per handler.
type plan struct {
	kind   kind
	elem   *plan
	object *objectPlan // kindStruct

	min, max int64              // kindInteger: bounds
	maxLen   int                // kindString, kindArray: bytes, items; 0 for no limit
	rest     string             // kindArray: the path that takes what is beyond maxLen, "" for none
	nonEmpty bool               // kindString, kindArray, kindStruct
	check    func(string) error // kindString: nil for none
	only     bool               // kindRaw: an object only

	form string   // the rule id, docid, notificationid, time or commentid, "" for none
	enum []string // kindString: the values there are, nil for any
}

// objectPlan is the plan of a struct.
type objectPlan struct {
	name, of  string // of the type, and with its package
	fields    []fieldPlan
	byName    map[string]int
	validates bool
}

type fieldPlan struct {
	name     string
	index    []int
	required bool
	notNull  bool
	doc      string // what it is, for those who call
	plan     *plan
}

const maxInteger = 1<<53 - 1

// planOf returns the plan of a type. It panics where the type breaks the conventions of the package comment.
func planOf(t reflect.Type) *plan {
	return planner{}.plan(t, nil, t.String())
}

// planner remembers the structs it has met, so that types may be recursive.
type planner map[structOf]*objectPlan

// structOf is a struct, whole or as a change of one: see rule partial.
type structOf struct {
	reflect.Type
	partial bool
}

func (pl planner) plan(t reflect.Type, rules []string, where string) *plan {
	p := &plan{min: -maxInteger, max: maxInteger}
	switch {
	case t == reflect.TypeFor[collab.JSON]():
		p.kind = kindRaw
	case t.Kind() == reflect.String:
		p.kind, p.enum = kindString, valuesOf(t)
	case t.Kind() == reflect.Bool:
		p.kind = kindBool
	case t.Kind() == reflect.Int64:
		p.kind = kindInteger
	case t.Kind() == reflect.Pointer:
		p.kind, p.elem = kindPointer, pl.plan(t.Elem(), rules, where)
		return p
	case t.Kind() == reflect.Struct && t.Implements(reflect.TypeFor[interface{ isOpt() }]()):
		p.kind, p.elem = kindOpt, pl.plan(t.Field(0).Type, rules, where)
		return p
	case t.Kind() == reflect.Struct && t.Implements(reflect.TypeFor[interface{ isOne() }]()):
		p.kind, p.elem = kindOne, pl.plan(t.Field(0).Type, rules, where)
		return p
	case t.Kind() == reflect.Struct:
		whole := slices.DeleteFunc(slices.Clone(rules), func(rule string) bool { return rule == "partial" })
		p.kind, p.object, rules = kindStruct, pl.object(structOf{t, len(whole) < len(rules)}), whole
	case t.Kind() == reflect.Slice:
		var own, each []string
		for _, rule := range rules {
			if rest, ok := strings.CutPrefix(rule, "each="); ok {
				each = append(each, rest)
			} else {
				own = append(own, rule)
			}
		}
		p.kind, p.elem, rules = kindArray, pl.plan(t.Elem(), each, where+"[]"), own
	default:
		panic(fmt.Sprintf("rpc: %s: a request cannot hold a %s", where, t))
	}
	for _, rule := range rules {
		p.add(rule, where)
	}
	return p
}

func (pl planner) object(t structOf) *objectPlan {
	if o := pl[t]; o != nil {
		return o
	}
	o := &objectPlan{name: t.Name(), of: t.String(), byName: make(map[string]int), validates: validates(t.Type) && !t.partial}
	if t.partial {
		o.name, o.of = o.name+"Change", "change of "+o.of
	}
	pl[t] = o
	for _, f := range reflect.VisibleFields(t.Type) {
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			if validates(f.Type) && !validates(t.Type) {
				panic(fmt.Sprintf("rpc: %s: Validate of the embedded %s is ambiguous", t, f.Type))
			}
			continue
		}
		where := t.String() + "." + f.Name
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			panic(fmt.Sprintf("rpc: %s: a field of a request has a json tag", where))
		}
		if _, twice := o.byName[name]; twice {
			panic(fmt.Sprintf("rpc: %s: there are two fields %q", where, name))
		}
		field := fieldPlan{name: name, index: f.Index, doc: f.Tag.Get("doc")}
		var rules []string
		for rule := range strings.SplitSeq(f.Tag.Get("rule"), ",") {
			switch rule {
			case "":
			case "required":
				field.required = !t.partial
			case "notnull":
				field.notNull = true
			default:
				rules = append(rules, rule)
			}
		}
		field.plan = pl.plan(f.Type, rules, where)
		o.byName[name] = len(o.fields)
		o.fields = append(o.fields, field)
	}
	if len(o.fields) > 64 {
		panic(fmt.Sprintf("rpc: %s has more than 64 fields", t))
	}
	return o
}

func validates(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[Validator]())
}

// add takes a rule up into the plan.
func (p *plan) add(rule, where string) {
	name, argument, _ := strings.Cut(rule, "=")
	number := func() int64 {
		n, err := strconv.ParseInt(argument, 10, 64)
		if err != nil {
			panic(fmt.Sprintf("rpc: %s: rule %q needs an integer", where, rule))
		}
		return n
	}
	switch name {
	case "id", "docid", "notificationid", "time", "commentid":
		p.form = name
	}
	text, integer, array, object := p.kind == kindString, p.kind == kindInteger, p.kind == kindArray, p.kind == kindStruct
	switch {
	case name == "id" && text:
		p.check = func(s string) error { return collab.CheckID(s, collab.MaxID) }
	case name == "docid" && text:
		p.check = func(s string) error { return collab.CheckID(s, collab.MaxDocumentID) }
	case name == "notificationid" && text:
		p.check = collab.CheckNotificationID
	case name == "nonempty" && (text || array || object):
		p.nonEmpty = true
	case name == "max" && (text || array):
		p.maxLen = int(number())
	case name == "rest" && array:
		p.rest = argument
	case name == "max" && integer:
		p.max = number()
	case name == "min" && integer:
		p.min = number()
	case name == "time" && integer:
		p.min, p.max = 0, collab.MaxMillis
	case name == "commentid" && integer:
		p.min, p.max = 1, collab.MaxCommentID
	case name == "object" && p.kind == kindRaw:
		p.only = true
	default:
		panic(fmt.Sprintf("rpc: %s: rule %q does not apply", where, rule))
	}
}

// valuesOf returns the values of a type that says which ones it has, nil for others.
func valuesOf(t reflect.Type) []string {
	if e, ok := reflect.Zero(t).Interface().(interface{ Values() []string }); ok {
		return e.Values()
	}
	return nil
}

// organizationField returns the index of the field organizationId within the request type of an envelope's plan, or nil.
func (p *plan) organizationField() []int {
	if request := p.object.fields[0].plan.object; request != nil {
		if i, ok := request.byName["organizationId"]; ok {
			return request.fields[i].index
		}
	}
	return nil
}
