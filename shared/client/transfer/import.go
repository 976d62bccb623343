package transfer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/client"
)

// ImportOptions say how a file is imported. The zero value imports all of it as it is.
type ImportOptions struct {
	Documents map[string]string // new ids of documents, by those that the file has

	Progress func(Progress) // is called now and then; may be nil
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
	i := &importer{ImportOptions: o, forms: forms()}
	return i.lines(r, func(*line) error { return nil })
}

// Import adds what a file of this package holds to the account of c: with its ids, times and authors, and nobody is notified of it. Only
// webhooks of an account with the setting events=all get the threads and comments. It may be repeated, also after one that was ended at any
// place: what is there already as the file has it stays, and what is there otherwise is refused and stays, too. It holds MaxLine bytes, or
// less than 20 MB of shorter lines.
//
// It fails with a *LineError for a line that is none of a file; what is before it is added then. It fails with the error of an operation
// that failed for now, or for all of the account; it may be repeated then. It does not fail where the service refuses a line: see Refusal.
func Import(ctx context.Context, c *client.Client, r io.Reader, o ImportOptions) (*Result, error) {
	i := &importer{
		ImportOptions: o, ctx: ctx, c: c, forms: forms(),
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
	return i.result, err
}

// Bounds of what is sent at once.
const (
	maxBatchLines = 400     // of one request
	maxBatchBytes = 1 << 20 // of one request, but for a larger line that stands alone
	maxRequests   = 8       // side by side
	maxTries      = 20      // of items that fail for now
)

// importer is one import.
type importer struct {
	ImportOptions
	ctx   context.Context
	stop  context.CancelCauseFunc // ends it with an error
	c     *client.Client
	org   string
	forms map[Kind]form

	batch   []*line // that are sent together
	bytes   int     // in it
	sent    step    // of the batch that was sent last
	running sync.WaitGroup
	slots   chan struct{}

	mu       sync.Mutex
	result   *Result
	progress Progress
}

// lines reads the lines of a file, with documents renamed.
func (i *importer) lines(r io.Reader, take func(*line) error) error {
	in := &lines{r: bufio.NewReaderSize(r, 1<<16)}
	named := map[string]bool{} // documents that were renamed
	for {
		text, torn := in.next()
		if torn == io.EOF {
			break
		}
		if torn != nil && torn != errTorn {
			return &LineError{Line: in.number, Rule: torn.Error()}
		}
		l, err := parseLine(in.number, text, i.forms)
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

// step is what lines are added by: all of one are added before those of the next, unless side.
type step struct {
	kind Kind
	rest bool // comments whose annotation is in an earlier batch
}

// take puts a line into a batch, and sends the one before that is full, or that is of something else.
func (i *importer) take(l *line) error {
	if i.ctx.Err() != nil {
		return context.Cause(i.ctx)
	}
	if l.kind == Organization {
		i.org = l.id
	}
	if !i.fits(l) {
		i.send()
	}
	i.batch, i.bytes = append(i.batch, l), i.bytes+l.size
	return nil
}

// fits reports whether a line may be sent with those of the batch.
func (i *importer) fits(l *line) bool {
	if len(i.batch) == 0 {
		return true
	}
	first, last := i.batch[0], i.batch[len(i.batch)-1]
	if len(i.batch) == maxBatchLines || i.bytes+l.size > maxBatchBytes {
		return false
	}
	same := func(names ...string) bool {
		for _, name := range names {
			a, _ := first.Get(name)
			b, _ := l.Get(name)
			if string(a) != string(b) {
				return false
			}
		}
		return l.kind == first.kind
	}
	switch l.kind {
	case Annotation:
		return first.kind == Annotation && same("documentId")
	case Comment:
		if first.kind == Annotation {
			return last.document() == l.document() && textOf(last.object, "annotationId") == textOf(l.object, "annotationId")
		}
		return same("documentId", "annotationId")
	case Document:
		return len(i.batch) < most && same("folderId")
	case User:
		return same("documentId", "folderId")
	case Grant:
		return len(i.batch) < 100 && same("userId")
	case Folder:
		return same()
	}
	return false
}

// send adds the lines of the batch, after those of earlier steps.
func (i *importer) send() {
	batch := i.batch
	i.batch, i.bytes = nil, 0
	if len(batch) == 0 {
		return
	}
	first := batch[0]
	next := step{first.kind, first.kind == Comment}
	if next != i.sent || first.kind == Folder {
		i.running.Wait()
	}
	i.sent = next
	if i.slots == nil {
		i.slots = make(chan struct{}, maxRequests)
	}
	i.slots <- struct{}{}
	i.running.Go(func() {
		defer func() { <-i.slots }()
		if i.ctx.Err() != nil {
			return
		}
		if err := i.add(batch); err != nil {
			i.stop(err)
			return
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		i.progress.Lines, i.progress.Kind = i.progress.Lines+int64(len(batch)), first.kind
		if i.Progress != nil {
			i.Progress(i.progress)
		}
	})
}

// add adds the lines of a batch.
func (i *importer) add(batch []*line) error {
	switch first := batch[0]; first.kind {
	case Organization:
		if err := i.call(addOrganizations, map[string]any{"organizations": []jsontext.Value{value(first.object)}}); err != nil {
			return fmt.Errorf("the organization cannot be added: %w", err)
		}
		i.added(first)
		return nil
	case Folder:
		return i.folders(batch)
	case Document:
		return i.documents(batch)
	case Annotation:
		return i.threads(batch)
	case Comment:
		return i.comments(first.document(), textOf(first.object, "annotationId"), batch)
	case User:
		base := map[string]any{}
		for _, name := range []string{"documentId", "folderId"} {
			if v, there := first.Get(name); there {
				base[name] = v
			}
		}
		_, err := i.bulk("/v2/users/add", base, "users", batch, func(l *line) object {
			return without(l.object, "documentId", "folderId")
		}, func(*line) error { return nil })
		return err
	case Grant:
		return i.grants(batch)
	case Group:
		return i.group(first)
	case Preference:
		return i.preference(first)
	case ReadState:
		return i.readState(first)
	}
	return nil
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
	if i.Refused != nil {
		i.Refused(Refusal{Line: l.number, Kind: l.kind, ID: l.id, Field: field, Message: message})
	}
}

// folders adds folders, in their order.
func (i *importer) folders(batch []*line) error {
	fields := func(l *line) object { return l.object }
	_, err := i.bulk("/v2/organizations/folders/add", map[string]any{}, "folders", batch, fields, func(l *line) error {
		list, err := i.get("/v2/organizations/folders/get", map[string]any{"folderId": l.id})
		if err != nil {
			return err
		}
		if len(list) == 1 {
			i.there(l, differing(l.object, ownAccess(list[0])))
		}
		return nil
	})
	return err
}

// documents adds documents of one folder, and sets the access types that are their own, and those that are disabled.
func (i *importer) documents(batch []*line) error {
	base := map[string]any{}
	if v, there := batch[0].Get("folderId"); there {
		base["folderId"] = v
	}
	fields := func(l *line) object { return without(l.object, "folderId", "accessType", "disabled") }
	var begun []*line // that are there, and may be without their access type or state
	added, err := i.bulk("/v2/organizations/documents/add", base, "documents", batch, fields, func(l *line) error {
		list, err := i.get("/v2/organizations/documents/get", map[string]any{"documentIds": []string{l.id}})
		if err != nil || len(list) == 0 {
			return err
		}
		found := renamed(ownAccess(list[0]), "id", "documentId")
		names := differing(l.object, found)
		if _, own := found.Get("accessType"); !own { // it was not come to
			names = slices.DeleteFunc(names, func(name string) bool { return name == "accessType" })
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == "disabled" })
		if i.there(l, names); len(names) == 0 {
			begun = append(begun, l)
		}
		return nil
	})
	if err != nil {
		return err
	}
	byAccess := map[string][]string{}
	var disabled []string
	for _, l := range append(added, begun...) {
		if access := textOf(l.object, "accessType"); access != "" {
			byAccess[access] = append(byAccess[access], l.id)
		}
		if isTrue(l.object, "disabled") {
			disabled = append(disabled, l.id)
		}
	}
	for access, ids := range byAccess {
		if err := i.call("/v2/organizations/documents/access/update", map[string]any{"documentIds": ids, "accessType": access}); err != nil {
			return err
		}
	}
	if disabled == nil {
		return nil
	}
	return i.call("/v2/organizations/documents/access/disablestate/update", map[string]any{"documentIds": disabled, "disabled": true})
}

// grants gives grants of one user.
func (i *importer) grants(batch []*line) error {
	resources := make([]jsontext.Value, len(batch))
	for n, l := range batch {
		resources[n] = value(with(without(l.object, "userId"), "organizationId", quoted(i.org)))
	}
	return i.each(batch, i.call(addPermissions, map[string]any{
		"user": map[string]any{"userId": textOf(batch[0].object, "userId")}, "permissions": map[string]any{"resources": resources},
	}), func(l *line) error { return i.grants([]*line{l}) })
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
