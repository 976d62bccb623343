package commentannotations

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/request"
)

func ptr[T any](v T) *T { return &v }

func text(j collab.JSON) string { return string(j) }

func js(s string) collab.JSON {
	if s == "" {
		return nil
	}
	return collab.JSON(s)
}

func TestCompleteStatus(t *testing.T) {
	for _, test := range []struct{ status, want string }{
		{``, `{"id":"OPEN","name":"Open","type":"default","color":"#2563eb"}`},
		{`{"id":"OPEN"}`, `{"id":"OPEN","name":"Open","type":"default","color":"#2563eb"}`},
		{`{"id":"IN_PROGRESS"}`, `{"id":"IN_PROGRESS","name":"In progress","type":"ongoing","color":"#b45309"}`},
		{`{"id":"RESOLVED","color":"#0f0"}`, `{"id":"RESOLVED","name":"Resolved","type":"terminal","color":"#0f0"}`},
		{`{"id":"RESOLVED","name":"Done","type":{"a":1.0}}`, `{"id":"RESOLVED","name":"Done","type":{"a":1.0},"color":"#15803d"}`},
		{`{"id":"open"}`, `{"id":"open"}`},
		{`{"id":"MINE","name":"Mine"}`, `{"id":"MINE","name":"Mine"}`},
	} {
		if got := text(completeStatus(js(test.status), textOf(js(test.status), "id"))); got != test.want {
			t.Errorf("%s: got %s, want %s", test.status, got, test.want)
		}
	}
}

func TestMerge(t *testing.T) {
	for _, test := range []struct{ stored, sent, want string }{
		{``, ``, `{}`},
		{``, `{"a":1.50,"b":null}`, `{"a":1.50}`},
		{`{"a":1,"b":"x","c":true}`, `{}`, `{"a":1,"b":"x","c":true}`},
		{`{"a":1,"b":"x","c":true}`, `{"b":1e3,"d":[null],"a":null}`, `{"b":1e3,"c":true,"d":[null]}`},
		{`{"a":"<b>"}`, `{"b":"\u2028&"}`, `{"a":"<b>","b":"\u2028&"}`},
		{`{"a\"b":1}`, `{"a\u0022b":2}`, `{"a\"b":2}`},
	} {
		if got := text(merge(js(test.stored), js(test.sent))); got != test.want {
			t.Errorf("%s with %s: got %s, want %s", test.stored, test.sent, got, test.want)
		}
	}
}

func TestChange(t *testing.T) {
	for name, test := range map[string]struct{ stored, sent, id, want, wantErr string }{
		"left out":            {stored: `{"id":"a"}`, id: "id", want: `{"id":"a"}`},
		"left out, not there": {id: "id"},
		"cleared":             {stored: `{"id":"a"}`, sent: `null`, id: "id"},
		"merged":              {stored: `{"id":"a","x":1}`, sent: `{"y":2}`, id: "id", want: `{"id":"a","x":1,"y":2}`},
		"merged by its id":    {stored: `{"id":"a","x":1}`, sent: `{"id":"a","y":2}`, id: "id", want: `{"id":"a","x":1,"y":2}`},
		"the id escaped":      {stored: `{"id":"a","x":1}`, sent: `{"id":"\u0061","y":2}`, id: "id", want: `{"id":"\u0061","x":1,"y":2}`},
		"field cleared":       {stored: `{"id":"a","x":1}`, sent: `{"x":null}`, id: "id", want: `{"id":"a"}`},
		"replaced":            {stored: `{"id":"a","x":1}`, sent: `{"y":2,"id":"b","z":null}`, id: "id", want: `{"y":2,"id":"b"}`},
		"made":                {sent: `{"id":"b","x":null}`, id: "id", want: `{"id":"b"}`},
		"made without an id":  {sent: `{"x":1}`, id: "id", wantErr: "data.updatedData.f.id is required, as there is no f yet"},
		"id cleared":          {stored: `{"id":"a"}`, sent: `{"id":null}`, id: "id", wantErr: "data.updatedData.f.id must not be null"},
		"id cleared, made":    {sent: `{"id":null}`, id: "id", wantErr: "data.updatedData.f.id is required, as there is no f yet"},
		"without id, made":    {sent: `{"x":1,"y":null}`, want: `{"x":1}`},
		"without id, merged":  {stored: `{"x":1,"y":2}`, sent: `{"y":3}`, want: `{"x":1,"y":3}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := change("f", js(test.stored), js(test.sent), test.id)
			if text(got) != test.want || (got == nil) != (test.want == "") || err == nil && test.wantErr != "" ||
				err != nil && collab.MessageOf(err) != test.wantErr {
				t.Fatalf("got %s, %v, want %s%s", got, err, test.want, test.wantErr)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	const now = 1000
	at := func(times ...collab.Millis) (list []*int64) { // -1 is absent
		for _, t := range times {
			if t < 0 {
				list = append(list, nil)
			} else {
				list = append(list, &t)
			}
		}
		return list
	}
	for _, test := range []struct {
		name                     string
		own, around              []*int64
		wantCreated, wantUpdated collab.Millis
	}{
		{"none", at(-1, -1), at(-1, -1), now, now},
		{"both", at(5, 7), at(-1, -1), 5, 7},
		{"zero", at(0, 0), at(-1, -1), 0, 0},
		{"change before making", at(7, 5), at(-1, -1), 7, 7},
		{"making in the past", at(5, -1), at(-1, -1), 5, now},
		{"making in the future", at(2000, -1), at(-1, -1), 2000, 2000},
		{"change in the past", at(-1, 5), at(-1, -1), 5, 5},
		{"change in the future", at(-1, 2000), at(-1, -1), now, 2000},
		{"inherited", at(-1, -1), at(5, 7), 5, 7},
		{"making inherited", at(-1, -1), at(5, -1), 5, now},
		{"change inherited", at(-1, -1), at(-1, 7), 7, 7},
		{"own before inherited", at(1, 2), at(5, 7), 1, 2},
		{"own making, inherited change", at(6, -1), at(5, 7), 6, 7},
		{"own making behind inherited change", at(9, -1), at(5, 7), 9, 9},
		{"own change before inherited making", at(-1, 3), at(5, 7), 3, 3},
		{"own change behind inherited making", at(-1, 6), at(5, 7), 5, 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			own, around := Times{test.own[0], test.own[1]}, Times{test.around[0], test.around[1]}
			created, updated := own.inherit(around).resolve(now)
			if created != test.wantCreated || updated != test.wantUpdated {
				t.Fatalf("got %d, %d, want %d, %d", created, updated, test.wantCreated, test.wantUpdated)
			}
		})
	}
}

func TestThread(t *testing.T) {
	call := func() *rpc.Call {
		return &rpc.Call{Request: &request.Request{Now: time.UnixMilli(1000), IDs: collab.NewIDs(time.UnixMilli(500), make([]byte, 16))}}
	}
	comment := func(author string, id int64, times Times) NewComment {
		return NewComment{CommentFields: CommentFields{
			CommentID: &id, CommentText: ptr("hi"), From: collab.User{UserID: author, Name: ptr("Name of " + author)}, Times: times,
		}}
	}
	a := newAnnotation{
		AnnotationFields: AnnotationFields{
			AnnotationID: ptr("a1"), Location: &Location{ID: "l1"}, TargetElement: &TargetElement{Occurrence: ptr(int64(2))},
			Times: Times{CreatedAt: ptr(int64(10)), LastUpdated: ptr(int64(20))},
		},
		comments: []NewComment{
			comment("u1", 9, Times{}), comment("u2", 3, Times{CreatedAt: ptr(int64(40))}), comment("u1", 4, Times{CreatedAt: ptr(int64(5))}),
		},
	}
	got := a.thread(call(), 0)
	got.Comments = nil
	want := &collab.Thread{Annotation: collab.Annotation{
		ID: "a1", From: js(`{"userId":"u1","name":"Name of u1"}`), CreatorID: "u1",
		Location: js(`{"id":"l1"}`), LocationID: "l1", TargetElement: js(`{"occurrence":2}`),
		Status: defaultStatuses["OPEN"], StatusID: "OPEN",
		CreatedAt: 10, LastUpdated: 40,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	empty := newAnnotation{AnnotationFields: AnnotationFields{}}
	want = &collab.Thread{Annotation: collab.Annotation{
		ID: call().IDs.Next(), Status: defaultStatuses["OPEN"], StatusID: "OPEN", CreatedAt: 1000, LastUpdated: 1000,
	}}
	if diff := cmp.Diff(want, empty.thread(call(), 0)); diff != "" {
		t.Error(diff)
	}
}

func TestReplaceUsers(t *testing.T) {
	const now = 1000
	thread := func() *collab.Thread {
		return &collab.Thread{
			Annotation: collab.Annotation{
				From: js(`{"userId":"a","name":"Ann"}`), AssignedTo: js(`{"userId":"b"}`), LastUpdated: 1,
				CreatorID: "a",
			},
			Comments: []collab.Comment{
				{
					ID: 1, From: js(`{"userId":"a","email":"a@x"}`), Text: ptr("{{b}} and {{c}}, {{a}}"), HTML: ptr("<b>{{b}}</b>{{{b}}}"),
					TaggedUserContacts: js(`[{"userId":"b","contact":{"userId":"b","name":"Bob"},"text":"@Bob"},{"userId":"c"}]`), LastUpdated: 5,
				},
				{ID: 2, From: js(`{"userId":"c"}`), Text: ptr("{{a}}"), LastUpdated: 5},
			},
		}
	}
	user := func(id string) collab.User { return collab.User{UserID: id, Name: ptr("New " + id)} }
	for _, test := range []struct {
		name    string
		users   replacements
		change  func(t *collab.Thread)
		changed bool
	}{
		{"nobody who is there", replacements{"z": user("a")}, func(*collab.Thread) {}, false},
		{"nobody", nil, func(*collab.Thread) {}, false},
		{"creator and author", replacements{"a": user("n")}, func(t *collab.Thread) {
			t.From, t.CreatorID = js(`{"userId":"n","name":"New n"}`), "n"
			t.Comments[0].From = t.From
			t.Comments[0].LastUpdated = now // the tokens {{a}} tag nobody: a has no entry
		}, true},
		{"swap", replacements{"b": user("c"), "c": {UserID: "b"}}, func(t *collab.Thread) {
			t.AssignedTo = js(`{"userId":"c","name":"New c"}`)
			c := &t.Comments[0]
			c.Text, c.HTML = ptr("{{c}} and {{b}}, {{a}}"), ptr("<b>{{c}}</b>{{{c}}}")
			c.TaggedUserContacts = js(`[{"userId":"c","contact":{"userId":"c","name":"New c"},"text":"@Bob"},{"userId":"b"}]`)
			c.LastUpdated = now
			t.Comments[1].From = js(`{"userId":"b"}`)
			t.Comments[1].LastUpdated = now
		}, true},
		{"two become one", replacements{"a": user("c")}, func(t *collab.Thread) {
			t.From, t.CreatorID = js(`{"userId":"c","name":"New c"}`), "c"
			t.Comments[0].From = t.From
			t.Comments[0].LastUpdated = now
		}, true},
		{"only an author and a tag", replacements{"c": user("d")}, func(t *collab.Thread) {
			t.Comments[0].TaggedUserContacts = js(
				`[{"userId":"b","contact":{"userId":"b","name":"Bob"},"text":"@Bob"},{"userId":"d"}]`)
			t.Comments[0].Text = ptr("{{b}} and {{d}}, {{a}}")
			t.Comments[0].LastUpdated = now
			t.Comments[1].From = js(`{"userId":"d","name":"New d"}`)
			t.Comments[1].LastUpdated = now
		}, true},
		{"the same user as before", replacements{"a": {UserID: "a", Name: ptr("Ann")}}, func(t *collab.Thread) {
			t.Comments[0].From = js(`{"userId":"a","name":"Ann"}`)
			t.Comments[0].LastUpdated = now
		}, true},
		{"all as it is", replacements{"b": {UserID: "b"}, "c": {UserID: "c"}}, func(t *collab.Thread) {
			t.Comments[0].TaggedUserContacts = js(`[{"userId":"b","contact":{"userId":"b"},"text":"@Bob"},{"userId":"c"}]`)
			t.Comments[0].LastUpdated = now
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, want := thread(), thread()
			test.change(want)
			changed, err := (&update{users: test.users, now: now}).all(got)
			if err != nil || changed != test.changed {
				t.Fatalf("changed: %v, %v", changed, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

// all replaces users in a thread, as the store has it done.
func (u *update) all(t *collab.Thread) (changed bool, err error) {
	for i := range t.Comments {
		c := &t.Comments[i]
		c.AuthorID = textOf(c.From, "userId")
		hit, err := u.comment(c)
		if err != nil {
			return false, err
		}
		if got := textOf(c.From, "userId"); got != c.AuthorID {
			return false, fmt.Errorf("the author is %s, beside it stands %s", got, c.AuthorID)
		}
		c.AuthorID = ""
		changed = changed || hit
	}
	hit := u.users.replaceInHead(&t.Annotation)
	return hit || changed, nil
}

func TestReplaceTokens(t *testing.T) {
	for _, test := range []struct {
		tokens     []string
		text, want string
	}{
		{[]string{"{{a}}", "{{b}}", "{{b}}", "{{a}}"}, "{{a}}{{b}}{{a}}", "{{b}}{{a}}{{b}}"},
		{[]string{"{{a}}", "{{b}}"}, "{{ a }} {a} {{aa}} {{A}}", "{{ a }} {a} {{aa}} {{A}}"},
		{[]string{"{{$1}}", `{{\1}}`}, "{{$1}}", `{{\1}}`},
		{[]string{"{{ü d}}", "{{ö}}"}, "{{ü d}}", "{{ö}}"},
		{[]string{"{{a}}", "{{{{a}}}}"}, "{{a}}", "{{{{a}}}}"},
	} {
		if got := replaceTokens(test.tokens, &test.text); *got != test.want {
			t.Errorf("%s: got %s, want %s", test.text, *got, test.want)
		}
	}
	if replaceTokens([]string{"{{a}}", "{{b}}"}, nil) != nil {
		t.Error("no text became one")
	}
}

// apply is what an update makes of a head.
func (u *update) apply(a *collab.Annotation) error {
	if err := u.selects(a); err != nil {
		return err
	}
	return u.head(a, false)
}

// opt is a field as it is decoded.
func opt[T any](text string) (o rpc.Opt[T]) {
	o.Raw = js(text)
	if err := json.Unmarshal(o.Raw, &o.Value); err != nil {
		panic(err)
	}
	return o
}

func TestUpdateApply(t *testing.T) {
	const now = 1000
	thread := func() *collab.Thread {
		t := &collab.Thread{Annotation: collab.Annotation{
			From: js(`{"userId":"a"}`), Location: js(`{"id":"l1","locationName":"One"}`), Status: defaultStatuses["OPEN"],
			AssignedTo: js(`{"userId":"b","name":"Bob"}`), Context: js(`{"x":1}`), TargetElement: js(`{"elementId":"e"}`),
			CreatedAt: 1, LastUpdated: 1,
		}}
		t.CreatorID, t.LocationID, t.StatusID = "a", "l1", "OPEN"
		return t
	}
	sent := func(s string) collab.JSON { return js(s) }
	for _, test := range []struct {
		name   string
		update update
		change func(a *collab.Annotation)
		err    error
	}{
		{"location", update{data: &UpdatedData{Location: opt[Location](`{"id":"l2"}`)}}, func(a *collab.Annotation) {
			a.Location, a.LocationID = js(`{"id":"l2"}`), "l2"
		}, nil},
		{"no location", update{data: &UpdatedData{Location: opt[Location](`null`)}}, func(a *collab.Annotation) {
			a.Location, a.LocationID = nil, ""
		}, nil},
		{"another default status", update{data: &UpdatedData{Status: opt[Status](`{"id":"RESOLVED"}`)}}, func(a *collab.Annotation) {
			a.Status, a.StatusID = defaultStatuses["RESOLVED"], "RESOLVED"
		}, nil},
		{"part of the status", update{data: &UpdatedData{Status: opt[Status](`{"name":null,"color":"red"}`)}}, func(a *collab.Annotation) {
			a.Status = js(`{"id":"OPEN","type":"default","color":"red"}`)
		}, nil},
		{"default status", update{data: &UpdatedData{Status: opt[Status](`null`)}}, func(*collab.Annotation) {}, nil},
		{"context", update{data: &UpdatedData{Context: rpc.Opt[collab.JSON]{Raw: sent(`{"y":null}`), Value: sent(`{"y":null}`)}}}, func(a *collab.Annotation) {
			a.Context = js(`{"y":null}`)
		}, nil},
		{"creator", update{data: &UpdatedData{From: opt[collab.User](`{"userId":"z"}`)}}, func(a *collab.Annotation) {
			a.From, a.CreatorID = js(`{"userId":"z"}`), "z"
		}, nil},
		{"users, then data", update{
			users: replacements{"b": {UserID: "c", Name: ptr("Cat")}},
			data:  &UpdatedData{AssignedTo: opt[collab.User](`{"email":"c@x"}`)},
		}, func(a *collab.Annotation) {
			a.AssignedTo = js(`{"userId":"c","name":"Cat","email":"c@x"}`)
		}, nil},
		{"nobody to replace", update{users: replacements{"z": {UserID: "y"}}}, nil, errUnchanged},
		{"nobody to replace, empty data", update{users: replacements{"z": {UserID: "y"}}, data: &UpdatedData{}}, nil, errUnchanged},
		{"another location selected", update{
			selector: collab.Selector{Locations: []string{"l2"}}, data: &UpdatedData{Context: rpc.Opt[collab.JSON]{Raw: sent(`null`)}},
		}, nil, errNotSelected},
		{"another creator selected", update{
			selector: collab.Selector{Creators: []string{"b"}}, data: &UpdatedData{Context: rpc.Opt[collab.JSON]{Raw: sent(`null`)}},
		}, nil, errNotSelected},
		{"selected", update{
			selector: collab.Selector{Creators: []string{"b", "a"}, Locations: []string{"l1"}},
			data:     &UpdatedData{Context: rpc.Opt[collab.JSON]{Raw: sent(`null`)}},
		}, func(a *collab.Annotation) { a.Context = nil }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, want := thread(), thread()
			test.update.now = now
			err := test.update.apply(&got.Annotation)
			if err != test.err {
				t.Fatalf("got error %v, want %v", err, test.err)
			}
			if err != nil {
				return
			}
			want.LastUpdated = now
			test.change(&want.Annotation)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
		})
	}
	t.Run("lastUpdated never moves back", func(t *testing.T) {
		future := thread()
		future.LastUpdated = 5000
		u := update{now: now, data: &UpdatedData{Context: rpc.Opt[collab.JSON]{Raw: sent(`null`)}}}
		if err := u.apply(&future.Annotation); err != nil || future.LastUpdated != 5000 {
			t.Fatalf("got %d, %v", future.LastUpdated, err)
		}
	})
}

func TestCommentDataApply(t *testing.T) {
	const now = 1000
	comment := func() *collab.Comment {
		return &collab.Comment{
			Text: ptr("text"), HTML: ptr("<p>"), From: js(`{"userId":"a","name":"Ann"}`), Context: js(`{"a":1}`), LastUpdated: 1,
			TaggedUserContacts: js(`[{"userId":"b"}]`), Attachments: js(`[{"attachmentId":1}]`),
		}
	}
	raw := func(s string) collab.JSON { return js(s) }
	for _, test := range []struct {
		name   string
		data   CommentData
		change func(c *collab.Comment)
		code   collab.Code
	}{
		{"text", CommentData{CommentText: rpc.Opt[string]{Raw: raw(`"new"`), Value: "new"}}, func(c *collab.Comment) { c.Text = ptr("new") }, ""},
		{"no text", CommentData{CommentText: rpc.Opt[string]{Raw: raw(`null`)}}, func(c *collab.Comment) { c.Text = nil }, ""},
		{"author", CommentData{From: opt[collab.User](`{"name":null,"email":"a@x"}`)}, func(c *collab.Comment) {
			c.From = js(`{"userId":"a","email":"a@x"}`)
		}, ""},
		{"lists", CommentData{
			TaggedUserContacts: rpc.Opt[[]Tag]{Raw: raw(`null`)},
			Attachments:        rpc.Opt[[]Attachment]{Raw: raw(`[{"attachmentId":2.0,"metadata":{"w":1.0}}]`), Value: []Attachment{{AttachmentID: ptr(int64(2)), Metadata: raw(`{"w":1.0}`)}}},
		}, func(c *collab.Comment) {
			c.TaggedUserContacts, c.Attachments = nil, js(`[{"attachmentId":2,"metadata":{"w":1.0}}]`)
		}, ""},
		{"flags and context", CommentData{
			IsCommentResolverUsed:  rpc.Opt[bool]{Raw: raw(`true`), Value: true},
			IsCommentTextAvailable: rpc.Opt[bool]{Raw: raw(`false`)},
			Context:                rpc.Opt[collab.JSON]{Raw: raw(`{}`), Value: raw(`{}`)},
		}, func(c *collab.Comment) {
			c.ResolverUsed, c.TextAvailable, c.Context = ptr(true), ptr(false), js(`{}`)
		}, ""},
		{"no content left", CommentData{
			CommentText: rpc.Opt[string]{Raw: raw(`""`)}, CommentHTML: rpc.Opt[string]{Raw: raw(`null`)}, Attachments: rpc.Opt[[]Attachment]{Raw: raw(`[]`), Value: []Attachment{}},
		}, nil, collab.InvalidArgument},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, want := comment(), comment()
			err := test.data.apply(got, now)
			if collab.CodeOf(err) != test.code {
				t.Fatalf("got %v, want %q", err, test.code)
			}
			if err != nil {
				return
			}
			want.LastUpdated = now
			test.change(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestAnnotationUpdatedEvents(t *testing.T) {
	open, resolved := defaultStatuses["OPEN"], defaultStatuses["RESOLVED"]
	head := func(status collab.JSON, assignee string) *collab.Annotation {
		a := &collab.Annotation{
			ID:         "a1",
			Status:     status,
			AssignedTo: js(assignee),
			From:       js(`{"userId":"z"}`),
			CreatorID:  "z",
			StatusID:   textOf(status, "id"),
		}
		return a
	}
	statusWas, assigneeWas := collab.EventFacts{Status: &collab.EventStatus{ID: "OPEN", Type: "default"}}, collab.EventFacts{AssigneeID: "a"}
	for _, test := range []struct {
		name          string
		before, after *collab.Annotation
		want          map[collab.EventType]collab.EventFacts // before
	}{
		{"neither", head(open, ``), head(js(`{"id":"OPEN","color":"red"}`), ``), map[collab.EventType]collab.EventFacts{collab.AnnotationUpdated: {}}},
		{"status", head(open, ``), head(resolved, ``), map[collab.EventType]collab.EventFacts{collab.AnnotationStatusChanged: statusWas}},
		{"assignee", head(open, `{"userId":"a"}`), head(open, `{"userId":"b"}`), map[collab.EventType]collab.EventFacts{collab.AnnotationAssigned: assigneeWas}},
		{"assignee's name", head(open, `{"userId":"a"}`), head(open, `{"userId":"a","name":"A"}`), map[collab.EventType]collab.EventFacts{collab.AnnotationUpdated: {}}},
		{"both", head(open, ``), head(resolved, `{"userId":"a"}`), map[collab.EventType]collab.EventFacts{
			collab.AnnotationStatusChanged: statusWas, collab.AnnotationAssigned: {},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := map[collab.EventType]collab.EventFacts{}
			ids := map[string]bool{}
			for _, ev := range annotationUpdated([2]collab.Event{{ID: "e1"}, {ID: "e2"}}, test.before, test.after, true) {
				got[ev.Type] = ev.Before
				ids[ev.ID] = true
				if !ev.Notify || ev.AnnotationID != "a1" || ev.Actor != nil {
					t.Errorf("event %+v", ev)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if len(ids) != len(test.want) {
				t.Errorf("ids %v", slices.Collect(maps.Keys(ids)))
			}
		})
	}
}
