package main

import (
	"fmt"
	"reflect"
	"strings"

	"collabdata/scripts/operator"
)

// grammar returns the commands of operator's table, as kong reads them: a pointer to a struct with a field for each noun, which has one for
// each of its operations, of the type of its parameters.
func grammar() any {
	nouns := map[string]*[]reflect.StructField{}
	var top []reflect.StructField
	for _, op := range operator.Operations() {
		noun, verb, two := strings.Cut(op.Name, " ")
		if !two {
			top = append(top, command(noun, op.Help, op.Params()))
			continue
		}
		if nouns[noun] == nil {
			nouns[noun] = new([]reflect.StructField)
		}
		*nouns[noun] = append(*nouns[noun], command(verb, op.Help, op.Params()))
	}
	var all []reflect.StructField
	for _, n := range operator.Nouns {
		all = append(all, command(n[0], n[1], reflect.StructOf(*nouns[n[0]])))
	}
	return reflect.New(reflect.StructOf(append(all, top...))).Interface()
}

func command(name, help string, params reflect.Type) reflect.StructField {
	exported := strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "-", "")
	return reflect.StructField{Name: exported, Type: params, Tag: reflect.StructTag(fmt.Sprintf(`cmd:"" name:%q help:%q`, name, help))}
}

// operation returns the row of a command.
func operation(name string) (op operator.Operation, ok bool) {
	for _, op := range operator.Operations() {
		if op.Name == name {
			return op, true
		}
	}
	return op, false
}
