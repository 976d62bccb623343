package store_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// TestWalk: a walk in steps of one query visits each item below an account once, before or after
// its descendants. Its cursor fits in an item even with the longest ids.
func TestWalk(t *testing.T) {
	table := storetest.New(t)
	account := strings.Repeat("%", collab.MaxID/collab.IDLen("%"))
	var want []string
	put := func(k keys.Key, incarnation int64) {
		it := store.NewItem(k)
		it[keys.Incarnation] = store.Number(incarnation)
		must.Do(t, table.Put(t.Context(), it))
		want = append(want, k.String())
	}
	for _, fill := range []string{"a", "#"} {
		id := strings.Repeat(fill, collab.MaxID/collab.IDLen(fill))
		put(keys.Organization(account, id), collab.MaxMillis)
		org := collab.OrganizationRef{Account: account, Organization: id, Incarnation: collab.MaxMillis}
		put(keys.Member(org, id), 0)
		put(keys.UserGroup(org, id, "g"), 0)
		put(keys.GroupUser(org, "g", id), 0)
		for _, fill := range []string{"d", "#"} {
			doc := org.Document(strings.Repeat(fill, collab.MaxDocumentID/collab.IDLen(fill)))
			doc.Incarnation = collab.MaxMillis
			put(keys.Document(org, doc.Document), doc.Incarnation)
			put(keys.ReadState(doc, id), 0)
			put(keys.Followers(doc), 0)
			for _, ann := range []string{id, "t"} {
				put(keys.AnnotationID(doc, ann), 0)
				put(keys.Annotation(doc, ann), 0)
				for n := range int64(3) {
					put(keys.Comment(doc, ann, n+1), 0)
				}
			}
		}
	}
	slices.Sort(want)
	for _, last := range []bool{false, true} {
		w := &store.Walk{Want: func(k *keys.Kind) bool { return k.Of != keys.AnAccount || k == keys.AnOrganization }, Last: last, Most: 1}
		var met []string
		at := store.From(keys.AnAccount, keys.Parts{Acct: account})
		for steps := 0; len(at) > 0; steps++ {
			var err error
			at, err = table.Step(t.Context(), w, at, func(_ context.Context, found []store.Found) (int, error) {
				n := min(len(found), 2) // the rest comes again
				if found[0].Kind.Of == keys.AThread || found[0].Kind.Of == keys.APlaceInGroup {
					n = len(found)
				}
				for _, f := range found[:n] {
					met = append(met, f.Key().String())
				}
				return n, nil
			})
			text, _ := json.Marshal(at)
			if err != nil || len(text) > 14_000 || steps > 1000 {
				t.Fatalf("step %d: %v, a cursor of %d bytes", steps, err, len(text))
			}
			at = nil
			must.Do(t, json.Unmarshal(text, &at))
		}
		for i, k := range met {
			if last && strings.Contains(k, " DOC#") && slices.ContainsFunc(met[i:], func(later string) bool {
				_, p := keys.KindOf(keys.Key{PK: strings.Split(later, " ")[0], SK: strings.Split(later, " ")[1]})
				_, of := keys.KindOf(keys.Key{PK: strings.Split(k, " ")[0], SK: strings.Split(k, " ")[1]})
				return p.Doc == of.Doc && p.Org == of.Org && p.Ann != ""
			}) {
				t.Errorf("%.60s came before what belongs to it", k)
			}
		}
		slices.Sort(met)
		if met = slices.Compact(met); !slices.Equal(met, want) {
			t.Errorf("items last: %v: it met %d of %d", last, len(met), len(want))
		}
	}
}
