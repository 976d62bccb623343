package transfer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/client"
)

// Paths of operations that are called at several places.
const (
	documentsGet      = "/v2/organizations/documents/get"
	addAnnotations    = "/v2/commentannotations/add"
	addAnnotationsV1  = "/v1/commentannotations/add"
	getAnnotations    = "/v2/commentannotations/get"
	updateAnnotations = "/v2/commentannotations/update"
	addComments       = "/v2/commentannotations/comments/add"
	getComments       = "/v2/commentannotations/comments/get"
)

// maxComments is how many comments one request may add to an annotation.
const maxComments = 90

// thread is an annotation with those of its comments that came in the same batch.
type thread struct {
	*line
	inline []*line // that are added with it
	rest   []*line // that are added to it
}

// threads adds annotations of one document with the comments after them.
func (i *importer) threads(batch []*line) error {
	var list []*thread
	for _, l := range batch {
		if l.kind == Annotation {
			list = append(list, &thread{line: l})
			continue
		}
		t := list[len(list)-1]
		if len(t.rest) == 0 && len(t.inline) < maxComments && fitsInline(t.line, l) {
			t.inline = append(t.inline, l)
		} else {
			t.rest = append(t.rest, l)
		}
	}
	byLine, byPath := map[*line]*thread{}, map[string][]*line{}
	for _, t := range list {
		byLine[t.line] = t
		byPath[t.path()] = append(byPath[t.path()], t.line)
	}
	for path, lines := range byPath {
		added, there, err := i.items(path, map[string]any{"documentId": list[0].document()}, "commentAnnotations", lines,
			func(l *line) jsontext.Value { return byLine[l].asSent() },
			func(l *line, field string) (*line, string) { return byLine[l].find(field) },
		)
		for _, l := range added {
			if err == nil {
				err = i.complete(byLine[l], nil)
			}
			delete(byLine, l)
		}
		for few := range slices.Chunk(there, most) {
			if err == nil {
				err = i.compare(few, byLine)
			}
			for _, l := range few {
				delete(byLine, l)
			}
		}
		if err != nil {
			return err
		}
	}
	for _, t := range byLine { // those that were refused
		for _, c := range append(t.inline, t.rest...) {
			i.refuse(c, "", "its annotation was refused")
		}
	}
	return nil
}

// fitsInline reports whether a comment may be added with its annotation, as there a request takes no attachments and no texts of tags.
func fitsInline(a, c *line) bool {
	if _, has := c.Get("attachments"); has || statusForV1(a.object) {
		return false
	}
	tags, _ := c.Get("taggedUserContacts")
	return !slices.ContainsFunc(itemsOf(tags), func(tag jsontext.Value) bool { _, has := parse(tag).Get("text"); return has })
}

// statusForV1 reports whether the status has a type that version 1 alone takes: an object.
func statusForV1(a object) bool {
	status, _ := a.Get("status")
	kind, _ := parse(status).Get("type")
	return kind.Kind() == '{'
}

// statusByUpdate reports whether no operation adds an annotation with its status, so that an update sets it: one without an icon.
func statusByUpdate(a object) bool {
	member, _ := a.Get("status")
	status, defaults := parse(member), []string{"", "OPEN", "IN_PROGRESS", "RESOLVED"}
	_, svg := status.Get("svg")
	_, icon := status.Get("iconUrl")
	return !svg && !icon && !slices.Contains(defaults, textOf(status, "id"))
}

// What requests take of annotations beside the operation that adds them.
var (
	annotationV1 = shapeOf[client.NewAnnotationV1]()
	updatedData  = shapeOf[client.UpdatedData]()
)

// byUpdate are the fields of the annotation that the operation which adds it does not set.
func (t *thread) byUpdate() []string {
	names := []string{"documentId", "from", "statusUpdatedByUserId", "resolvedByUserId"}
	if t.path() == addAnnotations {
		if statusByUpdate(t.object) {
			names = append(names, "status")
		}
		return names
	}
	for _, m := range t.object {
		if annotationV1.fields[m.Key] == nil && updatedData.fields[m.Key] != nil {
			names = append(names, m.Key)
		}
	}
	return names
}

// path is that of the operation that adds the annotation.
func (t *thread) path() string {
	if statusForV1(t.object) {
		return addAnnotationsV1
	}
	return addAnnotations
}

// asSent returns the annotation with its comments as the operation that adds it takes it.
func (t *thread) asSent() jsontext.Value {
	a := without(t.object, t.byUpdate()...)
	if t.path() == addAnnotationsV1 {
		a = annotationV1.keepMembers(a)
	}
	if len(t.inline) > 0 {
		a = with(a, "commentData", asSent(t.inline))
	}
	return value(a)
}

// asSent returns comments as a request takes them.
func asSent(comments []*line) jsontext.Value {
	list := make([]jsontext.Value, len(comments))
	for n, c := range comments {
		list[n] = value(without(c.object, "documentId", "annotationId"))
	}
	return array(list)
}

// find returns the line that a field of an annotation to add is in, and the field in it. A comment is then not among those to add any more.
func (t *thread) find(field string) (*line, string) {
	place, in, _ := strings.Cut(strings.TrimPrefix(field, "commentData["), "]")
	n, err := strconv.Atoi(place)
	if !strings.HasPrefix(field, "commentData[") || err != nil || n >= len(t.inline) {
		return t.line, field
	}
	c := t.inline[n]
	t.inline = slices.Delete(slices.Clone(t.inline), n, n+1)
	return c, strings.TrimPrefix(in, ".")
}

// complete adds what an annotation that is there is without: what an update alone sets, unless it has that, and its further comments. found
// is it as it was found, nil for one that was just added.
func (i *importer) complete(t *thread, found object) error {
	if found == nil {
		i.added(append([]*line{t.line}, t.inline...)...)
	}
	if change := t.change(found); change != nil {
		request := map[string]any{"documentId": t.document(), "annotationIds": []string{t.id}, "updatedData": change}
		err := i.call(updateAnnotations, request)
		if err != nil && !refuses(err) {
			return err
		}
		if err != nil {
			i.refuse(t.line, "", "it was added, but not all of it was set: "+client.MessageOf(err))
		}
	}
	return i.comments(t.rest)
}

// change returns what an update is to set of an annotation that was added, and is otherwise as found; nil for nothing.
func (t *thread) change(found object) jsontext.Value {
	var change object
	set := func(name string, v jsontext.Value) { change = with(change, name, v) }
	open := t.byUpdate()
	for _, m := range t.object {
		there, _ := found.Get(m.Key)
		switch m.Key {
		case "documentId": // names it
		case "from":
			if found == nil && len(t.inline) > 0 {
				there, _ = t.inline[0].Get("from")
			}
			if found == nil && len(t.inline) == 0 || !within(m.Value, there) || !within(there, m.Value) {
				set("from", over(there, m.Value))
			}
		case "suggestion":
			if textOf(parse(m.Value), "status") != "pending" && !within(m.Value, there) {
				set("suggestion", m.Value)
			}
		default:
			if slices.Contains(open, m.Key) && !within(m.Value, there) {
				set(m.Key, m.Value)
			}
		}
	}
	if at, has := t.Get("lastUpdated"); has && change != nil {
		set("lastUpdated", at)
	}
	if change == nil {
		return nil
	}
	return value(change)
}

// over returns what makes one object of another where the members of an update are merged into it.
func over(there, v jsontext.Value) jsontext.Value {
	made := parse(v)
	for _, m := range parse(there) {
		if _, stays := made.Get(m.Key); !stays {
			made = with(made, m.Key, jsontext.Value("null"))
		}
	}
	return value(made)
}

// compare sees to annotations that are there already: they are as the file has them, or were not completed when an import was ended, or are
// refused. Their comments are added where they are missing.
func (i *importer) compare(lines []*line, threads map[*line]*thread) error {
	request := map[string]any{
		"organizationId": i.org, "documentId": lines[0].document(), "annotationIds": idsOf(lines), "pageSize": most,
	}
	for len(lines) > 0 {
		page, next, err := client.Call[[]jsontext.Value](i.ctx, i.c, getAnnotations, request)
		if err != nil {
			return err
		}
		for n, v := range page {
			if n >= len(lines) || v.Kind() == 'n' {
				continue // it was deleted meanwhile
			}
			if err := i.compareThread(threads[lines[n]], parse(v)); err != nil {
				return err
			}
		}
		if next == "" {
			break
		}
		lines, request["pageToken"] = lines[min(len(page), len(lines)):], next
	}
	return nil
}

func (i *importer) compareThread(t *thread, answer object) error {
	found := object(forms[Annotation].keepMembers(annotationOf(t.document(), answer)))
	names := differing(t.object, found)
	open := append(t.byUpdate(), "suggestion")
	wrong := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(open, name) })
	if i.there(t.line, wrong); len(wrong) > 0 {
		t.object = found // nothing of it is set
	}
	t.rest = append(t.inline, t.rest...)
	if !isTrue(answer, "commentsTruncated") {
		comments, _ := answer.Get("comments")
		t.rest = i.missing(t.rest, itemsOf(comments))
	}
	return i.complete(t, found)
}

// missing counts comments that are among those of an annotation, and returns the others.
func (i *importer) missing(list []*line, answers []jsontext.Value) (missing []*line) {
	byID := map[string]object{}
	for _, v := range answers {
		c := parse(v)
		id, _ := c.Get("commentId")
		byID[string(id)] = forms[Comment].keepMembers(c)
	}
	for _, l := range list {
		id, _ := l.Get("commentId")
		if found, there := byID[string(id)]; there {
			i.there(l, differing(without(l.object, "documentId", "annotationId"), found))
		} else {
			missing = append(missing, l)
		}
	}
	return missing
}

// comments adds comments to an annotation: those that are not there.
func (i *importer) comments(list []*line) error {
	for few := range slices.Chunk(list, maxComments) {
		if err := i.fewComments(few); err != nil {
			return err
		}
	}
	return nil
}

func (i *importer) fewComments(list []*line) error {
	target := func(name string, v any) map[string]any {
		return map[string]any{"documentId": list[0].document(), "annotationId": textOf(list[0].object, "annotationId"), name: v}
	}
	for len(list) > 0 {
		err := i.call(addComments, target("commentData", asSent(list)))
		switch {
		case err == nil:
			i.added(list...)
			return nil
		case client.CodeOf(err) != client.CodeAlreadyExists:
			if list, err = i.mistakes(list, err, nil); err != nil {
				return err
			}
			continue
		}
		var missing []*line
		for few := range slices.Chunk(list, most) {
			ids := make(items, len(few))
			for n, l := range few {
				ids[n], _ = l.Get("commentId")
			}
			request := target("commentIds", ids)
			request["organizationId"] = i.org
			found, _, err := client.Call[items](i.ctx, i.c, getComments, request)
			if err != nil {
				return err
			}
			missing = append(missing, i.missing(few, found)...)
		}
		if len(missing) == len(list) { // they came and went
			return err
		}
		list = missing
	}
	return nil
}
