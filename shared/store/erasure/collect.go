package erasure

import (
	"context"
	"encoding/json"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// What one walk looks at, before it ends.
const (
	mostLooked      = 10_000     // items
	mostLookedBytes = 10_000_000 // of these
)

// errFull ends a walk.
type errFull struct{}

func (errFull) Error() string { return "the page is full" }

// walk is one walk over a person's data.
type walk struct {
	*Store
	org   collab.OrganizationRef
	user  string
	at    collab.PersonalPosition // after what was taken last
	take  func(collab.PersonalData) bool
	items int
	bytes int
}

// Collect shows take what an organization has of a person, from a position on, until take returns false for what has no room, or much was
// looked at. next is where to go on, nil at the end. It reads all documents of the organization. Eventually consistent.
func (s *Store) Collect(
	ctx context.Context, org collab.OrganizationRef, user string, from collab.PersonalPosition, take func(collab.PersonalData) bool,
) (next *collab.PersonalPosition, err error) {
	w := &walk{Store: s, org: org, user: user, at: from, take: take}
	parts := []func(context.Context) error{w.profile, w.grants, w.preferences, w.documents, w.notifications}
	for err == nil && 0 <= w.at.Part && w.at.Part < len(parts) {
		if err = parts[w.at.Part](ctx); err == nil {
			w.at = collab.PersonalPosition{Part: w.at.Part + 1}
		}
	}
	if _, full := err.(errFull); full {
		return &w.at, nil
	}
	return nil, err
}

// found shows a piece of data, and notes where it was.
func (w *walk) found(d collab.PersonalData, after string) error {
	if !w.take(d) {
		return errFull{}
	}
	w.at.After = after
	return nil
}

// looked counts an item that was read.
func (w *walk) looked(it store.Item) error {
	w.items++
	if w.bytes += it.Size(); w.items >= mostLooked || w.bytes >= mostLookedBytes {
		return errFull{}
	}
	return nil
}

// each calls f with the items of a span after the position, and notes that they were passed.
func (w *walk) each(ctx context.Context, pk string, span store.Span, f func(sk []string, it store.Item) error) error {
	for it, err := range w.Items(ctx, store.Scan{PK: pk, Keys: span.After(w.at.After)}) {
		if err == nil {
			err = f(strings.Split(it.Text(keys.SK), "#"), it)
		}
		if err == nil {
			w.at.After = it.Text(keys.SK)
			err = w.looked(it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// profile finds the person as a member, and what they prefer in the organization.
func (w *walk) profile(ctx context.Context) error {
	members, err := w.Members(ctx, w.org, []string{w.user})
	if m, ok := members[w.user]; ok && err == nil {
		err = w.found(collab.PersonalData{Member: &m}, "")
	}
	if err != nil {
		return err
	}
	p, exists, err := store.Read[collab.Preferences](ctx, w.Table, keys.OrganizationPreference(w.org, w.user))
	if err != nil || !exists {
		return err
	}
	return w.found(collab.PersonalData{Preferences: &collab.PersonalPreferences{Preferences: p}}, "")
}

// grants finds the person's grants and groups.
func (w *walk) grants(ctx context.Context) error {
	span := store.Children(keys.GrantsOf(w.user))
	return w.each(ctx, keys.GrantPartition(w.org), span, func(_ []string, it store.Item) error {
		_, doc, folder, group, err := keys.ParseGrant(w.org, it.Text(keys.SK))
		if err != nil {
			return nil // of a later version
		}
		if group != "" {
			return w.found(collab.PersonalData{Group: group}, it.Text(keys.SK))
		}
		m, err := w.GrantOf(it, w.user)
		if err != nil {
			return err
		}
		g := &collab.PersonalGrant{Folder: folder.Folder, Document: doc.Document, Member: m}
		return w.found(collab.PersonalData{Grant: g}, it.Text(keys.SK))
	})
}

// preferences finds what the person prefers for documents.
func (w *walk) preferences(ctx context.Context) error {
	return w.each(ctx, keys.PreferencePartition(w.org), store.Everything, func(sk []string, it store.Item) error {
		if part(sk, 1) != keys.Escape(w.user) {
			return nil
		}
		p := &collab.PersonalPreferences{}
		var err error
		if p.Document, err = keys.Unescape(sk[0]); err != nil {
			return store.Unreadable(it.Key(), err)
		}
		if err := it.Decode(&p.Preferences); err != nil {
			return err
		}
		return w.found(collab.PersonalData{Preferences: p}, it.Text(keys.SK))
	})
}

// documents finds the annotations and comments of all documents in which the person is.
func (w *walk) documents(ctx context.Context) error {
	after, within, span := w.at.Document, w.at.After, store.Children(keys.Documents)
	if strings.HasPrefix(after, keys.Documents) {
		span.From = after
	}
	for it, err := range w.Items(ctx, store.Scan{PK: keys.OrganizationPartition(w.org), Keys: span}) {
		if err != nil {
			return err
		}
		if it[keys.DeletedAt] != nil {
			continue
		}
		doc, err := w.DocumentOf(w.org, it)
		if err != nil {
			return err
		}
		if sk := it.Text(keys.SK); sk == after {
			w.at.After = within
		} else {
			w.at.Document, w.at.After = sk, ""
		}
		if err := w.looked(it); err != nil {
			return err
		}
		if err := w.document(ctx, doc); err != nil {
			return err
		}
	}
	return nil
}

// document finds what a document has.
func (w *walk) document(ctx context.Context, doc collab.DocumentRef) error {
	var head store.Item // of the thread whose comments come
	if ann, _, err := keys.ParseAnnotation(w.at.After); err == nil {
		if head, err = w.Get(ctx, keys.Annotation(doc, ann)); err != nil {
			return err
		}
	}
	return w.each(ctx, keys.DocumentPartition(doc), store.Everything, func(_ []string, it store.Item) error {
		ann, comment, err := keys.ParseAnnotation(it.Text(keys.SK))
		switch {
		case err != nil:
			return nil // of a later version
		case comment == 0:
			head = it
			a := collab.Thread{Document: doc.Document}
			if err := it.Decode(&a.Annotation); err != nil {
				return err
			}
			if a.ID = ann; a.CreatorID == w.user || names(a.AssignedTo, w.user) {
				return w.found(collab.PersonalData{Annotation: &a}, it.Text(keys.SK))
			}
		case head != nil && it.Text(keys.Birth) == head.Text(keys.AddedBy):
			c := collab.PersonalComment{Document: doc.Document, Annotation: ann}
			if err := it.Decode(&c.Comment); err != nil {
				return err
			}
			if c.ID = comment; c.AuthorID == w.user || names(c.TaggedUserContacts, w.user) {
				return w.found(collab.PersonalData{Comment: &c}, it.Text(keys.SK))
			}
		}
		return nil
	})
}

// names reports whether a user object is a user's, or one in a list of tags.
func names(users collab.JSON, user string) bool {
	type object struct {
		UserID string `json:"userId"`
	}
	var one object
	var list []object
	if json.Unmarshal(users, &one) == nil {
		return one.UserID == user
	}
	_ = json.Unmarshal(users, &list) // what is stored is one or the other
	for _, u := range list {
		if u.UserID == user {
			return true
		}
	}
	return false
}

// notifications finds those in the person's inbox.
func (w *walk) notifications(ctx context.Context) error {
	q := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: w.user}}
	for {
		const atOnce = 100
		list, next, err := w.Inbox.Notifications(ctx, w.org, q, w.at.After, atOnce)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := w.found(collab.PersonalData{Notification: &e}, e.Position); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		w.at.After = next
		if w.items += atOnce; w.items >= mostLooked {
			return errFull{}
		}
	}
}
