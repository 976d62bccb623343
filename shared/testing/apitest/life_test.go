package apitest_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// TestLife creates, uses and deletes an organization with the requests of the contract, and scans
// the table after the jobs: only expiring items may be left.
func TestLife(t *testing.T) {
	s, url := serve(t)
	apitest.RunContract(t, apitest.Target{BaseURL: url, Seeder: apitest.Seeder{Accounts: s.Accounts, Directory: s.Directory}})
	scan := func(of func(it store.Item) bool) (itemKeys []keys.Key) {
		for _, it := range storetest.Scan(t, s.Outbox.Table) {
			if of(it) {
				itemKeys = append(itemKeys, it.Key())
			}
		}
		return itemKeys
	}
	pending := func(it store.Item) bool {
		return strings.HasPrefix(it.Text(keys.Due), keys.DuePartition(string(collab.EventTask), 0)[:len("DUE#event#")])
	}
	for end := time.Now().Add(time.Minute); len(scan(pending)) > 0; {
		if time.Now().After(end) {
			t.Fatal("events are not delivered")
		}
	}
	tb := s.Outbox.Table.At(func() time.Time { return time.Now().Add(time.Hour) })
	d := directory.New(tb)
	o := outbox.New(tb)
	later := deletion.New(threads.New(d, o), inbox.New(o, d))
	jobs := scan(func(it store.Item) bool {
		ref, err := keys.ParseTask(it.Key())
		return err == nil && ref.Kind == collab.JobTask
	})
	for _, k := range jobs {
		ref, err := keys.ParseTask(k)
		must.Do(t, err)
		for {
			ran, err := o.Run(t.Context(), ref, 0, later.RunJob)
			if must.Do(t, cmp.Or(err, ran.Failure)); ran.Due == 0 {
				break
			}
		}
	}
	if len(jobs) < 4 {
		t.Errorf("there were %d jobs: of comments, a document, a folder and the organization are wanted", len(jobs))
	}
	left := scan(func(it store.Item) bool {
		kind, p := keys.KindOf(it.Key())
		return kind != nil && (it[keys.Expires] == nil || holdsUsers(kind, it)) && p.Org == "acme"
	})
	for _, k := range left {
		t.Errorf("%s is left", k)
	}
}

// holdsUsers reports whether an item has an attribute for user objects. A deleted notification has
// none.
func holdsUsers(kind *keys.Kind, it store.Item) bool {
	return slices.ContainsFunc(strings.Fields(kind.Users), func(path string) bool {
		attribute, _, _ := strings.Cut(path, ".")
		return it[attribute] != nil
	})
}
