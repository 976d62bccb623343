package transfer

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/client"
)

// ImportOptions configure an import. The zero value imports everything unchanged.
type ImportOptions struct {
	Documents map[string]string // new ids of documents, by ids in the file
	Update    bool              // overwrite annotations and comments with a later lastUpdated in the file
	Restore   bool              // add deleted things of an earlier import again

	Read  bool // mark all comments of the file as read for its users
	Check bool // report malformed lines as refused, and warn: see Import

	Progress func(Progress) // called from time to time, never concurrently; may be nil
	Refused  func(Refusal)  // called with each refused line; may be nil
	Warned   func(Refusal)  // called with each owner that no earlier line adds, if Check is set
}

// Refusal is a refused line and the reason. The import changed nothing for this line; it still adds
// the lines that belong to an existing thing with another value.
type Refusal struct {
	Line    int64 // in the file, from 1
	Kind    Kind
	ID      string // of the subject
	Field   string // with the mistake; "" if it is not in a field
	Message string
}

// Result counts added, existing and refused lines by kind.
type Result struct {
	Added, Unchanged, Refused map[Kind]int64
}

// Sum returns the number of lines of all kinds.
func (r *Result) Sum() (added, unchanged, refused int64) {
	sum := func(list map[Kind]int64) (n int64) {
		for _, count := range list {
			n += count
		}
		return n
	}
	return sum(r.Added), sum(r.Unchanged), sum(r.Refused)
}

// Check reads a whole file. It returns a *LineError for the first line that Import would stop at.
func Check(r io.Reader, o ImportOptions) error {
	i := &importer{ImportOptions: o}
	return i.lines(r, func(*line) error { return nil })
}

// Import adds the contents of a file to the account of c, with their ids, times and authors. It
// notifies nobody, and sends no event. c must be a client of an operator.
//
// Import may be repeated at any time: after an interruption, with a longer file, or after people
// used its threads. It adds missing things, and missing fields of users, grants, preferences and
// the organization. It refuses a line whose thing exists with another value, and names the field.
// The thing stays unchanged, unless o.Update is set and the line has a later lastUpdated. Lines
// that belong to it are added. Things that an earlier import added or found, and that somebody
// deleted, ended or erased since, stay so, unless o.Restore is set. Later read states and removals
// take precedence.
//
// Import uses MaxLine bytes of memory, or less than 20 MB of shorter lines.
//
// With o.Read, it then adds a read state of each user of the file for each document with comments:
// everything until the latest time in the file is read.
//
// With o.Check and a client that adds nothing, it reports all bad lines of a file, in order: also
// malformed ones, and repeated folders, documents, annotations and comments. It warns of folders,
// documents and annotations that no earlier line adds, once for each.
//
// Import returns a *LineError if a line is malformed; earlier lines are added. It returns an
// operation's error if the failure is temporary or concerns the whole account; then it may be
// repeated. Refused lines are not an error: see Refusal.
func Import(ctx context.Context, c *client.Client, r io.Reader, o ImportOptions) (*Result, error) {
	i := &importer{
		ImportOptions: o, c: c, slots: make(chan struct{}, maxRequests), adding: map[thing]bool{},
		result: &Result{Added: map[Kind]int64{}, Unchanged: map[Kind]int64{}, Refused: map[Kind]int64{}},
	}
	var cancel context.CancelCauseFunc
	i.ctx, cancel = context.WithCancelCause(ctx)
	defer cancel(nil)
	i.stop = cancel
	if o.Read {
		i.reads = &reads{users: map[string]*line{}, latest: map[string]int64{}}
	}
	if o.Check {
		i.check, i.org = &check{lines: map[uint64]int64{}, seed: maphash.MakeSeed()}, anyOrganization
	}
	err := i.lines(r, i.take)
	if err == nil && i.reads != nil {
		err = i.readAll()
	}
	if err == nil || errors.As(err, new(*LineError)) {
		i.send()
	}
	i.running.Wait()
	i.check.report(o.Refused)
	if cause := context.Cause(i.ctx); cause != nil {
		err = cause
	}
	return i.result, err
}

// Limits of requests.
const (
	maxBatchBytes = 1 << 20 // of a request, unless it has one larger line
	maxRequests   = 8       // concurrent
	maxTries      = 20      // for items with temporary failures
)

var maxBatchLines = 400 // of a request; tests send fewer

// arrays are the arrays of a request by kind, in the order in which the service adds them and
// returns their outcomes.
var arrays = []struct {
	kind Kind
	name string
}{
	{Organization, "organizations"}, {Unsubscribed, "unsubscribed"}, {Folder, "folders"}, {Group, "groups"}, {Document, "documents"},
	{Removal, "removals"}, {Annotation, "annotations"}, {Comment, "comments"}, {Level, "levels"}, {Grant, "grants"}, {User, "users"},
	{Preference, "preferences"}, {ReadState, "readStates"},
}

// arrayOf are the names in arrays by kind.
var arrayOf = func() map[Kind]string {
	names := map[Kind]string{}
	for _, a := range arrays {
		names[a.kind] = a.name
	}
	return names
}()

type importer struct {
	ImportOptions
	ctx  context.Context
	stop context.CancelCauseFunc // ends it with an error
	c    *client.Client
	org  string

	next    []*line // lines of the next request
	bytes   int     // bytes of next
	adding  map[thing]bool
	running sync.WaitGroup
	slots   chan struct{}

	reads *reads // nil unless Read
	check *check // nil unless Check

	mu       sync.Mutex
	result   *Result
	progress Progress
}

// lines reads the lines of a file and renames documents.
func (i *importer) lines(r io.Reader, take func(*line) error) error {
	in := newLines(r)
	named := map[string]bool{} // renamed documents
	for {
		text, torn := in.next()
		if torn == io.EOF {
			break
		}
		l, err := parseLine(in.number, text)
		switch { // torn is errTorn, or the line was too long
		case torn != nil && (err != nil || torn != errTorn):
			err = &LineError{Line: in.number, Rule: torn.Error()}
		case err == nil && (l.kind == Organization) != (in.number == 1):
			err = &LineError{Line: in.number, Field: "kind", Rule: "must be organization in the first line, and in no other"}
		}
		if wrong, ok := errors.AsType[*LineError](err); ok && i.check != nil {
			i.refuse(l, wrong.Field, wrong.Rule)
			continue
		}
		if err != nil {
			return err
		}
		if i.Documents != nil {
			named[l.rename(i.Documents)] = true
		}
		if err := take(l); err != nil {
			return err
		}
	}
	if in.number == 0 {
		return &LineError{Line: 1, Rule: "is not there: the file is empty"}
	}
	for old := range i.Documents {
		if !named[old] {
			return &LineError{Line: in.number, Rule: fmt.Sprintf("is the last one, and none is about document %q, which was to be renamed", old)}
		}
	}
	return nil
}

// take adds a line to the batch. If the line does not fit, it sends the batch first.
func (i *importer) take(l *line) error {
	if i.ctx.Err() != nil {
		return context.Cause(i.ctx)
	}
	if i.check != nil && !i.checked(l) {
		return nil
	}
	if i.reads != nil {
		i.reads.note(l)
	}
	if !i.fits(l) {
		i.send()
	}
	i.next, i.bytes = append(i.next, l), i.bytes+l.size
	if l.kind != Organization {
		return nil
	}
	i.org, i.progress = l.id, Progress{Organization: l.id}
	i.send()
	i.running.Wait()
	if i.check != nil && i.result.Refused[Organization] > 0 {
		i.org = anyOrganization
	}
	if err := context.Cause(i.ctx); err != nil {
		return fmt.Errorf("the organization cannot be added: %w", err)
	}
	return nil
}

// fits reports whether a line is sent with the batch. A batch ends before a document or annotation
// if possible, so that the next one need not wait for it. It has the first comment of an
// annotation, which decides about the annotation's source. Unsubscribed people are sent before all
// others.
func (i *importer) fits(l *line) bool {
	n := len(i.next)
	switch {
	case n == 0:
		return true
	case i.bytes+l.size > maxBatchBytes || i.next[n-1].kind == Unsubscribed && l.kind != Unsubscribed:
		return false
	case l.kind == Document:
		return n < maxBatchLines/2
	case l.kind == Annotation:
		return n < maxBatchLines*3/4
	case l.kind == Comment && i.next[n-1].kind == Annotation:
		return true
	}
	return n < maxBatchLines
}

// thing can own other lines.
type thing struct {
	kind         Kind
	document, id string // document only for an annotation
}

// adds returns the thing that a line adds.
func (l *line) adds() thing {
	if l.kind == Annotation {
		return thing{Annotation, l.document(), l.id}
	}
	return thing{kind: l.kind, id: l.id}
}

// owners returns the things that a line belongs to.
func (l *line) owners() []thing {
	list := []thing{
		{kind: Folder, id: textOf(l.object, "folderId")}, {kind: Folder, id: textOf(l.object, "parentFolderId")},
		{kind: Document, id: l.document()}, {Annotation, l.document(), textOf(l.object, "annotationId")},
	}
	if l.kind == Grant {
		list = append(list, thing{kind: Kind(textOf(l.object, "type")), id: l.id})
	}
	return list
}

// first are kinds whose lines are added before any later line: they protect people, or many lines
// need them.
var first = []Kind{Organization, Unsubscribed, Removal, Folder, Group}

// send adds the lines of the batch, after earlier batches that it needs.
func (i *importer) send() {
	batch := i.next
	i.next, i.bytes = nil, 0
	if len(batch) == 0 {
		return
	}
	alone := i.check != nil || slices.ContainsFunc(batch, func(l *line) bool { return slices.Contains(first, l.kind) })
	if alone || slices.ContainsFunc(batch, func(l *line) bool {
		return slices.ContainsFunc(append(l.owners(), l.adds()), func(t thing) bool { return i.adding[t] })
	}) {
		i.running.Wait()
		clear(i.adding)
	}
	for _, l := range batch {
		if l.kind == Document || l.kind == Annotation {
			i.adding[l.adds()] = true
		}
	}
	select {
	case i.slots <- struct{}{}:
	case <-i.ctx.Done():
		return
	}
	i.running.Go(func() {
		defer func() { <-i.slots }()
		if err := i.add(batch); err != nil {
			i.stop(err)
			return
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		i.progress.Lines, i.progress.Kind = i.progress.Lines+int64(len(batch)), batch[len(batch)-1].kind
		if i.Progress != nil {
			i.Progress(i.progress)
		}
	})
	if alone {
		i.running.Wait()
	}
	i.check.report(i.Refused)
}

// outcome is the result of a line.
type outcome struct {
	Success   bool        `json:"success"`
	Unchanged bool        `json:"unchanged"` // it existed
	Message   string      `json:"message"`
	Code      client.Code `json:"code"`
}

// add sends lines, and counts them. It repeats the request without refused lines until each line is
// added or refused. It returns an error if the import must stop.
func (i *importer) add(batch []*line) error {
	for try := 1; len(batch) > 0; try++ {
		request := map[string]any{"organizationId": i.org, "update": i.Update, "restore": i.Restore}
		var sent []*line
		for _, a := range arrays {
			var list []jsontext.Value
			for _, l := range batch {
				if l.kind == a.kind {
					sent, list = append(sent, l), append(list, value(l.object))
				}
			}
			if list != nil {
				request[a.name] = list
			}
		}
		answer, _, err := client.Call[[]outcome](i.ctx, i.c, "/operator/records/add", request)
		if err != nil {
			if batch, err = i.mistakes(sent, err); err != nil {
				return err
			}
			continue
		}
		if len(answer) != len(sent) {
			return fmt.Errorf("records/add answers %d items for %d", len(answer), len(sent))
		}
		batch = nil
		failed := map[thing]bool{} // to repeat, with what belongs to them
		for n, l := range sent {
			switch o := answer[n]; {
			case o.Success:
				i.count(l, o.Unchanged)
			case !o.Code.MayRepeat() && !slices.ContainsFunc(l.owners(), func(t thing) bool { return failed[t] }):
				i.refuse(l, "", o.Message)
			case try == maxTries:
				return client.Errorf(o.Code, "%s", o.Message)
			default:
				batch, failed[l.adds()] = append(batch, l), true
			}
		}
		if batch != nil && !i.pause(try) {
			return i.ctx.Err()
		}
	}
	return nil
}

// place matches the place of a mistake in a request: the array, the position, and the field in it.
var place = regexp.MustCompile(`^data\.(\w+)\[(\d+)\]\.?(.*)$`)

// mistakes refuses the lines with mistakes that an error names, and returns the others. If it names
// none, mistakes adds a half of the lines, and returns the other one. sent is in the order of the
// request. It returns the error if it is temporary or not about lines.
func (i *importer) mistakes(sent []*line, err error) (left []*line, _ error) {
	switch client.CodeOf(err) {
	case client.CodeNotFound:
		if sent[0].kind == Organization {
			err = fmt.Errorf("only an operator imports: %w", err)
		}
		return nil, err
	case client.CodeInvalidArgument:
	default:
		return nil, err
	}
	wrong := map[*line]bool{}
	if e, ok := errors.AsType[*client.Error](err); ok {
		for _, d := range e.Details {
			found := place.FindStringSubmatch(d.Field)
			if found == nil {
				continue
			}
			n, err := strconv.Atoi(found[2])
			for _, l := range sent {
				if arrayOf[l.kind] != found[1] {
					continue
				}
				if n == 0 && err == nil && !wrong[l] {
					wrong[l] = true
					i.refuse(l, found[3], d.Message)
				}
				n--
			}
		}
	}
	if len(wrong) == 0 && len(sent) > 1 { // of the whole body, such as its depth
		half := len(sent) / 2
		if err := i.add(sent[:half]); err != nil {
			return nil, err
		}
		return sent[half:], nil
	}
	if len(wrong) == 0 {
		i.refuse(sent[0], "", client.MessageOf(err))
		return nil, nil
	}
	return slices.DeleteFunc(sent, func(l *line) bool { return wrong[l] }), nil
}

// pause waits before a retry, and reports whether the import continues.
func (i *importer) pause(try int) bool {
	select {
	case <-time.After(min(time.Duration(try)*100*time.Millisecond, 5*time.Second)):
		return true
	case <-i.ctx.Done():
		return false
	}
}

// count counts an added or existing line.
func (i *importer) count(l *line, unchanged bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if unchanged {
		i.result.Unchanged[l.kind]++
	} else {
		i.result.Added[l.kind]++
	}
}

func (i *importer) refuse(l *line, field, message string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.result.Refused[l.kind]++
	refusal := Refusal{Line: l.number, Kind: l.kind, ID: l.id, Field: field, Message: message}
	if i.check != nil {
		i.check.found = append(i.check.found, refusal)
	} else if i.Refused != nil {
		i.Refused(refusal)
	}
}
