// Package inboxview returns the notifications of an inbox as their reader may currently see them,
// for lists and for emails.
package inboxview

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"collabdata/shared/access"
	"collabdata/shared/collab"
	"collabdata/shared/mail/content"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/threads"
	"collabdata/shared/words"

	"golang.org/x/sync/errgroup"
)

// View filters and fills in notifications. It is safe for concurrent use.
type View struct {
	Directory *directory.Store
	Threads   *threads.Store
	Access    *access.Checker
}

// Reader is the reader of notifications.
type Reader struct {
	Settings collab.Settings // of the account
	Org      collab.OrganizationRef
	User     string // "" for the back end, which sees everything
	Locale   string // language of headlines; "" means the user's
	Strong   bool   // read threads and the user with strong consistency, for emails
	BackEnd  bool   // acting users have their addresses

	// Covered reports which documents a personal token covers, all for a back end that reads as the
	// user. It is nil for other reads of a back end and for emails. A person also needs access to the
	// document, and membership of the organization for a notification to everyone.
	Covered func(ctx context.Context, documents []collab.DocumentRef) ([]bool, error)
}

// Entry is a notification as its reader sees it.
type Entry struct {
	collab.InboxEntry
	Thread *collab.Thread // with existing comments of the notification; nil for none

	reactionsGone bool
	users         collab.Profiles // in the entry's document
}

// Shown holds the notifications that a reader sees.
type Shown struct {
	Entries []Entry
	Hidden  map[string]string // why others are hidden, by position
	Left    int               // entries at the end that do not fit on the page of the request
	// Reader is the reader: each field from the document of the newest entry that has it.
	Reader collab.Profile
}

// Reasons for hiding a notification.
const (
	WhyDeleted    = "deleted"
	WhyNoAccess   = "no access"
	WhyVisibility = "visibility"
)

// Show returns the notifications that the reader may see, in order, with current texts. It omits
// deleted threads and comments. Only for a request, it may return the first ones: see Shown.Left.
// If it returns *access.NoAnswer, the result omits documents without an answer.
func (v *View) Show(ctx context.Context, r Reader, entries []collab.InboxEntry) (*Shown, error) {
	shown := &Shown{Hidden: map[string]string{}}
	if len(entries) == 0 {
		return shown, nil
	}
	var parts []collab.ThreadPart
	var documents []collab.DocumentRef
	person := r.Covered != nil
	for _, e := range entries {
		doc := e.Document(r.Org)
		if e.AnnotationID != "" {
			parts = append(parts, collab.ThreadPart{Document: doc, Annotation: e.AnnotationID, Comments: e.CommentIDs, At: e.CreatedAt})
		}
		if r.User != "" && (e.AnnotationID != "" || e.Verify || person) && !slices.Contains(documents, doc) {
			documents = append(documents, doc)
		}
	}
	var list []*collab.Thread
	var viewers [][]collab.Viewer
	var unanswered error
	var covered []bool
	g, within := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		list, err = v.Threads.Parts(within, parts, r.Strong)
		return err
	})
	if r.User != "" {
		g.Go(func() (err error) {
			viewers, err = v.Access.Viewers(within, r.Settings, documents, []string{r.User}, true)
			if _, partly := errors.AsType[*access.NoAnswer](err); partly {
				unanswered, err = err, nil
			}
			return err
		})
	}
	var names map[collab.DocumentRef]string
	g.Go(func() (err error) {
		ids := collab.Map(entries, func(e collab.InboxEntry) string { return e.DocumentID })
		names, err = v.Directory.DocumentNames(within, r.Org, distinct(ids))
		return err
	})
	if person {
		g.Go(func() (err error) {
			covered, err = r.Covered(within, documents)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if len(list) < len(parts) {
		n := 0
		i := slices.IndexFunc(entries, func(e collab.InboxEntry) bool {
			if e.AnnotationID != "" {
				n++
			}
			return n > len(list)
		})
		entries, shown.Left = entries[:i], len(entries)-i
	}
	views := present(entries, list)
	var err error
	if shown.Reader, err = v.introduce(ctx, r, views); err != nil {
		return nil, err
	}
	texts := words.In(r.Settings.MailLook.Texts, cmp.Or(r.Locale, shown.Reader.Locale), r.Settings.MailLook.Locale)
	for _, entry := range views {
		e := &entry.InboxEntry
		e.DocumentName = names[e.Document(r.Org)]
		var viewer collab.Viewer
		i := slices.Index(documents, e.Document(r.Org))
		if i >= 0 {
			viewer = viewers[i][0]
		}
		switch t := entry.Thread; {
		case person && (!covered[i] || e.ToAll && !viewer.Member || !viewer.May):
			shown.Hidden[e.Position] = WhyNoAccess
		case e.Verify && r.User != "" && !viewer.May:
			shown.Hidden[e.Position] = string(viewer.Why)
		case e.AnnotationID == "":
			shown.Entries = append(shown.Entries, entry)
		case t == nil || len(e.CommentIDs) > 0 && len(t.Comments) == 0, entry.reactionsGone:
			shown.Hidden[e.Position] = WhyDeleted
		case r.User != "" && !viewer.May:
			shown.Hidden[e.Position] = string(viewer.Why)
		case r.User != "" && !viewer.Sees(t.Visibility, t.CreatorID):
			shown.Hidden[e.Position] = WhyVisibility
		default:
			entry.TargetText = t.TargetText()
			entry.ActionUser = acting(entry.ActionUser, t, entry.users)
			content.Derive(&entry.Notification, t, content.Reader{UserID: r.User, Mentioned: e.Mentioned, Words: texts})
			shown.Entries = append(shown.Entries, entry)
		}
	}
	return shown, unanswered
}

// present returns the entries with their threads, and notifications about reactions with a present
// reaction. threads are those of the entries with an annotation.
func present(entries []collab.InboxEntry, threads []*collab.Thread) []Entry {
	return collab.Map(entries, func(e collab.InboxEntry) Entry {
		entry := Entry{InboxEntry: e}
		if e.AnnotationID == "" {
			return entry
		}
		entry.Thread, threads = threads[0], threads[1:]
		if e.Event == collab.ReactionAdded && entry.Thread != nil && len(entry.Thread.Comments) > 0 {
			id, emoji := entry.Thread.Comments[0].Reaction(e.ActionUser.UserID)
			entry.Emoji, entry.reactionsGone = emoji, emoji == ""
			if id != e.ActionUser.UserID {
				entry.ActionUser = collab.User{UserID: id}
			}
		}
		return entry
	})
}

// introduce fills in the present names of the users in the entries, and returns the reader.
func (v *View) introduce(ctx context.Context, r Reader, entries []Entry) (reader collab.Profile, err error) {
	var readers, actors, named []collab.UserAt
	for i := range entries {
		e := &entries[i]
		in := e.Document(r.Org).Resource()
		readers = append(readers, collab.UserAt{In: in, User: r.User})
		named = append(named, collab.UsersAt(in, e.Notification.Users())...)
		if e.Thread != nil {
			actors = append(actors, collab.UserAt{In: in, User: e.ActionUser.UserID}) // others keep their sent form
			named = append(named, collab.UsersAt(in, e.Thread.Users())...)
		}
	}
	var addressed []collab.UserAt
	if r.Strong {
		addressed = readers
	}
	if r.BackEnd {
		addressed = slices.Concat(addressed, actors)
	}
	var profiles, present map[collab.Resource]collab.Profiles
	g, within := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		profiles, err = v.Directory.Profiles(within, slices.Concat(readers, actors, named))
		return err
	})
	g.Go(func() (err error) {
		present, err = v.Directory.PresentProfiles(within, addressed)
		return err
	})
	if err := g.Wait(); err != nil {
		return reader, err
	}
	for _, u := range addressed {
		if delete(profiles[u.In], u.User); present[u.In][u.User].UserID != "" {
			profiles[u.In][u.User] = present[u.In][u.User]
		}
	}
	for i := range entries {
		e := &entries[i]
		e.users = profiles[readers[i].In]
		e.Names = e.users.Names()
		reader = reader.Or(e.users[r.User])
	}
	return reader, nil
}

func distinct(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// acting returns the acting user with the fields from the thread, else from the profile.
func acting(u collab.User, t *collab.Thread, users collab.Profiles) collab.User {
	if u.UserID == "" {
		return u
	}
	present := users[u.UserID].User
	objects := []collab.JSON{t.From, t.AssignedTo}
	for i := range t.Comments {
		objects = append(objects, t.Comments[i].From)
	}
	for _, object := range objects {
		if o := collab.UserOf(object); o.UserID == u.UserID {
			present = o.Over(present)
		}
	}
	return u.Over(present)
}
