package openapi

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
)

type person struct {
	UserID string  `json:"userId" rule:"required,id" doc:"Who"`
	Name   *string `json:"name,omitempty" rule:"max=10"`
}

type kind string

func (kind) Values() []string { return []string{"default", "ongoing", "terminal"} }

type ask struct {
	Who   person            `json:"who" rule:"required"`
	Kind  rpc.Opt[kind]     `json:"kind"`
	Ids   []int64           `json:"ids" rule:"notnull,nonempty,max=3,each=commentid"`
	Data  rpc.One[person]   `json:"data" rule:"notnull"`
	Free  collab.JSON       `json:"free" rule:"object"`
	Any   collab.JSON       `json:"any"`
	State collab.Preference `json:"state" rule:"notnull"`
	Count int64             `json:"count" rule:"notnull,min=1"`
	Link  string            `json:"link" rule:"url"`
	Done  *bool             `json:"done" rule:"notnull,true"`
	Flag  bool              `json:"flag"`
	Mixed collab.JSON       `json:"mixed" schema:"Kind|object"`
}

type item struct {
	Who  *person          `json:"who"`
	At   collab.Timestamp `json:"at,omitzero"`
	List []string         `json:"list" rule:"nullable"`
	Raw  collab.JSON      `json:"raw,omitempty" schema:"[]Person"`
	rpc.Open
}

// TestSchemas checks the schemas of each kind of field.
func TestSchemas(t *testing.T) {
	s := newSchemas(
		map[string]string{
			"who":   "Who",
			"kind":  "K",
			"ids":   "I",
			"data":  "D",
			"free":  "F",
			"any":   "A",
			"state": "S",
			"count": "C",
			"at":    "T",
			"list":  "L",
			"link":  "L",
			"done":  "Y",
			"flag":  "N",
			"mixed": "M",
		},
		map[string]any{"count": 2},
	)
	answer := s.answer("Things", reflect.TypeFor[*rpc.Page[*item]]())
	grouped := s.answer("Things", reflect.TypeFor[*rpc.GroupedPage[*item]]())
	request := s.request("Ask", reflect.TypeFor[ask]())
	for what, test := range map[string]struct {
		schema object
		want   string
	}{
		"answer":  {answer, `{"type":"array","items":{"anyOf":[{"$ref":"#/components/schemas/Item"},{"type":"null"}]}}`},
		"grouped": {grouped, `{"anyOf":[{"$ref":"#/components/schemas/ThingsList"},{"$ref":"#/components/schemas/ThingsGroups"}]}`},
		"item": {s.components["Item"], `{"type":"object","properties":{
			"who":{"anyOf":[{"$ref":"#/components/schemas/Person"},{"type":"null"}],"description":"Who"},
			"at":{"$ref":"#/components/schemas/Timestamp","description":"T"},
			"list":{"type":["array","null"],"items":{"type":"string"},"description":"L"},
			"raw":{"type":"array","items":{"$ref":"#/components/schemas/Person"},"description":""}},
			"required":["who","list"],"additionalProperties":true}`},
		"person": {s.components["Person"], `{"type":"object","properties":{
			"userId":{"type":"string","description":"Who"},"name":{"type":"string","description":""}},"required":["userId"]}`},
		"person of a request": {s.components["PersonInput"], `{"type":"object","properties":{
			"userId":{"$ref":"#/components/schemas/Id","description":"Who"},
			"name":{"type":["string","null"],"maxLength":10,"description":": at most 10 bytes"}},"required":["userId"],"additionalProperties":false}`},
		"request": {request, `{"$ref":"#/components/schemas/Ask"}`},
		"an enum": {s.components["Kind"], `{"type":"string","enum":["default","ongoing","terminal"]}`},
		"fields of a request": {s.components["Ask"], `{"type":"object","properties":{
			"who":{"$ref":"#/components/schemas/PersonInput","description":"Who"},
			"kind":{"anyOf":[{"$ref":"#/components/schemas/Kind"},{"type":"null"}],"description":"K"},
			"ids":{"type":"array","items":{"$ref":"#/components/schemas/CommentId"},"minItems":1,"maxItems":3,"description":"I"},
			"data":{"anyOf":[{"$ref":"#/components/schemas/PersonInput"},
				{"type":"array","items":{"$ref":"#/components/schemas/PersonInput"},"minItems":1,"maxItems":1}],"description":"D"},
			"free":{"type":["object","null"],"additionalProperties":true,"description":"F"},
			"any":{"description":"A"},
			"state":{"$ref":"#/components/schemas/Preference","description":"S"},
			"count":{"type":"integer","minimum":1,"maximum":9007199254740991,"description":"C","examples":[2]},
			"link":{"type":["string","null"],"format":"uri","minLength":1,"description":"L"},
			"done":{"type":"boolean","const":true,"description":"Y"},
			"flag":{"type":["boolean","null"],"default":false,"description":"N"},
			"mixed":{"anyOf":[{"$ref":"#/components/schemas/Kind"},{"type":"object"},{"type":"null"}],"description":"M"}},
			"required":["who"],"additionalProperties":false}`},
	} {
		var got, want any
		text, err := test.schema.MarshalJSON()
		must.Do(t, err)
		must.Do(t, json.Unmarshal(text, &got))
		must.Do(t, json.Unmarshal([]byte(test.want), &want))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (- want, + got):\n%s", what, diff)
		}
	}
	if diff := cmp.Diff([]string{"Person.name", "Item.raw", "PersonInput.name"}, s.undescribed); diff != "" {
		t.Error(diff)
	}
}

// TestSchemaNames checks that two types are never one component.
func TestSchemaNames(t *testing.T) {
	type outer struct {
		Status collab.Member `json:"status"`
	}
	type Member struct {
		ID string `json:"id"`
	}
	s := newSchemas(nil, nil)
	s.answer("", reflect.TypeFor[Member]())
	defer func() {
		if recover() == nil {
			t.Error("a second type took the name of the first")
		}
	}()
	s.answer("", reflect.TypeFor[outer]())
}
