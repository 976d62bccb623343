package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/client"
)

// ImportOptions say how a file is imported. The zero value imports all of it as it is.
type ImportOptions struct {
	Documents map[string]string // new ids of documents, by those that the file has

	// Resume is what Progress was last called with by an import of the same file, with the same Documents, that was ended: its lines are passed
	// over. So whoever deleted since what they added begins from the beginning, which is the zero value.
	Resume Progress

	Progress func(Progress) // is called now and then, never twice at once; may be nil
	Refused  func(Refusal)  // is called with each line that the service does not take; may be nil
}

// Refusal is a line that the service did not take, and why. Nothing of the line was changed.
type Refusal struct {
	Line    int64 // of the file, from 1
	Kind    Kind
	ID      string // of what it is about
	Field   string // that breaks a rule; "" where it is none of the line
	Message string
}

// Result is what an import did: how many lines of each kind were added, were there already, and were refused. What an operation adds or
// changes alike counts as added each time: organization, user, grant, group, preference, read state.
type Result struct {
	Added, There, Refused map[Kind]int64
}

// Check reads a file to its end, and fails with a *LineError for the first line that Import would stop at.
func Check(r io.Reader, o ImportOptions) error {
	i := &importer{ImportOptions: o}
	return i.lines(r, func(*line) error { return nil })
}

// Import adds what a file of this package holds to the account of c: with its ids, times and authors, and nobody is notified of it. Only
// webhooks of an account with the setting events=all get the threads and comments. It may be repeated, also after one that was ended at any
// place, with Resume or without: what is there already as the file has it stays, and what is there otherwise is refused and stays, too.
// What is disabled in the file is disabled once all is in; without the reach of an operator a repeat cannot look into it, and is refused
// its lines. It holds MaxLine bytes, or less than 20 MB of shorter lines, and the lines of disabled documents.
//
// It fails with a *LineError for a line that is none of a file; what is before it is added then. It fails with the error of an operation
// that failed for now, or for all of the account; it may be repeated then. It does not fail where the service refuses a line: see Refusal.
func Import(ctx context.Context, c *client.Client, r io.Reader, o ImportOptions) (*Result, error) {
	i := &importer{
		ImportOptions: o, c: c, slots: make(chan struct{}, maxRequests),
		result: &Result{Added: map[Kind]int64{}, There: map[Kind]int64{}, Refused: map[Kind]int64{}},
	}
	var cancel context.CancelCauseFunc
	i.ctx, cancel = context.WithCancelCause(ctx)
	defer cancel(nil)
	i.stop = cancel
	err := i.lines(r, i.take)
	if err == nil || errors.As(err, new(*LineError)) {
		i.send()
	}
	i.running.Wait()
	if cause := context.Cause(i.ctx); cause != nil {
		err = cause
	}
	if err == nil {
		err = i.disable()
	}
	return i.result, err
}

// Bounds of what is sent at once.
const (
	maxBatchLines = 400     // of one request
	maxBatchBytes = 1 << 20 // of one request, but for a larger line that stands alone
	maxRequests   = 8       // side by side: of the batches from the first one that is not finished
	maxTries      = 20      // of items that fail for now
)

// importer is one import.
type importer struct {
	ImportOptions
	ctx  context.Context
	stop context.CancelCauseFunc // ends it with an error
	c    *client.Client
	org  string

	next     batch   // that lines are added to
	last     step    // of the batch that was sent last
	disabled []*line // documents that are
	closed   bool    // the organization is
	running  sync.WaitGroup
	slots    chan struct{}

	mu       sync.Mutex
	result   *Result
	progress Progress
	sent     []*batch // from the first one that is not finished, in the order of the file
}

// batch is lines that are sent together.
type batch struct {
	lines   []*line // nil once it is finished
	last    *line
	bytes   int
	refused int64
}

// lines reads the lines of a file, with documents renamed.
func (i *importer) lines(r io.Reader, take func(*line) error) error {
	in := newLines(r)
	named := map[string]bool{} // documents that were renamed
	for {
		text, torn := in.next()
		if torn == io.EOF {
			break
		}
		if torn != nil && torn != errTorn {
			return &LineError{Line: in.number, Rule: torn.Error()}
		}
		l, err := parseLine(in.number, text)
		switch {
		case err != nil && torn != nil:
			return &LineError{Line: in.number, Rule: torn.Error()}
		case err != nil:
			return err
		case (l.kind == Organization) != (in.number == 1):
			return &LineError{Line: in.number, Field: "kind", Rule: "must be organization in the first line, and in no other"}
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

// step is what lines are added by: all of one are added before those of the next.
type step struct {
	kind Kind
	rest bool // comments whose annotation is in an earlier batch
}

// take puts a line into a batch, and sends the one before that is full, or that is of something else.
func (i *importer) take(l *line) error {
	if i.ctx.Err() != nil {
		return context.Cause(i.ctx)
	}
	if l.kind == Document && isTrue(l.object, "disabled") {
		i.disabled = append(i.disabled, l)
	}
	switch {
	case l.kind == Organization:
		return i.organization(l)
	case l.number <= i.Resume.Lines:
		return nil
	case !i.fits(l):
		i.send()
	}
	i.next.lines, i.next.last, i.next.bytes = append(i.next.lines, l), l, i.next.bytes+l.size
	return nil
}

// organization adds the organization.
func (i *importer) organization(l *line) error {
	i.org, i.closed = l.id, isTrue(l.object, "disabled")
	if i.Resume.Lines > 0 {
		i.progress = i.Resume
		return nil
	}
	add := map[string]any{"organizations": []jsontext.Value{value(without(l.object, "disabled"))}}
	if err := i.call(addOrganizations, add); err != nil {
		return fmt.Errorf("the organization cannot be added: %w", err)
	}
	i.added(l)
	i.progress = Progress{Organization: i.org, Lines: 1, Kind: Organization}
	return nil
}

// ways are how lines of a kind are added: at most so many by one request, which have some fields in common.
var ways = map[Kind]struct {
	most int
	same []string
	add  func(*importer, []*line) error
}{
	Folder:     {maxBatchLines, nil, (*importer).folders},
	Document:   {most, []string{"folderId"}, (*importer).documents},
	Annotation: {maxBatchLines, []string{"documentId"}, (*importer).threads},
	Comment:    {maxBatchLines, []string{"documentId", "annotationId"}, (*importer).comments},
	User:       {maxBatchLines, []string{"documentId", "folderId"}, (*importer).users},
	Grant:      {100, []string{"userId"}, (*importer).grants},
	Group:      {1, nil, single((*importer).group)},
	Preference: {1, nil, single((*importer).preference)},
	ReadState:  {1, nil, single((*importer).readState)},
}

func single(add func(*importer, *line) error) func(*importer, []*line) error {
	return func(i *importer, batch []*line) error { return add(i, batch[0]) }
}

// fits reports whether a line may be sent with those of the batch.
func (i *importer) fits(l *line) bool {
	if len(i.next.lines) == 0 {
		return true
	}
	first := i.next.lines[0]
	with := first
	if l.kind == Comment && first.kind == Annotation { // after the annotation, whatever is between
		with = i.next.last
	} else if l.kind != first.kind {
		return false
	}
	for _, name := range ways[l.kind].same {
		a, _ := with.Get(name)
		b, _ := l.Get(name)
		if string(a) != string(b) {
			return false
		}
	}
	return len(i.next.lines) < ways[l.kind].most && i.next.bytes+l.size <= maxBatchBytes
}

// send adds the lines of the batch, after those of earlier steps.
func (i *importer) send() {
	b := i.next
	i.next = batch{}
	if len(b.lines) == 0 {
		return
	}
	kind := b.lines[0].kind
	if next := (step{kind, kind == Comment}); next != i.last || kind == Folder {
		i.running.Wait()
		i.last = next
	}
	for _, l := range b.lines {
		l.sent = &b
	}
	select {
	case i.slots <- struct{}{}:
	case <-i.ctx.Done():
		return
	}
	i.mu.Lock()
	i.sent = append(i.sent, &b)
	i.mu.Unlock()
	i.running.Go(func() {
		if err := ways[kind].add(i, b.lines); err != nil {
			i.stop(err)
			return
		}
		i.finish(&b)
	})
}

// finish notes that what is to be done for a batch was done.
func (i *importer) finish(b *batch) {
	i.mu.Lock()
	defer i.mu.Unlock()
	b.lines = nil
	for len(i.sent) > 0 && i.sent[0].lines == nil {
		first := i.sent[0]
		i.sent = i.sent[1:]
		<-i.slots
		i.progress.Lines, i.progress.Kind, i.progress.Refused = first.last.number, first.last.kind, i.progress.Refused+first.refused
		if i.Progress != nil {
			i.Progress(i.progress)
		}
	}
}

// added counts lines that were added.
func (i *importer) added(list ...*line) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, l := range list {
		i.result.Added[l.kind]++
	}
}

// there counts a line that was there already, or refuses it where it is otherwise there.
func (i *importer) there(l *line, differing []string) {
	if len(differing) > 0 {
		i.refuse(l, "", fmt.Sprintf("it is there already, with another %s: it stays as it is", strings.Join(differing, ", ")))
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.result.There[l.kind]++
}

func (i *importer) refuse(l *line, field, message string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.result.Refused[l.kind]++
	l.sent.refused++
	if i.Refused != nil {
		i.Refused(Refusal{Line: l.number, Kind: l.kind, ID: l.id, Field: field, Message: message})
	}
}

// folders adds folders, in their order.
func (i *importer) folders(batch []*line) error {
	_, there, err := i.bulk("/v2/organizations/folders/add", "folders", batch, nil)
	for _, l := range there {
		if err == nil {
			err = i.get("/v2/organizations/folders/get", map[string]any{"folderId": l.id}, func(found object) {
				i.there(l, differing(l.object, ownAccess(found)))
			})
		}
	}
	return err
}

// documents adds documents of one folder, and sets the access types that are their own.
func (i *importer) documents(batch []*line) error {
	added, there, err := i.bulk("/v2/organizations/documents/add", "documents", batch, []string{"folderId"}, "accessType", "disabled")
	if err == nil && there != nil {
		there, err = i.asInFile(there, i.there) // perhaps without their access type
	}
	byAccess := map[string][]string{}
	for _, l := range append(added, there...) {
		if access := textOf(l.object, "accessType"); access != "" {
			byAccess[access] = append(byAccess[access], l.id)
		}
	}
	for access, ids := range byAccess {
		if err == nil {
			err = i.call("/v2/organizations/documents/access/update", map[string]any{"documentIds": ids, "accessType": access})
		}
	}
	return err
}

// asInFile returns those of up to 30 documents that are there as the file has them, but for what is set after they are added. each is called
// for all that are there, with the names of the fields that are otherwise.
func (i *importer) asInFile(list []*line, each func(l *line, differing []string)) (same []*line, err error) {
	byID := map[string]*line{}
	for _, l := range list {
		byID[l.id] = l
	}
	err = i.get(documentsGet, map[string]any{"documentIds": slices.Collect(maps.Keys(byID))}, func(answer object) {
		found := renamed(ownAccess(answer), "id", "documentId")
		l := byID[textOf(found, "documentId")]
		names := slices.DeleteFunc(differing(l.object, found), func(name string) bool {
			_, own := found.Get("accessType")
			return name == "disabled" || name == "accessType" && !own
		})
		if each(l, names); len(names) == 0 {
			same = append(same, l)
		}
	})
	return same, err
}

// disable disables what is disabled in the file: documents that are there as the file has them, and the organization.
func (i *importer) disable() error {
	for few := range slices.Chunk(i.disabled, most) {
		same, err := i.asInFile(few, func(*line, []string) {})
		if err == nil && same != nil {
			err = i.call("/v2/organizations/documents/access/disablestate/update", map[string]any{"documentIds": idsOf(same), "disabled": true})
		}
		if err != nil {
			return err
		}
	}
	if !i.closed {
		return nil
	}
	return i.call(disableOrganizations, map[string]any{"organizationIds": []string{i.org}, "disabled": true})
}

func idsOf(list []*line) []string {
	ids := make([]string, len(list))
	for n, l := range list {
		ids[n] = l.id
	}
	return ids
}

func (i *importer) users(batch []*line) error {
	_, _, err := i.bulk("/v2/users/add", "users", batch, []string{"documentId", "folderId"})
	return err
}

// grants gives grants of one user: one by one where not all can be given.
func (i *importer) grants(batch []*line) error {
	resources := make([]jsontext.Value, len(batch))
	for n, l := range batch {
		resources[n] = value(with(without(l.object, "userId"), "organizationId", quoted(i.org)))
	}
	err := i.call(addPermissions, map[string]any{
		"user": map[string]any{"userId": textOf(batch[0].object, "userId")}, "permissions": map[string]any{"resources": resources},
	})
	if len(batch) == 1 || err != nil && !refuses(err) {
		return i.one(batch[0], err)
	}
	if err == nil {
		i.added(batch...)
		return nil
	}
	for _, l := range batch {
		if err := i.grants([]*line{l}); err != nil {
			return err
		}
	}
	return nil
}

func (i *importer) group(l *line) error {
	g := without(l.object, "userIds")
	err := i.call("/v2/organizations/usergroups/add", map[string]any{"organizationUserGroups": []jsontext.Value{value(g)}})
	if users, there := l.Get("userIds"); err == nil && there && len(itemsOf(users)) > 0 {
		err = i.call("/v2/organizations/usergroups/users/add", map[string]any{"organizationUserGroupId": l.id, "userIds": users})
	}
	return i.one(l, err)
}

func (i *importer) preference(l *line) error {
	config, _ := l.Get("config")
	request := map[string]any{"userIds": []string{l.id}, "config": config}
	if doc := l.document(); doc != "" {
		request["documentIds"] = []string{doc}
	}
	return i.one(l, i.call("/v2/notifications/config/set", request))
}

func (i *importer) readState(l *line) error {
	request := map[string]any{}
	for _, m := range l.object {
		request[m.Key] = m.Value
	}
	if id, there := request["annotationId"]; there {
		delete(request, "annotationId")
		request["annotationIds"] = []any{id}
	}
	return i.one(l, i.call("/v2/commentannotations/read/set", request))
}
