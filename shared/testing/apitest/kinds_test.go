package apitest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/storetest"
)

// callers are attributes and members with free-form data of callers, which stays when personal data
// is deleted.
var callers = []string{"meta", "ctx", "loc", "tgt", "body.metadata", "body.notificationSourceData", "body.location"}

// ends are kinds that expire, or are deleted after a job is done.
var ends = []string{"job", "task"}

// checkKinds checks that each item of a table has a kind in package keys, expires accordingly, and
// has user objects only in the named attributes.
func checkKinds(t *testing.T, table *store.Table) {
	reported := map[string]bool{}
	report := func(kind, what string, it store.Item) {
		if !reported[kind+what] {
			t.Errorf("a %s %s: %s", kind, what, it.Key())
		}
		reported[kind+what] = true
	}
	for _, it := range storetest.Scan(t, table) {
		kind, _ := keys.KindOf(it.Key())
		if kind == nil {
			report("item of no kind", "is stored", it)
			continue
		}
		if kind.Expires && it[keys.Expires] == nil && !slices.Contains(ends, kind.Name) {
			report(kind.Name, "does not expire", it)
		}
		if kind.Of == nil {
			continue // has ids for a limited time
		}
		allowed := append(strings.Fields(kind.Users), callers...)
		for name := range it {
			var v any
			if json.Unmarshal([]byte(it.Text(name)), &v) != nil || slices.Contains(allowed, name) {
				continue
			}
			members, _ := v.(map[string]any)
			for member, of := range members {
				if !slices.Contains(allowed, name+"."+member) && hasUser(of) {
					report(kind.Name, "has a user object in "+name+"."+member+", which the table does not name", it)
				}
			}
			if members["userId"] != nil || members == nil && hasUser(v) {
				report(kind.Name, "has a user object in "+name+", which the table does not name", it)
			}
		}
	}
}

// hasUser reports whether a JSON value contains a user object.
func hasUser(v any) bool {
	switch of := v.(type) {
	case map[string]any:
		if _, user := of["userId"].(string); user {
			return true
		}
		for _, e := range of {
			if hasUser(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(of, hasUser)
	}
	return false
}
