package commentannotations_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
)

// TestDeletedMeanwhile makes a change before each write of a deletion. A thread that its selectors
// exclude after an acknowledged change stays, and so does one with an acknowledged answer.
func TestDeletedMeanwhile(t *testing.T) {
	reply := func(f *fixture, id string) answer {
		return post(t, f.person("cid"), "/v2/commentannotations/comments/add", `"annotationId": "`+id+`", "commentData": [{"commentText": "z"}]`)
	}
	update := func(data string) func(*fixture, string) answer {
		return func(f *fixture, id string) answer {
			return post(t, f, "/v2/commentannotations/update", `"annotationIds": ["`+id+`"], `+data)
		}
	}
	for name, test := range map[string]struct {
		by       string // "" for a back end
		selector string
		answered time.Duration // time since another answer, which is deleted; 0 for none
		change   func(f *fixture, id string) answer
	}{
		"accepted": {selector: `, "agentSuggestions": true`, change: func(f *fixture, id string) answer {
			return post(t, f.person("ann"), "/v2/commentannotations/update", `"annotationIds": ["`+id+`"], "updatedData": {"suggestion": {"status": "accepted"}}`)
		}},
		"moved":                 {selector: `, "locationIds": ["top"]`, change: update(`"updatedData": {"location": {"id": "end"}}`)},
		"given away":            {selector: `, "userIds": ["ann"]`, change: update(`"updateUsers": [{"oldUser": {"userId": "ann"}, "newUser": {"userId": "bob"}}]`)},
		"another agent":         {selector: `, "agentId": "seo", "locationIds": ["top"]`, change: update(`"updatedData": {"location": {"id": "end"}}`)},
		"a person's own":        {by: "ann", change: reply},
		"answered a moment ago": {by: "ann", answered: 5 * time.Millisecond, change: reply},
		"answered before":       {by: "ann", answered: time.Minute, change: reply},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, collab.Settings{})
			late := 0
			for n := 0; ; n++ {
				id := fmt.Sprint("a", n)
				succeed(t, post(t, f, "/v2/commentannotations/add", `"commentAnnotations": [{"annotationId": "`+id+`", "location": {"id": "top"}, "type": "suggestion", "suggestion": {"newValue": "y"},
					"commentData": [{"commentText": "x", "from": {"userId": "ann"}, "agent": {"agentId": "seo"}}]}]`))
				if test.answered != 0 {
					created := time.Now().Add(-test.answered).UnixMilli()
					succeed(t, post(t, f, "/v2/commentannotations/comments/add", fmt.Sprintf(`"annotationId": %q, "commentData": [{"commentId": 7, "commentText": "y", "from": {"userId": "bob"}, "createdAt": %d}]`, id, created)))
					succeed(t, post(t, f, "/v2/commentannotations/comments/delete", `"annotationId": "`+id+`", "commentIds": [7]`))
				}
				caller, writes, acknowledged := f, 0, false
				if test.by != "" {
					caller = f.person(test.by)
				}
				f.between = func() {
					if writes++; writes == n+1 {
						between := f.between
						f.between = nil
						a := test.change(f, id)
						acknowledged = a.code == http.StatusOK && !strings.Contains(string(a.Result.Data), `"success":false`)
						f.between = between
					}
				}
				deleted := post(t, caller, "/v2/commentannotations/delete", `"annotationIds": ["`+id+`"]`+test.selector)
				f.between = nil
				if left := post(t, f, "/v2/commentannotations/get", `"annotationIds": ["`+id+`"]`); acknowledged && string(left.Result.Data) == "[null]" {
					t.Errorf("before write %d, the change was acknowledged, and the thread is deleted: %s", n+1, deleted.Result.Data)
				} else if acknowledged {
					late++
				}
				if writes <= n {
					break
				}
			}
			if late == 0 {
				t.Error("no change came in between")
			}
		})
	}
}
