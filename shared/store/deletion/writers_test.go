package deletion_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/storetest"
)

var (
	writersSeed   = flag.Uint64("writers.seed", 1, "seed of what TestWriters does")
	writersRounds = flag.Int("writers.rounds", 8, "how many writes each writer makes in a phase of TestWriters")
)

// phases is the number of phases in which all writers write. The sweep of one phase runs during the
// next.
const phases = 5

type write struct {
	kind       string // add, note or delete
	name       string // unique: in an addition, or noted by a change
	doc, ann   string // ann is "" for a document
	comments   []int64
	all        bool          // a deletion of all comments
	what       string        // document, annotation or comment
	from, to   time.Duration // start and answer
	code       collab.Code   // "" for success
	unanswered bool          // it may have been executed
}

type history struct {
	start time.Time
	ahead atomic.Int64 // offset of the clock
	mu    sync.Mutex
	list  []*write
	seen  map[string]bool // names that are visible in the end
}

// now returns the time since the start, by the common clock.
func (h *history) now() time.Duration { return time.Since(h.start) + time.Duration(h.ahead.Load()) }

func (h *history) clock() time.Time { return h.start.Add(h.now()) }

func names(context collab.JSON) (list []string) {
	_ = json.Unmarshal(context, &list)
	return list
}

func named(list ...string) collab.JSON {
	text, _ := json.Marshal(list)
	return text
}

type writer struct {
	*process
	tb     *store.Table
	h      *history
	id     int
	n      uint64
	random *rand.Rand
	jobs   []string
}

// begin starts a new process; one in four dies after a few requests.
func (w *writer) begin() {
	after := 1 << 30
	if w.random.IntN(4) == 0 {
		after = w.random.IntN(25)
	}
	w.n++
	w.process = newProcess(w.T, storetest.Mortal(w.T, w.tb, uint64(w.id)<<32|w.n, after), w.h.clock)
}

// round makes one write, and repeats it if it fails.
func (w *writer) round(i int) {
	o := &write{name: fmt.Sprintf("w%d-%d", w.id, i), doc: fmt.Sprint("d", w.random.IntN(2)), ann: fmt.Sprint("a", w.random.IntN(3))}
	ids := []int64{1 + w.random.Int64N(4)}
	var do func(ctx context.Context, req *request.Request, doc collab.DocumentRef) error
	comment := func(id int64, req *request.Request) collab.Comment {
		return collab.Comment{
			ID:          id,
			Text:        new("x"),
			From:        named(o.name),
			AuthorID:    o.name,
			Context:     named(o.name),
			CreatedAt:   req.Millis(),
			LastUpdated: req.Millis(),
		}
	}
	switch n := w.random.IntN(40); {
	case n < 6:
		o.kind, o.what, o.ann = "add", "document", ""
	case n < 7:
		o.kind, o.what, o.ann = "delete", "document", ""
	case n < 14:
		o.kind, o.what = "add", "annotation"
		for id := range w.random.Int64N(4) {
			o.comments = append(o.comments, id+1)
		}
		do = func(ctx context.Context, req *request.Request, doc collab.DocumentRef) error {
			th := &collab.Thread{
				Annotation: collab.Annotation{ID: o.ann, Status: collab.JSON(`{"id":"OPEN"}`), StatusID: "OPEN", Context: named(o.name),
					CreatedAt: req.Millis(), LastUpdated: req.Millis()},
			}
			for _, id := range o.comments {
				th.Comments = append(th.Comments, comment(id, req))
				th.SetCreator(&th.Comments[0])
			}
			return w.threads.AddAnnotation(ctx, req, doc, th, collab.NewAnnotation{})
		}
	case n < 24:
		o.kind, o.what = "add", "comment"
		if o.comments = ids; w.random.IntN(2) == 0 {
			o.comments = []int64{0}
		}
		do = func(ctx context.Context, req *request.Request, doc collab.DocumentRef) error {
			_, err := w.threads.AddComments(ctx, req, doc, o.ann, collab.NewComments{Comments: []collab.Comment{comment(o.comments[0], req)}})
			return err
		}
	case n < 28:
		o.kind, o.what = "note", "annotation"
		do = func(ctx context.Context, req *request.Request, doc collab.DocumentRef) error {
			return w.threads.UpdateAnnotations(ctx, req, doc, []string{o.ann}, collab.AnnotationChange{
				Head: func(_ int, a *collab.Annotation, _ bool) ([]*collab.Event, error) {
					a.Context, a.LastUpdated = named(append(names(a.Context), o.name)...), max(a.LastUpdated, req.Millis())
					return nil, nil
				},
			})[0]
		}
	case n < 32:
		o.kind, o.what, o.comments = "note", "comment", ids
		do = func(ctx context.Context, req *request.Request, doc collab.DocumentRef) error {
			failed, err := w.threads.UpdateComments(
				ctx,
				req,
				doc,
				o.ann,
				collab.CommentChange{IDs: ids, At: req.Millis(), Change: func(c *collab.Comment) error {
					c.Context, c.LastUpdated = named(append(names(c.Context), o.name)...), max(c.LastUpdated, req.Millis())
					return nil
				}},
			)
			if err == nil {
				err = failed[ids[0]]
			}
			return err
		}
	case n < 36:
		o.kind, o.what, o.comments = "delete", "comment", ids
		if o.all = w.random.IntN(3) == 0; o.all {
			o.comments = nil
		}
		do = func(ctx context.Context, req *request.Request, doc collab.DocumentRef) error {
			_, failed, err := w.threads.DeleteComments(ctx, req, doc, o.ann, o.comments, nil, nil)
			for _, failure := range failed {
				err = failure // the errors of several items count as one
			}
			return err
		}
	default:
		o.kind, o.what = "delete", "annotation"
		do = func(ctx context.Context, req *request.Request, doc collab.DocumentRef) error {
			_, errs, err := w.threads.DeleteAnnotations(ctx, req, doc, []string{o.ann}, collab.AnnotationDeletion{})
			if err == nil {
				err = errs[0]
			}
			return err
		}
	}
	r := storetest.Request(w.h.clock())
	attempt := func() error {
		ctx, cancel := context.WithTimeout(w.Context(), 3*time.Second)
		defer cancel()
		if o.what != "document" {
			doc, err := w.OpenDocument(ctx, "acct", "acme", o.doc, collab.CreateFlags{})
			if err != nil {
				return err
			}
			return do(ctx, r, doc)
		}
		org, err := w.OpenOrganization(ctx, "acct", "acme")
		if err != nil {
			return err
		}
		if o.kind == "add" {
			return w.AddDocuments(ctx, r, org, collab.RootFolder, []string{o.doc}, func(_ int, d *collab.Document) error {
				d.Metadata = named(o.name)
				return nil
			})[0]
		}
		errs := make([]error, 1)
		if _, err = w.DeleteDocuments(ctx, r, org, []string{o.doc}, errs); err == nil {
			err = errs[0]
		}
		return err
	}
	o.from = w.h.now()
	var err error
	for range 3 {
		err = attempt()
		switch code := collab.CodeOf(err); {
		case err == nil, code == collab.NotFound, code == collab.AlreadyExists:
		case o.kind == "add" && o.what == "document" && code == collab.Unavailable:
			w.h.ahead.Add(int64(time.Second))
			fallthrough
		default:
			o.unanswered = true
			w.begin()
			if w.random.IntN(3) > 0 {
				r = storetest.Again(r)
				continue
			}
		}
		break
	}
	o.to, o.code = w.h.now(), collab.CodeOf(err)
	if err != nil && o.code == "" {
		o.code = collab.Internal
	}
	if o.kind == "delete" {
		w.jobs = append(w.jobs, r.JobID())
	}
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	w.h.list = append(w.h.list, o)
}

// TestWriters has 16 writers in separate, dying processes add, change and delete documents, threads
// and comments with few ids through faults, and repeat failed calls. In the end, every acknowledged
// write is visible or was deleted, deleted data is not visible, even with the same id, and after
// the jobs no invisible data is stored.
func TestWriters(t *testing.T) {
	tb := storetest.New(t)
	h := &history{start: time.Now(), seen: map[string]bool{}}
	p := newProcess(t, tb, h.clock)
	_, err := p.OpenDocument(t.Context(), "acct", "acme", "d0", collab.CreateFlags{Organization: true, Document: true})
	p.must(err)
	writers := make([]*writer, 16)
	for id := range writers {
		writers[id] = &writer{process: p, tb: tb, h: h, id: id, random: rand.New(rand.NewPCG(*writersSeed, uint64(id)))}
		writers[id].begin()
	}
	var jobs []string // of the phase before
	for phase := range phases + 1 {
		var wg sync.WaitGroup
		var waiting []string
		wg.Go(func() {
			for i, id := range jobs {
				if !h.sweep(t, tb, uint64(phase)<<16|uint64(i), id) {
					waiting = append(waiting, id)
				}
			}
		})
		for _, w := range writers {
			wg.Go(func() {
				for i := range *writersRounds {
					if phase < phases {
						w.round(phase**writersRounds + i)
					}
				}
			})
		}
		wg.Wait()
		jobs = waiting
		for _, w := range writers {
			jobs = append(jobs, w.jobs...)
			w.jobs = nil
		}
		h.ahead.Add(int64(outbox.SweepAfter))
	}
	if len(jobs) > 0 {
		t.Errorf("jobs that are not done: %v", jobs)
	}
	p = newProcess(t, tb, h.clock)
	h.judge(p, tb)
}

// sweep runs a job in a process that dies and starts again. It returns false if the job waits
// because of a later deletion.
func (h *history) sweep(t *testing.T, tb *store.Table, n uint64, id string) bool {
	for after := range 100 {
		p := newProcess(t, storetest.Mortal(t, tb, 1<<60|n<<8|uint64(after), 10*after), h.clock)
		if next, err := p.runJob(t.Context(), id); err == nil && (next == 0 || next > p.Millis()) {
			return next == 0
		}
	}
	t.Errorf("job %s does not end", id)
	return true
}

// judge compares the final state with the history.
func (h *history) judge(p *process, tb *store.Table) {
	org, err := p.OpenOrganization(p.Context(), "acct", "acme")
	p.must(err)
	by := map[string]*write{}
	codes := map[string]int{}
	for _, w := range h.list {
		by[w.name] = w
		codes[fmt.Sprintf("%s %s %s", w.kind, w.what, w.code)]++
	}
	shown := map[string]bool{} // keys of visible items
	alive := map[string]*write{}
	show := func(k keys.Key) { shown[k.String()] = true }
	docs, err := p.DocumentsByID(p.Context(), org, []string{"d0", "d1"})
	p.must(err)
	for _, d := range docs {
		show(keys.Document(org, d.ID))
		document := h.hold(p, by, d.Metadata, "document "+d.ID, nil)
		alive[d.ID] = document
		doc := d.Ref(org)
		q := collab.AnnotationQuery{Documents: []string{d.ID}, Found: []collab.DocumentRef{doc}}
		_, err := p.threads.Walk(p.Context(), org, q, nil, 1000, func(id string, th *collab.Thread) bool {
			show(keys.Annotation(doc, id))
			show(keys.AnnotationID(doc, id))
			thread := h.hold(p, by, th.Context, fmt.Sprintf("annotation %s of %s", id, d.ID), document)
			alive[d.ID+"/"+id] = thread
			for _, c := range th.Comments {
				show(keys.Comment(doc, id, c.ID))
				what := fmt.Sprintf("comment %d of %s of %s", c.ID, id, d.ID)
				alive[fmt.Sprintf("%s/%s/%d", d.ID, id, c.ID)] = h.hold(p, by, c.Context, what, thread)
			}
			if th.CreatorID != "" && by[th.CreatorID].to < thread.from {
				p.Errorf("annotation %s of %s was made by %s, before it was there", id, d.ID, th.CreatorID)
			}
			return true
		})
		p.must(err)
	}
	for _, w := range h.list {
		on := alive[strings.TrimSuffix(w.doc+"/"+w.ann, "/")] // its parent, if that existed before
		if w.what == "comment" && w.kind != "add" && !w.all {
			on = alive[fmt.Sprintf("%s/%s/%d", w.doc, w.ann, w.comments[0])]
		}
		before := on != nil && on.to < w.from
		switch {
		case w.kind == "add" && w.code == "" && !h.seen[w.name] && !h.deleted(w, alive):
			p.Errorf("%+v was acknowledged, is not there, and was not deleted", *w)
		case w.kind == "note" && w.code == "" && before && !h.seen[w.name]:
			p.Errorf("%+v was acknowledged, and is not in %+v", *w, *on)
		case w.code == collab.NotFound && before && !(w.kind == "delete" && w.unanswered):
			p.Errorf("%+v did not find %+v", *w, *on)
		}
	}
	for _, it := range storetest.Scan(p, tb) {
		k := it.Key()
		kind, in := keys.KindOf(k)
		if kind != nil && kind.Name == "seen of a thread" {
			// Marks apply to a birth mark: the mark of a deleted thread may remain with the
			// document.
			continue
		}
		if kind != nil && !kind.Expires && in.Org == "acme" && kind != keys.AnOrganization && !shown[k.String()] && it[keys.Expires] == nil {
			p.Errorf("%s is stored and does not show", k)
		}
	}
	p.Logf("%d writes: %v; %d show", len(h.list), codes, len(shown))
}

// hold checks that a visible item was not deleted since its addition, and contains nothing of
// earlier ones with its id. It returns its addition.
func (h *history) hold(p *process, by map[string]*write, context collab.JSON, what string, within *write) *write {
	said := names(context)
	if len(said) == 0 { // the first document
		return &write{}
	}
	w := by[said[0]]
	for _, name := range said {
		h.seen[name] = true
	}
	if within != nil && w.to < within.from {
		p.Errorf("%s shows %s, which was added before what it is in", what, w.name)
	}
	for _, d := range h.list {
		if d.kind == "delete" && d.code == "" && d.from > w.to && d.covers(w) {
			p.Errorf("%s shows %+v, which %+v deleted", what, *w, *d)
		}
	}
	for i, name := range said[1:] {
		if by[name].to < w.from {
			p.Errorf("%s of %s shows the note %s, which was made before it was added", what, w.name, name)
		}
		if slices.Contains(said[:i+1], name) {
			p.Errorf("%s of %s shows the note %s twice", what, w.name, name)
		}
	}
	return w
}

// covers reports whether a deletion includes the target of a write.
func (d *write) covers(w *write) bool {
	switch {
	case d.doc != w.doc:
		return false
	case d.what == "document":
		return true
	case d.ann != w.ann || w.what == "document":
		return false
	case d.what == "annotation":
		return true
	}
	return w.what == "comment" && (d.all || slices.Contains(d.comments, w.comments[0]))
}

// deleted reports whether the target of a write may have been deleted since the write began, or
// before by another process without its knowledge. A deletion does not include items whose parent
// existed before it and still exists.
func (h *history) deleted(w *write, alive map[string]*write) bool {
	return slices.ContainsFunc(h.list, func(d *write) bool {
		if on := alive[strings.TrimSuffix(d.doc+"/"+d.ann, "/")]; d.what != "comment" && d.what != w.what && on != nil && on.to < w.from {
			return false
		}
		return d.kind == "delete" && (d.code == "" || d.unanswered) && d.covers(w) && d.to+directory.CacheTTL > w.from
	})
}
