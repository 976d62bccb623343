package threads

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

type model struct {
	documents map[string]string // folder by document
	threads   map[string]map[string]*modelThread
	clock     collab.Millis
	states    map[readKey]collab.ReadState
	asking    []string // users of the current query; none for everything
	known     int      // documents that its Sight answers in time
}

// viewers returns the viewers of a document: the first user is a member, the second cannot see two
// documents.
func (m *model) viewers(document string) collab.Viewers {
	return collab.Map(m.asking, func(user string) collab.Viewer {
		barred := user == someUsers[1] && slices.Contains(someDocuments[1:3], document)
		return collab.Viewer{User: user, May: !barred, Member: user == someUsers[0]}
	})
}

// sight returns m as a Sight, nil without users.
func (m *model) sight() collab.Sight {
	if m.asking == nil {
		return nil
	}
	return m
}

// Viewers implements collab.Sight. With a time limit it answers few documents.
func (m *model) Viewers(_ context.Context, documents []collab.DocumentRef, until time.Time) (map[collab.DocumentRef]collab.Viewers, error) {
	if !until.IsZero() {
		documents = documents[:min(len(documents), m.known)]
	}
	found := map[collab.DocumentRef]collab.Viewers{}
	for _, d := range documents {
		found[d] = m.viewers(d.Document)
	}
	return found, nil
}

func drawVisibility(t *rapid.T) *collab.Visibility {
	v := &collab.Visibility{Type: rapid.SampledFrom([]collab.VisibilityType{
		collab.VisibilityPublic, collab.VisibilityPublic, collab.VisibilityOrganizationPrivate, collab.VisibilityRestricted,
	}).Draw(t, "visibility")}
	if v.Type == collab.VisibilityRestricted {
		v.UserIDs = []string{rapid.SampledFrom(someUsers).Draw(t, "for")}
	}
	return v.Narrow()
}

type readKey struct{ user, document, annotation string }

func (m *model) readBefore(user string, t *collab.Thread) collab.Millis {
	return collab.ReadBefore(m.states[readKey{user, t.Document, ""}], m.states[readKey{user, t.Document, t.ID}])
}

func (m *model) setRead(k readKey, read bool) {
	v := collab.ReadState{At: m.clock}
	if read {
		v.Before = m.clock + 1
	}
	m.states[k] = v
}

// answered stores read states of comments' authors.
func (m *model) answered(t *collab.Thread, comments []collab.Comment) {
	for author, last := range collab.LastOf(comments) {
		k := readKey{author, t.Document, t.ID}
		if v, said := m.states[k]; !said || v.At < last-1 {
			m.states[k] = collab.ReadState{At: last - 1, Before: last}
		}
	}
}

type modelThread struct {
	collab.Thread
	key collab.Millis // time key
}

// byID compares ids in key order.
func byID(a, b string) int { return cmp.Compare(keys.Escape(a), keys.Escape(b)) }

func (m *model) matches(t *collab.Thread, q *collab.AnnotationQuery) bool {
	has := func(list []string, v string) bool { return list == nil || slices.Contains(list, v) }
	in := func(v collab.Millis, after, before *collab.Millis) bool {
		return (after == nil || *after <= v) && (before == nil || v <= *before)
	}
	mentioned := q.Mentioned == nil || slices.ContainsFunc(t.Comments, func(c collab.Comment) bool {
		var tags []struct{ UserID string }
		_ = json.Unmarshal(c.TaggedUserContacts, &tags) // absent without tags
		return slices.ContainsFunc(tags, func(tag struct{ UserID string }) bool { return slices.Contains(q.Mentioned, tag.UserID) })
	})
	if !m.viewers(t.Document).See(&t.Annotation) {
		return false
	}
	if !matchesAgent(t, q.Agent) {
		return false
	}
	unread := !q.UnreadOnly || t.UnreadBy(q.UnreadFor, m.readBefore(q.UnreadFor, t))
	return unread && mentioned && has(q.ResolvedBy, t.ResolvedBy) && has(q.Locations, t.LocationID) && has(q.Creators, t.CreatorID) && has(q.Statuses, t.StatusID) &&
		in(t.CreatedAt, q.CreatedAfter, q.CreatedBefore) &&
		in(t.LastUpdated, q.UpdatedAfter, q.UpdatedBefore)
}

// agentOf returns the agent of the comment, nil for none.
func agentOf(c *collab.Comment) (agent *struct{ AgentID, ExecutionID, AgentType, AgentSource, URL string }) {
	_ = json.Unmarshal(c.Agent, &agent) // nil without an agent
	return agent
}

func matchesAgent(t *collab.Thread, f *collab.AgentFilter) bool {
	if f == nil {
		return true
	}
	if f.Comments {
		return slices.ContainsFunc(t.Comments, func(c collab.Comment) bool { return agentOf(&c) != nil })
	}
	if !t.ByAgent || len(t.Comments) == 0 {
		return false
	}
	agent := agentOf(&t.Comments[0])
	if agent == nil {
		return false
	}
	is := func(asked, is string) bool { return asked == "" || asked == is }
	page, _, _ := strings.Cut(agent.URL, "#")
	external := f.Type == "external" && agent.AgentType == "" && agent.AgentSource == "external"
	return is(f.ID, agent.AgentID) && is(f.Execution, agent.ExecutionID) && is(f.Source, agent.AgentSource) &&
		(is(f.Type, agent.AgentType) || external) && (f.Pages == nil || slices.Contains(f.Pages, page)) &&
		(!f.Suggestions || strings.Contains(string(t.Suggestion), `"pending"`))
}

// walk returns the result of a query. nil is an id that does not exist.
func (m *model) walk(q collab.AnnotationQuery) []*collab.Thread {
	inFolder := func(d string) bool { return q.Folder == "" || m.documents[d] == q.Folder }
	documents := slices.SortedFunc(maps.Keys(m.documents), byID)
	list := []*modelThread{}
	if q.IDs != nil {
		for _, id := range q.IDs {
			exists := false
			for _, d := range documents {
				t := m.threads[d][id]
				if t == nil || q.Documents != nil && !slices.Contains(q.Documents, d) || !m.viewers(d).See(&t.Annotation) {
					continue
				}
				exists = true
				if inFolder(d) && m.matches(&t.Thread, &q) {
					list = append(list, t)
				}
			}
			if !exists {
				list = append(list, nil)
			}
		}
		return threadsOf(list)
	}
	if q.Documents != nil {
		documents = q.Documents
	}
	for _, d := range documents {
		for _, id := range slices.SortedFunc(maps.Keys(m.threads[d]), byID) {
			if t := m.threads[d][id]; inFolder(d) && m.matches(&t.Thread, &q) {
				list = append(list, t)
			}
		}
	}
	across := q.Documents == nil && q.Folder == ""
	if q.Order == collab.Descending { // equal times are reversed, too
		slices.Reverse(list)
	}
	order := func(key func(*modelThread) int64) {
		slices.SortStableFunc(list, func(a, b *modelThread) int {
			if !across && a.Document != b.Document {
				return cmp.Compare(slices.Index(documents, a.Document), slices.Index(documents, b.Document))
			}
			if q.Order == collab.Descending {
				a, b = b, a
			}
			return cmp.Compare(key(a), key(b))
		})
	}
	switch {
	case q.Order != "" || q.UpdatedAfter != nil || q.UpdatedBefore != nil:
		order(func(t *modelThread) int64 { return t.key })
	case q.Locations != nil:
		order(func(t *modelThread) int64 { return int64(slices.Index(q.Locations, t.LocationID)) })
	case q.Creators != nil:
		order(func(t *modelThread) int64 { return int64(slices.Index(q.Creators, t.CreatorID)) })
	case q.Statuses != nil:
		order(func(t *modelThread) int64 { return int64(slices.Index(q.Statuses, t.StatusID)) })
	case q.CreatedAfter != nil || q.CreatedBefore != nil:
		order(func(t *modelThread) int64 { return t.key })
	}
	return threadsOf(list)
}

func (m *model) selected(document string, sel collab.Selector) (ids []string) {
	m.asking = nil
	for _, th := range m.walk(collab.AnnotationQuery{Documents: []string{document}}) {
		if !sel.Excludes(&th.Annotation) && matchesAgent(th, sel.Agent) {
			ids = append(ids, th.ID)
		}
	}
	return ids
}

func threadsOf(list []*modelThread) []*collab.Thread {
	threads := make([]*collab.Thread, len(list))
	for i, t := range list {
		if t != nil {
			threads[i] = &t.Thread
		}
	}
	return threads
}

// Names that the model draws from: few, so that they collide, and some with escaped keys.
var (
	someDocuments   = []string{"d", "d ", "d#1", "d%", "é"}
	someAnnotations = []string{"a", "a b", "a#b", "a%20b", "b", "z"}
	someUsers       = []string{"u", "u 1", "u#CMT#"}
	somePlaces      = []string{"", "l", "l!", "l#d"}
	someStatuses    = []string{"OPEN", "DONE", "s#1"}
	someAgents      = []string{"g", "g 1"}
	someTypes       = []string{"", "external", "built-in"}
	somePages       = []string{"https://a.example", "https://a.example/b"}
)

// drawAgent returns an agent of a comment, "" for none.
func drawAgent(t *rapid.T) string {
	if rapid.IntRange(0, 2).Draw(t, "by an agent") == 0 {
		return ""
	}
	return fmt.Sprintf(`{"agentId":%q,"executionId":%q,"agentType":%q,"agentSource":%q,"url":%q}`,
		rapid.SampledFrom(someAgents).Draw(t, "agent"), rapid.SampledFrom(someAgents).Draw(t, "execution"),
		rapid.SampledFrom(someTypes).Draw(t, "type"), rapid.SampledFrom(someTypes).Draw(t, "source"),
		rapid.SampledFrom(somePages).Draw(t, "page")+rapid.SampledFrom([]string{"", "#top"}).Draw(t, "fragment"))
}

// drawFilter returns a filter of agents with one condition, or nil.
func drawFilter(t *rapid.T) *collab.AgentFilter {
	agent := rapid.SampledFrom(someAgents).Draw(t, "agent")
	kind := rapid.SampledFrom(someTypes[1:]).Draw(t, "type")
	return rapid.SampledFrom([]*collab.AgentFilter{
		nil, nil, nil, nil, {ID: agent}, {Execution: agent}, {Type: kind}, {Source: kind}, {Suggestions: true}, {Comments: true},
	}).Draw(t, "filter")
}

// drawSelector returns a selector without ids.
func drawSelector(t *rapid.T) collab.Selector {
	sel := collab.Selector{Locations: drawSome(t, somePlaces[1:], "location"), Creators: drawSome(t, someUsers, "creator")}
	f := collab.AgentFilter{Pages: drawSome(t, somePages, "page"), Suggestions: rapid.IntRange(0, 3).Draw(t, "suggestions") == 0}
	if rapid.IntRange(0, 3).Draw(t, "of an agent") == 0 {
		f.ID = rapid.SampledFrom(someAgents).Draw(t, "agent")
	}
	if f.ID != "" || f.Suggestions || f.Pages != nil {
		sel.Agent = &f
	}
	return sel
}

func drawSome(t *rapid.T, from []string, label string) []string {
	if rapid.IntRange(0, 3).Draw(t, label) > 0 {
		return nil
	}
	return rapid.Permutation(from).Draw(t, label)[:rapid.IntRange(1, len(from)).Draw(t, label+"s")]
}

// drawTime returns nil, or a time at or next to an annotation's.
func (m *model) drawTime(t *rapid.T, label string) *collab.Millis {
	if rapid.IntRange(0, 4).Draw(t, label) > 0 {
		return nil
	}
	m.asking = nil
	times := []collab.Millis{m.clock}
	for _, th := range m.walk(collab.AnnotationQuery{}) {
		times = append(times, th.CreatedAt, th.LastUpdated)
	}
	v := max(0, rapid.SampledFrom(times).Draw(t, label)+rapid.Int64Range(-1, 1).Draw(t, label))
	return &v
}

// drawQuery returns any query except one with an empty window.
func (m *model) drawQuery(t *rapid.T) collab.AnnotationQuery {
	q := collab.AnnotationQuery{
		Documents: drawSome(t, someDocuments, "document"), IDs: drawSome(t, someAnnotations, "id"),
		Locations: drawSome(t, somePlaces[1:], "location"), Creators: drawSome(t, someUsers, "creator"),
		Statuses: drawSome(t, someStatuses, "status"),
		Folder:   rapid.SampledFrom([]string{"", "", "f", collab.RootFolder}).Draw(t, "folder"),
	}
	q.Agent = drawFilter(t)
	q.Mentioned, q.ResolvedBy = drawSome(t, someUsers, "mentioned"), drawSome(t, someUsers[:1], "resolved by")
	q.UnreadFor = rapid.SampledFrom([]string{"", "", "", someUsers[0], someUsers[2]}).Draw(t, "unread for")
	q.UnreadOnly = q.UnreadFor != "" && rapid.Bool().Draw(t, "unread only")
	q.Order = rapid.SampledFrom([]collab.Order{"", "", collab.Ascending, collab.Descending}).Draw(t, "order")
	q.UpdatedAfter, q.UpdatedBefore = m.drawTime(t, "updated after"), m.drawTime(t, "updated before")
	q.CreatedAfter, q.CreatedBefore = m.drawTime(t, "created after"), m.drawTime(t, "created before")
	m.asking = drawSome(t, someUsers, "asking")
	m.known = rapid.SampledFrom([]int{1, 2, 100}).Draw(t, "known")
	q.Sight = m.sight()
	return q
}

// differ returns the difference of two values. It tries the faster DeepEqual first.
func differ(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return gocmp.Diff(want, got, cmpopts.EquateEmpty())
}

// TestModel writes and deletes random annotations and comments, and checks that all reads agree
// with the model.
func TestModel(t *testing.T) {
	storetest.FewChecks(t, 12) // different each time, plainly and through the chaos transport
	storetest.OnEach(t, on, testModel)
}

func testModel(t *testing.T, s *Store) {
	var orgs atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		ctx := t.Context()
		org := collab.OrganizationRef{Account: "acct#", Organization: fmt.Sprint("org ", orgs.Add(1))}
		m := &model{documents: map[string]string{}, threads: map[string]map[string]*modelThread{}, clock: 1_000, states: map[readKey]collab.ReadState{}}
		err := storetest.ChangeOrganization(ctx, s.Directory, org, func(*collab.Organization) {})
		must.Do(t, err)
		_, err = s.Directory.OpenFolder(ctx, storetest.Request(time.Now()), org, "f", true)
		must.Do(t, err)
		for i, d := range someDocuments[:4] { // the last one does not exist
			folder := []string{collab.RootFolder, "f"}[i%2]
			err = storetest.ChangeDocument(ctx, s.Directory, org.Document(d), func(d *collab.Document) {
				d.Folder = folder
			})
			must.Do(t, err)
			m.documents[d], m.threads[d] = folder, map[string]*modelThread{}
		}
		document := rapid.SampledFrom(someDocuments[:4])
		annotation := rapid.SampledFrom(someAnnotations)
		newRequest := func() *request.Request {
			m.clock += rapid.Int64Range(0, 300).Draw(t, "later")
			return newRequest(m.clock)
		}
		drawComments := func(t *rapid.T, first int64) []collab.Comment {
			comments := make([]collab.Comment, rapid.SampledFrom([]int{1, 1, 2, 3, 8, 30, 90}).Draw(t, "comments"))
			for i := range comments {
				comments[i] = storetest.Comment(rapid.SampledFrom(someUsers).Draw(t, "author"), first+int64(i), 0)
				if tagged := drawSome(t, someUsers, "tagged"); tagged != nil {
					comments[i].TaggedUserContacts = collab.JSON(fmt.Sprintf(`[{"userId":%q,"text":"\"userId\":\"u\""}]`, tagged[0]))
				}
				if agent := drawAgent(t); agent != "" {
					comments[i].Agent = collab.JSON(agent)
				}
				comments[i].CreatedAt = rapid.Int64Range(0, m.clock).Draw(t, "created")
				earliest := max(comments[i].CreatedAt, m.clock-rapid.SampledFrom([]int64{100, m.clock}).Draw(t, "lately"))
				comments[i].LastUpdated = rapid.Int64Range(earliest, m.clock).Draw(t, "updated")
			}
			return comments
		}

		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				r := newRequest()
				th := &modelThread{Thread: collab.Thread{Document: document.Draw(t, "document")}}
				th.ID = annotation.Draw(t, "annotation")
				if m.threads[th.Document][th.ID] != nil {
					return
				}
				th.StatusID = rapid.SampledFrom(someStatuses).Draw(t, "status")
				th.Status = collab.JSON(fmt.Sprintf(`{"id":%q}`, th.StatusID))
				if th.LocationID = rapid.SampledFrom(somePlaces).Draw(t, "location"); th.LocationID != "" {
					th.Location = collab.JSON(fmt.Sprintf(`{"id":%q}`, th.LocationID))
				}
				th.ResolvedBy = rapid.SampledFrom(someUsers).Draw(t, "resolved by")
				th.Visibility = drawVisibility(t)
				th.CreatedAt = rapid.Int64Range(0, m.clock).Draw(t, "created")
				th.LastUpdated = th.CreatedAt
				if rapid.IntRange(0, 4).Draw(t, "bare") > 0 {
					th.Comments = drawComments(t, 1)
					th.SetCreator(&th.Comments[0])
					th.ByAgent = th.Comments[0].Agent != nil
				}
				if status := rapid.SampledFrom([]string{"", "pending", "accepted"}).Draw(t, "suggestion"); status != "" {
					th.Suggestion = collab.JSON(fmt.Sprintf(`{"status":%q}`, status))
				}
				th.LastUpdated = th.Latest()
				th.key = th.LastUpdated
				sent := th.Thread
				sent.Comments = slices.Clone(sent.Comments)
				must.Do(t, s.AddAnnotation(ctx, r, org.Document(th.Document), &sent, collab.NewAnnotation{}))
				m.threads[th.Document][th.ID] = th
				if !collab.Alone(th.Comments) {
					m.answered(&th.Thread, th.Comments)
				}
			},
			"comment": func(t *rapid.T) {
				r := newRequest()
				th := m.threads[document.Draw(t, "document")][annotation.Draw(t, "annotation")]
				if th == nil {
					return
				}
				first := int64(1)
				if n := len(th.Comments); n > 0 {
					first = th.Comments[n-1].ID + rapid.Int64Range(1, 3).Draw(t, "gap")
				}
				comments := drawComments(t, first)
				_, err := s.AddComments(ctx, r, org.Document(th.Document), th.ID, collab.NewComments{Comments: slices.Clone(comments)})
				must.Do(t, err)
				at := collab.Millis(0)
				for _, c := range comments {
					at = max(at, c.LastUpdated)
					th.Comments = append(th.Comments, c)
				}
				th.SetCreator(&comments[0])
				m.answered(&th.Thread, comments)
				th.LastUpdated, th.key = th.Latest(), keyFor(th.key, at)
			},
			"delete": func(t *rapid.T) {
				r, d, ids := newRequest(), document.Draw(t, "document"), drawSome(t, someAnnotations, "annotations")
				sel := drawSelector(t)
				if ids == nil && sel.Locations == nil && sel.Creators == nil && sel.Agent == nil {
					return // too little would remain
				}
				want := ids
				if ids == nil {
					want = m.selected(d, sel)
				}
				got, errs, err := s.DeleteAnnotations(ctx, r, org.Document(d), ids, collab.AnnotationDeletion{Selector: sel})
				must.Do(t, err)
				if diff := differ(want, got); diff != "" {
					t.Fatalf("%+v (- want, + got):\n%s", sel, diff)
				}
				for i, id := range got {
					if th := m.threads[d][id]; th == nil || sel.Excludes(&th.Annotation) || !matchesAgent(&th.Thread, sel.Agent) {
						if collab.CodeOf(errs[i]) != collab.NotFound {
							t.Fatalf("%q: %v", id, errs[i])
						}
						continue
					}
					must.Do(t, errs[i])
					delete(m.threads[d], id)
					maps.DeleteFunc(m.states, func(k readKey, _ collab.ReadState) bool { return k.document == d && k.annotation == id })
				}
			},
			"show to others": func(t *rapid.T) {
				r, d, id, v := newRequest(), document.Draw(t, "document"), annotation.Draw(t, "annotation"), drawVisibility(t)
				err := s.UpdateAnnotations(ctx, r, org.Document(d), []string{id}, collab.AnnotationChange{
					Head: func(_ int, a *collab.Annotation, _ bool) ([]*collab.Event, error) {
						a.Visibility = v
						return nil, nil
					},
				})[0]
				if th := m.threads[d][id]; th != nil {
					must.Do(t, err)
					th.Visibility = v
				} else if collab.CodeOf(err) != collab.NotFound {
					t.Fatal(err)
				}
			},
			"sweep": func(t *rapid.T) {
				_, done, err := s.Sweep(ctx, org.Document(document.Draw(t, "document")), annotation.Draw(t, "annotation"), 1000)
				if must.Do(t, err); !done {
					t.Fatal("something is left")
				}
			},
			"delete comments": func(t *rapid.T) {
				r, d, id := newRequest(), document.Draw(t, "document"), annotation.Draw(t, "annotation")
				th := m.threads[d][id]
				all := []int64{1}
				if th != nil {
					all = append(all, collab.Map(th.Comments, func(c collab.Comment) int64 { return c.ID })...)
				}
				var ids []int64
				if rapid.IntRange(0, 3).Draw(t, "named") > 0 {
					ids = rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, 3, rapid.ID).Draw(t, "comments")
				}
				got, failures, err := s.DeleteComments(ctx, r, org.Document(d), id, ids, nil, nil)
				if th == nil {
					if collab.CodeOf(err) != collab.NotFound {
						t.Fatalf("%q: %v", id, err)
					}
					return
				}
				must.Do(t, err)
				if ids == nil {
					ids = all[1:]
				}
				if diff := differ(ids, got); diff != "" {
					t.Fatalf("(- want, + got):\n%s", diff)
				}
				for _, comment := range ids {
					n := len(th.Comments)
					th.Comments = slices.DeleteFunc(th.Comments, func(c collab.Comment) bool { return c.ID == comment })
					if gone := n > len(th.Comments); gone {
						must.Do(t, failures[comment])
						th.LastUpdated, th.key = m.clock, keyFor(th.key, m.clock)
					} else if collab.CodeOf(failures[comment]) != collab.NotFound {
						t.Fatalf("%d: %v", comment, failures[comment])
					}
				}
			},
			"walk": func(t *rapid.T) {
				q := m.drawQuery(t)
				got := []*collab.Thread{}
				for from := []byte(nil); ; {
					next, err := s.Walk(ctx, org, opened(ctx, s.Directory, org, q), from, rapid.SampledFrom([]int{1, 2, 3, 10, 1000}).Draw(t, "page"),
						func(id string, th *collab.Thread) bool {
							if th != nil {
								if want := th.UnreadBy(q.UnreadFor, m.readBefore(q.UnreadFor, th)); (th.Unread != nil) != (q.UnreadFor != "") || th.Unread != nil && *th.Unread != want {
									t.Fatalf("%+v: %q says that unread is %v, want %v", q, id, th.Unread, want)
								}
								th.Unread = nil
							}
							got = append(got, th)
							return true
						})
					must.Do(t, err)
					if from = next; next == nil {
						break
					}
				}
				if diff := differ(m.walk(q), got); diff != "" {
					t.Fatalf("%+v (- want, + got):\n%s", q, diff)
				}
			},
			"see": func(t *rapid.T) {
				r, d, user := newRequest(), document.Draw(t, "document"), rapid.SampledFrom(someUsers).Draw(t, "user")
				read, ids := rapid.Bool().Draw(t, "read"), drawSome(t, someAnnotations, "annotations")
				if ids == nil {
					must.Do(t, s.SetAllRead(ctx, r, org.Document(d), user, read))
					m.setRead(readKey{user, d, ""}, read)
					return
				}
				errs, err := s.SetRead(ctx, r, org.Document(d), user, ids, read, nil)
				must.Do(t, err)
				for i, id := range ids {
					th := m.threads[d][id]
					if th == nil {
						if collab.CodeOf(errs[i]) != collab.NotFound {
							t.Fatalf("%q: %v", id, errs[i])
						}
						continue
					}
					must.Do(t, errs[i])
					if before := m.readBefore(user, &th.Thread); read && before <= th.key || !read && before > 0 {
						m.setRead(readKey{user, d, id}, read)
					}
				}
			},
			"count": func(t *rapid.T) {
				d, q := document.Draw(t, "document"), collab.AnnotationQuery{Statuses: drawSome(t, someStatuses, "status")}
				user := rapid.SampledFrom(append(someUsers, "")).Draw(t, "user")
				m.asking = drawSome(t, someUsers, "asking")
				got, err := s.Count(ctx, []collab.DocumentRef{org.Document(d)}, q.Statuses, user, m.sight())
				must.Do(t, err)
				want := collab.AnnotationCount{}
				for _, th := range m.threads[d] {
					if m.matches(&th.Thread, &q) {
						want.Total++
						if user != "" && th.UnreadBy(user, m.readBefore(user, &th.Thread)) {
							want.Unread++
						}
					}
				}
				if diff := differ([]collab.AnnotationCount{want}, got); diff != "" {
					t.Fatalf("%q, %q (- want, + got):\n%s", user, q.Statuses, diff)
				}
			},
			"list comments": func(t *rapid.T) {
				d, id := document.Draw(t, "document"), annotation.Draw(t, "annotation")
				var want []collab.Comment
				if th := m.threads[d][id]; th != nil {
					want = th.Comments
				}
				borders := []int64{0, 150}
				for _, c := range want {
					borders = append(borders, c.ID)
				}
				border := rapid.SampledFrom(borders).Draw(t, "after")
				after := slices.IndexFunc(want, func(c collab.Comment) bool { return c.ID > border })
				if after < 0 {
					after = len(want)
				}
				most := rapid.IntRange(1, 50).Draw(t, "most")
				recent, err := s.RecentComments(ctx, org.Document(d), id, border+1, most)
				must.Do(t, err)
				var comments []collab.Comment
				if recent != nil {
					comments = recent.Comments
				}
				if diff := differ(want[max(0, after-most):after], comments); diff != "" {
					t.Fatalf("recent (- want, + got):\n%s", diff)
				}
				var got []collab.Comment
				for c, err := range s.ListComments(ctx, org.Document(d), id, border, most) {
					if m.threads[d][id] == nil {
						if collab.CodeOf(err) != collab.NotFound {
							t.Fatal(err)
						}
						return
					}
					must.Do(t, err)
					got = append(got, c)
				}
				if m.threads[d][id] == nil {
					t.Fatal("the comments of no annotation")
				}
				if diff := differ(want[after:], got); diff != "" {
					t.Fatalf("list (- want, + got):\n%s", diff)
				}
			},
			"select": func(t *rapid.T) {
				d := document.Draw(t, "document")
				sel := drawSelector(t)
				want, most := m.selected(d, sel), rapid.SampledFrom([]int{1, 2, 3, 100}).Draw(t, "most")
				ids, err := s.Select(ctx, org.Document(d), sel, most)
				if len(want) > most {
					if collab.CodeOf(err) != collab.FailedPrecondition {
						t.Fatalf("%d of at most %d: %v", len(want), most, err)
					}
					return
				}
				must.Do(t, err)
				if diff := differ(want, ids); diff != "" {
					t.Fatalf("%+v (- want, + got):\n%s", sel, diff)
				}
			},
		})
	})
}
