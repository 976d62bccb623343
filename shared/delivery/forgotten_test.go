package delivery_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/store"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
)

// TestForgottenOnTheWay deletes the data of a person whom events concern that are being delivered, by a process that died at some call: once
// the deletion is done, no item of the table names the person, nor does any message or line of the log since it was answered, and nothing
// is mailed to them. Others write meanwhile, and that stays.
func TestForgottenOnTheWay(t *testing.T) {
	const person, name, words = "pia-4711", "Pia Planted", "what Pia wrote herself"
	for _, killAt := range []int{1, 4, 8, 12, 16, 20, 25, 30, 40, 0} {
		t.Run(fmt.Sprint("killed at call ", killAt), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.account(grouping(false))
			traces := []string{person, name, a.address(person), words}
			named := func(text string) string {
				for _, trace := range traces {
					if strings.Contains(text, trace) {
						return trace
					}
				}
				return ""
			}
			planted := func() (list []string) { // the items that name the person
				for _, it := range storetest.Scan(t, store.New(w.dynamo, w.table, w.Now, rand.Reader)) {
					var all map[string]any
					w.must(attributevalue.UnmarshalMap(it, &all))
					if text := fmt.Sprint(all); named(text) != "" {
						list = append(list, text)
					}
				}
				return list
			}
			var up atomic.Bool
			echo := receive(t, func(rw http.ResponseWriter, req *http.Request) {
				if !up.Load() {
					rw.WriteHeader(http.StatusInternalServerError)
					fmt.Fprintf(rw, "cannot take %s of %s", person, name)
				}
			})
			a.webhook("failing", echo.URL+"/hook")
			user := fmt.Sprintf(`{"userId":%q,"name":%q,"email":%q}`, person, name, a.address(person))
			tag := fmt.Sprintf(`"taggedUserContacts":[{"userId":%q,"contact":%s},{"userId":"bob","contact":{"userId":"bob","email":%q}}]`,
				person, user, a.address("bob"))
			a.ok("/v2/users/add", `{"organizationId":"org","users":[`+user+`,{"userId":"bob"}]}`)
			a.ok(thread+"/add", `{`+in+`,"commentAnnotations":[
				{"annotationId":"a1","commentData":[{"commentId":1,"commentText":"`+words+`","from":`+user+`,"triggerNotification":true}]},
				{"annotationId":"a2","commentData":[{"commentId":1,"commentText":"ask {{`+person+`}}","from":{"userId":"ann"},"triggerNotification":true,`+tag+`}]}]}`)
			a.ok("/v2/notifications/add", `{`+in+`,"notificationId":"n1","actionUser":{"userId":"ann"},"displayHeadlineMessageTemplate":"x",
				"displayBodyMessage":"Welcome `+name+`","notifyUsers":[`+user+`,{"userId":"bob"}]}`)
			first := w.start()
			first.killAt.call = killAt
			w.drain(first)
			if n := len(planted()); n < 7 {
				t.Fatalf("only %d items name the person", n)
			}

			var job struct{ Result struct{ JobID string } }
			_, answer := a.post("/v2/users/data/delete", `{"userIds":["`+person+`"]}`)
			w.must(json.Unmarshal([]byte(answer), &job))
			if job.Result.JobID == "" {
				t.Fatal(answer)
			}
			w.add(3 * time.Second)
			logged, mailed := w.log.Len(), len(a.mails()[a.address(person)])
			a.ok(thread+"/comments/add", `{`+in+`,"annotationId":"a2","comments":[{"commentId":2,"commentText":"meanwhile","from":{"userId":"bob"}}]}`)
			p := w.start()
			var mu sync.Mutex
			p.taken = func(message string) {
				mu.Lock()
				defer mu.Unlock()
				if trace := named(message); trace != "" {
					t.Errorf("a message has %q: %s", trace, message)
				}
			}
			up.Store(true)
			for range 20 { // jobs that wait are looked for every ten minutes
				w.settleUntil(p, w.Now().Add(10*time.Minute))
				w.add(10 * time.Minute)
				w.relay()
				w.drain(p)
				answer = a.ok("/v2/users/data/delete/status", `{"jobId":"`+job.Result.JobID+`"}`)
				if strings.Contains(answer, `"isDeleteCompleted":true`) {
					break
				}
			}
			if !strings.Contains(answer, `"isDeleteCompleted":true`) {
				t.Errorf("after hours: %s", answer)
			}
			for _, it := range planted() {
				t.Errorf("an item names the person: %s", it)
			}
			if trace := named(w.log.String()[logged:]); trace != "" {
				t.Errorf("the log has %q:\n%s", trace, w.log.String()[logged:])
			}
			dead, err := w.events.dead(t.Context())
			w.must(err)
			left, err := dead.Receive(t.Context(), 10, 0)
			w.must(err)
			for _, m := range left {
				if trace := named(m.Text); trace != "" {
					t.Errorf("a dead letter has %q: %s", trace, m.Text)
				}
			}
			if n := len(a.mails()[a.address(person)]); n != mailed {
				t.Errorf("%d mails since", n-mailed)
			}
			if answer := a.ok(thread+"/get", `{`+in+`}`); !strings.Contains(answer, "meanwhile") || named(answer) != "" {
				t.Errorf("the threads are %s", answer)
			}
		})
	}
}
