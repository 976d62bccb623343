package store

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// model is what the store should hold, in memory and plain.
type model struct {
	documents map[string]string // folder by document
	threads   map[string]map[string]*collab.Thread
	clock     collab.Millis
}

func copyThread(t *collab.Thread) *collab.Thread {
	c := *t
	c.Comments = slices.Clone(t.Comments)
	c.Authors = maps.Clone(t.Authors)
	return &c
}

func (m *model) matches(t *collab.Thread, q *collab.AnnotationQuery) bool {
	has := func(list []string, v string) bool { return list == nil || slices.Contains(list, v) }
	in := func(v collab.Millis, after, before *collab.Millis) bool {
		return (after == nil || *after <= v) && (before == nil || v <= *before)
	}
	return has(q.Locations, t.LocationID) && has(q.Creators, t.CreatorID) && has(q.Statuses, t.StatusID) &&
		in(t.CreatedAt, q.CreatedAfter, q.CreatedBefore) && in(t.LastUpdated, q.UpdatedAfter, q.UpdatedBefore)
}

// walk returns the list that a query describes; nil stands for an id that does not exist.
func (m *model) walk(q collab.AnnotationQuery) []*collab.Thread {
	byID := func(a, b string) int { return cmp.Compare(table.Escape(a), table.Escape(b)) }
	inFolder := func(d string) bool { return q.Folder == "" || m.documents[d] == q.Folder }
	documents := slices.SortedFunc(maps.Keys(m.documents), byID)
	list := []*collab.Thread{}
	if q.IDs != nil {
		for _, id := range q.IDs {
			exists := false
			for _, d := range documents {
				t := m.threads[d][id]
				if t == nil || q.Documents != nil && !slices.Contains(q.Documents, d) {
					continue
				}
				exists = true
				if inFolder(d) && m.matches(t, &q) {
					list = append(list, t)
				}
			}
			if !exists {
				list = append(list, nil)
			}
		}
		return list
	}
	if q.Documents != nil {
		documents = q.Documents
	}
	for _, d := range documents {
		for _, id := range slices.SortedFunc(maps.Keys(m.threads[d]), byID) {
			if t := m.threads[d][id]; inFolder(d) && m.matches(t, &q) {
				list = append(list, t)
			}
		}
	}
	across := q.Documents == nil && q.Folder == ""
	order := func(key func(*collab.Thread) int64) {
		slices.SortStableFunc(list, func(a, b *collab.Thread) int {
			if !across && a.Document != b.Document {
				return cmp.Compare(slices.Index(documents, a.Document), slices.Index(documents, b.Document))
			}
			return cmp.Compare(key(a), key(b))
		})
	}
	switch {
	case q.UpdatedAfter != nil || q.UpdatedBefore != nil:
		order(func(t *collab.Thread) int64 { return t.LastUpdated })
	case q.Locations != nil:
		order(func(t *collab.Thread) int64 { return int64(slices.Index(q.Locations, t.LocationID)) })
	case q.Creators != nil:
		order(func(t *collab.Thread) int64 { return int64(slices.Index(q.Creators, t.CreatorID)) })
	case q.Statuses != nil:
		order(func(t *collab.Thread) int64 { return int64(slices.Index(q.Statuses, t.StatusID)) })
	case q.CreatedAfter != nil || q.CreatedBefore != nil:
		order(func(t *collab.Thread) int64 { return t.LastUpdated })
	}
	return list
}

// addComments is the rule of AddComments for comments that have their ids.
func addComments(t *collab.Thread, comments []collab.Comment) {
	for _, c := range comments {
		c.Rev = 1
		t.Comments = append(t.Comments, c)
		var author string
		fmt.Sscanf(string(c.From), `{"userId":%q}`, &author)
		if t.From == nil {
			t.From, t.CreatorID = c.From, author
		}
		t.LastUpdated = max(t.LastUpdated, c.LastUpdated)
		t.LastComment = max(t.LastComment, c.ID)
		t.Authors[author] = max(t.Authors[author], c.CreatedAt)
	}
	t.ForgetAuthors()
	slices.SortFunc(t.Comments, func(a, b collab.Comment) int { return cmp.Compare(a.ID, b.ID) })
}

// Names that the model draws from: few, so that they meet, and such that their keys are escaped.
var (
	someDocuments   = []string{"d", "d ", "d#1", "d%", "é"}
	someAnnotations = []string{"a", "a b", "a#b", "a%20b", "b", "z"}
	someUsers       = []string{"u", "u 1", "u#CMT#"}
	somePlaces      = []string{"", "l", "l!", "l#d"}
	someStatuses    = []string{"OPEN", "DONE", "s#1"}
)

func drawSome(t *rapid.T, from []string, label string) []string {
	if rapid.IntRange(0, 3).Draw(t, label) > 0 {
		return nil
	}
	return rapid.Permutation(from).Draw(t, label)[:rapid.IntRange(1, len(from)).Draw(t, label+"s")]
}

func (m *model) drawComments(t *rapid.T) []collab.Comment {
	comments := make([]collab.Comment, rapid.SampledFrom([]int{1, 1, 2, 3, 8, 30, 90, 91, 120}).Draw(t, "comments"))
	first := rapid.Int64Range(1, 200).Draw(t, "first id")
	generated := rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "generated") // none, all, two of three
	for i := range comments {
		comments[i] = newComment(first+int64(i), rapid.SampledFrom(someUsers).Draw(t, "author"), 5)
		if generated > 0 && i%generated < 2 {
			comments[i].ID = 0
		}
		comments[i].CreatedAt = rapid.Int64Range(0, m.clock).Draw(t, "created")
		comments[i].LastUpdated = rapid.Int64Range(comments[i].CreatedAt, m.clock).Draw(t, "updated")
	}
	return comments
}

// drawTime returns nil, or a time at or beside one that an annotation has.
func (m *model) drawTime(t *rapid.T, label string) *collab.Millis {
	if rapid.IntRange(0, 4).Draw(t, label) > 0 {
		return nil
	}
	times := []collab.Millis{m.clock}
	for _, th := range m.walk(collab.AnnotationQuery{}) {
		times = append(times, th.CreatedAt, th.LastUpdated)
	}
	v := max(0, rapid.SampledFrom(times).Draw(t, label)+rapid.Int64Range(-1, 1).Draw(t, label))
	return &v
}

// fewChecks has rapid make n checks, unless the command line says how many.
func fewChecks(t *testing.T, n int) {
	f := flag.Lookup("rapid.checks")
	if before := f.Value.String(); before == f.DefValue {
		f.Value.Set(strconv.Itoa(n))
		t.Cleanup(func() { f.Value.Set(before) })
	}
}

// TestModel does what it draws to the store and to the model, and holds that they say the same.
func TestModel(t *testing.T) { onEach(t, testModel) }

func testModel(t *testing.T, s *Store) {
	fewChecks(t, 20)
	var orgs atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		ctx := t.Context()
		org := collab.OrganizationRef{Account: "acct#", Organization: fmt.Sprint("org ", orgs.Add(1))}
		m := &model{documents: map[string]string{}, threads: map[string]map[string]*collab.Thread{}, clock: 1_000}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		same := func(what string, got error, want collab.Code) {
			t.Helper()
			if collab.CodeOf(got) != want {
				t.Fatalf("%s: %v, want code %q", what, got, want)
			}
		}
		must(s.PutOrganization(ctx, org.Account, collab.Organization{ID: org.Organization}))
		must(s.PutFolder(ctx, org, collab.Folder{ID: "f"}))
		for i, d := range someDocuments[:4] { // the last one does not exist
			folder := []string{collab.RootFolder, "f"}[i%2]
			must(s.PutDocument(ctx, org, collab.Document{ID: d, Folder: folder}))
			m.documents[d], m.threads[d] = folder, map[string]*collab.Thread{}
		}
		document := rapid.SampledFrom(someDocuments[:4])
		annotation := rapid.SampledFrom(someAnnotations)
		tick := func() *collab.IDs {
			m.clock += rapid.Int64Range(0, 2).Draw(t, "later")
			seed := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "seed")
			return collab.NewIDs(time.UnixMilli(m.clock), seed)
		}

		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				ids := tick()
				th := &collab.Thread{Document: document.Draw(t, "document")}
				th.ID = annotation.Draw(t, "annotation")
				th.StatusID = rapid.SampledFrom(someStatuses).Draw(t, "status")
				th.Status = collab.JSON(fmt.Sprintf(`{"id":%q}`, th.StatusID))
				if th.LocationID = rapid.SampledFrom(somePlaces).Draw(t, "location"); th.LocationID != "" {
					th.Location = collab.JSON(fmt.Sprintf(`{"id":%q}`, th.LocationID))
				}
				th.CreatedAt = rapid.Int64Range(0, m.clock).Draw(t, "created")
				th.LastUpdated, th.Authors = th.CreatedAt, map[string]collab.Millis{}
				if rapid.IntRange(0, 4).Draw(t, "bare") > 0 {
					comments := m.drawComments(t)
					next := ids.FirstCommentID(500)
					for i := range comments {
						if comments[i].ID == 0 {
							comments[i].ID, next = next, next+1
						}
					}
					addComments(th, comments)
				}
				th.Rev = 1
				err := s.AddAnnotation(ctx, org.Document(th.Document), copyThread(th), ids.Mark())
				if m.threads[th.Document][th.ID] != nil {
					same("add", err, collab.AlreadyExists)
					return
				}
				same("add", err, "")
				m.threads[th.Document][th.ID] = th
				// A repeat of the request after its end changes nothing, whatever was done meanwhile.
				same("repeat of add", s.AddAnnotation(ctx, org.Document(th.Document), copyThread(th), ids.Mark()), "")
			},
			"comment": func(t *rapid.T) {
				ids := tick()
				d, id := document.Draw(t, "document"), annotation.Draw(t, "annotation")
				comments := m.drawComments(t)
				add := collab.NewComments{Comments: comments, IDs: ids}
				if rapid.Bool().Draw(t, "event") {
					add.Event = func(head *collab.Annotation, comments []collab.Comment) (*collab.Event, error) {
						return &collab.Event{ID: ids.Mark(), Account: org.Account}, nil
					}
				}
				sent := slices.Clone(comments)
				got, err := s.AddComments(ctx, org.Document(d), id, add)
				th := m.threads[d][id]
				if th == nil {
					same("comment", err, collab.NotFound)
					return
				}
				if slices.ContainsFunc(th.Comments, func(c collab.Comment) bool {
					return slices.ContainsFunc(comments, func(n collab.Comment) bool { return n.ID == c.ID })
				}) {
					same("comment", err, collab.AlreadyExists)
					return
				}
				same("comment", err, "")
				last := th.LastComment
				for i, c := range comments {
					if c.ID != 0 && c.ID != got[i] || c.ID == 0 && got[i] <= last {
						t.Fatalf("comment %d of id %d was added as %d behind %d", i, c.ID, got[i], last)
					}
					if c.ID == 0 {
						last = got[i]
					}
					comments[i].ID = got[i]
				}
				addComments(th, comments)
				th.Rev++
				// A repeat of the request after its end answers the same and changes nothing.
				add.Comments = sent
				again, err := s.AddComments(ctx, org.Document(d), id, add)
				same("repeat of comment", err, "")
				if diff := gocmp.Diff(got, again); diff != "" {
					t.Fatal("a repeat answers other ids", diff)
				}
			},
			"update": func(t *rapid.T) {
				ids := tick()
				d, id := document.Draw(t, "document"), annotation.Draw(t, "annotation")
				status := rapid.SampledFrom(someStatuses).Draw(t, "status")
				place := rapid.SampledFrom(somePlaces).Draw(t, "location")
				from, to := rapid.SampledFrom(someUsers).Draw(t, "from"), rapid.SampledFrom(someUsers).Draw(t, "to")
				now, comments := m.clock, rapid.Bool().Draw(t, "comments")
				change := func(th *collab.Thread) ([]*collab.Event, error) {
					th.StatusID, th.Status = status, collab.JSON(fmt.Sprintf(`{"id":%q}`, status))
					if th.LocationID, th.Location = place, nil; place != "" {
						th.Location = collab.JSON(fmt.Sprintf(`{"id":%q}`, place))
					}
					if comments && th.CreatorID == from {
						th.CreatorID, th.From = to, userJSON(to)
					}
					for i := range th.Comments {
						if c := &th.Comments[i]; string(c.From) == string(userJSON(from)) && from != to {
							c.From, c.LastUpdated = userJSON(to), max(c.LastUpdated, now)
						}
					}
					th.LastUpdated = max(th.LastUpdated, now)
					return nil, nil
				}
				err := s.UpdateAnnotation(ctx, org.Document(d), id, ids.Mark(), comments, change)
				th := m.threads[d][id]
				if th == nil {
					same("update", err, collab.NotFound)
					return
				}
				same("update", err, "")
				before := slices.Clone(th.Comments)
				if change(th); !comments {
					th.Comments = before
				}
				for i := range th.Comments {
					if string(th.Comments[i].From) != string(before[i].From) {
						th.Comments[i].Rev++
					}
				}
				th.Rev++
			},
			"update comments": func(t *rapid.T) {
				ids := tick()
				d, id := document.Draw(t, "document"), annotation.Draw(t, "annotation")
				th := m.threads[d][id]
				var of []int64
				if th != nil {
					of = idsOf(th.Comments)
				}
				of = append(of, 999)
				of = rapid.Permutation(of).Draw(t, "order")[:rapid.IntRange(1, len(of)).Draw(t, "ids")]
				now, author := m.clock, rapid.SampledFrom(someUsers).Draw(t, "author")
				failed, err := s.UpdateComments(ctx, org.Document(d), id, collab.CommentChange{
					IDs: of, Mark: ids.Mark(),
					Change: func(c *collab.Comment) error {
						if c.ID%7 == 0 {
							return collab.Errorf(collab.InvalidArgument, "not this one")
						}
						c.Text, c.LastUpdated, c.From = ptr(fmt.Sprint(now)), now, userJSON(author)
						return nil
					},
				})
				if th == nil {
					same("update comments", err, collab.NotFound)
					return
				}
				same("update comments", err, "")
				for start := range slices.Chunk(of, transactComments) { // each is a write of the head
					wrote := false
					for _, id := range start {
						i := slices.IndexFunc(th.Comments, func(c collab.Comment) bool { return c.ID == id })
						switch {
						case i < 0:
							same("a comment that is none", failed[id], collab.NotFound)
						case id%7 == 0:
							same("a refused change", failed[id], collab.InvalidArgument)
						default:
							same("a changed comment", failed[id], "")
							c := &th.Comments[i]
							c.Text, c.LastUpdated, c.From, c.Rev = ptr(fmt.Sprint(now)), now, userJSON(author), c.Rev+1
							th.Authors[author] = max(th.Authors[author], c.CreatedAt)
							th.LastUpdated, wrote = max(th.LastUpdated, now), true
						}
					}
					if wrote {
						th.Rev++
					}
				}
			},
			"walk": func(t *rapid.T) {
				q := collab.AnnotationQuery{
					Documents: drawSome(t, someDocuments, "document"), IDs: drawSome(t, someAnnotations, "id"),
					Locations: drawSome(t, somePlaces[1:], "location"), Creators: drawSome(t, someUsers, "creator"),
					Statuses: drawSome(t, someStatuses, "status"),
					Folder:   rapid.SampledFrom([]string{"", "", "f", collab.RootFolder}).Draw(t, "folder"),
				}
				q.UpdatedAfter, q.UpdatedBefore = m.drawTime(t, "updated after"), m.drawTime(t, "updated before")
				q.CreatedAfter, q.CreatedBefore = m.drawTime(t, "created after"), m.drawTime(t, "created before")
				got := []*collab.Thread{}
				for from := []byte(nil); ; {
					next, err := s.Walk(ctx, org, q, from, rapid.SampledFrom([]int{1, 2, 3, 10, 1000}).Draw(t, "page"),
						func(id string, th *collab.Thread) bool {
							got = append(got, th)
							return true
						})
					if err != nil {
						t.Fatal(err)
					}
					if from = next; next == nil {
						break
					}
				}
				if diff := gocmp.Diff(m.walk(q), got); diff != "" {
					t.Fatalf("%+v (- want, + got):\n%s", q, diff)
				}
			},
			"list comments": func(t *rapid.T) {
				d, id := document.Draw(t, "document"), annotation.Draw(t, "annotation")
				var want []collab.Comment
				if th := m.threads[d][id]; th != nil {
					want = th.Comments
				}
				border := rapid.SampledFrom(append([]int64{0, 150}, idsOf(want)...)).Draw(t, "after")
				behind := slices.IndexFunc(want, func(c collab.Comment) bool { return c.ID > border })
				if behind < 0 {
					behind = len(want)
				}
				most := rapid.IntRange(1, 50).Draw(t, "most")
				recent, err := s.RecentComments(ctx, org.Document(d), id, border+1, most)
				must(err)
				if diff := gocmp.Diff(want[max(0, behind-most):behind], recent, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("recent (- want, + got):\n%s", diff)
				}
				var got []collab.Comment
				for more := true; more; {
					more, err = s.ListComments(ctx, org.Document(d), id, border, most, func(c *collab.Comment) bool {
						got, border = append(got, *c), c.ID
						return true
					})
					if m.threads[d][id] == nil {
						same("list comments", err, collab.NotFound)
						return
					}
					must(err)
				}
				if diff := gocmp.Diff(want[behind:], got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("list (- want, + got):\n%s", diff)
				}
			},
			"select": func(t *rapid.T) {
				d := document.Draw(t, "document")
				sel := collab.Selector{
					IDs: drawSome(t, someAnnotations, "id"), Locations: drawSome(t, somePlaces[1:], "location"),
					Creators: drawSome(t, someUsers, "creator"),
				}
				ids, missing, err := s.SelectAnnotations(ctx, org.Document(d), sel, 100)
				must(err)
				want, none := []string{}, []string{}
				q := collab.AnnotationQuery{Documents: []string{d}, IDs: sel.IDs}
				for i, th := range m.walk(q) {
					switch {
					case th == nil:
						none = append(none, sel.IDs[i])
					case m.matches(th, &collab.AnnotationQuery{Locations: sel.Locations, Creators: sel.Creators}):
						want = append(want, th.ID)
					}
				}
				if diff := gocmp.Diff([][]string{want, none}, [][]string{append([]string{}, ids...), append([]string{}, missing...)}); diff != "" {
					t.Fatalf("%+v (- want, + got):\n%s", sel, diff)
				}
			},
		})
	})
}
