package commentannotations

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/collab"
)

func text(j collab.JSON) string { return string(j) }

func js(s string) collab.JSON {
	if s == "" {
		return nil
	}
	return collab.JSON(s)
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
