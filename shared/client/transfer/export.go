package transfer

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/client"
)

// ExportOptions configure an export. The zero value exports everything, which requires an operator
// of this service.
type ExportOptions struct {
	// Documented only uses documented operations, without an operator's rights. The file then lacks
	// groups, preferences, read states, removals and unsubscribed users, and the content of
	// disabled documents, and users have the fields of all levels at each. Export returns an error
	// for a disabled organization.
	Documented bool

	Progress func(Progress) // called from time to time; may be nil
	// called with each unreadable thing and the reason; the file omits it; may be nil
	Skipped func(text string)
}

// Paths of operations with several callers.
const (
	documentsGet   = "/v2/organizations/documents/get"
	getAnnotations = "/v2/commentannotations/get"
	getComments    = "/v2/commentannotations/comments/get"
	getRecords     = "/operator/records/get"
)

// mostIDs is the maximum number of ids in a request.
const mostIDs = 30

// Export writes an organization to w as a file of this package. It reads through the operations of
// c, thread by thread, so the file is not a snapshot. It keeps the folders, the ids of documents,
// and one page of a response in memory. It returns the error of a failed operation or of w.
func Export(ctx context.Context, c *client.Client, organization string, w io.Writer, o ExportOptions) error {
	e := exporter{ctx: ctx, c: c, org: organization, out: bufio.NewWriterSize(w, 1<<16), ExportOptions: o, inFolder: map[string]string{}, listed: map[string]bool{}}
	err := e.run()
	if failed := e.out.Flush(); err == nil {
		err = failed
	}
	return err
}

type exporter struct {
	ExportOptions
	ctx context.Context
	c   *client.Client
	org string
	out *bufio.Writer

	progress Progress
	folders  []object
	inFolder map[string]string // folders of documents, if documents do not contain them
	listed   map[string]bool   // ids of groups with a line
}

func (e *exporter) run() error {
	parts := []func() error{
		e.organization, func() error { return e.records("", nil) }, e.readFolders, e.writeFolders, func() error { return e.records("folders", true) }, e.groups, e.documents, e.users, e.people,
	}
	e.progress = Progress{Organization: e.org}
	for _, part := range parts {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) writeFolders() error {
	for _, f := range e.folders {
		if err := e.write(Folder, ownAccess(f)); err != nil {
			return err
		}
	}
	return nil
}

// write writes a line of a kind: the fields of a response that the add operation takes.
func (e *exporter) write(kind Kind, answer object) error {
	if err := writeLine(e.out, kind, forms[kind].keepMembers(answer)); err != nil {
		return err
	}
	e.progress.Lines, e.progress.Kind = e.progress.Lines+1, kind
	return nil
}

// Pages of a list: items, or groups of items by key.
type (
	items  = []jsontext.Value
	groups = client.Keyed[items]
)

// pages reads all pages of an operation.
func pages[Page items | groups](e *exporter, path string, request map[string]any, each func(Page) error) error {
	request["organizationId"] = e.org
	for {
		page, next, err := client.Call[Page](e.ctx, e.c, path, request)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := each(page); err != nil {
			return err
		}
		if e.Progress != nil {
			e.Progress(e.progress)
		}
		if next == "" {
			return nil
		}
		request["pageToken"] = next
	}
}

// items reads all items of an operation.
func (e *exporter) items(path string, request map[string]any, each func(object) error) error {
	return pages(e, path, request, func(page items) error {
		for _, item := range page {
			if err := each(parse(item)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *exporter) organization() error {
	o, err := getOrganization(e.ctx, e.c, e.org)
	switch {
	case err != nil:
		return err
	case o == nil:
		return client.Errorf(client.CodeNotFound, "organization %q does not exist", e.org)
	case isTrue(o, "disabled") && e.Documented:
		return client.Errorf(client.CodeFailedPrecondition, "organization %q is disabled: it cannot be read until it is enabled", e.org)
	}
	return e.write(Organization, further(enabled(renamed(o, "id", "organizationId")), "createdAt", "lastUpdated"))
}

// getOrganization returns an organization, or nil if it does not exist.
func getOrganization(ctx context.Context, c *client.Client, id string) (object, error) {
	list, _, err := client.Call[items](ctx, c, "/v2/organizations/get", map[string]any{"organizationIds": []string{id}})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return parse(list[0]), nil
}

// enabled removes the state from an organization or document, unless it is disabled.
func enabled(o object) object {
	if isTrue(o, "disabled") {
		return o
	}
	return without(o, "disabled")
}

// renamed renames a member of an object.
func renamed(o object, name, to string) object {
	o = slices.Clone(o)
	for i := range o {
		if o[i].Key == name {
			o[i].Key = to
		}
	}
	return o
}

// further removes the service's own fields from an object with further fields.
func further(o object, own ...string) object {
	o = without(o, own...)
	for i := range o {
		o[i].Key = escapeKind(o[i].Key)
	}
	return o
}

// readFolders reads the folders, parents first.
func (e *exporter) readFolders() error {
	err := e.items("/v2/organizations/folders/get", map[string]any{}, func(f object) error {
		e.folders = append(e.folders, f)
		return nil
	})
	slices.SortStableFunc(e.folders, func(a, b object) int { return cmp.Compare(depth(a), depth(b)) })
	return err
}

func depth(folder object) int {
	ancestors, _ := folder.Get("ancestors")
	return len(itemsOf(ancestors))
}

// ownAccess removes an inherited access type from a folder or document.
func ownAccess(o object) object {
	if isTrue(o, "inheritAccessFromParent") {
		return without(o, "accessType")
	}
	return o
}

// documents writes the documents in small groups, each before its threads.
func (e *exporter) documents() error {
	if e.Documented {
		if err := e.findFolders(); err != nil {
			return err
		}
	}
	written := map[string]bool{}
	for {
		before := len(written)
		var failed error
		err := pages(e, documentsGet, map[string]any{}, func(page items) error {
			var list []object
			for _, item := range page {
				if d := renamed(parse(item), "id", "documentId"); !written[textOf(d, "documentId")] {
					list = append(list, d)
				}
			}
			for few := range slices.Chunk(list, mostIDs) {
				if failed = e.writeDocuments(few); failed != nil {
					return failed
				}
				for _, d := range few {
					written[textOf(d, "documentId")] = true
				}
			}
			return nil
		})
		// Writing the threads of a page takes time: the token of the next page may have expired.
		// Then restart the list.
		if failed != nil || client.CodeOf(err) != client.CodeInvalidArgument || len(written) == before {
			return err
		}
	}
}

// findFolders finds the documents of folders, which the documented service omits in documents.
func (e *exporter) findFolders() error {
	for _, f := range e.folders {
		folder := textOf(f, "folderId")
		err := e.items(documentsGet, map[string]any{"folderId": folder}, func(d object) error {
			e.inFolder[textOf(d, "id")] = folder
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) writeDocuments(list []object) error {
	var ids []string
	for _, d := range list {
		id := textOf(d, "documentId")
		d = ownAccess(d)
		if folder := e.inFolder[id]; folder != "" {
			d = with(d, "folderId", quoted(folder))
		}
		if textOf(d, "folderId") == "root" {
			d = without(d, "folderId")
		}
		if isTrue(d, "disabled") && e.Documented {
			e.skip("document %q is disabled: its threads, users and read states cannot be read until it is enabled", id)
		} else {
			ids = append(ids, id)
		}
		if err := e.write(Document, further(enabled(d), "createdAt", "lastUpdated", "inheritAccessFromParent")); err != nil {
			return err
		}
	}
	if ids == nil {
		return nil
	}
	if err := e.records("documentIds", ids); err != nil {
		return err
	}
	if !e.Documented {
		return e.items(getRecords, map[string]any{"documentIds": ids, "threads": true}, e.part)
	}
	request := map[string]any{"documentIds": ids, "groupByDocumentId": true}
	return pages(e, getAnnotations, request, func(page groups) error {
		for _, write := range []func(document string, a object) error{e.thread, e.levels} {
			for _, group := range page {
				for _, item := range group.Value {
					if err := write(group.Key, parse(item)); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// records writes unsubscribed and removed users of the organization, or the records that a filter
// selects.
func (e *exporter) records(filter string, value any) error {
	if e.Documented {
		return nil
	}
	request := map[string]any{}
	if filter != "" {
		request[filter] = value
	}
	return e.items(getRecords, request, func(r object) error { return e.write(Kind(textOf(r, "kind")), r) })
}

// part writes a record of an annotation with the levels of its users, or of a comment.
func (e *exporter) part(r object) error {
	document := textOf(r, "documentId")
	if a, _ := r.Get("annotation"); a != nil {
		head := parse(a)
		if err := e.write(Annotation, annotationOf(document, head)); err != nil {
			return err
		}
		return e.levels(document, head)
	}
	c, _ := r.Get("comment")
	return e.comment(document, textOf(r, "annotationId"), parse(c))
}

// comment writes a comment.
func (e *exporter) comment(document, annotation string, c object) error {
	c = dropped(c, "attachments", "[]", "taggedUserContacts", "[]")
	return e.write(Comment, with(with(c, "annotationId", quoted(annotation)), "documentId", quoted(document)))
}

// levels writes the levels of users for an annotation.
func (e *exporter) levels(document string, a object) error {
	for _, name := range []string{"subscribedUsers", "unsubscribedUsers"} {
		users, _ := a.Get(name)
		for _, user := range parse(users) {
			level := with(with(parse(user.Value), "documentId", quoted(document)), "userId", quoted(user.Key))
			if textOf(level, "level") == "" {
				continue // another service returns it for participants
			}
			id, _ := a.Get("annotationId")
			if err := e.write(Level, with(level, "annotationId", id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// thread writes an annotation and its comments.
func (e *exporter) thread(document string, a object) error {
	id := textOf(a, "annotationId")
	comments, _ := a.Get("comments")
	for _, c := range itemsOf(comments) {
		if err := e.groupsOf(parse(c)); err != nil {
			return err
		}
	}
	if suggestion, has := a.Get("suggestion"); has {
		a = with(a, "suggestion", value(dropped(
			parse(suggestion), "summary", "null", "driftDetected", "false", "rejectReason", "null", "resolvedBy", "null", "resolvedAt", "null",
		)))
	}
	if err := e.write(Annotation, annotationOf(document, a)); err != nil {
		return err
	}
	comment := func(c object) error {
		if err := e.groupsOf(c); err != nil {
			return err
		}
		if text, html := textOf(c, "commentText"), textOf(c, "commentHtml"); text != "" && html == "" {
			c = without(c, "commentHtml") // returned beside the other
		} else if text == "" && html != "" {
			c = without(c, "commentText")
		}
		return e.comment(document, id, c)
	}
	if isTrue(a, "commentsTruncated") {
		return e.items(getComments, map[string]any{"documentId": document, "annotationId": id}, comment)
	}
	for _, c := range itemsOf(comments) {
		if err := comment(parse(c)); err != nil {
			return err
		}
	}
	return nil
}

// groupsOf writes each mentioned group once, if no operation lists groups.
func (e *exporter) groupsOf(c object) error {
	tags, _ := c.Get("taggedUserContacts")
	for _, v := range itemsOf(tags) {
		tag := parse(v)
		id := textOf(tag, "organizationUserGroupId")
		if id == "" || e.listed[id] {
			continue
		}
		e.listed[id] = true
		if err := e.write(Group, renamed(renamed(tag, "organizationUserGroupId", "groupId"), "text", "groupName")); err != nil {
			return err
		}
	}
	return nil
}

// annotationOf converts a response to the annotation of a line.
func annotationOf(document string, a object) object {
	if source := textOf(a, "sourceType"); source != "agent" && source != "rest-api" {
		a = without(a, "sourceType")
	}
	return with(plain(a), "documentId", quoted(document))
}

// dropped removes members from an object if they have the values that responses have by default.
// defaults are names, each with its value.
func dropped(o object, defaults ...string) object {
	for pair := range slices.Chunk(defaults, 2) {
		if v, has := o.Get(pair[0]); has && string(v) == pair[1] {
			o = without(o, pair[0])
		}
	}
	return o
}

// plain removes default values from an annotation: the type and the visibility.
func plain(a object) object {
	if v, _ := a.Get("visibility"); textOf(parse(v), "type") == "public" {
		a = without(a, "visibility")
	}
	if textOf(a, "type") == "comment" {
		a = without(a, "type")
	}
	return restricted(a)
}

// restricted adds the creator to an empty visibility, because requests need a user. It is empty if
// all its users were erased.
func restricted(a object) object {
	v, _ := a.Get("visibility")
	visibility := parse(v)
	if users, _ := visibility.Get("userIds"); textOf(visibility, "type") != "restricted" || len(itemsOf(users)) > 0 {
		return a
	}
	from, _ := a.Get("from")
	creator := cmp.Or(textOf(parse(from), "userId"), erasedUser)
	return with(a, "visibility", value(with(visibility, "userIds", array(items{quoted(creator)}))))
}

// erasedUser replaces an erased user. Nobody can see anything as this user.
const erasedUser = "erased-user"

// itemsOf returns the items of an array, or nil.
func itemsOf(v jsontext.Value) (items []jsontext.Value) {
	_ = json.Unmarshal(v, &items)
	return items
}

// users writes the users at each level, and the ends of their grants.
func (e *exporter) users() error {
	const path = "/v2/users/get"
	err := pages(e, path, map[string]any{}, func(page items) error { return e.granted("organization", e.org, page) })
	if err != nil {
		return err
	}
	for _, f := range e.folders {
		folder := textOf(f, "folderId")
		err := pages(e, path, e.ownFields(map[string]any{"folderId": folder}), func(page items) error { return e.granted("folder", folder, page) })
		if client.CodeOf(err) == client.CodeNotFound { // deleted during the export
			continue
		}
		if err != nil {
			return err
		}
	}
	request := e.ownFields(map[string]any{"allDocuments": true, "groupByDocumentId": true})
	return pages(e, path, request, func(page groups) error {
		for _, group := range page {
			if err := e.granted("document", group.Key, group.Value); err != nil {
				return err
			}
		}
		return nil
	})
}

// ownFields adds the field of a request for users that excludes fields from other levels. It is not
// documented by other services.
func (e *exporter) ownFields(request map[string]any) map[string]any {
	if !e.Documented {
		request["ownFields"] = true
	}
	return request
}

// granted writes users of the organization, a folder or a document after the ends of their grants,
// so that an import never gives access without an end.
func (e *exporter) granted(kind, id string, users []jsontext.Value) error {
	list := make([]object, len(users))
	for i, u := range users {
		list[i] = parse(u)
	}
	if e.Documented && kind != "organization" {
		var err error
		if list, err = e.withEnds(kind, id, list); err != nil {
			return err
		}
	}
	for _, u := range list {
		if end, ends := u.Get("expiresAt"); !ends || end.Kind() == 'n' {
			continue
		}
		if err := e.write(Grant, with(with(u, "type", quoted(kind)), "id", quoted(id))); err != nil {
			return err
		}
	}
	for _, u := range list {
		if kind != "organization" {
			u = with(u, kind+"Id", quoted(id))
		}
		if err := e.write(User, u); err != nil {
			return err
		}
	}
	return nil
}

// withEnds adds the ends of grants to users of a folder or document. It removes users without
// access.
func (e *exporter) withEnds(kind, id string, users []object) (list []object, err error) {
	type permissions = map[string]client.Keyed[client.Permission]
	for few := range slices.Chunk(users, mostIDs) {
		ids := make([]string, len(few))
		for i, u := range few {
			ids[i] = textOf(u, "userId")
		}
		request := map[string]any{"organizationId": e.org, "userIds": ids, kind + "Ids": []string{id}}
		answer, _, err := client.Call[client.Keyed[permissions]](e.ctx, e.c, "/v2/auth/permissions/get", request)
		if err != nil {
			return nil, err
		}
		for i, u := range few {
			by, _ := answer.Get(ids[i])
			p, _ := by[kind+"s"].Get(id)
			u = without(u, "expiresAt")
			if p.ExpiresAt != 0 {
				u = with(u, "expiresAt", jsontext.Value(jsontext.Int(p.ExpiresAt).String()))
			}
			if p.ErrorCode == "" {
				list = append(list, u)
			}
		}
	}
	return list, nil
}

func (e *exporter) groups() error {
	if e.Documented {
		return nil
	}
	return e.items("/v2/organizations/usergroups/get", map[string]any{}, func(g object) error {
		e.listed[textOf(g, "groupId")] = true
		return e.write(Group, g)
	})
}

// people writes preferences and read states.
func (e *exporter) people() error {
	if e.Documented {
		e.skip("groups, preferences, read states, removals and unsubscribed users: no documented operation lists them")
		return nil
	}
	err := e.items("/v2/notifications/config/users/get", map[string]any{}, func(p object) error {
		if config, _ := p.Get("config"); len(parse(config)) == 0 {
			if p = without(p, "config"); textOf(p, "mailFrequency") == "" {
				return nil // everything was reset
			}
		}
		return e.write(Preference, p)
	})
	if err != nil {
		return err
	}
	return pages(e, documentsGet, map[string]any{}, func(page items) error {
		for few := range slices.Chunk(page, mostIDs) {
			var ids []string
			for _, d := range few {
				ids = append(ids, textOf(parse(d), "id"))
			}
			request := map[string]any{"documentIds": ids}
			err := e.items("/v2/commentannotations/read/get", request, func(s object) error { return e.write(ReadState, s) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *exporter) skip(format string, args ...any) {
	if e.Skipped != nil {
		e.Skipped(fmt.Sprintf(format, args...))
	}
}
