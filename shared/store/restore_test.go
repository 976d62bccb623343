package store_test

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

// contents returns the attribute v of all items of a table.
func contents(t *testing.T, of *store.Table) map[keys.Key]string {
	t.Helper()
	all := map[keys.Key]string{}
	for _, it := range storetest.Scan(t, of) {
		all[it.Key()] = it.Text("v")
	}
	return all
}

// fill puts an item with the attribute v at each key.
func fill(t *testing.T, into *store.Table, v string, itemKeys ...keys.Key) {
	t.Helper()
	for _, k := range itemKeys {
		it := store.NewItem(k)
		it["v"] = &types.AttributeValueMemberS{Value: v}
		if err := into.Put(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
}

// ofOrganization are items of an organization, of every kind, n of each.
func ofOrganization(acct, org string, n int) []keys.Key {
	ref := collab.OrganizationRef{Account: acct, Organization: org, Incarnation: 1}
	var itemKeys []keys.Key
	for i := range n {
		id := fmt.Sprintf("%d", i)
		doc := ref.Document(id)
		itemKeys = append(itemKeys, keys.Document(ref, id), keys.Folder(ref, id), keys.Member(ref, id), keys.Annotation(doc, id),
			keys.Comment(doc, id, 7), keys.Preference(doc, id), keys.OrganizationPreference(ref, id), keys.Notification(ref, id),
			keys.MailEntry(doc, id, id, id))
	}
	return itemKeys
}

// TestRestoreOrganization: what the organization lost, changed and gained since is undone, in one run or after one that was killed, and
// nothing of others is touched.
func TestRestoreOrganization(t *testing.T) {
	storetest.OnEach(t, func(t *testing.T, live *store.Table) {
		from := storetest.New(t)
		const acct, org = "acct", "o#rg"
		ref := collab.OrganizationRef{Account: acct, Organization: org}
		own := keys.Organization(acct, org)
		was := ofOrganization(acct, org, 20)
		fill(t, from, "was", own)
		fill(t, from, "was", was...)
		fill(t, from, "elsewhere", ofOrganization(acct, "o", 2)...)
		fill(t, from, "elsewhere", keys.Event(acct, "e1"))

		changed, since := was[:len(was)/2], ofOrganization(acct, org, 25)[len(was):]
		fill(t, live, "changed", own)
		fill(t, live, "changed", changed...)
		fill(t, live, "since", since...)
		others := append(
			append(ofOrganization(acct, "o", 3), ofOrganization("acct2", org, 3)...), keys.Event(acct, "e2"), keys.Organization(acct, "o"),
		)
		fill(t, live, "other", others...)

		want := map[keys.Key]string{own: "was"}
		for _, k := range was {
			want[k] = "was"
		}
		for _, k := range others {
			want[k] = "other"
		}
		killed := storetest.Killed(t, live, 30)
		if done, err := killed.RestoreOrganization(t.Context(), from, ref, math.MaxFloat64); err == nil {
			t.Errorf("killed, and done: %+v", done)
		}
		if got := contents(t, live)[own]; got != "changed" {
			t.Errorf("the organization is back before its data are: %q", got)
		}
		done, err := live.RestoreOrganization(t.Context(), from, ref, math.MaxFloat64)
		if err != nil || done != (store.Restored{Put: len(was) + 1, Removed: len(since)}) {
			t.Errorf("%+v, %v; want %d put and %d removed", done, err, len(was)+1, len(since))
		}
		if diff := cmp.Diff(want, contents(t, live)); diff != "" {
			t.Errorf("the table (-want +got):\n%s", diff)
		}
		began := time.Now()
		if _, err := live.RestoreOrganization(t.Context(), from, ref, 1_000); err != nil ||
			time.Since(began) < time.Duration(len(was))*time.Millisecond {
			t.Errorf("%d items, each a unit or more, were put within %v at 1,000 units in a second: %v", len(was), time.Since(began), err)
		}
		before := contents(t, from)
		_, err = live.RestoreOrganization(t.Context(), from, collab.OrganizationRef{Account: acct, Organization: "never"}, math.MaxFloat64)
		if collab.CodeOf(err) != collab.NotFound || !maps.Equal(before, contents(t, from)) {
			t.Errorf("an organization that never was: %v", err)
		}
	})
}
