package commentannotations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// person returns the fixture with a person's token for the organization.
func (f *fixture) person(user string) *fixture {
	p := &collab.Person{UserID: user, Resources: []collab.TokenResource{
		{Type: collab.ResourceOrganization, ID: "org", AccessRole: collab.RoleEditor},
	}}
	settings := collab.Settings{WriteUnitsPerSecond: collab.Unlimited, ReadUnitsPerSecond: collab.Unlimited}
	return &fixture{Service: f.Service, handler: f.HandlerFor(collab.Identity{Account: "acme", Settings: settings, Person: p})}
}

// hide lets ann restrict thread a to herself, and returns the outcome.
func (f *fixture) hide(t *testing.T) item {
	t.Helper()
	a := post(t, f.person("ann"), "/v2/commentannotations/update", `"annotationIds": ["a"], "updatedData": {"visibility": {"type": "restricted", "userIds": ["ann"]}}`)
	if a.code != http.StatusOK {
		t.Fatal(a)
	}
	_, items := a.items(t)
	return items["a"]
}

// TestHideLooks checks that a person cannot hide a thread from a user whose comment arrives during
// the search for commenters, regardless of the thread's times.
func TestHideLooks(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Hour} {
		f := newFixture(t, collab.Settings{})
		updated := func(at time.Duration) string { return fmt.Sprint(time.Now().Add(at).UnixMilli()) }
		succeed(t, post(t, f, "/v2/commentannotations/add", `"commentAnnotations": [{"annotationId": "a", "lastUpdated": `+updated(ahead)+`,
			"commentData": [{"commentText": "x", "from": {"userId": "ann"}}]}]`))
		f.between = func() {
			f.between = nil
			succeed(t, post(t, f, "/v2/commentannotations/comments/add", `"annotationId": "a",
				"commentData": [{"commentText": "x", "lastUpdated": `+updated(2*ahead)+`, "from": {"userId": "bob"}}]`))
		}
		if got := f.hide(t); got.Code != collab.FailedPrecondition {
			t.Errorf("%v ahead: bob has commented, and the thread is hidden: %+v", ahead, got)
		}
		if f.between != nil {
			t.Error("nothing was written")
		}
	}
}

// TestHideBounds checks the bounds and costs of a change of visibility.
func TestHideBounds(t *testing.T) {
	for name, test := range map[string]struct {
		comments int
		text     string
		authors  int
		code     collab.Code
		units    float64
	}{
		"1,000 comments":   {1_000, "x", 1, "", 50},
		"1,001 comments":   {1_001, "x", 1, collab.FailedPrecondition, 50},
		"a megabyte":       {30, strings.Repeat("x", 40_000), 1, collab.FailedPrecondition, 300},
		"101 other people": {102, "x", 102, collab.FailedPrecondition, 50},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, collab.Settings{})
			for n := 0; n < test.comments; n += 90 {
				var comments []string
				for i := n; i < min(n+90, test.comments); i++ {
					author := []string{"ann", fmt.Sprintf("u%d", i)}[min(1, i%test.authors)]
					comments = append(comments, fmt.Sprintf(`{"commentText": %q, "from": {"userId": %q}}`, test.text, author))
				}
				list := strings.Join(comments, ",")
				if n == 0 {
					succeed(t, post(t, f, "/v2/commentannotations/add", `"commentAnnotations": [{"annotationId": "a", "commentData": [`+list+`]}]`))
				} else {
					succeed(t, post(t, f, "/v2/commentannotations/comments/add", `"annotationId": "a", "commentData": [`+list+`]`))
				}
			}
			f.log.Reset()
			if got := f.hide(t); got.Code != test.code {
				t.Errorf("%+v, want %q", got, test.code)
			}
			var logged struct {
				Read float64 `json:"read_units"`
			}
			if err := json.Unmarshal(f.log.Bytes(), &logged); err != nil || logged.Read > test.units {
				t.Errorf("%v read units, %v", logged.Read, err)
			}
			t.Logf("%v read units", logged.Read)
		})
	}
}

// TestByPerson checks that an event records whether a person caused it.
func TestByPerson(t *testing.T) {
	f := newFixture(t, collab.Settings{})
	succeed(t, post(t, f.person("ann"), "/v2/commentannotations/add", `"commentAnnotations": [{"commentData": [{"commentText": "x"}]}]`))
	succeed(t, post(t, f, "/v2/commentannotations/add", `"commentAnnotations": [{"commentData": [{"commentText": "x", "triggerNotification": true, "from": {"userId": "bob"}}]}]`))
	var by []bool
	for _, it := range storetest.Scan(t, f.Outbox.Table) {
		if ref, err := keys.ParseTask(it.Key()); err == nil {
			ev, err := f.Outbox.Event(t.Context(), ref.Account, ref.ID)
			must.Do(t, err)
			by = append(by, ev.ByPerson == (ev.Actor != nil && ev.Actor.UserID == "ann"))
		}
	}
	if !slices.Equal(by, []bool{true, true}) {
		t.Errorf("events say so: %v", by)
	}
}
