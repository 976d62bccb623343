package erasure

import (
	"context"
	"encoding/json"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

var shown = map[*keys.Kind]bool{
	keys.AMember: true, keys.AnOrganizationPreference: true, keys.APreference: true, keys.ADocumentGrant: true, keys.AFolderGrant: true,
	keys.APlaceInGroup: true, keys.AThread: true, keys.AComment: true, keys.AFollowersList: true,
	keys.ADocumentReadState: true, keys.AThreadReadState: true,
}

// Collect passes the data of a user in an organization to take, from a position on. It stops if
// take returns false, or at the limits. next is the position to continue at, nil at the end. It
// reads all documents of the organization, with eventual consistency.
func (s *Store) Collect(
	ctx context.Context, org collab.OrganizationRef, user string, from collab.PersonalPosition, take func(collab.PersonalData) bool,
) (next *collab.PersonalPosition, err error) {
	items, bytes := 0, 0
	more := func() bool { return items < s.looked && bytes < s.lookedBytes }
	if !from.Walked {
		at := store.From(keys.AnOrganization, keys.PartsOf(org, collab.AnOrganization, org.Organization, org.Incarnation))
		if from.Walk != nil {
			if err := json.Unmarshal(from.Walk, &at); err != nil {
				return nil, collab.PageTokenError(err)
			}
		}
		w := &store.Walk{
			Want: func(k *keys.Kind) bool { return shown[k] }, Users: []string{user},
			Enter: func(f store.Found) bool { return f.Item[keys.DeletedAt] == nil },
		}
		c := collection{Store: s, user: user, take: take}
		for len(at) > 0 && !c.full && more() {
			at, err = s.Table.Step(ctx, w, at, func(ctx context.Context, found []store.Found) (int, error) {
				for i, f := range found {
					if err := c.show(ctx, f); err != nil || c.full {
						return i, err
					}
					items, bytes = items+1, bytes+f.Size()
				}
				return len(found), nil
			})
			if err != nil {
				return nil, err
			}
		}
		if len(at) > 0 {
			text, err := collab.EncodeJSON(at)
			return &collab.PersonalPosition{Walk: json.RawMessage(text)}, err
		}
	}
	from.Walked, from.Walk = true, nil
	q := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: user}}
	for more() {
		const atOnce = 100
		list, after, err := s.Inbox.Notifications(ctx, org, q, from.After, atOnce)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if !take(collab.PersonalData{Notification: &e}) {
				return &from, nil
			}
			from.After = e.Position
		}
		if from.After = after; after == "" {
			return nil, nil
		}
		items += atOnce
	}
	return &from, nil
}

type collection struct {
	*Store
	user string
	take func(collab.PersonalData) bool
	head store.Item // of the thread of the next comments
	full bool
}

func (c *collection) show(ctx context.Context, f store.Found) error {
	var d collab.PersonalData
	document := f.Parts.Doc
	switch f.Kind {
	case keys.AMember:
		m, err := c.GrantOf(f.Item, c.user)
		if d.Member = &m; err != nil {
			return err
		}
	case keys.ADocumentGrant, keys.AFolderGrant:
		m, err := c.GrantOf(f.Item, c.user)
		if d.Grant = (&collab.PersonalGrant{Folder: f.Parts.Folder, Document: document, Member: m}); err != nil {
			return err
		}
	case keys.APlaceInGroup:
		d.Group = f.Parts.Group
	case keys.AnOrganizationPreference, keys.APreference:
		d.Preferences = &collab.PersonalPreferences{Document: document}
		if err := f.Decode(d.Preferences); err != nil {
			return err
		}
	case keys.ADocumentReadState, keys.AThreadReadState:
		d.ReadState = &collab.PersonalReadState{Document: document, UserReadState: collab.UserReadState{User: c.user, Annotation: f.Parts.Ann}}
		if err := f.Decode(&d.ReadState.ReadState); err != nil {
			return err
		}
	case keys.AFollowersList:
		var list struct {
			Follows *collab.Follows `dynamodbav:"flw,omitempty"`
		}
		if err := f.Decode(&list); err != nil {
			return err
		}
		level := list.Follows.Of(c.user)
		if level == collab.LevelDefault {
			return nil
		}
		d.Level = &collab.PersonalLevel{Document: document, Level: level}
	case keys.AThread:
		c.head = f.Item
		a := collab.Thread{Document: document}
		if err := f.Decode(&a.Annotation); err != nil {
			return err
		}
		a.ID = f.Parts.Ann
		if level := a.Follows.Of(c.user); level != collab.LevelDefault {
			d.Level = &collab.PersonalLevel{Document: document, Annotation: a.ID, Level: level}
		}
		if a.CreatorID == c.user || names(a.AssignedTo, c.user) {
			d.Annotation = &a
		} else if d.Level == nil {
			return nil
		}
	default:
		head := keys.Annotation(f.Parts.Document(), f.Parts.Ann)
		if c.head == nil || c.head.Key() != head {
			it, err := c.Get(ctx, head)
			if c.head = it; err != nil {
				return err
			}
		}
		at := collab.PersonalComment{Document: document, Annotation: f.Parts.Ann}
		if c.head == nil || f.Text(keys.Birth) != c.head.Text(keys.AddedBy) {
			return nil
		}
		if err := f.Decode(&at.Comment); err != nil {
			return err
		}
		at.ID = f.Parts.Comment
		if at.AuthorID == c.user || names(at.TaggedUserContacts, c.user) {
			d.Comment = &at
		}
		for _, r := range at.Reactions {
			if slices.Contains(r.Users, c.user) {
				d.Reactions = append(d.Reactions, collab.PersonalReaction{Document: document, Annotation: at.Annotation, Comment: at.ID, Emoji: r.Emoji})
			}
		}
		if d.Comment == nil && d.Reactions == nil {
			return nil
		}
	}
	c.full = !c.take(d)
	return nil
}
