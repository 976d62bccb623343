package apitest

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/testing/must"
)

func TestMatch(t *testing.T) {
	const id = "06bq2x9a40000000000000000z"
	tests := []struct {
		name, want, got string
		vars            string // "name=value …" afterwards, besides n=7 and s=text
		diffs           []string
	}{
		{name: "same", want: `{"a": [1, true, null, "x"], "b": {}}`, got: `{"b":{},"a":[1,true,null,"x"]}`},
		{name: "number written otherwise", want: `1.0`, got: `1`, diffs: []string{"the answer is 1, want 1.0"}},
		{name: "number for text", want: `"1"`, got: `1`, diffs: []string{`the answer is 1, want "1"`}},
		{name: "other text", want: `{"a":{"b":"x"}}`, got: `{"a":{"b":"y"}}`, diffs: []string{`a.b is "y", want "x"`}},
		{name: "other boolean", want: `[true]`, got: `[false]`, diffs: []string{`[0] is false, want true`}},
		{name: "null for object", want: `{"a":{}}`, got: `{"a":null}`, diffs: []string{`a is null, want {}`}},
		{name: "missing and unexpected", want: `{"a":1,"b":2}`, got: `{"a":1,"c":2}`, diffs: []string{`b is missing`, `c is not expected`}},
		{name: "too few", want: `[1,2]`, got: `[1]`, diffs: []string{"the answer has 1 items, want 2"}},
		{name: "too many", want: `[]`, got: `[1]`, diffs: []string{"the answer has 1 items, want 0"}},
		{name: "order", want: `[1,2]`, got: `[2,1]`, diffs: []string{"[0] is 2, want 1", "[1] is 1, want 2"}},

		{name: "variable", want: `["${s}", "${n}", "a ${s} ${n}"]`, got: `["text",7,"a text 7"]`},
		{name: "variable of another kind", want: `["${n}"]`, got: `["7"]`, diffs: []string{`[0] is "7", want "${n}"`}},
		{name: "unknown variable", want: `["${x}", "a ${x}"]`, got: `["x","a x"]`,
			diffs: []string{`[0] is "x", want "${x}"`, `[1] is "a x", want "a ${x}"`}},
		{name: "taken", want: `{"id": "${a:id}", "again": ["${a}"]}`, got: `{"again":["` + id + `"],"id":"` + id + `"}`, vars: "a=" + id},
		{name: "taken number", want: `["${c:integer}", "${c}"]`, got: `[5,5]`, vars: "c=5"},
		{name: "taken, then another", want: `["${c:integer}", "${c}"]`, got: `[5,6]`, vars: "c=5", diffs: []string{`[1] is 6, want "${c}"`}},
		{name: "kinds", want: `["${:id}","${:text}","${:integer}","${:time}","${:any}"]`,
			got: `["` + id + `","x",-5,"2026-03-04T12:00:00.000Z",{"x":[]}]`},
		{name: "not of the kinds", want: `["${:id}","${:text}","${:integer}","${:integer}","${:time}"]`,
			got: `["` + id + `x","",5.5,"5","2026-03-04T12:00:00Z"]`,
			diffs: []string{
				`[0] is "` + id + `x", want "${:id}"`, `[1] is "", want "${:text}"`, `[2] is 5.5, want "${:integer}"`,
				`[3] is "5", want "${:integer}"`, `[4] is "2026-03-04T12:00:00Z", want "${:time}"`,
			}},
		{name: "part of a text", want: `"data.${f:text} is (${k:integer})"`, got: `"data.x is (12)"`, vars: "f=x k=12"},
		{
			name:  "not the rest",
			want:  `"data.${:text} is"`,
			got:   `"data.x is not"`,
			diffs: []string{`the answer is "data.x is not", want "data.${:text} is"`},
		},
		{name: "not a pattern", want: `"a.c ${s}"`, got: `"abc text"`, diffs: []string{`the answer is "abc text", want "a.c ${s}"`}},

		{name: "keys", want: `{"${n}": 1, "${s}": 2}`, got: `{"text":2,"7":1}`},
		{name: "keys taken in order", want: `{"${b:id}": {"id": "${b}"}, "fixed": 0, "${c:id}": {"id": "${c}"}}`,
			got:  `{"` + id + `":{"id":"` + id + `"},"1` + id[1:] + `":{"id":"1` + id[1:] + `"},"fixed":0}`,
			vars: "b=" + id + " c=1" + id[1:]},
		{name: "key not of the kind", want: `{"${b:id}": 1}`, got: `{"x":1}`, diffs: []string{"${b:id} is missing", "x is not expected"}},
		{
			name:  "key too many",
			want:  `{"${b:id}": 1, "${c:id}": 2}`,
			got:   `{"` + id + `":1}`,
			vars:  "b=" + id,
			diffs: []string{"${c:id} is missing"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want, err := parseJSON([]byte(test.want))
			must.Do(t, err)
			must.Do(t, checkPlaces(want))
			got, err := parseJSON([]byte(test.got))
			must.Do(t, err)
			start := func() variables { return variables{"n": {kind: '0', text: "7"}, "s": textValue("text")} }
			vars, after := start(), start()
			diffs := vars.match("", want, got)
			if diff := cmp.Diff(test.diffs, diffs); diff != "" {
				t.Error(diff)
			}
			for _, pair := range strings.Fields(test.vars) {
				name, text, _ := strings.Cut(pair, "=")
				after[name] = value{text: text}
			}
			for name, v := range after {
				if vars[name].text != v.text {
					t.Errorf("%s is %q, want %q", name, vars[name].text, v.text)
				}
			}
			if len(vars) != len(after) {
				t.Errorf("variables are %v, want %v", vars, after)
			}
		})
	}
}

func TestExpand(t *testing.T) {
	vars := variables{"n": {kind: '0', text: "7"}, "s": textValue(`a"b`)}
	for text, want := range map[string]string{
		`{"x": "${s}", "y": ["${n}"], "${n}" : "${n}${s}", "z": "{{${s}}}"}`: `{"x": "a\"b", "y": [7], "7" : "7a\"b", "z": "{{a\"b}}"}`,
		`{"${s}": 1`:   `{"a\"b": 1`,
		`"{name} $ {"`: `"{name} $ {"`,
	} {
		got, err := vars.expandJSON(text)
		if err != nil || got != want {
			t.Errorf("%s is expanded to %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{`"${x}"`, `{"${x}": 1}`, `a ${x}`, `"${s:text}"`, `${:any}`} {
		if got, err := vars.expandJSON(text); err == nil {
			t.Errorf("%s is expanded to %s", text, got)
		}
	}
}

// TestEveryEndpoint checks that every endpoint and each general folder has a script.
func TestEveryEndpoint(t *testing.T) {
	list, err := all()
	must.Do(t, err)
	for _, folder := range folders() {
		if !slices.ContainsFunc(list, func(s *script) bool { return s.folder == folder }) {
			t.Errorf("there is no script in the folder %s", folder)
		}
	}
}

// TestLoad checks that scripts run in the order of the contract, and that no file is skipped.
func TestLoad(t *testing.T) {
	const text = "It.\n-- a --\n{}\n-- 200 --\n{}\n"
	files := fstest.MapFS{}
	add := func(name, text string) { files["scripts/"+name] = &fstest.MapFile{Data: []byte(text)} }
	for _, name := range []string{"v1/notifications/add/x", "v2/organizations/get/b", "v2/organizations/get/a", "general/x", "v2/commentannotations/add/x"} {
		add(name+".txtar", text)
	}
	list, err := load(files)
	must.Do(t, err)
	var got []string
	for _, s := range list {
		got = append(got, s.name)
	}
	want := []string{"general/x", "v2/commentannotations/add/x", "v2/organizations/get/a", "v2/organizations/get/b", "v1/notifications/add/x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"v2/organizations/nothing/x.txtar", "x.txtar", "v2/organizations/get/a.txt", "general/y.txtar"} {
		body := text
		if name == "general/y.txtar" {
			body = "It.\n"
		}
		add(name, body)
		if _, err := load(files); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
		delete(files, "scripts/"+name)
	}
}

func TestParse(t *testing.T) {
	const text = `What it shows.
-- seed --
{"settings": {"allEvents": true}, "organizations": [{"id": "o"}], "other": {"organizations": [{"id": "p"}]}}
-- first --
{"data":
 {}}
-- 200 --
{"result": 1}
-- second --
PUT /v2/x/${n}
x-a: b c
!x-b

[]

-- 405 --
Allow: POST
!Retry-After
{}
`
	got, err := parse([]byte(text), "/v2/y")
	must.Do(t, err)
	want := &script{
		seed: Seed{
			Account: Account{Organizations: []Organization{{ID: "o"}}},
			Other:   Account{Organizations: []Organization{{ID: "p"}}},
		},
		steps: []*step{
			{title: "first", method: "POST", path: "/v2/y", body: "{\"data\":\n {}}",
				answer: answer{status: 200, body: value{kind: '{', keys: []string{"result"}, items: []value{{kind: '0', text: "1"}}}}},
			{title: "second", method: "PUT", path: "/v2/x/${n}", body: "[]\n",
				header: []header{{name: "x-a", value: "b c"}, {name: "x-b", absent: true}},
				answer: answer{
					status: 405,
					body:   value{kind: '{'},
					header: []header{{name: "Allow", value: "POST"}, {name: "Retry-After", absent: true}},
				}},
		},
	}
	want.seed.Settings.AllEvents = true
	all := cmp.AllowUnexported(script{}, step{}, answer{}, header{}, value{})
	if diff := cmp.Diff(want, got, all); diff != "" {
		t.Error(diff)
	}

	for name, text := range map[string]string{
		"no comment":       "-- a --\n{}\n-- 200 --\n{}\n",
		"no request":       "It.\n-- seed --\n{}\n",
		"unknown in seed":  "It.\n-- seed --\n{\"folder\": []}\n-- a --\n{}\n-- 200 --\n{}\n",
		"answer alone":     "It.\n-- 200 --\n{}\n",
		"request alone":    "It.\n-- a --\n{}\n",
		"two requests":     "It.\n-- a --\n{}\n-- b --\n{}\n-- 200 --\n{}\n",
		"late seed":        "It.\n-- a --\n{}\n-- 200 --\n{}\n-- seed --\n{}\n",
		"answer not JSON":  "It.\n-- a --\n{}\n-- 200 --\n{\n",
		"empty answer":     "It.\n-- a --\n{}\n-- 200 --\n",
		"no header":        "It.\n-- a --\nx y\n{}\n-- 200 --\n{}\n",
		"absent and value": "It.\n-- a --\n!x: y\n{}\n-- 200 --\n{}\n",
		"unknown kind":     "It.\n-- a --\n{}\n-- 200 --\n{\"a\": [\"${x:uuid}\"]}\n",
		"no kind":          "It.\n-- a --\n{}\n-- 200 --\n{\"a\": \"${}\"}\n",
		"any in a text":    "It.\n-- a --\n{}\n-- 200 --\n{\"a\": \"x ${:any}\"}\n",
		"any as a key":     "It.\n-- a --\n{}\n-- 200 --\n{\"${:any}\": 1}\n",
	} {
		if s, err := parse([]byte(text), "/v2/y"); err == nil {
			t.Errorf("%s: parsed as %v", name, s)
		}
	}
}
