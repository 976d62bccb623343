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

// ImportOptions configure an import. The zero value imports everything unchanged.
type ImportOptions struct {
	Documents map[string]string // new ids of documents, by ids in the file

	Progress func(Progress) // called from time to time, never concurrently; may be nil
	Refused  func(Refusal)  // called with each refused line; may be nil
}

// Refusal is a refused line and the reason. The import changed nothing for this line.
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
	for _, k := range Kinds() {
		added, unchanged, refused = added+r.Added[k], unchanged+r.Unchanged[k], refused+r.Refused[k]
	}
	return added, unchanged, refused
}

// Check reads a whole file. It returns a *LineError for the first line that Import would stop at.
func Check(r io.Reader, o ImportOptions) error {
	i := &importer{ImportOptions: o}
	return i.lines(r, func(*line) error { return nil })
}

// Import adds the contents of a file to the account of c, with their ids, times and authors. It
// notifies nobody. Webhooks get threads and comments only if the account has the setting allEvents.
// c must be a client of an operator.
//
// Import may be repeated, also after an interruption. It adds missing things, and missing fields of
// users, grants, preferences and the organization. It refuses a line if the thing exists with
// another value. It also refuses lines in a refused folder, document or annotation, because other
// people might see them. Later read states and removals take precedence. Finally, it disables
// documents and the organization as in the file.
//
// Import uses MaxLine bytes of memory, or less than 20 MB of shorter lines, plus the lines of
// disabled documents.
//
// Import returns a *LineError if a line is malformed; earlier lines are added. It returns an
// operation's error if the failure is temporary or concerns the whole account; then it may be
// repeated. Refused lines are not an error: see Refusal.
func Import(ctx context.Context, c *client.Client, r io.Reader, o ImportOptions) (*Result, error) {
	i := &importer{
		ImportOptions: o, c: c, slots: make(chan struct{}, maxRequests),
		refused: map[thing]bool{}, result: &Result{Added: map[Kind]int64{}, Unchanged: map[Kind]int64{}, Refused: map[Kind]int64{}},
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

// Limits of requests.
const (
	maxBatchLines = 400     // of a request
	maxBatchBytes = 1 << 20 // of a request, unless it has one larger line
	maxRequests   = 8       // concurrent
	maxTries      = 20      // for items with temporary failures
)

type importer struct {
	ImportOptions
	ctx  context.Context
	stop context.CancelCauseFunc // ends it with an error
	c    *client.Client
	org  string

	next     []*line // lines of the next request
	bytes    int     // bytes of next
	last     step    // last sent step
	disabled []*line // disabled documents
	closed   bool    // the organization is disabled
	running  sync.WaitGroup
	slots    chan struct{}
	folders  map[string]object // existing ones; nil until read

	mu       sync.Mutex
	result   *Result
	progress Progress
	refused  map[thing]bool
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

// step groups lines: all lines of a step are added before those of the next.
type step struct {
	kind Kind
	rest bool // comments of an annotation in an earlier batch
}

// take adds a line to the batch. If the line does not fit, it sends the batch first.
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
	case !i.fits(l):
		i.send()
	}
	i.next, i.bytes = append(i.next, l), i.bytes+l.size
	return nil
}

// organization adds the organization or its missing fields.
func (i *importer) organization(l *line) error {
	i.org, i.closed = l.id, isTrue(l.object, "disabled")
	l.object = without(l.object, "disabled")
	found, err := getOrganization(i.ctx, i.c, i.org)
	if err == nil && i.lacks(l, renamed(found, "id", "organizationId"), found != nil) {
		err = i.call(addOrganizations, map[string]any{"organizations": []jsontext.Value{value(l.object)}})
		if err == nil || found != nil {
			err = i.one(l, err)
		}
	}
	if err != nil {
		return fmt.Errorf("the organization cannot be added: %w", err)
	}
	_, _, err = client.Call[items](i.ctx, i.c, getRecords, map[string]any{"organizationId": i.org, "pageSize": 1})
	if client.CodeOf(err) == client.CodeNotFound {
		err = fmt.Errorf("only an operator imports: %w", err)
	}
	if err != nil {
		return err
	}
	i.progress = Progress{Organization: i.org, Lines: 1, Kind: Organization}
	return nil
}

// ways define how to add lines of each kind: the maximum per request, and common fields.
var ways = map[Kind]struct {
	most int
	same []string
	add  func(*importer, []*line) error
}{
	Folder:     {maxBatchLines, nil, (*importer).addFolders},
	Document:   {most, []string{"folderId"}, (*importer).documents},
	Annotation: {maxBatchLines, []string{"documentId"}, (*importer).threads},
	Comment:    {maxBatchLines, []string{"documentId", "annotationId"}, (*importer).comments},
	User:       {maxBatchLines, []string{"documentId", "folderId"}, (*importer).users},
	Grant:      {most, []string{"type", "id"}, (*importer).grants},

	Unsubscribed: {maxBatchLines, nil, records("unsubscribed")},
	Removal:      {maxBatchLines, nil, records("removals")},
	Group:        {10, nil, records("groups")},
	Level:        {maxBatchLines, []string{"documentId"}, records("levels")},
	Preference:   {maxBatchLines, nil, records("preferences")},
	ReadState:    {maxBatchLines, nil, records("readStates")},
}

// records returns a function that adds lines as records under a name in the request.
func records(name string) func(*importer, []*line) error {
	return func(i *importer, batch []*line) error {
		_, err := i.bulk("/operator/records/add", name, batch, nil)
		return err
	}
}

// fits reports whether a line can be sent with the batch.
func (i *importer) fits(l *line) bool {
	if len(i.next) == 0 {
		return true
	}
	first := i.next[0]
	with := first
	if l.kind == Comment && first.kind == Annotation { // follows its annotation
		with = i.next[len(i.next)-1]
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
	return len(i.next) < ways[l.kind].most && i.bytes+l.size <= maxBatchBytes
}

// send adds the lines of the batch, after those of earlier steps.
func (i *importer) send() {
	batch := i.next
	i.next, i.bytes = nil, 0
	if len(batch) == 0 {
		return
	}
	kind := batch[0].kind
	if next := (step{kind, kind == Comment}); next != i.last || kind == Folder {
		i.running.Wait()
		i.last = next
	}
	select {
	case i.slots <- struct{}{}:
	case <-i.ctx.Done():
		return
	}
	i.running.Go(func() {
		if allowed := i.allowed(batch); len(allowed) > 0 {
			if err := ways[kind].add(i, allowed); err != nil {
				i.stop(err)
				return
			}
		}
		<-i.slots
		i.mu.Lock()
		defer i.mu.Unlock()
		i.progress.Lines, i.progress.Kind = i.progress.Lines+int64(len(batch)), kind
		if i.Progress != nil {
			i.Progress(i.progress)
		}
	})
}

// thing can own other lines.
type thing struct {
	kind         Kind
	document, id string // document only for an annotation
}

// owners returns the things that a line belongs to.
func (l *line) owners() (list []thing) {
	in := textOf(l.object, "folderId")
	switch l.kind {
	case Folder:
		in = textOf(l.object, "parentFolderId")
	case Grant:
		list = append(list, thing{kind: Kind(textOf(l.object, "type")), id: l.id})
	}
	if list = append(list, thing{kind: Folder, id: in}); l.kind != Document {
		list = append(list, thing{kind: Document, id: l.document()})
	}
	if l.kind != Annotation {
		list = append(list, thing{Annotation, l.document(), textOf(l.object, "annotationId")})
	}
	return list
}

// allowed refuses lines of refused owners, and returns the others.
func (i *importer) allowed(list []*line) (allowed []*line) {
	for _, l := range list {
		i.mu.Lock()
		owners := l.owners()
		n := slices.IndexFunc(owners, func(t thing) bool { return i.refused[t] })
		i.mu.Unlock()
		if n < 0 {
			allowed = append(allowed, l)
		} else {
			i.refuse(l, "", fmt.Sprintf("its %s was refused", owners[n].kind))
		}
	}
	return allowed
}

// added counts added lines.
func (i *importer) added(list ...*line) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, l := range list {
		i.result.Added[l.kind]++
	}
}

// existing counts an existing line, or refuses it if fields differ. It reports whether it counted
// it.
func (i *importer) existing(l *line, differing []string) bool {
	if len(differing) > 0 {
		i.refuse(l, "", fmt.Sprintf("already exists with a different %s; left unchanged", strings.Join(differing, ", ")))
		return false
	}
	i.unchanged(l)
	return true
}

// unchanged counts an existing line.
func (i *importer) unchanged(l *line) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.result.Unchanged[l.kind]++
}

// lacks reports whether an existing thing lacks fields of its line, or does not exist. Otherwise it
// counts the line, or refuses it if a field differs.
func (i *importer) lacks(l *line, found object, exists bool) bool {
	if !exists {
		return true
	}
	names := differing(l.object, found)
	other := slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, has := found.Get(name); return !has })
	if len(other) == 0 && len(names) > 0 {
		return true
	}
	i.existing(l, other)
	return false
}

// refuse refuses a line and the lines that belong to it.
func (i *importer) refuse(l *line, field, message string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.result.Refused[l.kind]++
	switch l.kind {
	case Folder, Document:
		i.refused[thing{kind: l.kind, id: l.id}] = true
	case Annotation:
		i.refused[thing{Annotation, l.document(), l.id}] = true
	}
	if i.Refused != nil {
		i.Refused(Refusal{Line: l.number, Kind: l.kind, ID: l.id, Field: field, Message: message})
	}
}

// differingFields returns the names of fields that differ between a line and its folder or
// document: all fields of the line, and fields that decide about access.
func differingFields(l *line, found object) []string {
	names := differing(l.object, found)
	for _, name := range []string{"accessType", "folderId", "parentFolderId"} {
		v, there := found.Get(name)
		if _, has := l.Get(name); there && !has && v.Kind() != 'n' && textOf(found, name) != "root" {
			names = append(names, name)
		}
	}
	return names
}

// addFolders adds folders in order.
func (i *importer) addFolders(batch []*line) error {
	const path = "/v2/organizations/folders/get"
	if i.folders == nil {
		i.folders = map[string]object{}
		err := i.get(path, map[string]any{}, func(found object) { i.folders[textOf(found, "folderId")] = ownAccess(found) })
		if err != nil {
			return err
		}
	}
	var missing []*line
	for _, l := range batch {
		// its parent was just refused
		if found, there := i.folders[l.id]; len(i.allowed([]*line{l})) == 0 {
			continue
		} else if there {
			i.existing(l, differingFields(l, found))
		} else {
			missing = append(missing, l)
		}
	}
	_, err := i.bulk("/v2/organizations/folders/add", "folders", missing, nil)
	return err
}

// documents adds documents of one folder, and sets their own access types.
func (i *importer) documents(batch []*line) error {
	there := map[string]object{}
	err := i.get(documentsGet, map[string]any{"documentIds": idsOf(batch)}, func(found object) {
		there[textOf(found, "id")] = renamed(ownAccess(found), "id", "documentId")
	})
	if err != nil {
		return err
	}
	var missing, same []*line
	for _, l := range batch {
		found, is := there[l.id]
		if !is {
			missing = append(missing, l)
			continue
		}
		_, own := found.Get("accessType") // an interrupted import may not have set it
		names := slices.DeleteFunc(differingFields(l, found), func(name string) bool { return name == "disabled" || name == "accessType" && !own })
		if i.existing(l, names) {
			same = append(same, l)
		}
	}
	added, err := i.bulk("/v2/organizations/documents/add", "documents", missing, []string{"folderId"}, "accessType", "disabled")
	if err != nil {
		return err
	}
	byAccess := map[string][]*line{}
	for _, l := range append(added, same...) {
		if access := textOf(l.object, "accessType"); access != "" {
			byAccess[access] = append(byAccess[access], l)
		}
	}
	for access, list := range byAccess {
		err := i.call("/v2/organizations/documents/access/update", map[string]any{"documentIds": idsOf(list), "accessType": access})
		if err != nil && !refuses(err) {
			return err
		}
		for _, l := range list {
			if err != nil {
				i.refuse(l, "accessType", client.MessageOf(err))
			}
		}
	}
	return nil
}

// disable disables documents, unless refused, and the organization as in the file.
func (i *importer) disable() error {
	list := slices.DeleteFunc(i.disabled, func(l *line) bool { return i.refused[thing{kind: Document, id: l.id}] })
	for few := range slices.Chunk(list, most) {
		request := map[string]any{"documentIds": idsOf(few), "disabled": true}
		if err := i.call("/v2/organizations/documents/access/disablestate/update", request); err != nil {
			return err
		}
	}
	if !i.closed {
		return nil
	}
	return i.call(disableOrganizations, map[string]any{"organizationIds": []string{i.org}, "disabled": true})
}

func idsOf[L interface{ name() string }](list []L) []string {
	ids := make([]string, len(list))
	for n, l := range list {
		ids[n] = l.name()
	}
	return ids
}

// users adds users of one level, or their missing fields.
func (i *importer) users(batch []*line) error {
	level := map[string]any{}
	for _, name := range []string{"documentId", "folderId"} {
		if v, has := batch[0].Get(name); has {
			level[name] = v
		}
	}
	missing, err := i.usersWithout(batch, level)
	if err == nil {
		_, err = i.bulk("/v2/users/add", "users", missing, []string{"documentId", "folderId"})
	}
	return err
}

// usersWithout returns lines of users or grants on a level that do not exist or lack fields. It
// refuses removed users, because adding would restore them.
func (i *importer) usersWithout(batch []*line, level map[string]any) (missing []*line, _ error) {
	for few := range slices.Chunk(batch, most) {
		there := map[string]object{}
		request := withMember(withMember(level, "ownFields", true), "userIds", userIDs(few))
		err := i.get("/v2/users/get", request, func(u object) { there[textOf(u, "userId")] = u })
		if err != nil && !refuses(err) {
			return nil, err
		}
		var lacking []*line
		for _, l := range few {
			found, exists := there[textOf(l.object, "userId")]
			switch {
			case err != nil:
				i.refuse(l, "", client.MessageOf(err))
			case i.lacks(l.atLevel(), forms[l.kind].keepMembers(found), exists):
				lacking = append(lacking, l)
			}
		}
		removed, err := i.removed(lacking, level)
		if err != nil {
			return nil, err
		}
		for _, l := range lacking {
			if user := textOf(l.object, "userId"); removed[user] && there[user] == nil {
				i.refuse(l, "", "the user was taken out; left unchanged")
			} else {
				missing = append(missing, l)
			}
		}
	}
	return missing, nil
}

// atLevel returns a line of a user or grant without its level.
func (l *line) atLevel() *line {
	at := *l
	at.object = without(l.object, "documentId", "folderId", "type", "id")
	return &at
}

// removed returns users that were removed from the organization, or from the document of a level.
func (i *importer) removed(list []*line, level map[string]any) (map[string]bool, error) {
	removed := map[string]bool{}
	if len(list) == 0 {
		return removed, nil
	}
	request := map[string]any{"userIds": userIDs(list)}
	if doc, of := level["documentId"]; of {
		request["documentIds"] = []any{doc}
	}
	err := i.get(getRecords, request, func(r object) { removed[textOf(r, "userId")] = true })
	return removed, err
}

// withMember adds a member to a copy of a request.
func withMember(request map[string]any, name string, v any) map[string]any {
	request = maps.Clone(request)
	request[name] = v
	return request
}

func userIDs(list []*line) []string {
	ids := make([]string, len(list))
	for n, l := range list {
		ids[n] = textOf(l.object, "userId")
	}
	return ids
}

// grants adds grants on one resource.
func (i *importer) grants(batch []*line) error {
	level := map[string]any{}
	if of := textOf(batch[0].object, "type"); of != "organization" {
		level[of+"Id"] = batch[0].id
	}
	missing, err := i.usersWithout(batch, level)
	for _, l := range missing {
		if err == nil {
			err = i.one(l, i.call(addPermissions, map[string]any{
				"user":        map[string]any{"userId": textOf(l.object, "userId")},
				"permissions": map[string]any{"resources": items{value(with(without(l.object, "userId"), "organizationId", quoted(i.org)))}},
			}))
		}
	}
	return err
}
