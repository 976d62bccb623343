package operator

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"collabdata/shared/api/commentannotations"
	"collabdata/shared/api/notifications"
	"collabdata/shared/api/organizations"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/threads"
)

// Transfer returns the operations for exports and imports that the API does not have. They are
// called in the name of an account. A record is a line of an exported file that no API operation
// lists, or adds unchanged.
func Transfer() []rpc.Endpoint {
	return []rpc.Endpoint{RecordsGet(), RecordsAdd()}
}

type RecordsGetRequest struct {
	OrganizationID string   `json:"organizationId" rule:"required,id"`
	DocumentIDs    []string `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid" doc:"Documents with removed users or followers. Default: the organization, and unsubscribed addresses"`
	Threads        bool     `json:"threads" doc:"Annotations and comments of documentIds"`
	Folders        bool     `json:"folders" doc:"Only removals from folders"`
	UserIDs        []string `json:"userIds" rule:"notnull,nonempty,max=30,each=id" doc:"Only removals of these users; with documentIds also those from the organization"`
	rpc.PageRequest
}

// Record is a record of a user.
type Record struct {
	Kind       string       `json:"kind" doc:"unsubscribed, removal, level, annotation or comment"`
	UserID     string       `json:"userId,omitempty"`
	Address    string       `json:"address,omitempty"`
	DocumentID string       `json:"documentId,omitempty"`
	FolderID   string       `json:"folderId,omitempty"`
	GrantOnly  bool         `json:"grantOnly,omitempty" doc:"A removal that hides nothing"`
	Opened     bool         `json:"opened,omitempty" doc:"The document is open in spite of the removal from the organization"`
	Level      collab.Level `json:"level,omitempty"`

	UnsubscribedAt collab.Millis `json:"unsubscribedAt,omitzero"`
	RemovedAt      collab.Millis `json:"removedAt,omitzero"`

	Annotation   *commentannotations.Annotation `json:"annotation,omitzero" doc:"Without its comments"`
	AnnotationID string                         `json:"annotationId,omitzero" doc:"Of a comment"`
	Comment      *commentannotations.Comment    `json:"comment,omitzero" doc:"With everybody who reacted"`
}

// RecordsGet is POST /operator/records/get.
func RecordsGet() rpc.Endpoint {
	return reading("records/get", rpc.Method((*Service).RecordsGet), `
List records of an organization. Without filters, these are its users and addresses of its account
that unsubscribed from emails, and users removed from the organization. With documentIds, they are
users removed from these documents, or following them. With folders, they are users removed from
folders. With userIds, they are removals of these users. With threads, they are annotations, each
before its comments, whole as they are stored.`)
}

// Validate rejects other filters beside folders.
func (r *RecordsGetRequest) Validate(m *rpc.Violations) {
	if r.Folders && (r.DocumentIDs != nil || r.UserIDs != nil || r.Threads) {
		m.Add("folders", "cannot be combined with other filters")
	}
	if r.Threads && (r.DocumentIDs == nil || r.UserIDs != nil) {
		m.Add("threads", "requires documentIds, and no other filter")
	}
}

type recordPosition struct {
	List  string
	After string // sort key
}

// recordList is one of the concatenated lists of records, with a unique name.
type recordList struct {
	name string
	read func(after string, limit int) (next string, err error)
}

// RecordsGet returns a page of records, list after list.
func (s *Service) RecordsGet(ctx context.Context, call *rpc.Call, req *RecordsGetRequest) (*rpc.Page[Record], error) {
	var at recordPosition
	page, err := rpc.NewPage[Record](call, "record", req.PageRequest, &at)
	if err != nil {
		return nil, err
	}
	org, docs, err := s.withDisabled().Open(ctx, call.Account, req.OrganizationID, "", rpc.Distinct(req.DocumentIDs))
	if err != nil {
		return nil, err
	}
	var lists []recordList
	users := rpc.Distinct(req.UserIDs)
	switch {
	case users != nil || req.Folders:
		lists = append(lists, s.removals(ctx, collab.Resource{OrganizationRef: org}, users, page, req.Folders))
	case req.DocumentIDs == nil:
		lists = s.recordLists(ctx, org, page)
	case req.Threads:
		lists = collab.Map(docs, func(doc collab.DocumentRef) recordList { return s.threads(ctx, doc, page) })
	}
	if req.DocumentIDs != nil && !req.Threads {
		fromAll, from, err := s.Directory.HaveRemovals(ctx, org, docs)
		if err != nil {
			return nil, err
		}
		for i, doc := range docs {
			if from[i] || fromAll && users != nil {
				lists = append(lists, s.removals(ctx, collab.Resource{OrganizationRef: org, Document: doc}, users, page, false))
			}
			if fromAll && users == nil {
				lists = append(lists, s.openings(ctx, doc, page))
			}
			if users == nil {
				lists = append(lists, s.followers(ctx, doc, page))
			}
		}
	}
	first := slices.IndexFunc(lists, func(l recordList) bool { return l.name == at.List })
	for _, list := range lists[max(first, 0):] {
		if at.List != list.name {
			at = recordPosition{List: list.name}
		}
		if page.Most() == 0 {
			page.Next(at)
			break
		}
		if at.After, err = list.read(at.After, page.Most()); err != nil {
			return nil, err
		}
		if at.After != "" {
			page.Next(at)
			break
		}
	}
	return page, nil
}

// threads returns the list of annotations of a document, each before its comments.
func (s *Service) threads(ctx context.Context, doc collab.DocumentRef, page *rpc.Page[Record]) recordList {
	return recordList{"threads " + doc.Document, func(after string, limit int) (string, error) {
		for p, err := range s.Threads.ListParts(ctx, doc, after, limit) {
			if err != nil {
				return "", err
			}
			r := Record{Kind: "comment", DocumentID: doc.Document, AnnotationID: p.ID}
			if p.Annotation != nil {
				r.Kind, r.Annotation = "annotation", commentannotations.WholeHead(&collab.Thread{Document: doc.Document, Annotation: *p.Annotation})
			} else {
				r.Comment = new(commentannotations.Whole(p.Comment))
			}
			text := rpc.EncodeStored(r)
			if page.Most() == 0 || !page.AddEncoded(text, rpc.WrappedLen(text)) {
				return cmp.Or(after, keys.Annotations), nil
			}
			after = p.Key
		}
		return "", nil
	}}
}

// recordLists returns the lists of records of an organization, which fill a page.
func (s *Service) recordLists(ctx context.Context, org collab.OrganizationRef, page *rpc.Page[Record]) []recordList {
	unsubscribed := func(name string, addresses bool) recordList {
		return recordList{name, func(after string, limit int) (string, error) {
			list, next, err := s.Accounts.ListUnsubscribed(ctx, org.Account, org.Organization, addresses, after, limit)
			for _, u := range list {
				page.Add(Record{Kind: "unsubscribed", UserID: u.User, Address: u.Address, UnsubscribedAt: u.At})
			}
			return next, err
		}}
	}
	return []recordList{
		unsubscribed("users", false), unsubscribed("addresses", true), s.removals(ctx, collab.Resource{OrganizationRef: org}, nil, page, false),
	}
}

// removals returns the list of users removed from an organization, its folders or a document: of
// the given users, or all if users is nil.
func (s *Service) removals(
	ctx context.Context, in collab.Resource, users []string, page *rpc.Page[Record], folders bool,
) recordList {
	return recordList{"removals " + in.Document.Document, func(after string, limit int) (string, error) {
		var list []directory.Removal
		var next string
		var err error
		if users == nil {
			list, next, err = s.Directory.ListRemovals(ctx, in, after, limit)
		} else if list, err = s.Directory.RemovalsOf(ctx, in, users[slices.Index(users, after)+1:]); len(list) > limit {
			list, next = list[:limit], list[limit-1].User
		}
		for _, r := range list {
			if folders == (r.Folder != "") {
				page.Add(recordOf(r, in.Document))
			}
		}
		return next, err
	}}
}

// openings returns the list of users who see a document in spite of their removal from the
// organization.
func (s *Service) openings(ctx context.Context, doc collab.DocumentRef, page *rpc.Page[Record]) recordList {
	return recordList{"openings " + doc.Document, func(after string, limit int) (string, error) {
		list, next, err := s.Directory.ListOpenings(ctx, doc, after, limit)
		for _, r := range list {
			page.Add(recordOf(r, doc))
		}
		return next, err
	}}
}

func recordOf(r directory.Removal, doc collab.DocumentRef) Record {
	return Record{
		Kind: "removal", UserID: r.User, DocumentID: doc.Document, FolderID: r.Folder, RemovedAt: r.At, GrantOnly: r.GrantOnly, Opened: r.Opened,
	}
}

// followers returns the list of followers of a document.
func (s *Service) followers(ctx context.Context, doc collab.DocumentRef, page *rpc.Page[Record]) recordList {
	return recordList{"followers " + doc.Document, func(after string, limit int) (next string, err error) {
		list, err := s.Threads.Followers(ctx, doc)
		slices.Sort(list)
		for _, u := range list {
			switch {
			case u <= after:
			case limit == 0:
				return next, nil
			default:
				page.Add(Record{Kind: "level", UserID: u, DocumentID: doc.Document, Level: collab.LevelAll})
				next, limit = u, limit-1
			}
		}
		return "", err
	}}
}

// RecordsAddRequest is the data of POST /operator/records/add. Records are added in the order of
// the fields, so that one request can hold their owners.
type RecordsAddRequest struct {
	OrganizationID string                              `json:"organizationId" rule:"required,id"`
	Update         bool                                `json:"update" doc:"Overwrite annotations and comments that have a later lastUpdated in the request"`
	Restore        bool                                `json:"restore" doc:"Also add what an earlier request added and somebody deleted"`
	Organizations  []OrganizationRecord                `json:"organizations" rule:"notnull,max=1" doc:"The organization itself"`
	Unsubscribed   []UnsubscribedRecord                `json:"unsubscribed" rule:"notnull,max=500"`
	Folders        []organizations.NewFolder           `json:"folders" rule:"notnull,max=500" doc:"Parents first"`
	Groups         []GroupRecord                       `json:"groups" rule:"notnull,max=500"`
	Documents      []DocumentRecord                    `json:"documents" rule:"notnull,max=500"`
	Removals       []RemovalRecord                     `json:"removals" rule:"notnull,max=500"`
	Annotations    []commentannotations.AnnotationLine `json:"annotations" rule:"notnull,max=500"`
	Comments       []commentannotations.CommentLine    `json:"comments" rule:"notnull,max=500"`
	Levels         []LevelRecord                       `json:"levels" rule:"notnull,max=500"`
	Grants         []GrantRecord                       `json:"grants" rule:"notnull,max=500"`
	Users          []UserRecord                        `json:"users" rule:"notnull,max=500"`
	Preferences    []PreferenceRecord                  `json:"preferences" rule:"notnull,max=500"`
	ReadStates     []ReadStateRecord                   `json:"readStates" rule:"notnull,max=500"`
}

// UnsubscribedRecord is an unsubscribed user of the organization, or address of the account.
type UnsubscribedRecord struct {
	UserID         *string       `json:"userId" rule:"notnull,id"`
	Address        *string       `json:"address" rule:"notnull" doc:"The hash of the address"`
	UnsubscribedAt collab.Millis `json:"unsubscribedAt" rule:"required,time" doc:"Time of the unsubscription"`
}

func (r *UnsubscribedRecord) Validate(m *rpc.Violations) {
	if (r.UserID == nil) == (r.Address == nil) {
		m.Add("userId", "or address is required: send only one")
	}
	if r.Address != nil {
		if hash, err := hex.DecodeString(*r.Address); err != nil || hex.EncodeToString(hash) != *r.Address || len(hash) != addressBytes {
			m.Add("address", "must be the hash of an address: %d bytes in hexadecimal", addressBytes)
		}
	}
}

const addressBytes = len(unsubscribe.Address{})

// GroupRecord is a group with some of its users.
type GroupRecord struct {
	organizations.NewGroup
	UserIDs []string `json:"userIds" rule:"max=500,each=id"`
}

// RemovalRecord is a user removed from the organization or a document.
type RemovalRecord struct {
	UserID     string        `json:"userId" rule:"required,id"`
	DocumentID *string       `json:"documentId" rule:"notnull,docid"`
	FolderID   *string       `json:"folderId" rule:"notnull,id" doc:"The folder of the removal"`
	RemovedAt  collab.Millis `json:"removedAt" rule:"required,time" doc:"Time of the removal, or of the opening"`
	GrantOnly  bool          `json:"grantOnly" doc:"It took a grant, and hides nothing, as every removal from a folder"`
	Opened     bool          `json:"opened" doc:"The document is open in spite of the removal from the organization"`
}

// Validate requires at most one resource, and a document if it is open.
func (r *RemovalRecord) Validate(m *rpc.Violations) {
	switch {
	case r.DocumentID != nil && r.FolderID != nil:
		m.Add("folderId", "cannot be combined with documentId")
	case r.Opened && r.DocumentID == nil:
		m.Add("documentId", "is required if opened is true")
	case r.Opened && r.GrantOnly:
		m.Add("opened", "cannot be combined with grantOnly")
	}
}

// LevelRecord is a user's level for an annotation or a document.
type LevelRecord struct {
	DocumentID   string       `json:"documentId" rule:"required,docid"`
	AnnotationID *string      `json:"annotationId" rule:"notnull,id"`
	UserID       string       `json:"userId" rule:"required,id"`
	Level        collab.Level `json:"level" rule:"required" doc:"The events that notify the user"`
}

// Validate rejects the default level.
func (r *LevelRecord) Validate(m *rpc.Violations) {
	if r.Level == collab.LevelDefault || r.AnnotationID == nil && r.Level != collab.LevelAll {
		m.Add("level", "must not be the default level")
	}
}

// PreferenceRecord holds a user's preferences for a document or the organization.
type PreferenceRecord struct {
	UserID     string  `json:"userId" rule:"required,id"`
	DocumentID *string `json:"documentId" rule:"notnull,docid"`
	notifications.ConfigChange
}

// Validate rejects times of emails for a document.
func (r *PreferenceRecord) Validate(m *rpc.Violations) {
	r.ConfigChange.Validate(m)
	if r.DocumentID != nil && r.Times() {
		m.Add("documentId", "cannot be combined with mailFrequency and quietHours")
	}
}

// ReadStateRecord is a user's mark on a document or an annotation.
type ReadStateRecord struct {
	DocumentID   string        `json:"documentId" rule:"required,docid"`
	UserID       string        `json:"userId" rule:"required,id"`
	AnnotationID *string       `json:"annotationId" rule:"notnull,id"`
	Read         *bool         `json:"read" rule:"required"`
	ReadAt       collab.Millis `json:"readAt" rule:"required,time" doc:"Time of the mark: comments until then are read, or none is"`
}

// MinTime is the earliest time of a record, in 1973. An earlier one is likely in seconds.
const MinTime collab.Millis = 100_000_000_000

// checkTimes rejects times of records before MinTime.
func checkTimes[T any](m *rpc.Violations, array string, list []T) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if !slices.Contains(strings.Split(f.Tag.Get("rule"), ","), "time") {
			continue
		}
		for i := range list {
			at := reflect.Indirect(reflect.ValueOf(&list[i]).Elem().FieldByIndex(f.Index))
			if at.IsValid() && at.Int() < MinTime {
				m.Add(fmt.Sprintf("%s[%d].%s", array, i, f.Tag.Get("json")),
					"must be a time in milliseconds since epoch, from %d (in 1973): %d may be in seconds", MinTime, at.Int())
			}
		}
	}
}

// Validate checks audiences and times, and rejects another organization and repeated things.
func (r *RecordsAddRequest) Validate(m *rpc.Violations) {
	for i := range r.Organizations {
		if r.Organizations[i].OrganizationID != r.OrganizationID {
			m.Add(fmt.Sprintf("organizations[%d].organizationId", i), "must be the organizationId of the request")
		}
	}
	for i, g := range r.Grants {
		if g.Type == "organization" && g.ID != r.OrganizationID {
			m.Add(fmt.Sprintf("grants[%d].id", i), "must be the organizationId of the request")
		}
	}
	checkTimes(m, "unsubscribed", r.Unsubscribed)
	checkTimes(m, "removals", r.Removals)
	checkTimes(m, "annotations", r.Annotations)
	checkTimes(m, "comments", r.Comments)
	checkTimes(m, "readStates", r.ReadStates)
	rpc.Unique(m, "folders[%d].folderId", r.Folders, func(f *organizations.NewFolder) *string { return &f.FolderID })
	rpc.Unique(m, "documents[%d].documentId", r.Documents, func(d *DocumentRecord) *string { return &d.DocumentID })
	for i := range r.Annotations {
		r.Annotations[i].CheckVisibility(m, fmt.Sprintf("annotations[%d]", i), r.OrganizationID)
	}
	rpc.Unique(m, "annotations[%d].annotationId", r.Annotations, func(l *commentannotations.AnnotationLine) *[2]string {
		return &[2]string{l.AnnotationID, l.DocumentID}
	})
	rpc.Unique(m, "comments[%d].commentId", r.Comments, func(l *commentannotations.CommentLine) *[3]string {
		if l.CommentID == nil {
			return nil
		}
		return &[3]string{strconv.FormatInt(*l.CommentID, 10), l.AnnotationID, l.DocumentID}
	})
	rpc.Unique(m, "grants[%d].userId", r.Grants, func(g *GrantRecord) *[3]string { return &[3]string{g.UserID, string(g.Type), g.ID} })
	rpc.Unique(m, "users[%d].userId", r.Users, func(u *UserRecord) *[3]string {
		return &[3]string{u.UserID, collab.Deref(u.DocumentID), collab.Deref(u.FolderID)}
	})
	rpc.Unique(m, "preferences[%d].userId", r.Preferences, func(p *PreferenceRecord) *[2]string {
		return &[2]string{p.UserID, collab.Deref(p.DocumentID)}
	})
	rpc.Unique(m, "readStates[%d].userId", r.ReadStates, func(s *ReadStateRecord) *[3]string {
		return &[3]string{s.UserID, s.DocumentID, collab.Deref(s.AnnotationID)}
	})
}

// RecordOutcome is the outcome of one record.
type RecordOutcome struct {
	rpc.Outcome
	Unchanged bool `json:"unchanged" doc:"It already exists"`
}

// RecordsAdd is POST /operator/records/add.
func RecordsAdd() rpc.Endpoint {
	return changing("records/add", rpc.Method((*Service).RecordsAdd), "", `
Add exported records to an organization. The response has an item for each, by the order of the
request's fields. An existing record is unchanged; if a field differs, the item fails with
ALREADY_EXISTS, which names the field, and records that belong to it are still added. A user gets
the fields that are missing. For read states and removals, the later one is kept. Records that an
earlier request added, and somebody deleted, stay deleted: FAILED_PRECONDITION, unless restore is
true. Nobody is notified.`)
}

// RecordsAdd adds missing records.
func (s *Service) RecordsAdd(ctx context.Context, call *rpc.Call, req *RecordsAddRequest) ([]RecordOutcome, error) {
	var added []bool
	var errs []error
	for _, o := range req.Organizations {
		present, err := s.organization(ctx, call, o)
		added, errs = append(added, present), append(errs, err)
	}
	org, err := s.withDisabled().OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	in := restorer{s, call, org, req.Update, req.Restore}
	add := func(list []restore) {
		first := len(added)
		added = append(added, make([]bool, len(list))...)
		errs = append(errs, store.All(len(list), func(i int) (err error) {
			added[first+i], err = list[i](ctx)
			return err
		})...)
	}
	add(collab.Map(req.Unsubscribed, in.unsubscribed))
	all := func(more []bool, failures []error) { added, errs = append(added, more...), append(errs, failures...) }
	all(in.folders(ctx, req.Folders))
	add(collab.Map(req.Groups, in.group))
	all(in.documents(ctx, req.Documents))
	add(collab.Map(req.Removals, in.removal))
	all(in.threads(ctx, req.Annotations, req.Comments))
	add(in.levels(ctx, req.Levels))
	add(collab.Map(req.Grants, in.grant))
	add(collab.Map(req.Users, in.user))
	add(collab.Map(req.Preferences, in.preference))
	add(collab.Map(req.ReadStates, in.readState))
	outcomes := make([]RecordOutcome, len(added))
	for i := range added {
		outcomes[i] = RecordOutcome{call.Outcome(errs[i], "Added."), !added[i] && errs[i] == nil}
	}
	call.Sum("record", "added")
	return outcomes, nil
}

// CheckRecords is RecordsAdd without a table. Each record that the request alone shows to be too
// large fails, and nothing is added.
func CheckRecords(_ context.Context, call *rpc.Call, req *RecordsAddRequest) ([]RecordOutcome, error) {
	var errs []error
	for i := range req.Organizations {
		errs = append(errs, req.Organizations[i].Apply(new(collab.Organization)))
	}
	errs = append(errs, make([]error, len(req.Unsubscribed)+len(req.Folders)+len(req.Groups))...)
	for i := range req.Documents {
		errs = append(errs, req.Documents[i].Apply(new(collab.Document)))
	}
	errs = append(errs, make([]error, len(req.Removals))...)
	for i := range req.Annotations {
		_, head := threads.CheckSizes(req.Annotations[i].Thread(nil, call.Millis()))
		errs = append(errs, head)
	}
	for i := range req.Comments {
		comments, _ := threads.CheckSizes(&collab.Thread{Comments: []collab.Comment{req.Comments[i].Comment(call.Millis())}})
		errs = append(errs, comments...)
	}
	errs = append(errs, make([]error, len(req.Levels)+len(req.Grants)+len(req.Users)+len(req.Preferences)+len(req.ReadStates))...)
	return collab.Map(errs, func(err error) RecordOutcome { return RecordOutcome{Outcome: call.Outcome(err, "Valid.")} }), nil
}

// restore adds a record, and reports whether it was missing.
type restore func(ctx context.Context) (added bool, err error)

type restorer struct {
	*Service
	call    *rpc.Call
	org     collab.OrganizationRef
	update  bool // overwrite older annotations and comments
	restore bool // add deleted ones again
}

func (r restorer) document(ctx context.Context, id string) (collab.DocumentRef, error) {
	return r.withDisabled().OpenDocument(ctx, r.org.Account, r.org.Organization, id, collab.CreateFlags{})
}

func (r restorer) unsubscribed(u UnsubscribedRecord) restore {
	end := accounts.Unsubscription{User: collab.Deref(u.UserID), Address: collab.Deref(u.Address), At: u.UnsubscribedAt}
	return func(ctx context.Context) (bool, error) {
		return r.fresh(ctx, "unsubscribed", [][]string{{end.User, end.Address, strconv.FormatInt(end.At, 10)}}, func(places []int) (bool, error) {
			if len(places) == 0 {
				return false, nil
			}
			return r.Accounts.RestoreUnsubscribed(ctx, r.org.Account, r.org.Organization, end)
		})
	}
}

// fresh calls add with the places of the ids that no earlier import added, or all to add deleted
// ones again, and remembers them: a choice that a person made since stays.
func (r restorer) fresh(ctx context.Context, kind string, ids [][]string, add func(places []int) (bool, error)) (bool, error) {
	hashes := collab.Map(ids, func(id []string) string { return keys.Hash(id...) })
	before, err := r.Directory.Imported(ctx, r.org, kind, hashes)
	if err != nil {
		return false, err
	}
	var places []int
	var missing []string
	for i, hash := range hashes {
		if !before[hash] {
			missing = append(missing, hash)
		}
		if !before[hash] || r.restore {
			places = append(places, i)
		}
	}
	added, err := add(places)
	if err != nil && collab.CodeOf(err) != collab.AlreadyExists {
		return added, err
	}
	return added, cmp.Or(r.Directory.SetImported(ctx, r.org, kind, missing), err)
}

func (r restorer) group(g GroupRecord) restore {
	return func(ctx context.Context) (bool, error) {
		users := rpc.Distinct(g.UserIDs)
		ids := collab.Map(users, func(u string) []string { return []string{g.GroupID, u} })
		return r.fresh(ctx, "groupUser", ids, func(places []int) (bool, error) {
			fresh := collab.Map(places, func(i int) string { return users[i] })
			return r.Directory.RestoreGroup(ctx, r.call.Request, r.org, g.GroupID, g.GroupName, fresh)
		})
	}
}

func (r restorer) removal(removal RemovalRecord) restore {
	return func(ctx context.Context) (_ bool, err error) {
		in, err := r.withDisabled().OpenResource(ctx, r.org.Account, collab.ResourceName{
			Organization: r.org.Organization, Document: collab.Deref(removal.DocumentID), Folder: collab.Deref(removal.FolderID),
		}, collab.CreateFlags{})
		if err != nil {
			return false, err
		}
		return r.Directory.RestoreRemoval(ctx, in, directory.Removal{
			User: removal.UserID, At: removal.RemovedAt, GrantOnly: removal.GrantOnly || in.Folder.Folder != "", Opened: removal.Opened,
		})
	}
}

func (r restorer) preference(p PreferenceRecord) restore {
	u := collab.UserPreferences{User: p.UserID, Document: collab.Deref(p.DocumentID), Preferences: p.Preferences(), Mail: p.MailTimes()}
	return func(ctx context.Context) (bool, error) {
		return r.fresh(ctx, "preference", [][]string{{string(rpc.JSON(u))}}, func(places []int) (bool, error) {
			return r.Directory.RestorePreferences(ctx, r.org, u, len(places) > 0)
		})
	}
}

func (r restorer) readState(state ReadStateRecord) restore {
	return func(ctx context.Context) (bool, error) {
		doc, err := r.document(ctx, state.DocumentID)
		if err != nil {
			return false, err
		}
		var ids []string
		if state.AnnotationID != nil {
			ids = []string{*state.AnnotationID}
		}
		mark := collab.ReadStateAt(min(state.ReadAt, r.call.Millis()), *state.Read)
		added, errs, err := r.Threads.RestoreRead(ctx, r.call.Request, doc, state.UserID, ids, mark)
		if err == nil && errs != nil {
			err = errs[0]
		}
		return added, err
	}
}

// levels returns restores of levels. The levels of one annotation or document share an item, so
// they are set together.
func (r restorer) levels(ctx context.Context, list []LevelRecord) []restore {
	type place struct{ document, annotation string }
	type levels struct {
		users []string
		all   []collab.Level
		set   func() (before map[string]collab.Level, err error) // of fresh ones
	}
	byPlace := map[place]*levels{}
	restores := make([]restore, len(list))
	for i, l := range list {
		k := place{l.DocumentID, collab.Deref(l.AnnotationID)}
		at := byPlace[k]
		if at == nil {
			at = &levels{}
			byPlace[k] = at
			at.set = sync.OnceValues(func() (map[string]collab.Level, error) {
				doc, err := r.document(ctx, k.document)
				if err != nil {
					return nil, err
				}
				before := map[string]collab.Level{}
				ids := collab.Map(at.users, func(u string) []string { return []string{k.document, k.annotation, u} })
				_, err = r.fresh(ctx, "level", ids, func(places []int) (bool, error) {
					users := collab.Map(places, func(i int) string { return at.users[i] })
					var list []collab.Level
					switch {
					case k.annotation != "":
						users = at.users
						all := make([]collab.Level, len(users)) // none for ended ones, which are compared
						for _, i := range places {
							all[i] = at.all[i]
						}
						list, err = r.Threads.RestoreLevels(ctx, r.call.Request, doc, k.annotation, users, all)
					case len(users) > 0:
						list, err = r.Threads.Follow(ctx, r.call.Request, doc, users, collab.LevelAll)
					}
					for i := range list {
						before[users[i]] = list[i]
					}
					for i, u := range at.users {
						if !slices.Contains(places, i) && before[u] == collab.LevelDefault {
							delete(before, u)
						}
					}
					return err == nil, err
				})
				return before, err
			})
		}
		at.users, at.all = append(at.users, l.UserID), append(at.all, l.Level)
		restores[i] = func(context.Context) (bool, error) {
			before, err := at.set()
			switch {
			case collab.CodeOf(err) == collab.ResourceExhausted: // permanently
				return false, collab.Errorf(collab.FailedPrecondition, "%s", collab.MessageOf(err))
			case err != nil:
				return false, err
			}
			switch level, fresh := before[l.UserID]; {
			case !fresh || level == l.Level:
				return false, nil
			case level != collab.LevelDefault:
				return false, collab.Otherwise("level")
			}
			return true, nil
		}
	}
	return restores
}
