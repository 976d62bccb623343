package transfer

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// check is the state of an import with Check.
type check struct {
	lines map[uint64]int64 // that add things, by the hash of the thing
	seed  maphash.Seed
	found []Refusal // to report, in the order in which they were found
}

// anyOrganization stands for an organization whose line is missing or bad.
const anyOrganization = "organization"

// report reports the refusals since the last report by their lines.
func (c *check) report(refused func(Refusal)) {
	if c == nil {
		return
	}
	slices.SortStableFunc(c.found, func(a, b Refusal) int { return int(a.Line - b.Line) })
	for _, r := range c.found {
		if refused != nil {
			refused(r)
		}
	}
	c.found = nil
}

// checked refuses a line that adds the thing of an earlier one, and warns of owners that no earlier
// line adds. It reports whether the service can check the line.
func (i *importer) checked(l *line) bool {
	adds := l.adds()
	if l.kind == Comment {
		adds.document = l.document() + "\x00" + textOf(l.object, "annotationId")
	}
	at := func(t thing) uint64 { return maphash.Comparable(i.check.seed, t) }
	for _, t := range l.owners() {
		if t.id == "" || t == adds || t.kind == Organization || t == (thing{kind: Folder, id: "root"}) || i.check.lines[at(t)] > 0 {
			continue
		}
		i.check.lines[at(t)] = l.number // warn once
		if i.Warned != nil {
			i.Warned(Refusal{Line: l.number, Kind: l.kind, ID: l.id, Message: fmt.Sprintf("no earlier line adds the %s %q", t.kind, t.id)})
		}
	}
	if !slices.Contains([]Kind{Folder, Document, Annotation, Comment}, l.kind) {
		return true
	}
	if first := i.check.lines[at(adds)]; first > 0 {
		ids := forms[l.kind].ids
		i.refuse(l, ids[len(ids)-1], fmt.Sprintf("must not repeat that of line %d", first))
		return false
	}
	i.check.lines[at(adds)] = l.number
	return true
}

// untilNow is a readAt that the service lowers to its time. A comment without times is added at the
// time of its request.
const untilNow = 253402300799999

// reads is the state of an import with Read.
type reads struct {
	users  map[string]*line // the first one of each user
	latest map[string]int64 // times of comments by document
}

// note notes users, and the times of comments.
func (r *reads) note(l *line) {
	switch l.kind {
	case User:
		if r.users[l.id] == nil {
			r.users[l.id] = l
		}
	case Comment:
		var at int64
		for _, name := range []string{"createdAt", "addedAt"} {
			at = cmp.Or(timeOf(l.object, name), at)
		}
		r.latest[l.document()] = max(r.latest[l.document()], cmp.Or(at, untilNow), timeOf(l.object, "lastUpdated"))
	}
}

// readAll adds a read state of each user for each document with comments.
func (i *importer) readAll() error {
	i.send()
	i.running.Wait()
	for _, document := range slices.Sorted(maps.Keys(i.reads.latest)) {
		for _, user := range slices.Sorted(maps.Keys(i.reads.users)) {
			l := &line{number: i.reads.users[user].number, kind: ReadState, id: user, object: object{
				{Key: "documentId", Value: quoted(document)}, {Key: "userId", Value: quoted(user)}, {Key: "read", Value: jsontext.Value("true")},
				{Key: "readAt", Value: jsontext.Value(jsontext.Int(i.reads.latest[document]).String())},
			}}
			l.size = len(value(l.object))
			if err := i.take(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// timeOf returns a member as a time, or 0.
func timeOf(o object, name string) int64 {
	var at float64 // also one such as 1.7e12
	if v, sent := o.Get(name); !sent || json.Unmarshal(v, &at) != nil {
		return 0
	}
	return int64(at)
}
