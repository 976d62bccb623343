package keys

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/collab"

	gocmp "github.com/google/go-cmp/cmp"
)

// longest returns the longest parts, with ids that repeat fill.
func longest(fill string) Parts {
	long := func(limit int) string {
		id := strings.Repeat(fill, limit/collab.IDLen(fill))
		if err := collab.CheckID(id, limit); err != nil {
			panic(err)
		}
		return id
	}
	id := long(collab.MaxID)
	return Parts{
		Acct: id, Org: id, Doc: long(collab.MaxDocumentID), Folder: id, Ann: id, User: id, Who: UserHash(id, id), Group: id, ID: id, Event: id, Kind: "kind", Shard: "9",
		OrgN: collab.MaxMillis, DocN: collab.MaxMillis, FolderN: collab.MaxMillis, At: collab.MaxMillis, Created: collab.MaxMillis,
		Comment: collab.MaxCommentID,
	}
}

// generated are kinds with an id that the service generates.
var generated = map[string]string{
	"kept answer": strings.Repeat("0", 64), "unsubscribed address": strings.Repeat("0", 32), "ticket": strings.Repeat("t", 40),
	"job": strings.Repeat("e", 26), "progress of a job": strings.Repeat("e", 26),
}

// TestKinds: valid ids never give a key that DynamoDB refuses, and each key is parsed as built, by
// its own row only.
func TestKinds(t *testing.T) {
	for _, fill := range []string{"x", "%", "#", " ", "é", "𝄞"} {
		for _, kind := range Kinds() {
			p := longest(fill)
			if id := generated[kind.Name]; id != "" {
				p.ID = id
			}
			k := kind.Key(p)
			if len(k.PK) > MaxPartitionKey || len(k.SK) > MaxSortKey {
				t.Errorf("%s of %q: %d and %d bytes", kind.Name, fill, len(k.PK), len(k.SK))
			}
			got, parts := KindOf(k)
			if got != kind || kind.Key(parts) != k {
				t.Fatalf("%s is read as a %v", k, got)
			}
			bound := kind.bound()
			for f := fAcct; f <= fShard; f++ {
				if has := *parts.text(f) != ""; has != bound[f] || has && *parts.text(f) != *p.text(f) {
					t.Errorf("%s of a %s: %s is read as %q", k, kind.Name, fields[f], *parts.text(f))
				}
			}
			if kind.Of == nil && !kind.Expires && !kind.Stays {
				t.Errorf("nothing sweeps a %s, and it does not expire", kind.Name)
			}
		}
		p, doc := longest(fill), collab.DocumentRef{}
		p.ID = strings.Repeat("m", 26)
		doc = p.Document()
		for name, k := range map[string]Key{
			"FolderGranted":     {PK: FolderGranted(collab.FolderRef{OrganizationRef: doc.OrganizationRef, Folder: p.Folder}), SK: Members + Escape(p.User)},
			"DocumentGranted":   {PK: DocumentGranted(doc), SK: Members + Escape(p.User)},
			"LocationPartition": {PK: LocationPartition(doc.OrganizationRef, p.User), SK: InDocument(doc, p.Ann)},
			"FolderPartition":   {PK: FolderPartition(doc.OrganizationRef, p.Folder), SK: Document(doc.OrganizationRef, p.Doc).SK},
			"CreatorPartition":  {PK: CreatorPartition(doc.OrganizationRef, p.User), SK: Heads(doc)},
			"StatusPartition":   {PK: StatusPartition(doc.OrganizationRef, p.User), SK: AfterGrants(p.User)},
			"UpdatedPartition":  {PK: UpdatedPartition(doc.OrganizationRef), SK: UpdatedInOrganization(p.At, doc, p.Ann)},
			"UpdatedInDocument": {SK: UpdatedInDocument(p.At, p.Ann)},
			"AfterComments":     {SK: Annotation(doc, p.Ann).SK + AfterComments},
		} {
			if len(k.PK) > MaxPartitionKey || len(k.SK) > MaxSortKey {
				t.Errorf("%s of %q: %d and %d bytes", name, fill, len(k.PK), len(k.SK))
			}
		}
	}
	if kind, _ := KindOf(Key{"A#a#O#o!1#D#d", "of a later version"}); kind != nil {
		t.Errorf("an item of a later version is taken for a %s", kind.Name)
	}
}

// TestBelow: everything that belongs to something and does not expire can be found from an account.
func TestBelow(t *testing.T) {
	found := map[string]bool{}
	var from func(owner *Kind)
	from = func(owner *Kind) {
		for _, k := range Kinds() {
			if _, ok := k.Below(owner, longest("x"), "", false); ok && !found[k.Name] {
				found[k.Name] = true
				from(k)
			}
		}
	}
	from(AnAccount)
	for _, k := range Kinds() {
		if !found[k.Name] && !k.Expires && !k.Stays && !slices.Contains([]string{"API key"}, k.Name) {
			t.Errorf("nothing leads to a %s", k.Name)
		}
	}
	doc := plan
	doc.Incarnation = 5
	for kind, want := range map[*Kind]Place{
		ADocumentGrant:   {In: true, PK: DocumentGranted(doc)},
		APreference:      {PK: PreferencePartition(doc.OrganizationRef), Prefix: "d#"},
		AThread:          {PK: DocumentPartition(doc), Prefix: Annotations},
		AThreadReadState: {PK: ReadStatePartition(doc), Prefix: "u#"},
	} {
		user := ""
		if kind == AThreadReadState {
			user = "u"
		}
		got, ok := kind.Below(ADocument, ADocument.Naming(inDocument(plan, Parts{}), 5), user, true)
		if diff := gocmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s: %s", kind.Name, diff)
		}
	}
	if at, ok := threadID.Below(AThread, inDocument(doc, Parts{Ann: "a"}), "", false); !ok || !at.Exact || at.PK != AnnotationID(doc, "a").PK {
		t.Errorf("%+v", at)
	}
}

var plan = collab.OrganizationRef{Account: "a", Organization: "o"}.Document("d")

// TestOrder checks the order of items in one partition.
func TestOrder(t *testing.T) {
	comment := func(ann string, id int64) string { return Comment(plan, ann, id).SK }
	head := func(ann string) string { return Annotation(plan, ann).SK }
	for name, keys := range map[string][]string{
		"heads, comments behind theirs": {
			head("a"), comment("a", 1), comment("a", 9), comment("a", 10), comment("a", 1<<40), comment("a", collab.MaxCommentID),
			head("a") + AfterComments,
			head("a$"), comment("a$", 1), head("a b"), comment("a b", 1), head("a!"), head(`a"`), comment(`a"`, 3), head("a#"), comment("a#", 1),
			head("a#CMT#0000000000000001"), head("a%"), head("a-"), head("a0"), head("aa"), head("b"), head("é"), comment("é", 1),
			strings.TrimSuffix(Annotations, "#") + AfterChildren,
		},
		"times": {
			UpdatedInDocument(0, "z"), UpdatedInDocument(1, "a"), UpdatedInDocument(1, "a0"), UpdatedInDocument(9, "a"), UpdatedInDocument(10, "a"),
			Time(10) + AfterChildren, UpdatedInDocument(1_700_000_000_000, "a"), UpdatedInDocument(collab.MaxMillis, "a"),
		},
		"documents and their incarnations, then annotations": {
			inDocumentKey("d", 1, "a"), inDocumentKey("d", 0, "a"), inDocumentKey("d", 0, "z"), inDocumentKey("d$", 0, "a"), inDocumentKey("d ", 0, "a"),
			inDocumentKey("d#", 2, "z"), inDocumentKey("d#", 0, "a"), inDocumentKey("d0", 0, "a"),
		},
	} {
		for i := 1; i < len(keys); i++ {
			if keys[i-1] >= keys[i] {
				t.Errorf("%s: %q does not come before %q", name, keys[i-1], keys[i])
			}
		}
	}
}

func inDocumentKey(id string, incarnation int64, ann string) string {
	doc := plan.OrganizationRef.Document(id)
	doc.Incarnation = incarnation
	return InDocument(doc, ann)
}

// TestIncarnations: a document's keys contain its incarnation, whatever its id, and no other text
// parses as one.
func TestIncarnations(t *testing.T) {
	for _, id := range []string{"d", "d!1", "!", "#", "a b", "é"} {
		for _, n := range []int64{0, 1, 35, 36, 1_764_000_000_000, collab.MaxMillis} {
			org := collab.OrganizationRef{Account: "a", Organization: id, Incarnation: n}
			doc := collab.DocumentRef{OrganizationRef: org, Document: id, Incarnation: n}
			if got, err := DocumentOf(org, DocumentPartition(doc)); err != nil || got != doc {
				t.Errorf("%v is read as %v, %v", doc, got, err)
			}
			if got, err := ParseAnnotationID(org, AnnotationID(doc, "x").SK); err != nil || got != doc {
				t.Errorf("%v is looked up as %v, %v", doc, got, err)
			}
			org.Incarnation++
			if got, err := DocumentOf(org, DocumentPartition(doc)); err == nil {
				t.Errorf("%v is read as %v of another incarnation of its organization", doc, got)
			}
		}
	}
	for _, part := range []string{"d!", "d!0", "d!01", "d!X", "d!1!2", "!", "d!-1", "d %"} {
		if id, n, err := parsePart(part); err == nil && part != "!" {
			t.Errorf("%q is read as %q, %d", part, id, n)
		}
	}
}

func TestParseAnnotation(t *testing.T) {
	for sk, want := range map[string]struct {
		ann     string
		comment int64
		ok      bool
	}{
		"ANN#a":                          {"a", 0, true},
		"ANN#a%23b%20":                   {"a#b ", 0, true},
		"ANN#a#CMT#0000000000000007":     {"a", 7, true},
		"ANN#%25#CMT#9007199254740991":   {"%", collab.MaxCommentID, true},
		"ANN#a#CMT#0000000000000000":     {},
		"ANN#a#CMT#7":                    {},
		"ANN#a#CMT#00000000000000007":    {},
		"ANN#a#CMT#+000000000000007":     {},
		"ANN#a#CMT#-000000000000007":     {},
		"ANN#a#CMT#99999999999999999999": {},
		"ANN#a#cmt#0000000000000007":     {},
		"ANN#a#CMT":                      {},
		"ANN":                            {},
		"DOC#a":                          {},
		"ANN#a%2":                        {},
		"ANN#a%41":                       {},
		"ANN#a%zz":                       {},
		"":                               {},
	} {
		ann, comment, err := ParseAnnotation(sk)
		if ann != want.ann || comment != want.comment || (err == nil) != want.ok {
			t.Errorf("%q: %q, %d, %v", sk, ann, comment, err)
		}
	}
}

// FuzzKey: parts survive a round trip, other texts are refused, and distinct parts give distinct
// keys.
func FuzzKey(f *testing.F) {
	f.Add("a", "b", "a#b")
	f.Add("%", "#", "%25#%23")
	f.Add(" ", `"!`, "%20%2")
	f.Add("", "é\x00\xff", "%c3")
	f.Add("a#", "b", "%41")
	f.Fuzz(func(t *testing.T, a, b, key string) {
		for _, parts := range [][]string{{a}, {a, b}, {b, a, key}} {
			back, err := Split(Join(parts...))
			if diff := gocmp.Diff(parts, back); err != nil || diff != "" {
				t.Errorf("%q: %v %s", parts, err, diff)
			}
		}
		if len(Escape(a)) != collab.IDLen(a) {
			t.Errorf("%q takes %d bytes, not %d", a, len(Escape(a)), collab.IDLen(a))
		}
		if parts, err := Split(key); err == nil && Join(parts...) != key {
			t.Errorf("%q is read as %q, whose key is %q", key, parts, Join(parts...))
		}
		if part, err := Unescape(key); err == nil && Escape(part) != key {
			t.Errorf("%q is read as %q, which is written %q", key, part, Escape(part))
		}
	})
}

// FuzzKeyOrder: for valid ids, children sort right after their parent, and times sort in order.
func FuzzKeyOrder(f *testing.F) {
	f.Add("a", "a b", int64(1), int64(2))
	f.Add("a", "a$", int64(9), int64(10))
	f.Add("a#CMT#0000000000000001", "a", int64(1), int64(1))
	f.Add("a!", "a\"", collab.MaxMillis, int64(0))
	f.Fuzz(func(t *testing.T, a, b string, m, n int64) {
		if collab.CheckID(a, collab.MaxID) != nil || collab.CheckID(b, collab.MaxID) != nil || m < 0 || n < 0 || m > collab.MaxMillis ||
			n > collab.MaxMillis {
			t.Skip()
		}
		headA, headB := Annotation(plan, a).SK, Annotation(plan, b).SK
		if (a == b) != (headA == headB) {
			t.Errorf("%q and %q: %q and %q", a, b, headA, headB)
		}
		if headA < headB {
			for _, child := range []string{Comment(plan, a, 1).SK, Comment(plan, a, collab.MaxCommentID).SK, headA + AfterComments} {
				if child <= headA || child >= headB {
					t.Errorf("%q does not lie between %q and %q", child, headA, headB)
				}
			}
			// In an index the annotations of one document are contiguous, and within its span.
			if da := Join(a, b); da >= Join(b, a) || da < Escape(a)+"#" || da > Escape(a)+AfterChildren {
				t.Errorf("%q of document %q", da, a)
			}
		}
		if cmp.Compare(m, n) != cmp.Compare(Time(m), Time(n)) {
			t.Errorf("%d and %d: %q and %q", m, n, Time(m), Time(n))
		}
		if m < n && UpdatedInDocument(m, a) >= UpdatedInDocument(n, b) {
			t.Errorf("%q comes behind %q", UpdatedInDocument(m, a), UpdatedInDocument(n, b))
		}
	})
}

// FuzzParseAnnotation: a parsed key of a head or comment formats as the same key.
func FuzzParseAnnotation(f *testing.F) {
	f.Add("ANN#a")
	f.Add("ANN#a%20#CMT#0000000000000007")
	f.Add("ANN#a#CMT#7")
	f.Add("ANN##CMT#")
	f.Fuzz(func(t *testing.T, sk string) {
		ann, comment, err := ParseAnnotation(sk)
		if err != nil {
			return
		}
		back := Annotation(plan, ann).SK
		if comment != 0 {
			back = Comment(plan, ann, comment).SK
		}
		if back != sk {
			t.Errorf("%q is read as %q and %d, whose key is %q", sk, ann, comment, back)
		}
	})
}

// FuzzParseTask: likewise for tasks, their places in the index, and pointers to deliveries.
func FuzzParseTask(f *testing.F) {
	f.Add("A#a%20b#TASK#event#e", "TASK")
	f.Add("A#a#TASK#b", "TASK")
	f.Add("DUE#failed#3", "000000000000007#event#a#e")
	f.Add("A#a", "~000000000000007#e")
	f.Fuzz(func(t *testing.T, pk, sk string) {
		k := Key{pk, sk}
		if ref, err := ParseTask(k); err == nil && Task(ref) != k {
			t.Errorf("%v is read as %v", k, ref)
		}
		if at, _, err := ParseDueTask(k); err == nil && at < 0 {
			t.Errorf("%v is read as %d", k, at)
		}
		if delivery, ms, err := ParseWaiting(sk); err == nil && Waiting(Key{SK: delivery}, ms).SK != sk {
			t.Errorf("%q is read as %q, %d", sk, delivery, ms)
		}
	})
}

// TestDueTask: tasks are in all shards of the index, each in one, by time. Failed ones are in other
// partitions.
func TestDueTask(t *testing.T) {
	seen := map[string]bool{}
	for i := range 1_000 {
		ref := collab.TaskRef{Kind: collab.EventTask, Account: "a", ID: Time(int64(i))}
		early, late, failed := DueTask("event", 9, ref), DueTask("event", 10, ref), DueTask(FailedTasks, 9, ref)
		if early.PK != late.PK || early.SK >= late.SK || failed.PK == early.PK || failed.SK != early.SK {
			t.Errorf("%v, %v, %v", early, late, failed)
		}
		for k, want := range map[Key]bool{early: false, failed: true} {
			if at, got, err := ParseDueTask(k); at != 9 || got != want || err != nil {
				t.Errorf("%v is read as %d, %v, %v", k, at, got, err)
			}
		}
		seen[early.PK] = true
	}
	for shard := range DueShards {
		delete(seen, DuePartition("event", shard))
	}
	if len(seen) != 0 {
		t.Errorf("%v are no shards", seen)
	}
}

// TestIndexes: every index key is a documented attribute, and no index projects its own key.
func TestIndexes(t *testing.T) {
	names := map[string]bool{}
	for _, ix := range Indexes() {
		if names[ix.Name] {
			t.Errorf("%s is there twice", ix.Name)
		}
		names[ix.Name] = true
		seen := map[string]bool{ix.PartitionKey: true, ix.SortKey: true, SK: true}
		for _, a := range ix.Projected {
			if seen[a] || a == PK || a == LastUpdated {
				t.Errorf("%s projects %s", ix.Name, a)
			}
			seen[a] = true
		}
	}
}

func TestIndexOf(t *testing.T) {
	for _, want := range append(Indexes(), Index{PartitionKey: PK, SortKey: SK}) {
		if diff := gocmp.Diff(want, IndexOf(want.Name)); diff != "" {
			t.Errorf("%q: %s", want.Name, diff)
		}
	}
}
