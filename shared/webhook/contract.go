package webhook

import (
	"cmp"
	"slices"
	"strings"

	"collabdata/shared/collab"
)

// Surroundings are the names and preferences in the contract's form of a payload.
type Surroundings struct {
	OrganizationName string
	DocumentName     string
	// effective ones in the document, by user id: see Involved
	Preferences map[string]collab.Preferences
	Denied      []string // those of Involved who cannot see the annotation now
}

type contractPayload struct {
	Event      string       `json:"event"`
	ActionType string       `json:"actionType"` // the part of Event after its dot
	Source     string       `json:"source"`
	Platform   string       `json:"platform"`
	WebhookID  string       `json:"webhookId"`
	Data       contractData `json:"data"`
	// by user id and channel
	Users map[string]map[string]string `json:"usersDocumentNotificationsConfig"`
	// those of Users who cannot see the annotation
	Denied []string `json:"accessDeniedUsers,omitempty"`
}

type contractData struct {
	ActionUser        *collab.User        `json:"actionUser,omitempty"`
	CommentAnnotation *contractAnnotation `json:"commentAnnotation"`
	TargetComment     *EventComment       `json:"targetComment,omitempty"` // of comment events
	Emoji             string              `json:"emoji,omitempty"`         // of a reaction
	Metadata          contractMetadata    `json:"metadata"`
	OldStatus         *collab.EventStatus `json:"oldStatus,omitempty"`
	NewStatus         *collab.EventStatus `json:"newStatus,omitempty"`
	NewPriority       collab.JSON         `json:"newPriority,omitempty"`
	Visibility        collab.JSON         `json:"visibility,omitempty"` // absent for public
}

type contractAnnotation struct {
	AnnotationID string `json:"annotationId"`
	EventAnnotation
	Comments []EventComment `json:"comments"` // of the event
}

type contractMetadata struct {
	Organization struct {
		OrganizationID   string `json:"organizationId"`
		OrganizationName string `json:"organizationName,omitempty"`
	} `json:"organization"`
	Document struct {
		DocumentID   string `json:"documentId"`
		DocumentName string `json:"documentName,omitempty"`
	} `json:"document"`
	PageInfo collab.JSON `json:"pageInfo,omitempty"`
}

// ContractPayload returns the body of an event's post in the contract's form. It has at most
// MaxPayload bytes plus names and preferences. The event must have a ContractName. The event's
// first comment is the target. If there is no room for the target twice, the annotation's list only
// has its id.
func ContractPayload(webhookID string, ev *collab.Event, s Subject, in Surroundings) ([]byte, error) {
	data, err := render(ev, s)
	if err != nil {
		return nil, err
	}
	name := ev.ContractName()
	_, action, _ := strings.Cut(name, ".")
	annotation := &contractAnnotation{AnnotationID: ev.AnnotationID, Comments: append([]EventComment{}, data.Comments...)}
	if data.Annotation != nil {
		annotation.EventAnnotation = *data.Annotation
	}
	p := contractPayload{
		Event: name, ActionType: action, Source: "comment", Platform: "api", WebhookID: webhookID,
		Data: contractData{
			ActionUser: ev.Actor, Emoji: ev.Emoji, CommentAnnotation: annotation,
			OldStatus: ev.Before.Status, NewStatus: ev.After.Status,
		},
		Users: map[string]map[string]string{}, Denied: in.Denied,
	}
	if s.Annotation != nil && s.Annotation.Visibility.Narrow() != nil {
		p.Data.Visibility = annotation.Visibility
	}
	if len(data.Comments) > 0 && ev.Type != collab.AnnotationAdded {
		p.Data.TargetComment = &data.Comments[0]
	}
	if ev.After.Priority {
		p.Data.NewPriority = annotation.Priority
	}
	if s.Annotation != nil {
		p.Data.Metadata.PageInfo = keptOf(s.Annotation).PageInfo
	}
	p.Data.Metadata.Organization.OrganizationID, p.Data.Metadata.Organization.OrganizationName = ev.OrganizationID, in.OrganizationName
	p.Data.Metadata.Document.DocumentID, p.Data.Metadata.Document.DocumentName = ev.DocumentID, in.DocumentName
	for user, preferences := range in.Preferences {
		p.Users[user] = map[string]string{}
		for channel, preference := range preferences.Channels() {
			p.Users[user][channel] = string(preference)
		}
	}
	body, err := collab.EncodeJSON(p)
	if err != nil || len(body) <= MaxPayload {
		return body, err
	}
	annotation.Comments = nil
	for _, c := range data.Comments {
		annotation.Comments = append(annotation.Comments, EventComment{CommentID: c.CommentID, Deleted: c.Deleted, ContentOmitted: !c.Deleted})
	}
	p.Data.Metadata.PageInfo = nil
	return collab.EncodeJSON(p)
}

// maxInvolved limits the users with preferences in a payload.
const maxInvolved = 50

// Involved returns the ids of up to 50 users with preferences in a payload: the creator, the
// assignee, and authors and tagged users of the event's comments.
func Involved(ev *collab.Event, s Subject) []string {
	var ids []string
	add := func(id string) {
		if id != "" && id != collab.ErasedUser && len(ids) < maxInvolved && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if s.Annotation != nil {
		add(s.Annotation.CreatorID)
		add(s.Annotation.AssigneeID())
	}
	for _, id := range ev.CommentIDs {
		if c := s.Comments[id]; c != nil {
			add(c.AuthorID)
			for _, tag := range collab.Tags(c.TaggedUserContacts) {
				add(cmp.Or(tag.UserID, collab.Deref(tag.Contact).UserID)) // "" for a group
			}
		}
	}
	return ids
}
