package collab

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

type Comment struct {
	ID                 int64   `dynamodbav:"-"`
	Text               *string `dynamodbav:"txt,omitempty"`
	HTML               *string `dynamodbav:"htm,omitempty"` // as sent: clean it before rendering
	Context            JSON    `dynamodbav:"ctx,omitempty"`
	ResolverUsed       *bool   `dynamodbav:"rsv,omitempty"`  // isCommentResolverUsed
	TextAvailable      *bool   `dynamodbav:"tav,omitempty"`  // isCommentTextAvailable
	From               JSON    `dynamodbav:"from,omitempty"` // user object of the author
	AuthorID           string  `dynamodbav:"cr,omitempty"`   // From.userId
	TaggedUserContacts JSON    `dynamodbav:"tag,omitempty"`  // array of {userId, contact, text}
	// Mentions that updates have removed: see Retag. nil for none.
	Removed     *Mentions `dynamodbav:"rmv,omitempty"`
	Attachments JSON      `dynamodbav:"att,omitempty"` // array of attachment objects
	Agent       JSON      `dynamodbav:"agn,omitempty"` // that wrote it, or nil
	// Object of fields returned unchanged, or nil.
	Kept      JSON      `dynamodbav:"kept,omitempty"`
	Reactions Reactions `dynamodbav:"rea,omitempty"`
	// A person set Context: persons see it.
	ContextShown bool   `dynamodbav:"cxp,omitempty"`
	CreatedAt    Millis `dynamodbav:"ca"`
	LastUpdated  Millis `dynamodbav:"lu"`
	AddedAt      Millis `dynamodbav:"ada,omitempty"` // see SetAdded; 0 for CreatedAt
}

// MaxLate is how many milliseconds a comment's CreatedAt can precede its addition. Older comments
// count as history.
const MaxLate Millis = 24 * 60 * 60 * 1000

// SetAdded sets the time at which the comment was added, if CreatedAt is later, or up to MaxLate
// earlier.
func (c *Comment) SetAdded(at Millis) {
	c.AddedAt = 0
	if at != c.CreatedAt && at-c.CreatedAt <= MaxLate {
		c.AddedAt = at
	}
}

// Added returns the time from which the comment is visible.
func (c *Comment) Added() Millis { return cmp.Or(c.AddedAt, c.CreatedAt) }

// Moved returns the time to which the comment moves the lastUpdated of its annotation.
func (c *Comment) Moved() Millis { return max(c.LastUpdated, c.AddedAt) }

// maxRemoved limits the removed mentions that a comment remembers.
const maxRemoved = 200

// Retag replaces the tags of the comment. It remembers the mentions that are no longer in it, the
// latest first, because a mention that comes back notifies nobody again: see Event.AddChanges.
func (c *Comment) Retag(tags JSON) {
	before := MentionsOf(*c).with(Deref(c.Removed))
	c.TaggedUserContacts, c.Removed = tags, nil
	if removed := before.without(MentionsOf(*c), maxRemoved); removed.Len() > 0 {
		c.Removed = &removed
	}
}

// HasContent reports whether the comment has a text, HTML, an attachment, or a comment resolver
// that knows it.
func (c *Comment) HasContent() bool {
	return c.Text != nil && *c.Text != "" || c.HTML != nil && *c.HTML != "" ||
		c.ResolverUsed != nil && *c.ResolverUsed || len(c.Attachments) > len("[]")
}

// Written returns the text and HTML for responses: if only one of them is set, the other is empty
// instead of absent.
func (c *Comment) Written() (text, html *string) {
	text, html = c.Text, c.HTML
	if text == nil && html != nil {
		text = new("")
	} else if html == nil && text != nil {
		html = new("")
	}
	return text, html
}

// Content returns the approximate bytes that the comment adds to a response.
func (c *Comment) Content() int {
	return len(Deref(c.Text)) + len(Deref(c.HTML)) + len(c.Context) + len(c.From) +
		len(c.TaggedUserContacts) + len(c.Attachments) + len(c.Agent) + len(c.Kept) + c.Reactions.size()
}

// Users returns the ids of the author and the tagged users.
func (c *Comment) Users() []string {
	users := []string{c.AuthorID}
	for _, tag := range Tags(c.TaggedUserContacts) {
		if tag.UserID != "" {
			users = append(users, tag.UserID)
		}
	}
	return users
}

// Tag is a user or group that a comment tags.
type Tag struct {
	UserID  string `json:"userId"`
	Contact *User  `json:"contact,omitempty"`                 // the user as sent
	GroupID string `json:"organizationUserGroupId,omitempty"` // instead of a user
	// Name of the group when the comment was written.
	Text string `json:"text,omitempty"`
}

// Tags returns the tags of a comment, nil for none.
func Tags(taggedUserContacts JSON) (tags []Tag) {
	if len(taggedUserContacts) == 0 || json.Unmarshal(taggedUserContacts, &tags) != nil {
		return nil
	}
	return tags
}

// Mentions are the distinct ids of mentioned users and groups.
type Mentions struct {
	Users  []string `json:"users,omitempty" dynamodbav:"u,omitempty"`
	Groups []string `json:"groups,omitempty" dynamodbav:"g,omitempty"`
}

// MentionsOf returns the mentions in comments.
func MentionsOf(comments ...Comment) (m Mentions) {
	seen := map[Tag]bool{}
	for _, c := range comments {
		for _, t := range Tags(c.TaggedUserContacts) {
			t = Tag{UserID: t.UserID, GroupID: t.GroupID}
			switch {
			case seen[t]:
			case t.GroupID != "":
				m.Groups = append(m.Groups, t.GroupID)
			case t.UserID != "":
				m.Users = append(m.Users, t.UserID)
			}
			seen[t] = true
		}
	}
	return m
}

func (m Mentions) Len() int { return len(m.Users) + len(m.Groups) }

// with returns the mentions of both.
func (m Mentions) with(other Mentions) Mentions {
	both := func(list, others []string) []string {
		return append(slices.Clip(list), Where(others, func(id string) bool { return !slices.Contains(list, id) })...)
	}
	return Mentions{both(m.Users, other.Users), both(m.Groups, other.Groups)}
}

// without returns up to limit mentions of m that are not in other, groups first.
func (m Mentions) without(other Mentions, limit int) Mentions {
	among := func(list, others []string) []string {
		list = Where(list, func(id string) bool { return !slices.Contains(others, id) })
		list = list[:min(len(list), limit)]
		limit -= len(list)
		return list
	}
	groups := among(m.Groups, other.Groups)
	return Mentions{among(m.Users, other.Users), groups}
}

// Reaction returns a user that reacts to the comment and is not its author, preferably by, with the
// emoji. The emoji is "" if there is none.
func (c *Comment) Reaction(by string) (user, emoji string) {
	if emoji := c.Reactions.Of(by); emoji != "" {
		return by, emoji
	}
	for _, reaction := range c.Reactions {
		for _, user := range reaction.Users {
			if user != c.AuthorID {
				return user, reaction.Emoji
			}
		}
	}
	return by, ""
}

// NumberComments gives the comments of an annotation whose id is 0 ascending ids, the first of them
// from. It skips ids of other comments.
func NumberComments(comments []Comment, from int64) {
	given := make(map[int64]bool, len(comments))
	for i := range comments {
		given[comments[i].ID] = true
	}
	for i := range comments {
		if comments[i].ID != 0 {
			continue
		}
		for given[from] {
			from++
		}
		comments[i].ID = from
		from++
	}
}

// FirstCommentID returns the first id to generate for comments of an annotation at a time: the time
// in microseconds, or the largest given id plus one if that is greater. Given ids near MaxCommentID
// do not count.
func FirstCommentID(at time.Time, comments []Comment) int64 {
	first := at.UnixMicro()
	for i := range comments {
		if id := comments[i].ID; id < MaxCommentID-(1<<30) {
			first = max(first, id+1)
		}
	}
	return first
}
