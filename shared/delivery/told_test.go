package delivery_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"

	"github.com/google/go-cmp/cmp"
)

// remove removes a user from the organization, with all grants.
func (a *account) remove(user string) {
	a.Helper()
	a.must(a.db.Directory.DeleteMembers(a.Context(), a.request(), collab.Resource{OrganizationRef: a.doc.OrganizationRef}, []string{user})[0])
}

func (a *account) deleteThread(thread string) {
	a.Helper()
	_, errs, err := a.db.Threads.DeleteAnnotations(a.Context(), a.request(), a.doc, []string{thread}, collab.AnnotationDeletion{})
	a.must(errors.Join(append(errs, err)...))
}

// deleteComments deletes comments of a thread, or all if none are given.
func (a *account) deleteComments(thread string, ids ...int64) {
	a.Helper()
	_, failures, err := a.db.Threads.DeleteComments(a.Context(), a.request(), a.doc, thread, ids, nil, nil)
	a.must(errors.Join(append(slices.Collect(maps.Values(failures)), err)...))
}

// correct changes the text of a comment.
func (a *account) correct(thread string, id int64, text string) {
	a.Helper()
	failures, err := a.db.Threads.UpdateComments(a.Context(), a.request(), a.doc, thread, collab.CommentChange{
		IDs: []int64{id}, At: a.millis(), Change: func(c *collab.Comment) error {
			c.Text = &text
			return nil
		},
	})
	a.must(err)
	a.must(failures[id])
}

// folder adds a folder of the organization with an access type.
func (a *account) folder(id string, access collab.Access) {
	a.Helper()
	folders := []collab.Folder{{ID: id, Name: id, Parent: collab.RootFolder, Access: access}}
	a.must(a.db.Directory.AddFolders(a.Context(), a.request(), a.doc.OrganizationRef, folders)[0])
}

// TestMailShowsCurrentComments checks that a delayed email shows the current text of its comments
// once, without deleted ones.
func TestMailShowsCurrentComments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]struct {
		change func(*account, []int64) // of the comments in the grouped email
		want   []string
	}{
		"nothing changes":       {func(*account, []int64) {}, []string{"first", "second", "third"}},
		"the first is deleted":  {func(a *account, ids []int64) { a.deleteComments("thread", ids[0]) }, []string{"second", "third"}},
		"the second is deleted": {func(a *account, ids []int64) { a.deleteComments("thread", ids[1]) }, []string{"first", "third"}},
		"the last is corrected": {func(a *account, ids []int64) { a.correct("thread", ids[2], "the last") }, []string{"first", "second", "the last"}},
		"all are deleted":       {func(a *account, ids []int64) { a.deleteComments("thread") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a, p := w.account(), w.start()
			var ids []int64
			for _, text := range []string{"first", "second", "third"} {
				ev := a.says("thread", text, a.user("bob"))
				ids = append(ids, ev.CommentIDs[0])
				w.send(ev)
				w.drain(p)
				w.add(10 * time.Second)
			}
			test.change(a, ids)
			w.settle(p)
			var got []string
			for _, m := range w.sentEmails()[a.address("bob")] {
				for _, text := range []string{"first", "second", "third", "the last"} {
					for range strings.Count(m.Text, "> "+text) {
						got = append(got, text)
					}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
