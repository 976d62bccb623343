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
	getAnnotations    = "/v2/commentannotations/get"
	updateAnnotations = "/v2/commentannotations/update"
	addComments       = "/v2/commentannotations/comments/add"
	getComments       = "/v2/commentannotations/comments/get"
	getRecords        = "/operator/records/get"
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

// fewThreads asks which of at most 30 annotations are there, compares these, and adds the others.
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
			i.allowed(slices.Concat(t.inline, t.rest)) // none is
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
	for _, t := range byLine { // those that were refused
		i.allowed(slices.Concat(t.inline, t.rest))
	}
	return nil
}

// fitsInline reports whether a comment may be added with its annotation, as there a request takes no attachments and no texts of tags. The
// author of the first one would see a narrowed thread until an update says who created it.
func fitsInline(t *thread, c *line) bool {
	_, attachments := c.Get("attachments")
	_, narrowed := t.Get("visibility")
	author, _ := c.Get("from")
	creator, _ := t.Get("from")
	if attachments || narrowed && len(t.inline) == 0 && textOf(parse(author), "userId") != textOf(parse(creator), "userId") {
		return false
	}
	tags, _ := c.Get("taggedUserContacts")
	return !slices.ContainsFunc(itemsOf(tags), func(tag jsontext.Value) bool { _, has := parse(tag).Get("text"); return has })
}

// statusByUpdate reports whether no operation adds an annotation with its status, so that an update sets it: one without an icon.
func statusByUpdate(a object) bool {
	member, _ := a.Get("status")
	status, defaults := parse(member), []string{"", "OPEN", "IN_PROGRESS", "RESOLVED"}
	_, svg := status.Get("svg")
	_, icon := status.Get("iconUrl")
	return !svg && !icon && !slices.Contains(defaults, textOf(status, "id"))
}

// byUpdate are the fields of the annotation that the operation which adds it does not set.
func (t *thread) byUpdate() []string {
	names := []string{"documentId", "from", "statusUpdatedByUserId", "resolvedByUserId"}
	if statusByUpdate(t.object) {
		names = append(names, "status")
	}
	return names
}

// asSent returns the annotation with its comments as the operation that adds it takes it.
func (t *thread) asSent() jsontext.Value {
	a := without(t.object, t.byUpdate()...)
	if len(t.inline) > 0 {
		a = with(a, "commentData", asSent(t.inline))
	}
	return value(a)
}

// asSent returns comments as a request takes them. One whose line does not say when it was added
// was added when it was made: it is not new to anybody.
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

// complete adds what an annotation that is there is without: what an update alone sets, unless it has that, and then its further comments.
// found is it as it was found, nil for one that was just added.
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

// compareThread sees to an annotation that is there already: it is as the file has it, or was not completed when an import was ended, or is
// refused. Comments that are missing are added, unless it is refused.
func (i *importer) compareThread(t *thread, answer object) error {
	found := object(forms[Annotation].keepMembers(annotationOf(t.document(), answer)))
	open := append(t.byUpdate(), "suggestion")
	wrong := slices.DeleteFunc(differing(t.object, found), func(name string) bool { return slices.Contains(open, name) })
	t.inline, t.rest = nil, slices.Concat(t.inline, t.rest)
	if !isTrue(answer, "commentsTruncated") {
		comments, _ := answer.Get("comments")
		t.rest = i.missing(t.rest, itemsOf(comments))
	}
	if !i.there(t.line, wrong) {
		i.allowed(t.rest) // none is
		return nil
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
