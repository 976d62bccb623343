package store

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// spent returns what f consumed of the table.
func spent(t testing.TB, f func(ctx context.Context) error) (units float64, calls int) {
	t.Helper()
	u := &collab.Usage{}
	if err := f(collab.WithUsage(t.Context(), u)); err != nil {
		t.Fatal(err)
	}
	read, write, calls := u.Total()
	return read + write, calls
}

// TestWriteBudgets holds the calls and the capacity units of each write of an item of at most 1 KB.
func TestWriteBudgets(t *testing.T) {
	s := newStore(t)
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	event := func() *collab.Event {
		return &collab.Event{ID: newIDs().Next(), Account: "acct", OrganizationID: "org", DocumentID: "doc", Type: collab.AnnotationAdded}
	}
	thread := func(id string) *collab.Thread {
		th := newThread(id, "creator", 1, 500)
		th.LocationID, th.Location = "location", collab.JSON(`{"id":"location"}`)
		return th
	}
	check := func(ctx context.Context) error { return s.CheckDocument(ctx, doc, collab.CreateFlags{}) }
	forget := func() { clear(s.known.until) }
	addComment := func(ev func(*collab.Annotation, []collab.Comment) (*collab.Event, error)) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			c := newComment(0, "creator", 500)
			c.LastUpdated = s.millis()
			if err := check(ctx); err != nil {
				return err
			}
			_, err := s.AddComments(ctx, doc, "a", collab.NewComments{Comments: []collab.Comment{c}, IDs: newIDs(), Event: ev})
			return err
		}
	}
	s.mustAdd(t, doc, thread("a"))
	tests := []struct {
		name   string
		units  float64
		calls  int
		cached bool
		f      func(ctx context.Context) error
	}{
		{"add one annotation with one comment", 12, 2, false, func(ctx context.Context) error {
			if err := check(ctx); err != nil {
				return err
			}
			return s.AddAnnotation(ctx, doc, thread("b"), newIDs().Mark())
		}},
		{"the same, organization and document known", 12, 1, true, func(ctx context.Context) error {
			if err := check(ctx); err != nil {
				return err
			}
			return s.AddAnnotation(ctx, doc, thread("c"), newIDs().Mark())
		}},
		{"the same with an event", 16, 1, true, func(ctx context.Context) error {
			return s.AddAnnotation(ctx, doc, thread("d"), newIDs().Mark(), event())
		}},
		{"add one comment", 9, 2, false, addComment(nil)},
		{"the same, organization and document known", 9, 1, true, addComment(nil)},
		{"the same with an event", 13, 2, true, addComment(func(*collab.Annotation, []collab.Comment) (*collab.Event, error) { return event(), nil })},
		{"update one annotation", 10, 2, true, func(ctx context.Context) error {
			return s.UpdateAnnotation(ctx, doc, "a", newIDs().Mark(), false, func(th *collab.Thread) ([]*collab.Event, error) {
				th.StatusID, th.Status, th.LastUpdated = "DONE", collab.JSON(`{"id":"DONE"}`), s.millis()+1
				return nil, nil
			})
		}},
		{"claim an Idempotency-Key", 1, 1, true, func(ctx context.Context) error {
			_, err := s.BeginIdempotent(ctx, collab.IdempotencyClaim{Account: "acct", Seed: make([]byte, 16)})
			return err
		}},
	}
	for _, tt := range tests {
		if forget(); tt.cached {
			if err := check(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		units, calls := spent(t, tt.f)
		t.Logf("%-50s %4.1f units of %2.0f, %d calls of %d", tt.name, units, tt.units, calls, tt.calls)
		if units > tt.units || calls > tt.calls {
			t.Errorf("%s: %.1f units and %d calls, at most %.0f and %d", tt.name, units, calls, tt.units, tt.calls)
		}
	}
}

// loader writes items as fast as the emulator takes them.
type loader struct {
	items chan item
	wg    sync.WaitGroup
}

func newLoader(t testing.TB, s *Store) *loader {
	l := &loader{items: make(chan item, 1000)}
	for range 4 {
		l.wg.Go(func() {
			for more := true; more; {
				var writes []types.TransactWriteItem
				for len(writes) < 100 {
					it, ok := <-l.items
					if more = ok; !ok {
						break
					}
					writes = append(writes, types.TransactWriteItem{Put: &types.Put{TableName: &s.table, Item: it}})
				}
				if writes == nil {
					return
				}
				if _, err := s.transact(t.Context(), writes); err != nil {
					t.Error("load", err)
				}
			}
		})
	}
	return l
}

func (l *loader) wait() {
	close(l.items)
	l.wg.Wait()
}

const perDocument = 100 // annotations

// load makes an organization of so many documents, five in a folder, each with perDocument annotations of one comment. Of its annotations
// every tenth is by each of ten creators, every 25th at each of 25 locations, every third in each of three statuses, but for three of
// creator u1, which are in status rare. Comments and look-ups are left out where no test reads them.
func (l *loader) load(t testing.TB, org collab.OrganizationRef, documents int) {
	annotations := documents * perDocument
	l.items <- organizationItem(org.Account, collab.Organization{ID: org.Organization})
	for d := range documents {
		doc := org.Document(fmt.Sprintf("doc%03d", d))
		folder := fmt.Sprint("folder", d/5)
		if d%5 == 0 {
			l.items <- folderItem(org, collab.Folder{ID: folder, Parent: collab.RootFolder})
		}
		l.items <- documentItem(org, collab.Document{ID: doc.Document, Folder: folder})
		for a := range perDocument {
			n := d*perDocument + a
			th := newThread(fmt.Sprintf("annotation-%08d", n), fmt.Sprint("u", n%10), 1, 400)
			th.LocationID, th.StatusID = fmt.Sprint("l", n%25), fmt.Sprint("s", n%3)
			rare := n == 1 || n == annotations/2+1 || n == annotations-9
			if rare {
				th.StatusID = "rare"
			}
			th.Location = collab.JSON(fmt.Sprintf(`{"id":%q}`, th.LocationID))
			th.Status = collab.JSON(fmt.Sprintf(`{"id":%q}`, th.StatusID))
			th.CreatedAt, th.LastUpdated, th.Rev = int64(1_000_000+n*10), int64(1_000_000+n*10), 1
			l.items <- headItem(doc, &th.Annotation)
			if d < 5 || rare {
				l.items <- commentItem(doc, th.ID, &th.Comments[0])
				l.items <- newItem(table.AnnotationID(org.Account, org.Organization, th.ID, doc.Document))
			}
		}
	}
}

// TestReadBudgets reads pages of an organization with 500 annotations and of one with 50,000: both within the budgets, and alike.
func TestReadBudgets(t *testing.T) {
	s := newStore(t)
	orgs := []collab.OrganizationRef{{Account: "acct", Organization: "small"}, {Account: "acct", Organization: "large"}}
	l := newLoader(t, s)
	l.load(t, orgs[0], 5)
	l.load(t, orgs[1], 500)
	l.wait()

	const most = 20
	var ids []string
	for i := range most {
		ids = append(ids, fmt.Sprintf("annotation-%08d", i*3))
	}
	at := func(n int) *collab.Millis { return ptr(int64(1_000_000 + n*10)) }
	tests := []struct {
		name     string
		q        collab.AnnotationQuery
		want     int     // annotations on the page
		examined int     // index entries, at most
		queries  int     // of indexes, at most
		further  float64 // units for what else must be read: documents of a folder, look-ups of ids
	}{
		{"document", collab.AnnotationQuery{Documents: []string{"doc001"}}, most, 0, 0, 0},
		{"location", collab.AnnotationQuery{Locations: []string{"l7"}}, most, most + 1, 1, 0},
		{"location in a document", collab.AnnotationQuery{Documents: []string{"doc002"}, Locations: []string{"l7"}}, 4, 4, 1, 0},
		{"two locations in two documents", collab.AnnotationQuery{Documents: []string{"doc002", "doc004"}, Locations: []string{"l7", "l3"}}, 16, 16, 4, 0},
		{"creator", collab.AnnotationQuery{Creators: []string{"u3"}}, most, most + 1, 1, 0},
		{"status", collab.AnnotationQuery{Statuses: []string{"s2"}}, most, most + 1, 1, 0},
		{"creator and status", collab.AnnotationQuery{Creators: []string{"u3"}, Statuses: []string{"s2", "s1"}}, most, 2 * most, 3, 0},
		{"creator and a status that three have", collab.AnnotationQuery{Creators: []string{"u1"}, Statuses: []string{"rare"}}, 3, most + 4, 2, 0},
		{"location, creator and a status that three have", collab.AnnotationQuery{
			Locations: []string{"l1", "l6", "l11", "l16", "l21"}, Creators: []string{"u1"}, Statuses: []string{"rare"}}, 3, 150, 6, 0},
		{"updated in a window", collab.AnnotationQuery{UpdatedAfter: at(100)}, most, most + 1, 1, 0},
		{"updated in a window of a document", collab.AnnotationQuery{Documents: []string{"doc001"}, UpdatedAfter: at(150)}, most, most + 1, 1, 0},
		{"updated in a window by a creator", collab.AnnotationQuery{UpdatedAfter: at(100), Creators: []string{"u5", "u6"}}, most, 5*most + 50, 5, 0},
		{"created in a window", collab.AnnotationQuery{CreatedAfter: at(100), CreatedBefore: at(400)}, most, most + 1, 1, 0},
		{"folder", collab.AnnotationQuery{Folder: "folder0"}, most, 0, 0, 1},
		{"folder and status", collab.AnnotationQuery{Folder: "folder0", Statuses: []string{"s1"}}, most, most + 1, 1, 1},
		{"ids", collab.AnnotationQuery{IDs: ids}, most, 0, 0, most},
		{"ids in a document", collab.AnnotationQuery{Documents: []string{"doc000"}, IDs: ids}, most, 0, 0, 0},
		{"all of the organization", collab.AnnotationQuery{}, most, 0, 0, 20},
	}
	const (
		thread = 1_000.0 // bytes of a head and its comment, about
		index  = 300.0   // bytes of an index entry, about
	)
	for _, tt := range tests {
		var figures [2]float64
		var of [2]int
		for i, org := range orgs {
			clear(s.known.until)
			taken := 0
			figures[i], of[i] = spent(t, func(ctx context.Context) error {
				_, err := s.Walk(ctx, org, tt.q, nil, most, func(_ string, th *collab.Thread) bool {
					if th != nil {
						taken++
					}
					return true
				})
				return err
			})
			if taken != tt.want {
				t.Errorf("%s of the %s organization: %d annotations, want %d", tt.name, org.Organization, taken, tt.want)
			}
		}
		budget := 1 + tt.further
		switch {
		case tt.q.IDs != nil: // strongly consistent
			budget += float64(tt.want)
		case tt.examined == 0: // a page of documents
			budget += 1.25*float64(tt.want)*thread/4096 + 1
		default:
			budget += 0.5*float64(tt.want) + 1.1*float64(tt.examined)*index/8192 + float64(tt.queries)
		}
		differ := math.Abs(figures[1]-figures[0]) / figures[0]
		t.Logf("%-50s small %5.1f units %2d calls, large %5.1f units %2d calls, budget %5.1f", tt.name, figures[0], of[0], figures[1], of[1], budget)
		if max(figures[0], figures[1]) > budget || differ > 0.3 {
			t.Errorf("%s: %.1f units in the small organization, %.1f in the large one, budget %.1f", tt.name, figures[0], figures[1], budget)
		}
	}
	// Nothing of the 50,000 passes: each page ends after 10,000 entries.
	sizes := s.pages(t, orgs[1], collab.AnnotationQuery{UpdatedAfter: at(0), Creators: []string{"nobody"}}, most, 400)
	if len(sizes) != 5 && len(sizes) != 6 {
		t.Errorf("%d pages", len(sizes))
	}
}
