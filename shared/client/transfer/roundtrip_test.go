package transfer_test

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"collabdata/shared/api/operator"
	"collabdata/shared/client/transfer"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// TestKinds checks that each kind of item has a line in the file, or a reason for its absence.
func TestKinds(t *testing.T) {
	lines := map[transfer.Kind]bool{}
	for _, k := range keys.Kinds() {
		if (k.Line == "") == (k.NoLine == "") {
			t.Errorf("kind %q has lines %q, and the reason %q for none: give one of the two", k.Name, k.Line, k.NoLine)
		}
		for _, line := range strings.Fields(k.Line) {
			if lines[transfer.Kind(line)] = true; !slices.Contains(transfer.Kinds(), transfer.Kind(line)) {
				t.Errorf("kind %q: %q is no kind of line", k.Name, line)
			}
		}
	}
	for _, k := range transfer.Kinds() {
		if !lines[k] {
			t.Errorf("no kind of item has lines %q", k)
		}
	}
}

// stored are the types of items, by kind.
var stored = map[string][]reflect.Type{
	keys.AnOrganization.Name:           {reflect.TypeFor[collab.Organization]()},
	"folder":                           {reflect.TypeFor[collab.Folder]()},
	keys.ADocument.Name:                {reflect.TypeFor[collab.Document]()},
	"group":                            {reflect.TypeFor[collab.UserGroup]()},
	keys.AMember.Name:                  {reflect.TypeFor[collab.Member]()},
	keys.ADocumentGrant.Name:           {reflect.TypeFor[collab.Member]()},
	keys.AFolderGrant.Name:             {reflect.TypeFor[collab.Member]()},
	keys.AnOrganizationPreference.Name: {reflect.TypeFor[collab.Preferences](), reflect.TypeFor[collab.MailTimes]()},
	keys.APreference.Name:              {reflect.TypeFor[collab.Preferences]()},
	keys.AThread.Name:                  {reflect.TypeFor[collab.Annotation]()},
	keys.AComment.Name:                 {reflect.TypeFor[collab.Comment]()},
	"seen of a document":               {reflect.TypeFor[collab.ReadState]()},
	"seen of a thread":                 {reflect.TypeFor[collab.ReadState]()},
}

// own are attributes that a file omits, by kind ("" for all): they concern the writing of an item,
// and no operation sets them.
var own = map[string][]string{
	"":                                 {keys.AddedBy, keys.Birth, keys.Writer, keys.Rev, keys.Incarnation, keys.DeletedAt, keys.Emptying},
	keys.AnOrganization.Name:           {keys.CreatedAt, keys.LastUpdated},
	"folder":                           {keys.CreatedAt, keys.LastUpdated},
	keys.ADocument.Name:                {keys.CreatedAt, keys.LastUpdated},
	"group":                            {keys.CreatedAt, keys.LastUpdated},
	keys.AMember.Name:                  {keys.CreatedAt, keys.LastUpdated},
	keys.ADocumentGrant.Name:           {keys.CreatedAt, keys.LastUpdated},
	keys.AFolderGrant.Name:             {keys.CreatedAt, keys.LastUpdated},
	keys.AnOrganizationPreference.Name: {keys.LastUpdated},
	keys.APreference.Name:              {keys.LastUpdated},
	// the file has the latest of the thread and its comments
	keys.AThread.Name: {keys.LastUpdated, "upd", "orgu"},
	// removed mentions, which notify once more after a move
	keys.AComment.Name: {"rmv"},
}

// TestRoundTrip exports an organization with every kind of item, every field of a line and every
// stored attribute, imports it into another account, and exports it again. Files and tables must be
// equal. A second import must change nothing.
func TestRoundTrip(t *testing.T) {
	s := serve(t)
	one, two := s.account(t, "one"), s.account(t, "two")
	everything(t, one)
	s.unsubscribe(t, "one", "ann", "nobody else")
	// Only a back end's comment opens a document.
	call(t, s.client(s.url, "one", nil), "/v2/commentannotations/comments/add", `"organizationId": "acme", "documentId": "whole", "annotationId": "of jon", "commentData": [{"commentId": 2, "commentText": "y", "from": {"userId": "jon"}}]`)
	call(t, one, "/v2/organizations/access/disablestate/update", `"organizationIds": ["acme"], "disabled": true`)
	file := export(t, one, transfer.ExportOptions{})
	var order []transfer.Kind // kinds by their first lines, which an import must support
	for line := range strings.Lines(file) {
		kind, _, _ := strings.Cut(strings.TrimPrefix(line, `{"kind":"`), `"`)
		if k := transfer.Kind(kind); !slices.Contains(order, k) {
			order = append(order, k)
		}
	}
	if diff := gocmp.Diff(transfer.Kinds(), order); diff != "" {
		t.Errorf("order of kinds (- want, + got):\n%s", diff)
	}
	there := fieldsOf(t, file)
	count := map[transfer.Kind]int64{}
	for _, k := range transfer.Kinds() {
		if count[k] = int64(strings.Count("\n"+file, fmt.Sprintf("\n{\"kind\":%q", k))); count[k] == 0 {
			t.Errorf("nothing of kind %s is in the file", k)
		}
		for _, name := range transfer.Fields(k) {
			if !there[k][name] {
				t.Errorf("field %s of a line of kind %s is not in the file", name, k)
			}
		}
	}
	first := load(t, two, file, transfer.ImportOptions{})
	// users without a name, after their grants
	if added, unchanged, _ := first.Sum(); added+unchanged != int64(strings.Count(file, "\n")) || unchanged > 5 {
		t.Errorf("the import says %+v", first)
	}
	same(t, "exported again", file, export(t, two, transfer.ExportOptions{}))
	before, after := s.table(t, "one"), s.table(t, "two")
	if diff := gocmp.Diff(before, after); diff != "" {
		t.Errorf("the tables (- exported, + imported):\n%s", diff)
	}
	planted := map[string]map[string]bool{}
	for k, it := range before {
		name, _, _ := strings.Cut(k, ": ")
		if planted[name] == nil {
			planted[name] = map[string]bool{}
		}
		for attribute := range it {
			planted[name][attribute] = true
		}
	}
	for _, k := range keys.Kinds() {
		if k.Line != "" && planted[k.Name] == nil {
			t.Errorf("no item of kind %q was exported", k.Name)
		}
		for _, of := range stored[k.Name] {
			for _, name := range store.AttributesOf(reflect.Zero(of).Interface()) {
				if !planted[k.Name][name] && !dropped(k.Name, name) {
					t.Errorf("no item of kind %q with attribute %q was exported", k.Name, name)
				}
			}
		}
	}

	s.restart()
	again := load(t, two, file, transfer.ImportOptions{})
	if diff := gocmp.Diff(&transfer.Result{Added: map[transfer.Kind]int64{}, Unchanged: count, Refused: map[transfer.Kind]int64{}}, again); diff != "" {
		t.Errorf("imported again (- want, + got):\n%s", diff)
	}
	if diff := gocmp.Diff(after, s.table(t, "two")); diff != "" {
		t.Errorf("the second import changed the table:\n%s", diff)
	}
}

// dropped reports whether a file omits an attribute.
func dropped(kind, attribute string) bool {
	return slices.Contains(own[""], attribute) || slices.Contains(own[kind], attribute)
}

// fieldsOf returns the names of the fields of a file's lines, as in transfer.Fields.
func fieldsOf(t *testing.T, file string) map[transfer.Kind]map[string]bool {
	t.Helper()
	all := map[transfer.Kind]map[string]bool{}
	for line := range strings.Lines(file) {
		var v map[string]any
		must.Do(t, json.Unmarshal([]byte(line), &v))
		kind := transfer.Kind(v["kind"].(string))
		delete(v, "kind")
		if all[kind] == nil {
			all[kind] = map[string]bool{}
		}
		var add func(v any, prefix string)
		add = func(v any, prefix string) {
			switch v := v.(type) {
			case map[string]any:
				for name, of := range v {
					all[kind][prefix+name], all[kind][prefix+"*"] = true, true
					add(of, prefix+name+".")
				}
			case []any:
				for _, of := range v {
					add(of, prefix)
				}
			}
		}
		add(v, "")
	}
	return all
}

// incarnation matches the incarnation in keys of organizations, folders and documents.
var incarnation = regexp.MustCompile(`![0-9a-z]+`)

// table returns the exported items of an account, by kind and key, without dropped attributes,
// accounts and incarnations.
func (s *service) table(t *testing.T, account string) map[string]map[string]any {
	t.Helper()
	plain := func(text string) string {
		text, _ = strings.CutPrefix(text, "A#"+account)
		return incarnation.ReplaceAllString(text, "")
	}
	all := map[string]map[string]any{}
	for _, it := range storetest.Scan(t, store.New(s.Config().DynamoDB, s.Config().Table, time.Now, rand.Reader)) {
		k, parts := keys.KindOf(it.Key())
		if k == nil || k.Line == "" || parts.Acct != account {
			continue
		}
		attributes := map[string]any{}
		must.Do(t, attributevalue.UnmarshalMap(it, &attributes))
		maps.DeleteFunc(attributes, func(name string, _ any) bool { return name == keys.PK || name == keys.SK || dropped(k.Name, name) })
		for name, v := range attributes {
			if text, ok := v.(string); ok && (name == "da" || strings.HasPrefix(text, "A#")) {
				attributes[name] = plain(text)
			}
		}
		if follows, ok := attributes["flw"].(map[string]any); ok { // sets
			for _, users := range follows {
				slices.SortFunc(users.([]any), func(a, b any) int { return cmp.Compare(a.(string), b.(string)) })
			}
		}
		sk := plain(it.Key().SK)
		if parts.Who != "" { // a hash with the account
			sk = strings.Replace(sk, parts.Who, fmt.Sprint(attributes["usr"]), 1)
		}
		all[k.Name+": "+plain(it.Key().PK)+" "+sk] = attributes
	}
	return all
}

// TestRecordsAreLines checks that a record's line has the fields of its request.
func TestRecordsAreLines(t *testing.T) {
	for kind, of := range map[transfer.Kind]reflect.Type{
		transfer.Unsubscribed: reflect.TypeFor[operator.UnsubscribedRecord](), transfer.Removal: reflect.TypeFor[operator.RemovalRecord](),
		transfer.Level: reflect.TypeFor[operator.LevelRecord](), transfer.Group: reflect.TypeFor[operator.GroupRecord](),
		transfer.Preference: reflect.TypeFor[operator.PreferenceRecord](), transfer.ReadState: reflect.TypeFor[operator.ReadStateRecord](),
	} {
		var want, got []string
		for _, f := range reflect.VisibleFields(of) {
			if name := f.Tag.Get("json"); name != "" {
				want = append(want, name)
			}
		}
		for _, name := range transfer.Fields(kind) {
			if !strings.Contains(name, ".") {
				got = append(got, name)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("kind %s (- request, + line):\n%s", kind, diff)
		}
	}
}
