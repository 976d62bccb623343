package commentannotations

import (
	"context"
	"strconv"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// ReactionRequest adds or deletes a reaction of a user to a comment.
type ReactionRequest struct {
	Target
	VerifyFlag
	AnnotationID        string      `json:"annotationId" rule:"required,id" person:"in"`
	CommentID           *int64      `json:"commentId" rule:"required,commentid" person:"in"`
	Emoji               string      `json:"emoji" rule:"required" person:"in" doc:"One emoji, of at most 64 bytes. A variation selector makes no difference"`
	From                collab.User `json:"from" rule:"required" doc:"The user that reacts"`
	TriggerNotification bool        `json:"triggerNotification" doc:"Notify the author of the comment in the app, and post the change to webhooks"`
}

func (r *ReactionRequest) Validate(m *rpc.Violations) { checkEmoji(m, r.Emoji) }

// Fill makes the person the one that reacts, and turns notifications on.
func (r *ReactionRequest) Fill(p *collab.Person, _ *rpc.Violations) {
	r.From, r.TriggerNotification = p.User(), true
}

// Reacted is the outcome of a reaction.
type Reacted struct {
	Reactions []Reaction `json:"reactions" person:"out" doc:"The present reactions to the comment"`
}

// CommentsReactionsAdd is POST /v2/commentannotations/comments/reactions/add.
func CommentsReactionsAdd() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/comments/reactions/add",
		Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadProviders | rpc.SendEvents, Person: rpc.PersonWrites,
		Operation: rpc.Method((*Service).AddReaction), Description: `
Add a reaction.

Adds an emoji of a user to a comment. A reaction that already exists is success. A comment has at
most 20 different emojis, 5 of them by one person with a token, and 500 reactions. Responses have the first 50 users of each emoji.

A reaction does not move lastUpdated, and marks nothing as unread. A get with includeDeleted returns
the annotation. With triggerNotification, the author of the comment gets one notification about
reactions for each annotation, in the inbox only.

The request fails with NOT_FOUND if the organization, the document, the annotation or the comment
does not exist. It fails with RESOURCE_EXHAUSTED if the comment has too many reactions or emojis.
It fails with PERMISSION_DENIED if verifyUserPermissions is true and the user in 'from' cannot write
in the document or see the annotation. It fails with FAILED_PRECONDITION if the organization is
disabled.`}
}

// CommentsReactionsDelete is POST /v2/commentannotations/comments/reactions/delete.
func CommentsReactionsDelete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/comments/reactions/delete",
		Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadProviders | rpc.SendEvents, Person: rpc.PersonWrites,
		Operation: rpc.Method((*Service).DeleteReaction), Description: `
Delete a reaction.

Deletes an emoji of a user from a comment. A reaction that does not exist is success. The deletion
notifies nobody; with triggerNotification, it is posted to webhooks. The notification disappears if
its comment has no reactions left. The next reaction in the annotation then notifies again.

The request fails as that of 'reactions/add'.`}
}

// mostEmojis limits the emojis of a person on a comment, so that nobody uses up collab.MaxEmojis.
const mostEmojis = 5

// AddReaction adds a reaction of a user to a comment.
func (s *Service) AddReaction(ctx context.Context, call *rpc.Call, req *ReactionRequest) (Reacted, error) {
	return s.react(ctx, call, req, collab.ReactionAdded, func(r collab.Reactions) (collab.Reactions, error) {
		if r.Has(req.Emoji, req.From.UserID) {
			return r, errUnchanged
		}
		if call.Person != nil && r.By(req.From.UserID) >= mostEmojis {
			return r, collab.Errorf(collab.ResourceExhausted, "a person can react to a comment with at most %d different emojis", mostEmojis)
		}
		return r.Add(req.Emoji, req.From.UserID)
	})
}

// DeleteReaction deletes a reaction of a user from a comment.
func (s *Service) DeleteReaction(ctx context.Context, call *rpc.Call, req *ReactionRequest) (Reacted, error) {
	return s.react(ctx, call, req, collab.ReactionDeleted, func(r collab.Reactions) (collab.Reactions, error) {
		if !r.Has(req.Emoji, req.From.UserID) {
			return r, errUnchanged
		}
		return r.Remove(req.Emoji, req.From.UserID), nil
	})
}

// react changes the reactions to a comment.
func (s *Service) react(
	ctx context.Context, call *rpc.Call, req *ReactionRequest, kind collab.EventType, change func(collab.Reactions) (collab.Reactions, error),
) (Reacted, error) {
	raise := req.TriggerNotification || call.Settings.AllEvents
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, raise)
	if err != nil {
		return Reacted{}, err
	}
	if _, err := s.mayAct(ctx, call, doc, req.AnnotationID, req.acting(req.From.UserID)); err != nil {
		return Reacted{}, err
	}
	id := *req.CommentID
	var now collab.Reactions
	written := false
	c := collab.CommentChange{IDs: []int64{id}, Change: func(c *collab.Comment) (err error) {
		now, err = change(c.Reactions)
		c.Reactions, written = now, err == nil
		return err
	}}
	if raise {
		c.Event = func(head *collab.Annotation, _, comments []collab.Comment) *collab.Event {
			ev := newEvent(call, doc, 0, strconv.FormatInt(id, 10))
			ev.Actor = req.From.Acting()
			ev.React(kind, head, &comments[0], req.Emoji)
			ev.AddComments(req.TriggerNotification && kind == collab.ReactionAdded, comments...)
			return &ev
		}
	}
	failures, err := s.Threads.UpdateComments(ctx, call.Request, doc, req.AnnotationID, c)
	if err == nil && failures[id] != errUnchanged {
		err = failures[id]
	}
	if err == nil && !written {
		var found map[int64]collab.Comment
		found, err = s.Threads.Comments(ctx, doc, req.AnnotationID, []int64{id})
		c, ok := found[id]
		if now = c.Reactions; err == nil && !ok {
			err = collab.Errorf(collab.NotFound, "comment %d does not exist in annotation %q", id, req.AnnotationID)
		}
	}
	if err != nil {
		return Reacted{}, err
	}
	shown := reader{person: collab.Deref(call.Person).UserID}.reactions(now)
	call.Items, call.Message = 1, "the comment has "+rpc.Count(len(shown), "emoji")
	return Reacted{append([]Reaction{}, shown...)}, nil
}
