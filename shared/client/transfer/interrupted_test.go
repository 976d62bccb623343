package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	gocmp "github.com/google/go-cmp/cmp"

	"collabdata/shared/client/transfer"
	"collabdata/shared/testing/must"
)

// TestInterrupted moves 5,000 comments in. The import is interrupted three times, people use the
// threads in between, and it is repeated. Each comment of the file is there, unless people edited
// or deleted it, which is reported. All that people did is there as well.
func TestInterrupted(t *testing.T) {
	const threads, comments, interruptions = 100, 50, 3
	want := map[string]string{} // texts by annotation and comment
	var file strings.Builder
	file.WriteString(addedTo(""))
	thread := func(n int) string { return fmt.Sprintf("t%02d", n) }
	for n := range threads {
		fmt.Fprintf(&file, `{"kind":"annotation","documentId":"plan","annotationId":%q,"from":{"userId":"ann"},"status":{"id":"OPEN"},"createdAt":1700000000000,"lastUpdated":1700000000000}`+"\n", thread(n))
		for id := range comments {
			text := fmt.Sprintf("%d of %d", id+1, n)
			fmt.Fprintf(&file, `{"kind":"comment","documentId":"plan","annotationId":%q,"commentId":%d,"commentText":%q,"from":{"userId":"ann"},"createdAt":%d,"lastUpdated":%[4]d}`+"\n",
				thread(n), id+1, text, 1700000000000+id)
			want[fmt.Sprint(thread(n), " ", id+1)] = text
		}
	}
	s := serve(t)
	c := s.account(t, "one")
	type line struct {
		Kind         transfer.Kind
		AnnotationID string `json:"annotationId"`
		CommentID    int    `json:"commentId"`
		CommentText  string `json:"commentText"`
		Status       struct{ ID string }
	}
	stored := func() (texts map[string]string, resolved []string) {
		texts = map[string]string{}
		for text := range strings.Lines(export(t, c, transfer.ExportOptions{})) {
			var l line
			must.Do(t, json.Unmarshal([]byte(text), &l, json.MatchCaseInsensitiveNames(true)))
			switch {
			case l.Kind == transfer.Comment:
				texts[fmt.Sprint(l.AnnotationID, " ", l.CommentID)] = l.CommentText
			case l.Status.ID == "RESOLVED":
				resolved = append(resolved, l.AnnotationID)
			}
		}
		return texts, resolved
	}

	transfer.SendLines(t, 120)
	var refused, resolved []string
	used := map[string]bool{} // threads that people used
	const edited = "already exists with a different commentText, lastUpdated; left unchanged"
	const deleted = " was deleted after an earlier import; left deleted"
	for n := range interruptions {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := transfer.Import(ctx, c, strings.NewReader(file.String()), transfer.ImportOptions{Progress: func(p transfer.Progress) {
			if p.Lines > int64(1_000*(n+1)) {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("interruption %d: %v", n, err)
		}
		texts, _ := stored()
		whole := slices.DeleteFunc(slices.Sorted(maps.Keys(texts)), func(place string) bool { return !strings.HasSuffix(place, " 2") })
		next := func() (id string) { // a thread that nobody has used
			for _, place := range whole {
				if id = strings.TrimSuffix(place, " 2"); !used[id] {
					used[id] = true
					return id
				}
			}
			t.Fatalf("only %q have two comments", whole)
			return ""
		}
		in := func(id string) string { return inPlan + `"annotationId": "` + id + `", ` }
		id := next()
		call(t, c, "/v2/commentannotations/comments/add", in(id)+`"commentData": [{"commentId": 99, "commentText": "an answer", "from": {"userId": "bob"}}]`)
		want[id+" 99"] = "an answer"
		id = next()
		call(t, c, "/v2/commentannotations/comments/update", in(id)+`"commentIds": [1], "updatedData": {"commentText": "edited"}`)
		want[id+" 1"] = "edited"
		refused = append(refused, "comment 1: "+edited)
		id = next()
		call(t, c, "/v2/commentannotations/update", inPlan+`"annotationIds": ["`+id+`"], "updatedData": {"status": {"id": "RESOLVED"}}`)
		resolved = append(resolved, id)
		refused = append(refused, "annotation "+id+": already exists with a different status; left unchanged")
		id = next()
		call(t, c, "/v2/commentannotations/comments/delete", in(id)+`"commentIds": [2]`)
		delete(want, id+" 2")
		refused = append(refused, "comment 2: the comment"+deleted)
		id = next()
		call(t, c, "/v2/commentannotations/delete", inPlan+`"annotationIds": ["`+id+`"]`)
		refused = append(refused, "annotation "+id+": the annotation"+deleted)
		for n := range comments {
			delete(want, fmt.Sprint(id, " ", n+1))
			refused = append(refused, fmt.Sprintf("comment %d: the annotation%s", n+1, deleted))
		}
	}
	slices.Sort(refused)
	slices.Sort(resolved)
	for n := range 2 {
		if diff := gocmp.Diff(refused, refusals(t, c, file.String())); diff != "" {
			t.Errorf("import %d refused (- want, + got):\n%s", n, diff)
		}
		texts, done := stored()
		if slices.Sort(done); !slices.Equal(done, resolved) {
			t.Errorf("resolved %q, want %q", done, resolved)
		}
		if diff := gocmp.Diff(want, texts); diff != "" {
			t.Errorf("after import %d (- want, + got):\n%s", n, diff)
		}
	}
}
