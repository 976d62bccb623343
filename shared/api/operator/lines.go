package operator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"collabdata/shared/api/commentannotations"
	"collabdata/shared/api/organizations"
	"collabdata/shared/api/rpc"
	"collabdata/shared/api/users"
	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/store/threads"
)

// OrganizationRecord is the organization itself.
type OrganizationRecord struct {
	organizations.NewOrganization
	Disabled bool `json:"disabled"`
}

// DocumentRecord is a document with its own access type.
type DocumentRecord struct {
	organizations.NewDocument
	FolderID   *string        `json:"folderId" rule:"notnull,id" doc:"Its folder. Default: none"`
	AccessType *collab.Access `json:"accessType" doc:"Who can see it. Default: as its folder, or the account"`
	Disabled   bool           `json:"disabled"`
}

// organization adds the organization, or its missing further fields.
func (s *Service) organization(ctx context.Context, call *rpc.Call, o OrganizationRecord) (added bool, err error) {
	list, err := s.Directory.Organizations(ctx, call.Account, []string{o.OrganizationID})
	if err != nil {
		return false, err
	}
	if len(list) > 0 {
		lacks, field := furtherLacking(o.Further, list[0].Metadata)
		switch {
		case o.OrganizationName != nil && *o.OrganizationName != list[0].Name:
			field = "organizationName"
		case o.Disabled && !list[0].Disabled:
			field = "disabled"
		}
		if field != "" {
			return false, collab.Otherwise(field)
		}
		if lacks == "" {
			return false, nil
		}
	}
	errs := s.Directory.ChangeOrganizations(ctx, call.Request, []string{o.OrganizationID}, true, func(_ int, to *collab.Organization) error {
		to.Disabled = to.Disabled || o.Disabled
		return o.Apply(to)
	})
	return true, errs[0]
}

// furtherLacking returns the names of the first further field that an existing thing lacks, and of
// the first one with another value, or "".
func furtherLacking(want collab.Object, existing collab.JSON) (lacks, differs string) {
	present := existing.Object()
	for _, m := range want {
		other := present.Get(m.Name)
		switch {
		case string(m.Value) == "null":
		case other == nil:
			lacks = cmp.Or(lacks, m.Name)
		case differs == "" && !commentannotations.SameJSON(m.Value, other):
			differs = m.Name
		}
	}
	return lacks, differs
}

// folders adds missing folders, in order.
func (r restorer) folders(ctx context.Context, list []organizations.NewFolder) (added []bool, errs []error) {
	added, errs = make([]bool, len(list)), make([]error, len(list))
	ids := collab.Map(list, func(f organizations.NewFolder) string { return f.FolderID })
	before, err := r.Directory.Imported(ctx, r.org, "folder", ids)
	var found collab.Folders
	if err == nil {
		found, err = r.Directory.FoldersAbove(ctx, r.org, ids)
	}
	var missing []collab.Folder
	var places []int
	for i := range list {
		want := list[i].Folder(r.call.Millis())
		existing, exists := found[want.ID]
		switch {
		case err != nil:
			errs[i] = err
		case !exists && before[want.ID] && !r.restore:
			errs[i] = collab.DeletedSince("folder")
		case !exists:
			missing, places = append(missing, want), append(places, i)
		case existing.Parent != want.Parent:
			errs[i] = collab.Otherwise("parentFolderId")
		case existing.Access != want.Access:
			errs[i] = collab.Otherwise("accessType")
		case list[i].FolderName != nil && existing.Name != want.Name:
			errs[i] = collab.Otherwise("folderName")
		}
	}
	if len(missing) > 0 {
		for n, err := range r.Directory.AddFolders(ctx, r.call.Request, r.org, missing) {
			added[places[n]], errs[places[n]] = err == nil, again(err)
		}
	}
	r.remember(ctx, "folder", ids, before, errs)
	return added, errs
}

// remember records the things that the import added or found, for later imports.
func (r restorer) remember(ctx context.Context, kind string, ids []string, before map[string]bool, errs []error) {
	var present []string
	for i, id := range ids {
		if !before[id] && (errs[i] == nil || collab.CodeOf(errs[i]) == collab.AlreadyExists) {
			present = append(present, id)
		}
	}
	if err := r.Directory.SetImported(ctx, r.org, kind, present); err != nil {
		for i, id := range ids {
			if slices.Contains(present, id) {
				errs[i] = err
			}
		}
	}
}

// documents adds missing documents.
func (r restorer) documents(ctx context.Context, list []DocumentRecord) (added []bool, errs []error) {
	added, errs = make([]bool, len(list)), make([]error, len(list))
	all := collab.Map(list, func(d DocumentRecord) string { return d.DocumentID })
	before, err := r.Directory.Imported(ctx, r.org, "document", all)
	var found []collab.Document
	if err == nil {
		found, err = r.Directory.DocumentsByID(ctx, r.org, all)
	}
	existing := map[string]collab.Document{}
	for _, d := range found {
		existing[d.ID] = d
	}
	missing := map[string][]int{} // places by folder
	for i, d := range list {
		folder, access := cmp.Or(collab.Deref(d.FolderID), collab.RootFolder), collab.Deref(d.AccessType).Canonical()
		old, exists := existing[d.DocumentID]
		lacks, differs := furtherLacking(d.Further, old.Metadata)
		switch {
		case err != nil:
			errs[i] = err
		case !exists && before[d.DocumentID] && !r.restore:
			errs[i] = collab.DeletedSince("document")
		case !exists:
			missing[folder] = append(missing[folder], i)
		case old.Folder != folder:
			errs[i] = collab.Otherwise("folderId")
		case old.Access != access:
			errs[i] = collab.Otherwise("accessType")
		case d.Disabled && !old.Disabled:
			errs[i] = collab.Otherwise("disabled")
		case d.DocumentName != nil && *d.DocumentName != old.Name:
			errs[i] = collab.Otherwise("documentName")
		case lacks != "" || differs != "":
			errs[i] = collab.Otherwise(cmp.Or(differs, lacks))
		}
	}
	for folder, places := range missing {
		ids := collab.Map(places, func(i int) string { return list[i].DocumentID })
		failures := r.Directory.AddDocuments(ctx, r.call.Request, r.org, folder, ids, func(n int, d *collab.Document) error {
			line := list[places[n]]
			d.Name, d.Access, d.Disabled = d.ID, collab.Deref(line.AccessType).Canonical(), line.Disabled
			return line.Apply(d)
		})
		for n, err := range failures {
			added[places[n]], errs[places[n]] = err == nil, again(err)
		}
	}
	r.remember(ctx, "document", all, before, errs)
	return added, errs
}

// UserRecord is a user of one level, with the fields of that level alone.
type UserRecord struct {
	users.NewUser
	DocumentID *string `json:"documentId" rule:"notnull,docid"`
	FolderID   *string `json:"folderId" rule:"notnull,id" doc:"The folder at which the user is stored"`
}

// Validate rejects two levels.
func (r *UserRecord) Validate(m *rpc.Violations) {
	r.NewUser.Validate(m)
	if r.DocumentID != nil && r.FolderID != nil {
		m.Add("folderId", "cannot be combined with documentId")
	}
}

// GrantRecord is the role of a user and its end.
type GrantRecord struct {
	UserID     string              `json:"userId" rule:"required,id"`
	Type       collab.ResourceType `json:"type" rule:"required"`
	ID         string              `json:"id" rule:"required,docid"`
	AccessRole collab.Role         `json:"accessRole" doc:"editor or viewer"`
	ExpiresAt  int64               `json:"expiresAt" rule:"min=0" doc:"Its end, in seconds since epoch. Default: never"`
}

func (r restorer) user(u UserRecord) restore {
	member := collab.Member{User: u.User, Grant: collab.Grant{Role: u.AccessRole}}
	u.Set(&member)
	return r.member(collab.ResourceName{Document: collab.Deref(u.DocumentID), Folder: collab.Deref(u.FolderID)}, member)
}

func (r restorer) grant(g GrantRecord) restore {
	var name collab.ResourceName
	switch {
	case g.Type == "document":
		name.Document = g.ID
	case g.Type == "folder":
		name.Folder = g.ID
	}
	return r.member(name, collab.Member{User: collab.User{UserID: g.UserID}, Grant: collab.Grant{Role: g.AccessRole, Expires: g.ExpiresAt}})
}

// member adds a user of a level, or the fields that the user lacks there, unless an earlier import
// did. It does not add a user who was removed.
func (r restorer) member(name collab.ResourceName, want collab.Member) restore {
	id := []string{name.Document, name.Folder, string(rpc.JSON(want.User)), fmt.Sprint(want.Grant, want.Locale, want.TimeZone)}
	return func(ctx context.Context) (bool, error) {
		return r.fresh(ctx, "member", [][]string{id}, func(places []int) (bool, error) {
			return r.addMember(ctx, name, want, len(places) > 0)
		})
	}
}

func (r restorer) addMember(ctx context.Context, name collab.ResourceName, want collab.Member, fresh bool) (bool, error) {
	name.Organization = r.org.Organization
	in, err := r.withDisabled().OpenResource(ctx, r.org.Account, name, collab.CreateFlags{})
	if err != nil {
		return false, err
	}
	found, err := r.Directory.MembersAt(ctx, in, []string{want.UserID})
	if err != nil {
		return false, err
	}
	existing, exists := found[want.UserID]
	lacks, field := lacking(want, existing)
	switch {
	case exists && field != "":
		return false, collab.Otherwise(field)
	case exists && !(lacks && fresh):
		return false, nil
	case !exists:
		removed, err := r.removed(ctx, in, want.UserID)
		if err != nil {
			return false, err
		}
		if removed {
			return false, collab.Errorf(collab.FailedPrecondition, "the user was taken out; left unchanged")
		}
		if !fresh {
			return false, collab.DeletedSince("user")
		}
	}
	return true, r.Directory.AddUnlessRemoved(ctx, r.call.Request, in, want.UserID, func(m *collab.Member) {
		m.User = want.User.Over(m.User)
		m.Role, m.Expires = cmp.Or(want.Role, m.Role), cmp.Or(want.Expires, m.Expires)
		m.Locale, m.TimeZone = cmp.Or(want.Locale, m.Locale), cmp.Or(want.TimeZone, m.TimeZone)
	})
}

// removed reports whether a user was removed from a resource or its organization.
func (r restorer) removed(ctx context.Context, in collab.Resource, user string) (bool, error) {
	for _, in := range []collab.Resource{{OrganizationRef: r.org}, in} {
		list, err := r.Directory.RemovalsOf(ctx, in, []string{user})
		if err != nil || len(list) > 0 {
			return true, err
		}
	}
	return false, nil
}

// lacking reports whether an existing member lacks fields of the wanted one. It returns the name of
// the first field with another value, or "".
func lacking(want, existing collab.Member) (lacks bool, differs string) {
	user := rpc.JSON(existing.User).Object()
	compare := func(name, want, existing string) {
		switch {
		case want == "" || want == existing:
		case existing == "":
			lacks = true
		case differs == "":
			differs = name
		}
	}
	for name, value := range rpc.JSON(want.User).Members() {
		compare(name, string(value), string(user.Get(name)))
	}
	compare("accessRole", string(want.Role), string(existing.Role))
	compare("locale", want.Locale, existing.Locale)
	compare("timeZone", want.TimeZone, existing.TimeZone)
	if want.Expires != 0 && want.Expires != existing.Expires {
		lacks = lacks || existing.Expires == 0
		if existing.Expires != 0 && differs == "" {
			differs = "expiresAt"
		}
	}
	return lacks, differs
}

// threadLines are the lines of one thread, with their positions among all records.
type threadLines struct {
	head     *commentannotations.AnnotationLine // nil if the request has only comments
	place    int                                // of head
	comments []*commentannotations.CommentLine
	places   []int // of comments
}

// threads adds annotations and comments: a thread with its first comments in one write. The results
// are in the order of annotations, then of comments.
func (r restorer) threads(
	ctx context.Context, annotations []commentannotations.AnnotationLine, comments []commentannotations.CommentLine,
) (added []bool, errs []error) {
	type key struct{ document, annotation string }
	byThread := map[key]*threadLines{}
	byDocument := map[string][]string{} // annotations, in order
	linesOf := func(k key) *threadLines {
		if byThread[k] == nil {
			byThread[k] = &threadLines{}
			byDocument[k.document] = append(byDocument[k.document], k.annotation)
		}
		return byThread[k]
	}
	for i := range annotations {
		t := linesOf(key{annotations[i].DocumentID, annotations[i].AnnotationID})
		t.head, t.place = &annotations[i], i
	}
	for i := range comments {
		t := linesOf(key{comments[i].DocumentID, comments[i].AnnotationID})
		t.comments, t.places = append(t.comments, &comments[i]), append(t.places, len(annotations)+i)
	}
	n := len(annotations) + len(comments)
	added, errs = make([]bool, n), make([]error, n)
	for document, ids := range byDocument {
		doc, err := r.document(ctx, document)
		var found map[string]*threads.Imported
		if err == nil {
			wanted := map[string][]int64{}
			for _, id := range ids {
				wanted[id] = collab.Map(byThread[key{document, id}].comments, func(c *commentannotations.CommentLine) int64 { return *c.CommentID })
			}
			found, err = r.Threads.ImportedThreads(ctx, doc, wanted)
		}
		store.All(len(ids), func(i int) error {
			t := byThread[key{document, ids[i]}]
			if err == nil {
				r.thread(ctx, doc, ids[i], t, found[ids[i]], added, errs)
				return nil
			}
			if t.head != nil {
				errs[t.place] = err
			}
			for _, place := range t.places {
				errs[place] = err
			}
			return nil
		})
	}
	return added, errs
}

// thread adds the lines of one thread. An existing thread or comment is left unchanged, and
// missing comments of an existing thread are added. Deleted ones of an earlier import stay deleted.
func (r restorer) thread(
	ctx context.Context, doc collab.DocumentRef, id string, t *threadLines, found *threads.Imported, added []bool, errs []error,
) {
	now := r.call.Millis()
	exists := found.Head != nil
	var missing, present []collab.Comment // present ones are new to imports
	var places, others []int              // of missing and present ones
	all := func(err error) {
		for _, place := range places {
			errs[place] = err
		}
	}
	if exists && !found.Before && (t.head == nil || !t.head.Same(found.Head)) {
		if places = t.places; t.head != nil {
			places = append(places, t.place)
		}
		all(collab.Errorf(collab.AlreadyExists, "another annotation has the id; left unchanged"))
		return
	}
	for i, line := range t.comments {
		place := t.places[i]
		existing, ok := found.Comments[*line.CommentID]
		if ok && !found.Had(*line.CommentID) {
			present, others = append(present, existing), append(others, place)
		}
		switch fields := line.Differs(&existing); {
		case !ok && exists && found.Had(*line.CommentID) && !r.restore:
			errs[place] = collab.DeletedSince("comment")
		case !ok:
			missing, places = append(missing, line.Comment(now)), append(places, place)
		case fields == nil:
		case r.update && collab.Deref(line.LastUpdated) > existing.LastUpdated:
			added[place], errs[place] = true, r.overwriteComment(ctx, doc, id, line)
		default:
			errs[place] = collab.Otherwise(strings.Join(fields, ", "))
		}
	}
	switch {
	case !exists && found.Before && !r.restore:
		if t.head != nil {
			errs[t.place] = collab.DeletedSince("annotation")
		}
		all(collab.DeletedSince("annotation"))
		return
	case !exists && t.head == nil:
		all(collab.NoAnnotation(doc, id))
		return
	case !exists:
		first := missing[:fitting(missing)]
		err := r.addThread(ctx, doc, t.head.Thread(first, now))
		if collab.CodeOf(err) == collab.InvalidArgument && len(first) > 0 {
			first = nil // one of them may be too large
			err = r.addThread(ctx, doc, t.head.Thread(nil, now))
		}
		if errs[t.place], added[t.place] = err, err == nil; err != nil {
			all(err)
			return
		}
		for _, place := range places[:len(first)] {
			added[place] = true
		}
		missing, places = missing[len(first):], places[len(first):]
	case !found.Before || len(present) > 0:
		if err := r.Threads.SetImported(ctx, doc, id, present); err != nil {
			places = append(places, others...)
			if t.head != nil {
				places = append(places, t.place)
			}
			all(err)
			return
		}
	}
	if exists && t.head != nil {
		switch fields := t.head.Differs(found.Head); {
		case fields == nil:
		case r.update && collab.Deref(t.head.LastUpdated) > found.Head.LastUpdated:
			added[t.place] = true
			errs[t.place] = r.Threads.RestoreHead(ctx, r.call.Request, doc, id, func(a *collab.Annotation) { t.head.Overwrite(a, now) })
		default:
			errs[t.place] = collab.Otherwise(strings.Join(fields, ", "))
		}
	}
	for len(missing) > 0 {
		n := max(fitting(missing), 1)
		err := r.addComments(ctx, doc, id, missing[:n])
		if err != nil && !collab.CodeOf(err).MayRepeat() && n > 1 { // one of them
			for i := range n {
				err := r.addComments(ctx, doc, id, missing[i:i+1])
				errs[places[i]], added[places[i]] = err, err == nil
			}
		} else {
			for _, place := range places[:n] {
				errs[place], added[place] = err, err == nil
			}
		}
		missing, places = missing[n:], places[n:]
	}
}

// fitting returns how many of the first comments fit into one write.
func fitting(comments []collab.Comment) int {
	bytes := 0
	n := slices.IndexFunc(comments, func(c collab.Comment) bool {
		bytes += c.Content()
		return bytes > store.MaxWriteBytes/2
	})
	if n < 0 {
		n = len(comments)
	}
	return min(n, collab.MaxComments)
}

func (r restorer) addThread(ctx context.Context, doc collab.DocumentRef, t *collab.Thread) error {
	return again(r.Threads.AddAnnotation(ctx, r.call.Request, doc, t, collab.NewAnnotation{
		Field: "annotation", Comments: "comments", Moved: true, Import: true,
	}))
}

func (r restorer) addComments(ctx context.Context, doc collab.DocumentRef, ann string, comments []collab.Comment) error {
	_, err := r.Threads.AddComments(ctx, r.call.Request, doc, ann, collab.NewComments{
		Field: "comments", Comments: comments, Moved: true, Import: true,
	})
	return again(err)
}

// again makes a caller repeat the addition of something that somebody else added meanwhile: then it
// is compared.
func again(err error) error {
	if collab.CodeOf(err) == collab.AlreadyExists {
		return collab.Errorf(collab.Aborted, "%s", collab.MessageOf(err))
	}
	return err
}

func (r restorer) overwriteComment(ctx context.Context, doc collab.DocumentRef, ann string, line *commentannotations.CommentLine) error {
	want := line.Comment(r.call.Millis())
	errs, err := r.Threads.UpdateComments(ctx, r.call.Request, doc, ann, collab.CommentChange{
		IDs: []int64{want.ID}, At: want.LastUpdated,
		Change: func(c *collab.Comment) error { *c = want; return nil },
	})
	return cmp.Or(err, errs[want.ID])
}
