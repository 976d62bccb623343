package threads

import (
	"fmt"
	"slices"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/testing/storetest"
)

// TestFollow: at most collab.MaxFollowers follow a document. Reading an empty list costs half a
// unit.
func TestFollow(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	following := func() (users []string, units float64) {
		t.Helper()
		var u collab.Usage
		users, err := w.Followers(collab.WithUsage(t.Context(), &u), w.doc)
		w.must(err)
		units, _, _ = u.Total()
		return users, units
	}
	if users, units := following(); users != nil || units != 0.5 {
		t.Errorf("%q follow at first, read with %.1f units", users, units)
	}
	var users []string
	for n := range collab.MaxFollowers {
		users = append(users, fmt.Sprintf("%0250d", n)) // six bytes less than the longest ids
	}
	follow := func(level collab.Level, users ...string) ([]collab.Level, error) {
		return w.Follow(t.Context(), newRequest(1_000), w.doc, users, level)
	}
	before, err := follow(collab.LevelAll, users...)
	w.must(err)
	if slices.ContainsFunc(before, func(l collab.Level) bool { return l != collab.LevelDefault }) {
		t.Error("they followed before")
	}
	if _, err := follow(collab.LevelAll, "more"); collab.CodeOf(err) != collab.ResourceExhausted {
		t.Errorf("one more: %v", err)
	}
	if before, err = follow(collab.LevelAll, users[0]); err != nil || before[0] != collab.LevelAll {
		t.Errorf("one again: %v, %v", before, err)
	}
	got, units := following()
	t.Logf("%d followers are read with %.1f units", len(got), units)
	if !slices.Equal(got, users) {
		t.Errorf("%d follow", len(got))
	}
	_, err = follow(collab.LevelDefault, users[0], "nobody")
	w.must(err)
	_, err = follow(collab.LevelAll, "more")
	w.must(err)
	levels, err := w.Following(t.Context(), []collab.DocumentRef{w.doc, w.doc.OrganizationRef.Document("none")}, "more")
	w.must(err)
	if !slices.Equal(levels, []collab.Level{collab.LevelAll, collab.LevelDefault}) {
		t.Errorf("levels %q", levels)
	}
}

// TestLevels: at most collab.MaxFollows users have a level for a thread. A check that fails, or a
// missing thread, changes none, and an import keeps levels that are set.
func TestLevels(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	set := func(level collab.Level, check func(*collab.Annotation) error, ids []string, users ...string) error {
		return w.SetLevel(t.Context(), newRequest(1_000), w.doc, ids, users, level, check)[0]
	}
	refuse := func(*collab.Annotation) error { return collab.Errorf(collab.PermissionDenied, "no") }
	storetest.WantCode(t, "a check that fails", set(collab.LevelAll, refuse, []string{"a"}, "ann"), collab.PermissionDenied)
	storetest.WantCode(t, "a missing thread", set(collab.LevelAll, nil, []string{"a", "none"}, "ann"), collab.NotFound)
	before, err := w.RestoreLevels(t.Context(), newRequest(1_000), w.doc, "a", []string{"ann"}, []collab.Level{collab.LevelAll})
	if err != nil || before[0] != collab.LevelDefault {
		t.Errorf("levels before: %q, %v", before, err)
	}
	before, err = w.RestoreLevels(t.Context(), newRequest(1_000), w.doc, "a", []string{"ann"}, []collab.Level{collab.LevelNone})
	if err != nil || before[0] != collab.LevelAll {
		t.Errorf("levels before: %q, %v", before, err)
	}
	if th, err := w.RecentComments(t.Context(), w.doc, "a", 1, 1); err != nil || th.Follows.Of("ann") != collab.LevelAll {
		t.Errorf("%+v, %v", th, err)
	}
	var users []string
	for n := range collab.MaxFollows {
		users = append(users, fmt.Sprint("u", n))
	}
	w.must(set(collab.LevelAll, nil, []string{"a"}, users[1:]...))
	storetest.WantCode(t, "one more", set(collab.LevelAll, nil, []string{"a"}, users[0]), collab.ResourceExhausted)
}
