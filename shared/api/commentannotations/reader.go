package commentannotations

import (
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// reader is the recipient of a response.
type reader struct {
	apiKey, organization string
	person               string // asUserId, or "" for the back end itself
	token                bool   // the person calls
	v1                   bool   // version 1 calls: it lacks fields of annotations
}

// Answered returns a thread as a back end receives it.
func Answered(call *rpc.Call, organization string, t *collab.Thread) *Annotation {
	return reader{apiKey: call.APIKey, organization: organization}.thread(t)
}

// AnsweredComment is Answered for a comment.
func AnsweredComment(c *collab.Comment) Comment { return reader{}.comment(c) }

func (r reader) thread(t *collab.Thread) *Annotation {
	a := &Annotation{
		AnnotationID:     t.ID,
		DocumentID:       t.Document,
		From:             rpc.Stored[collab.User](t.From),
		Color:            rpc.Stored[string](t.Status.Get("color")),
		Status:           rpc.Stored[AnnotationStatus](t.Status),
		Location:         rpc.Stored[Location](t.Location),
		TargetElement:    rpc.Stored[TargetElement](t.TargetElement),
		AssignedTo:       rpc.Stored[collab.User](t.AssignedTo),
		Priority:         rpc.Stored[Priority](t.Priority),
		Context:          r.context(t.Context, t.ContextShown),
		SharedContext:    SharedContext{t.ContextShown},
		ResolvedByUserID: t.ResolvedBy,
		SourceType:       SourceType(t.SourceType()),
		Visibility:       t.Visibility.Answered(),
		VisibilityConfig: t.Visibility.Answered(),
		Metadata:         AnnotationMetadata{r.apiKey, r.organization, t.Document},
		CreatedAt:        collab.Timestamp(t.CreatedAt),
		LastUpdated:      collab.Timestamp(t.LastUpdated),
		Comments:         make([]Comment, len(t.Comments)),

		Unread:            t.Unread,
		Deleted:           t.Deleted,
		CommentsTruncated: t.Truncated,
	}
	decodeKept(t.Kept, a)
	if !r.v1 {
		a.Agent, a.ResolvedAt = r.agent(t.Agent()), collab.Timestamp(t.ResolvedAt)
	}
	a.Type, a.Suggestion = new(AnnotationType(t.Type())), t.Suggestion
	if r.token {
		a.Suggestion = forPerson(a.Suggestion)
	}
	if r.typed() {
		a.CommentCategories, a.IAM, a.Suggestion = []collab.JSON{}, collab.JSON("{}"), completeSuggestion(a.Suggestion)
	}
	f := collab.Deref(t.Follows)
	a.SubscribedUsers = subscriptions(&f, r.person, f.All)
	a.UnsubscribedUsers = subscriptions(&f, r.person, f.Mentions, f.None)
	for i := range t.Comments {
		a.Comments[i] = r.comment(&t.Comments[i])
	}
	return a
}

// context returns a stored context, or nil if it is hidden from the reader.
func (r reader) context(stored collab.JSON, shown bool) collab.JSON {
	if r.token && !shown {
		return nil
	}
	return stored
}

func (r reader) comment(c *collab.Comment) Comment {
	a := Comment{
		CommentID:              c.ID,
		Context:                r.context(c.Context, c.ContextShown),
		SharedContext:          SharedContext{c.ContextShown},
		IsCommentResolverUsed:  c.ResolverUsed,
		IsCommentTextAvailable: c.TextAvailable,
		From:                   rpc.Stored[collab.User](c.From),
		TaggedUserContacts:     rpc.Stored[[]Tag](c.TaggedUserContacts),
		Attachments:            rpc.Stored[[]Attachment](c.Attachments),
		Reactions:              r.reactions(c.Reactions),
		CreatedAt:              collab.Timestamp(c.CreatedAt),
		AddedAt:                collab.Timestamp(c.AddedAt),
		LastUpdated:            collab.Timestamp(c.LastUpdated),
	}
	a.CommentText, a.CommentHTML = c.Written()
	decodeKept(c.Kept, &a)
	if r.person != "" && !a.Progress.visibleTo(r.person) {
		a.Progress = nil
	}
	a.Agent = r.agent(c.Agent)
	if r.typed() {
		a.complete(c)
	}
	return a
}

// typed reports whether the reader receives the fields that only types of clients require.
func (r reader) typed() bool { return !r.v1 && !r.token }

// complete sets the fields that only types of clients require.
func (a *Comment) complete(c *collab.Comment) {
	none := collab.JSON("[]")
	a.Type, a.Status, a.ReactionAnnotationIDs = "text", "added", []string{}
	a.Recorders, a.CustomList, a.ToOrganizationUserGroup = []collab.JSON{}, []collab.JSON{}, []collab.JSON{}
	if c.LastUpdated > c.CreatedAt {
		a.Status = "updated"
	}
	if a.TaggedUserContacts == nil {
		a.TaggedUserContacts = rpc.Stored[[]Tag](none)
	}
	if a.Attachments == nil {
		a.Attachments = rpc.Stored[[]Attachment](none)
	}
}

// agent returns the part of an agent that the reader receives.
func (r reader) agent(agent collab.JSON) collab.JSON {
	if r.token {
		return shownOf(agent)
	}
	return agent
}

// subscriptions returns users with their levels, or only person if it is not "".
func subscriptions(f *collab.Follows, person string, lists ...[]string) rpc.Keyed[Subscription] {
	all := rpc.Keyed[Subscription]{}
	for _, id := range slices.Sorted(slices.Values(slices.Concat(lists...))) {
		if person == "" || id == person {
			all = append(all, rpc.Member[Subscription]{Key: id, Value: Subscription{SubscribedUser{id}, "manual", f.Of(id)}})
		}
	}
	return all
}

// encode returns a thread with as many comments as fit into room. whole is false if some do not
// fit, or t is truncated. room and size are in bytes as Lambda encodes them.
func (r reader) encode(t *collab.Thread, room int) (text collab.JSON, size int, whole bool) {
	a := r.thread(t)
	text = rpc.EncodeStored(a)
	if size = rpc.WrappedLen(text); size <= room {
		return text, size, !t.Truncated
	}
	comments := a.Comments
	a.Comments, a.CommentsTruncated = nil, true
	size = rpc.WrappedLen(rpc.EncodeStored(a))
	for i := range comments {
		if size += rpc.WrappedLen(rpc.EncodeStored(&comments[i])) + len(","); size > room {
			break
		}
		a.Comments = comments[:i+1]
	}
	text = rpc.EncodeStored(a)
	return text, rpc.WrappedLen(text), false
}

// maxReactors is the number of users that a response lists for each emoji.
const maxReactors = 50

// reactions returns reactions as the reader receives them.
func (r reader) reactions(stored collab.Reactions) []Reaction {
	var list []Reaction
	for _, reaction := range stored {
		users := reaction.Users[:min(len(reaction.Users), maxReactors)]
		if r.person != "" && slices.Contains(reaction.Users[len(users):], r.person) {
			users = append([]string{r.person}, users[:maxReactors-1]...)
		}
		shown := collab.Map(users, func(id string) Reactor { return Reactor{id} })
		list = append(list, Reaction{reaction.Emoji, int64(len(reaction.Users)), shown})
	}
	return list
}
