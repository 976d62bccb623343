package rpc_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type kind string

func (kind) Values() []string { return []string{"default", "ongoing", "terminal"} }

// things is a request with a field of every kind and rule.
type things struct {
	place
	Title     string                  `json:"title" rule:"nonempty,max=5"`
	Note      *string                 `json:"note"`
	Flag      bool                    `json:"flag"`
	Maybe     *bool                   `json:"maybe"`
	Count     int64                   `json:"count"`
	Few       *int64                  `json:"few" rule:"min=1,max=9"`
	At        *int64                  `json:"at" rule:"time"`
	Kind      kind                    `json:"kind"`
	IDs       []string                `json:"ids" rule:"notnull,nonempty,max=3,each=id"`
	Nums      []int64                 `json:"nums" rule:"each=commentid"`
	NID       string                  `json:"nid" rule:"notificationid"`
	Free      collab.JSON             `json:"free" rule:"object"`
	Any       collab.JSON             `json:"any"`
	User      *collab.User            `json:"user"`
	Must      []collab.User           `json:"must" rule:"max=2"`
	State     rpc.Opt[state]          `json:"state"`
	Seen      rpc.Opt[collab.JSON]    `json:"seen" rule:"object"`
	Size      rpc.Opt[int64]          `json:"size" rule:"notnull,min=1"`
	Change    *rpc.One[change]        `json:"change" rule:"nonempty"`
	Part      rpc.Opt[collab.User]    `json:"part" rule:"partial"`
	Half      *state                  `json:"half" rule:"partial"`
	Organized *open                   `json:"open"`
	Tree      *tree                   `json:"tree"`
	Own       map[string]*collab.User `json:"-"`
}

// place is embedded.
type place struct {
	Organization string `json:"organizationId" rule:"required,id"`
	Document     string `json:"documentId" rule:"docid"`
}

type state struct {
	ID   string  `json:"id"`
	Name *string `json:"name"`
}

type change struct {
	State rpc.Opt[state] `json:"state"`
}

func (s *state) Validate(m *rpc.Violations) {
	if s.ID == "" {
		m.Add("id", "is required, or name")
	}
	if s.Name != nil && *s.Name == "bad" {
		m.Add("", "has a bad name")
	}
}

type open struct {
	ID string `json:"id" rule:"required,id"`
	rpc.Open
}

type tree struct {
	Leaf     string `json:"leaf"`
	Branches []tree `json:"branches"`
}

// decodeThings sends data to an operation and returns the decoded value, or the failure.
func decodeThings(t testing.TB, body string) (*things, failure) {
	t.Helper()
	var got *things
	h := rpc.Handle(newServer(), func(_ context.Context, _ *rpc.Call, req *things) (any, error) {
		got = req
		return nil, nil
	}, rpc.Options{})
	w := serve(h, newRequest(t.Context(), body))
	if w.Code == http.StatusOK {
		return got, failure{}
	}
	if w.Code != http.StatusBadRequest {
		t.Errorf("HTTP status %d", w.Code)
	}
	return nil, failureOf(t, w)
}

func TestDecode(t *testing.T) {
	text := func(s string) *string { return &s }
	number := func(n int64) *int64 { return &n }
	yes := true
	tests := []struct {
		data string // added to organizationId
		want things
	}{
		{`"title":"a\u00e9\n\"","documentId":"d"`, things{Title: "aé\n\"", place: place{Document: "d"}}},
		{`"\u0074itle":"x"`, things{Title: "x"}},
		{`"note":""`, things{Note: text("")}},
		{`"note":"\u0000\u007f"`, things{Note: text("\x00\x7f")}},
		{`"note":"🙂\ud83d\ude42"`, things{Note: text("🙂🙂")}},
		{`"note":null,"title":null,"flag":null,"few":null,"free":null,"any":null,"user":null,"must":null,"change":null`, things{}},
		{`"flag":true,"maybe":true`, things{Flag: true, Maybe: &yes}},
		{`"count":-9007199254740991`, things{Count: -9007199254740991}},
		{`"count":-0`, things{}},
		{`"count":5.0,"few":90E-1,"at":1.7e12`, things{Count: 5, Few: number(9), At: number(1_700_000_000_000)}},
		{`"at":253402300799999`, things{At: number(collab.MaxMillis)}},
		{`"at":0`, things{At: number(0)}},
		{`"kind":"ongoing"`, things{Kind: "ongoing"}},
		{`"ids":["a","b","a"],"nums":[1,2.0]`, things{IDs: []string{"a", "b", "a"}, Nums: []int64{1, 2}}},
		{`"nums":[]`, things{Nums: []int64{}}},
		{`"nid":"aZ09_-"`, things{NID: "aZ09_-"}},
		{
			`"free":{ "n" : 1.50, "s": "a b\u00e9" , "l": [ 1e400, 9007199254740993 ] }`,
			things{Free: collab.JSON(`{"n":1.50,"s":"a b\u00e9","l":[1e400,9007199254740993]}`)},
		},
		{`"any": [ 1 , "x" ] `, things{Any: collab.JSON(`[1,"x"]`)}},
		{`"any": 1.0`, things{Any: collab.JSON(`1.0`)}},
		{`"user":{"userId":"u","name":"","email":null}`, things{User: &collab.User{UserID: "u", Name: text("")}}},
		{`"must":[{"userId":"u"},{"userId":"v"}]`, things{Must: []collab.User{{UserID: "u"}, {UserID: "v"}}}},
		{`"state": {"name": null, "id": "s"} `, things{State: rpc.Opt[state]{Value: state{ID: "s"}, Raw: collab.JSON(`{"name":null,"id":"s"}`)}}},
		{`"part":{"userId":null}`, things{Part: rpc.Opt[collab.User]{Raw: collab.JSON(`{"userId":null}`)}}},
		{`"part":{"name":"x"}`, things{Part: rpc.Opt[collab.User]{Value: collab.User{Name: text("x")}, Raw: collab.JSON(`{"name":"x"}`)}}},
		{`"part":null,"half":{}`, things{Part: rpc.Opt[collab.User]{Raw: collab.JSON(`null`)}, Half: &state{}}},
		{
			`"state":null,"seen":null`,
			things{State: rpc.Opt[state]{Raw: collab.JSON(`null`)}, Seen: rpc.Opt[collab.JSON]{Raw: collab.JSON(`null`)}},
		},
		{`"seen":{ }`, things{Seen: rpc.Opt[collab.JSON]{Value: collab.JSON(`{}`), Raw: collab.JSON(`{}`)}}},
		{`"size" :1e1`, things{Size: rpc.Opt[int64]{Value: 10, Raw: collab.JSON(`1e1`)}}},
		{`"change":{"state":null}`, things{Change: &rpc.One[change]{Value: change{State: rpc.Opt[state]{Raw: collab.JSON(`null`)}}}}},
		{
			`"open":{"b\u0031":{ "c": [1.50] },"id":"o","a":null,"":""}`,
			things{Organized: &open{ID: "o", Open: rpc.Open{Further: collab.Object{
				{Name: "b1", Value: collab.JSON(`{"c":[1.50]}`)}, {Name: "a", Value: collab.JSON("null")}, {Name: "", Value: collab.JSON(`""`)},
			}}}},
		},
		{
			`"tree":{"branches":[{"leaf":"a","branches":[]},{"leaf":"b"}]}`,
			things{Tree: &tree{Branches: []tree{{Leaf: "a", Branches: []tree{}}, {Leaf: "b"}}}},
		},
	}
	for _, test := range tests {
		got, f := decodeThings(t, ` {"data" : {"organizationId":"o",`+test.data+"} }\n")
		test.want.Organization = "o"
		if got == nil {
			t.Errorf("%s: %s", test.data, f.Error.Message)
		} else if diff := cmp.Diff(&test.want, got, cmp.AllowUnexported(things{})); diff != "" {
			t.Errorf("%s: %s", test.data, diff)
		}
	}
}

// TestDecodeOver checks that fields replace earlier values as a whole, and that others stay.
func TestDecodeOver(t *testing.T) {
	name := "n"
	before := func() things {
		return things{
			place: place{"p", "d"}, Title: "t", Flag: true, Count: 1, IDs: []string{"a", "b"}, Nums: []int64{1, 2},
			User: &collab.User{UserID: "u", Name: &name}, Must: []collab.User{{UserID: "u", Name: &name}},
		}
	}
	for data, change := range map[string]func(*things){
		``:                               func(*things) {},
		`,"title":"x","flag":false`:      func(v *things) { v.Title, v.Flag = "x", false },
		`,"count":0`:                     func(v *things) { v.Count = 0 },
		`,"ids":["c"],"nums":[]`:         func(v *things) { v.IDs, v.Nums = []string{"c"}, []int64{} },
		`,"user":{"userId":"v"}`:         func(v *things) { v.User = &collab.User{UserID: "v"} },
		`,"title":null,"user":null`:      func(*things) {},
		`,"must":[{"userId":"v"}]`:       func(v *things) { v.Must = []collab.User{{UserID: "v"}} },
		`,"documentId":"e","maybe":true`: func(v *things) { yes := true; v.Document, v.Maybe = "e", &yes },
	} {
		got, want := before(), before()
		h := rpc.Handle(newServer(), func(_ context.Context, call *rpc.Call, _ *things) (any, error) {
			rpc.DecodeOver(call, &got)
			return nil, nil
		}, rpc.Options{})
		if w := serve(h, newRequest(t.Context(), `{"data":{"organizationId":"o"`+data+`}}`)); w.Code != http.StatusOK {
			t.Errorf("%s: %s", data, w.Body)
		}
		want.Organization = "o"
		change(&want)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(things{})); diff != "" {
			t.Errorf("%s: %s", data, diff)
		}
	}
}

func TestOpt(t *testing.T) {
	for data, want := range map[string][2]bool{ // sent, null
		``:                     {false, false},
		`,"state":null`:        {true, true},
		`,"state": null `:      {true, true},
		`,"state":{"id":"x"}`:  {true, false},
		`,"state":{"id":"x"} `: {true, false},
	} {
		got, f := decodeThings(t, `{"data":{"organizationId":"o"`+data+`}}`)
		if got == nil {
			t.Fatal(f.Error.Message)
		}
		if o := got.State; [2]bool{o.Sent(), o.Null()} != want {
			t.Errorf("%s: %v %v, want %v", data, o.Sent(), o.Null(), want)
		}
	}
}

// TestViolations checks each violation: one row for each.
func TestViolations(t *testing.T) {
	long := strings.Repeat("x", 600)
	tests := []struct{ data, field, message string }{
		{`"titel":"x"`, "data.titel", "is not a known field"},
		{`"Title":"x"`, "data.Title", "is not a known field"},
		{`"a b\"":1`, `data["a b\""]`, "is not a known field"},
		{`"":1`, `data[""]`, "is not a known field"},
		{`"` + long + `":1`, "data." + long[:100] + "…", "is not a known field"},
		{`"Own":1`, "data.Own", "is not a known field"},
		{`"place":{}`, "data.place", "is not a known field"},
		{`"title":5`, "data.title", "must be a string, not a number"},
		{`"title":{"a":[1]}`, "data.title", "must be a string, not an object"},
		{`"title":[]`, "data.title", "must be a string, not an array"},
		{`"title":false`, "data.title", "must be a string, not a boolean"},
		{`"title":""`, "data.title", "must not be empty"},
		{`"title":"aaaaé"`, "data.title", "must be at most 5 bytes, not 6"},
		{`"flag":"true"`, "data.flag", "must be a boolean, not a string"},
		{`"maybe":1`, "data.maybe", "must be a boolean, not a number"},
		{`"count":"5"`, "data.count", "must be an integer from -9007199254740991 to 9007199254740991, not a string"},
		{`"count":5.5`, "data.count", "must be an integer from -9007199254740991 to 9007199254740991"},
		{`"count":9007199254740992`, "data.count", "must be an integer from -9007199254740991 to 9007199254740991"},
		{`"count":1e99999999999999999999`, "data.count", "must be an integer from -9007199254740991 to 9007199254740991"},
		{`"count":1e-99999999999999999999`, "data.count", "must be an integer from -9007199254740991 to 9007199254740991"},
		{`"few":0`, "data.few", "must be an integer from 1 to 9"},
		{`"few":10`, "data.few", "must be an integer from 1 to 9"},
		{`"at":-1`, "data.at", "must be a time in milliseconds since epoch, an integer from 0 to 253402300799999"},
		{`"at":253402300800000`, "data.at", "must be a time in milliseconds since epoch, an integer from 0 to 253402300799999"},
		{
			`"at":"2026-01-01T00:00:00Z"`,
			"data.at",
			"must be a time in milliseconds since epoch, an integer from 0 to 253402300799999, not a string",
		},
		{`"kind":"Default"`, "data.kind", "must be one of default, ongoing, terminal"},
		{`"documentId":""`, "data.documentId", "must not be empty"},
		{`"documentId":"` + long + `x"`, "data.documentId", `must be at most 600 bytes (%, #, space, ! and " count three), not 601`},
		{`"documentId":"a\u0085"`, "data.documentId", "must not contain control characters"},
		{`"ids":null`, "data.ids", "must not be null"},
		{`"ids":[]`, "data.ids", "must not be empty"},
		{`"ids":"a"`, "data.ids", "must be an array, not a string"},
		{`"ids":["a","b","c","d"]`, "data.ids", "must have at most 3 items, not 4"},
		{`"ids":["a",""]`, "data.ids[1]", "must not be empty"},
		{`"ids":["a",null]`, "data.ids[1]", "must be a string, not null"},
		{`"nums":[1,0]`, "data.nums[1]", "must be an integer from 1 to 9007199254740991"},
		{`"nid":"a.b"`, "data.nid", "may contain only letters, digits, _ and -"},
		{`"free":[{}]`, "data.free", "must be an object, not an array"},
		{`"user":{}`, "data.user.userId", "is required"},
		{`"user":{"userId":null}`, "data.user.userId", "is required and must not be null"},
		{`"change":[{}]`, "data.change[0]", "must have at least one field"},
		{`"change":{"stat":{}}`, "data.change.stat", "is not a known field"},
		{`"user":{"userId":"u","nick":1}`, "data.user.nick", "is not a known field"},
		{`"user":"u"`, "data.user", "must be an object, not a string"},
		{`"must":[{"userId":"u"},null]`, "data.must[1]", "must be an object, not null"},
		{`"must":[{"userId":"u"},{"userId":"u","name":1}]`, "data.must[1].name", "must be a string, not a number"},
		{`"part":{"userId":""}`, "data.part.userId", "must not be empty"},
		{`"part":{"nick":""}`, "data.part.nick", "is not a known field"},
		{`"state":{}`, "data.state.id", "is required, or name"},
		{`"state":{"id":7}`, "data.state.id", "must be a string, not a number"},
		{`"state":{"id":"s","name":"bad"}`, "data.state", "has a bad name"},
		{`"seen":0`, "data.seen", "must be an object, not a number"},
		{`"size":null`, "data.size", "must not be null"},
		{`"size":0`, "data.size", "must be an integer from 1 to 9007199254740991"},
		{`"change":[]`, "data.change", "must be one value, or an array of exactly one value, not 0"},
		{`"change":[{"state":null},{"x":1},3]`, "data.change", "must be one value, or an array of exactly one value, not 3"},
		{`"change":[[{}]]`, "data.change[0]", "must be an object, not an array"},
		{`"change":[{"state":{}}]`, "data.change[0].state.id", "is required, or name"},
		{`"change":{"state":{}}`, "data.change.state.id", "is required, or name"},
		{`"tree":{"branches":[{},{"branches":[{"leaf":1}]}]}`, "data.tree.branches[1].branches[0].leaf", "must be a string, not a number"},
		{`"title":"a","title":"b"`, "data.title", "must not be repeated"},
		{`"title":"a","t\u0069tle":"b"`, "data.title", "must not be repeated"},
		{`"free":{"a":[0,{"b":1,"b":1}]}`, "data.free.a[1].b", "must not be repeated"},
		{`"unknown":{"b c":1,"b c":1}`, `data.unknown["b c"]`, "must not be repeated"},
		{`"organizationId":"p"`, "data.organizationId", "must not be repeated"},
	}
	for _, test := range tests {
		_, f := decodeThings(t, `{"data":{"organizationId":"o",`+test.data+`}}`)
		want := failure{}
		want.Error.Message = test.field + " " + test.message
		want.Error.Status = collab.InvalidArgument
		want.Error.Details = []collab.FieldError{{Field: test.field, Message: test.message}}
		if diff := cmp.Diff(want, f); diff != "" {
			t.Errorf("%s: %s", test.data, diff)
		}
	}
}

// TestBody checks errors of a body as a whole.
func TestBody(t *testing.T) {
	nested := func(depth int) string { // levels of the whole body
		return `{"data":{"organizationId":"o","any":` + strings.Repeat("[", depth-2) + strings.Repeat("]", depth-2) + `}}`
	}
	tests := []struct{ body, message string }{
		{``, `the body is empty: it must be {"data": {…}}`},
		{` `, "the body is not valid JSON: it ends too early"},
		{`{"data":{"organizationId":"o"}`, "the body is not valid JSON: it ends too early"},
		{`{"data":{"organizationId":"o`, "the body is not valid JSON: it ends too early"},
		{"\xef\xbb\xbf{}", "the body must not begin with a byte order mark"},
		{"\xff\xfe{\x00}\x00", `the body is not valid JSON: invalid character '\xff' at start of value at line 1, column 1`},
		{"{\"data\":\n {\"organizationId\":é}}", `the body is not valid JSON: invalid character 'é' at start of value at line 2, column 20`},
		{"{\"data\":{\"title\":\"é\xff\"}}", "the body is not valid JSON: invalid UTF-8 at line 1, column 20"},
		{`{"data":{"title":"\ud800"}}`, "the body is not valid JSON: invalid surrogate pair `\\ud800\"}}` in string at line 1, column 19"},
		{
			`{"data":{"title":"\ud800\u0041"}}`,
			"the body is not valid JSON: invalid surrogate pair `\\ud800\\u0041` in string at line 1, column 19",
		},
		{`{"data":{"any":{"\udc00":1}}}`, "the body is not valid JSON: invalid surrogate pair `\\udc00\":1}}}` in string at line 1, column 18"},
		{
			"{\"data\":{\"title\":\"a\tb\"}}",
			`the body is not valid JSON: invalid character '\t' in string (expecting non-control character) at line 1, column 20`,
		},
		{
			`{"data":{"count":01}}`,
			`the body is not valid JSON: invalid character '1' after object value (expecting ',' or '}') at line 1, column 19`,
		},
		{`{"data":{"flag":True}}`, `the body is not valid JSON: invalid character 'T' at start of value at line 1, column 17`},
		{`{"data":{"count":NaN}}`, `the body is not valid JSON: invalid character 'N' at start of value at line 1, column 18`},
		{`{"data":{},}`, `the body is not valid JSON: invalid character ',' at start of value at line 1, column 11`},
		{`{"data":{"organizationId":"o"}}{}`, "the body must be one JSON object and nothing after it"},
		{`{"data":{"organizationId":"o"}}}`, "the body must be one JSON object and nothing after it"},
		{`{"data":{"organizationId":"o"}} x`, "the body must be one JSON object and nothing after it"},
		{`[]`, "body must be an object, not an array"},
		{`null`, "body must be an object, not null"},
		{`"data"`, "body must be an object, not a string"},
		{`{}`, "data is required"},
		{`{"data":null}`, "data is required and must not be null"},
		{`{"data":[]}`, "data must be an object, not an array"},
		{`{"data":{}}`, "data.organizationId is required"},
		{`{"data":{"organizationId":"o"},"organizationId":"o"}`, "organizationId is not a known field: the body has the single key data"},
		{`{"data":{"organizationId":"o"},"data":{"organizationId":"o"}}`, "data must not be repeated"},
		{`{"Data":{"organizationId":"o"}}`, "Data is not a known field: the body has the single key data (and 1 other mistake)"},
		{nested(32), ""},
		{nested(33), "the body must nest at most 32 levels deep"},
		{strings.Repeat(`{"a":`, 714_285), "the body must nest at most 32 levels deep"},
		{`{"data":{"organizationId":"o","any":"` + strings.Repeat(`[{\"\\`, 40) + `"}}`, ""},
	}
	for _, test := range tests {
		if _, f := decodeThings(t, test.body); f.Error.Message != test.message {
			t.Errorf("%.80q: got  %s\nwant %s", test.body, f.Error.Message, test.message)
		}
	}
}

// TestAllViolations checks that all violations of a request are listed in order, except
// consequences of others.
func TestAllViolations(t *testing.T) {
	_, f := decodeThings(t, `{"extra":1,"data":{
		"title":1,
		"state":{"id":false,"name":"bad"},
		"must":[{"userId":""},7],
		"ids":["ok",3],
		"change":{"state":{"name":"bad"}}}}`)
	want := []collab.FieldError{
		{Field: "extra", Message: "is not a known field: the body has the single key data"},
		{Field: "data.title", Message: "must be a string, not a number"},
		{Field: "data.state.id", Message: "must be a string, not a boolean"},
		{Field: "data.must[0].userId", Message: "must not be empty"},
		{Field: "data.must[1]", Message: "must be an object, not a number"},
		{Field: "data.ids[1]", Message: "must be a string, not a number"},
		{Field: "data.change.state.id", Message: "is required, or name"},
		{Field: "data.organizationId", Message: "is required"},
	}
	if diff := cmp.Diff(want, f.Error.Details); diff != "" {
		t.Error(diff)
	}
	if want := "extra is not a known field: the body has the single key data (and 7 other mistakes)"; f.Error.Message != want {
		t.Errorf("message is %q", f.Error.Message)
	}
}

func TestMoreViolationsThanListed(t *testing.T) {
	for n, want := range map[int]string{
		rpc.MaxViolations:     "data.nums[0] must be an integer from 1 to 9007199254740991 (and 99 other mistakes)",
		rpc.MaxViolations + 1: "data.nums[0] must be an integer from 1 to 9007199254740991 (and more than 99 other mistakes)",
		1_000_000:             "data.nums[0] must be an integer from 1 to 9007199254740991 (and more than 99 other mistakes)",
	} {
		_, f := decodeThings(t, `{"data":{"organizationId":"o","nums":[0`+strings.Repeat(",0", n-1)+`]}}`)
		if f.Error.Message != want || len(f.Error.Details) != rpc.MaxViolations {
			t.Errorf("%d mistakes: %d listed, %s", n, len(f.Error.Details), f.Error.Message)
		}
	}
}

// TestValidate shows a rule on several items and a free-form object.
func TestValidate(t *testing.T) {
	h := rpc.Handle(
		newServer(), func(_ context.Context, _ *rpc.Call, req *template) (any, error) { return len(req.users), nil }, rpc.Options{},
	)
	tests := []struct{ data, want string }{
		{`{"values":{"a":1,"who":{"userId":"u"},"other":{"userId":"v"}}}`, `2`},
		{`{"values":{"a":[1]}}`, `data.values.a must be a text, a number, a boolean or a user`},
		{`{"values":{"a":{"userId":1}}}`, `data.values.a.userId must be a string, not a number`},
		{`{"values":{"a":{}, "b":{"x":1}}}`, `data.values.a.userId is required (and 2 other mistakes)`},
		{`{"values":[]}`, `data.values must be an object, not an array`},
	}
	for _, test := range tests {
		w := serve(h, newRequest(t.Context(), `{"data":`+test.data+`}`))
		got := ""
		if w.Code == http.StatusOK {
			got = strings.TrimSuffix(strings.TrimPrefix(w.Body.String(), `{"result":{"status":"success","message":"done","data":`), `}}`)
		} else {
			got = failureOf(t, w).Error.Message
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.data, got, test.want)
		}
	}
}

type template struct {
	Values collab.JSON `json:"values" rule:"object"`
	users  []collab.User
}

func (r *template) Validate(m *rpc.Violations) {
	for name, value := range r.Values.Members() {
		switch value[0] {
		case '{':
			var u collab.User
			if m.Decode("values."+name, value, &u) {
				r.users = append(r.users, u)
			}
		case '[':
			m.Add("values."+name, "must be a text, a number, a boolean or a user")
		}
	}
}

// TestConventions checks that Handle panics on an invalid request type.
func TestConventions(t *testing.T) {
	for name, build := range map[string]func(){
		"unknown rule": func() {
			handlerFor[struct {
				A string `json:"a" rule:"idd"`
			}]()
		},
		"rule of another": func() {
			handlerFor[struct {
				A bool `json:"a" rule:"id"`
			}]()
		},
		"rule of items": func() {
			handlerFor[struct {
				A []string `json:"a" rule:"id"`
			}]()
		},
		"not a number": func() {
			handlerFor[struct {
				A int64 `json:"a" rule:"max=x"`
			}]()
		},
		"no tag": func() { handlerFor[struct{ A string }]() },
		"same name": func() {
			handlerFor[struct {
				place
				Other string `json:"organizationId"`
			}]()
		},
		"kind": func() {
			handlerFor[struct {
				A float64 `json:"a"`
			}]()
		},
		"map": func() {
			handlerFor[struct {
				A map[string]string `json:"a"`
			}]()
		},
		"ambiguous": func() {
			handlerFor[struct {
				state
				template
			}]()
		},
		"idempotent": func() { operation(newServer(), nil, rpc.Options{Idempotent: true}) },
	} {
		func() {
			defer func() {
				if text, ok := recover().(string); !ok || !strings.HasPrefix(text, "rpc: ") {
					t.Errorf("%s: recovered %q", name, text)
				}
			}()
			build()
		}()
	}
}

func handlerFor[Req any]() {
	rpc.Handle(newServer(), func(context.Context, *rpc.Call, *Req) (any, error) { return nil, nil }, rpc.Options{})
}

func FuzzDecode(f *testing.F) {
	for _, data := range []string{
		`{"organizationId":"o","title":"x","ids":["a"],"at":1.7e12,"state":{"id":"s"},"change":[{"state":null}],"free":{"a":[1,{}]}}`,
		`{"organizationId":"","title":7,"ids":[null],"few":1e400,"state":{"id":{}},"change":[1,2],"must":[{},{"userId":"\ud800"}]}`,
		`{"organizationId":"o","tree":{"branches":[{"branches":[{"leaf":"\u00e9"}]}]},"x":[[[[]]]],"x":1}`,
	} {
		f.Add(`{"data":` + data + `}`)
		f.Add(data)
	}
	f.Add("\xef\xbb\xbf{}")
	f.Add(strings.Repeat("[", 40))
	f.Fuzz(func(t *testing.T, body string) {
		got, failed := decodeThings(t, body)
		switch {
		case got == nil && failed.Error.Status != collab.InvalidArgument:
			t.Fatalf("%q is %s", body, failed.Error.Status)
		case got == nil && len(failed.Error.Details) > rpc.MaxViolations:
			t.Fatalf("%d mistakes are listed", len(failed.Error.Details))
		case got != nil && (collab.CheckID(got.Organization, collab.MaxID) != nil || len(got.Title) > 5 || len(got.IDs) > 3 || got.Few != nil && *got.Few > 9):
			t.Fatalf("%q breaks a rule as %+v", body, got)
		}
	})
}

func TestDistinct(t *testing.T) {
	if rpc.Distinct[string](nil) != nil {
		t.Error("no selector became an empty one")
	}
	if diff := cmp.Diff([]string{"b", "a"}, rpc.Distinct([]string{"b", "a", "b", "a"})); diff != "" {
		t.Error(diff)
	}
}
