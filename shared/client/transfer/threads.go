package transfer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/client"
)

// Paths of operations with several callers.
const (
	documentsGet      = "/v2/organizations/documents/get"
	addAnnotations    = "/v2/commentannotations/add"
	getAnnotations    = "/v2/commentannotations/get"
	updateAnnotations = "/v2/commentannotations/update"
	addComments       = "/v2/commentannotations/comments/add"
	getComments       = "/v2/commentannotations/comments/get"
	getRecords        = "/operator/records/get"
)

// maxComments is the maximum number of comments that one request adds.
const maxComments = 90

// thread is an annotation with its comments in the same batch.
type thread struct {
	*line
	inline []*line // added with it
	rest   []*line // added later
}

// threads adds annotations of one document with their comments.
func (i *importer) threads(batch []*line) error {
	var list []*thread
	for _, l := range batch {
		if l.kind == Annotation {
			list = append(list, &thread{line: l})
			continue
		}
		t := list[len(list)-1]
		if len(t.rest) == 0 && len(t.inline) < maxComments && fitsInline(t, l) {
			t.inline = append(t.inline, l)
		} else {
			t.rest = append(t.rest, l)
		}
	}
	for few := range slices.Chunk(list, most) {
		if err := i.fewThreads(few); err != nil {
			return err
		}
	}
	return nil
}

// fewThreads looks up at most 30 annotations, compares existing ones, and adds the others.
func (i *importer) fewThreads(list []*thread) error {
	there := map[string]object{}
	request := map[string]any{
		"documentId": list[0].document(), "pageSize": most, "annotationIds": idsOf(list),
	}
	err := i.get(getAnnotations, request, func(a object) { there[textOf(a, "annotationId")] = a })
	if err != nil && !refuses(err) {
		return err
	}
	var missing []*line
	byLine := map[*line]*thread{}
	for _, t := range list {
		found, is := there[t.id]
		switch {
		case err != nil:
			i.refuse(t.line, "", client.MessageOf(err))
			i.allowed(slices.Concat(t.inline, t.rest)) // refuses all
		case is:
			if err := i.compareThread(t, found); err != nil {
				return err
			}
		default:
			missing, byLine[t.line] = append(missing, t.line), t
		}
	}
	added, err := i.items(addAnnotations, map[string]any{"documentId": list[0].document()}, "commentAnnotations", missing,
		func(l *line) jsontext.Value { return byLine[l].asSent() },
		func(l *line, field string) (*line, string) { return byLine[l].find(field) },
	)
	for _, l := range added {
		if err == nil {
			err = i.complete(byLine[l], nil)
		}
		delete(byLine, l)
	}
	if err != nil {
		return err
	}
	for _, t := range byLine { // refused ones
		i.allowed(slices.Concat(t.inline, t.rest))
	}
	return nil
}

// fitsInline reports whether a comment can be added with its annotation. Such a request accepts no
// attachments, reactions and texts of tags. Until an update sets the creator, the author of the
// first comment could see a restricted thread.
func fitsInline(t *thread, c *line) bool {
	_, attachments := c.Get("attachments")
	_, reactions := c.Get("reactions")
	_, narrowed := t.Get("visibility")
	author, _ := c.Get("from")
	creator, _ := t.Get("from")
	if attachments || reactions || narrowed && len(t.inline) == 0 && textOf(parse(author), "userId") != textOf(parse(creator), "userId") {
		return false
	}
	tags, _ := c.Get("taggedUserContacts")
	return !slices.ContainsFunc(itemsOf(tags), func(tag jsontext.Value) bool { _, has := parse(tag).Get("text"); return has })
}

// statusByUpdate reports whether only an update can set the status: one without an icon.
func statusByUpdate(a object) bool {
	member, _ := a.Get("status")
	status, defaults := parse(member), []string{"", "OPEN", "IN_PROGRESS", "RESOLVED"}
	_, svg := status.Get("svg")
	_, icon := status.Get("iconUrl")
	return !svg && !icon && !slices.Contains(defaults, textOf(status, "id"))
}

// byUpdate returns the fields of the annotation that the add operation does not set.
func (t *thread) byUpdate() []string {
	names := []string{"documentId", "from", "statusUpdatedByUserId", "resolvedByUserId", "resolvedAt"}
	if statusByUpdate(t.object) {
		names = append(names, "status")
	}
	return names
}

// asSent returns the annotation with its comments for the add operation.
func (t *thread) asSent() jsontext.Value {
	a := without(t.object, t.byUpdate()...)
	if len(t.inline) > 0 {
		a = with(a, "commentData", asSent(t.inline))
	}
	return value(a)
}

// asSent returns comments for a request. A comment without an added time gets the time of its
// creation, so that it is not new.
func asSent(comments []*line) jsontext.Value {
	list := make([]jsontext.Value, len(comments))
	for n, c := range comments {
		sent := without(c.object, "documentId", "annotationId")
		if made, has := sent.Get("createdAt"); has {
			if _, says := sent.Get("addedAt"); !says {
				sent = with(sent, "addedAt", made)
			}
		}
		list[n] = value(sent)
	}
	return array(list)
}

// find returns the line and field of a mistake in an annotation. If the line is a comment, find
// removes it from the inline comments.
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

// complete adds to an existing annotation the missing fields that only an update sets, then further
// comments. found is the existing annotation, or nil if it was just added.
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
	return i.comments(i.allowed(t.rest))
}

// change returns the update of an annotation, or nil if found needs none.
func (t *thread) change(found object) jsontext.Value {
	var change object
	set := func(name string, v jsontext.Value) { change = with(change, name, v) }
	open := t.byUpdate()
	for _, m := range t.object {
		there, _ := found.Get(m.Key)
		switch m.Key {
		case "documentId": // identifies it
		case "from":
			if found == nil && len(t.inline) > 0 {
				there, _ = t.inline[0].Get("from")
			}
			if found == nil && len(t.inline) == 0 || !contains(m.Value, there) || !contains(there, m.Value) {
				set("from", mergePatch(there, m.Value))
			}
		case "suggestion":
			if !slices.Contains([]string{"", "pending"}, textOf(parse(m.Value), "status")) && !contains(m.Value, there) {
				set("suggestion", m.Value)
			}
		default:
			if slices.Contains(open, m.Key) && !contains(m.Value, there) {
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

// mergePatch returns the patch that changes there to v if an update merges it.
func mergePatch(there, v jsontext.Value) jsontext.Value {
	made := parse(v)
	for _, m := range parse(there) {
		if _, stays := made.Get(m.Key); !stays {
			made = with(made, m.Key, jsontext.Value("null"))
		}
	}
	return value(made)
}

// compareThread compares an existing annotation with the file: it is equal, or incomplete after an
// interrupted import, or refused. Missing comments are added unless it is refused.
func (i *importer) compareThread(t *thread, answer object) error {
	found := object(forms[Annotation].keepMembers(annotationOf(t.document(), answer)))
	open := append(t.byUpdate(), "suggestion")
	wrong := slices.DeleteFunc(differing(t.object, found), func(name string) bool { return slices.Contains(open, name) })
	t.inline, t.rest = nil, slices.Concat(t.inline, t.rest)
	if !isTrue(answer, "commentsTruncated") {
		comments, _ := answer.Get("comments")
		t.rest = i.missing(t.rest, itemsOf(comments))
	}
	if !i.existing(t.line, wrong) {
		i.allowed(t.rest) // refuses all
		return nil
	}
	return i.complete(t, found)
}

// missing counts existing comments, and returns the others.
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
			i.existing(l, differing(without(l.object, "documentId", "annotationId"), found))
		} else {
			missing = append(missing, l)
		}
	}
	return missing
}

// comments adds missing comments to an annotation.
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
		if len(missing) == len(list) { // they appeared and were deleted
			return err
		}
		list = missing
	}
	return nil
}
