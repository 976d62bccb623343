package inbox

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
)

// Recipient is a person whom an event reaches, as it was decided.
type Recipient struct {
	collab.User
	Inbox bool `json:"inbox,omitempty"` // an entry in the person's inbox
	Mail  bool `json:"mail,omitempty"`  // a mail to the person's address, which is set then
}

// MailMode says when the mails about an event are sent.
type MailMode string

// The modes.
const (
	MailNone  MailMode = ""     // there are none
	MailNow   MailMode = "now"  // after all inboxes are served
	MailWaits MailMode = "wait" // after a while, so that several on one thread become one
)

// LeftOut is a person whom a channel does not reach. Inbox and Mail are places of reasons in RecipientPage.Reasons, from 1 on; 0 is for a
// channel that reaches the person, and for a reason that was not kept.
type LeftOut struct {
	UserID string `json:"u"`
	Inbox  int    `json:"i,omitempty"`
	Mail   int    `json:"m,omitempty"`
}

// RecipientPage is a page of the people whom an event concerns, at most RecipientPageSize: whom it reaches, and whom it does not.
type RecipientPage struct {
	Recipients []Recipient `json:"recipients,omitempty"`
	Left       []LeftOut   `json:"left,omitempty"`
	Reasons    []string    `json:"reasons,omitempty"`  // each once
	Next       string      `json:"next,omitempty"`     // the cursor of the next page, "" for none
	MailMode   MailMode    `json:"mailMode,omitempty"` // the same on every page
}

// RecipientPageSize is the most recipients of a page.
const RecipientPageSize = 200

// recipientPageItem is a page of an event's recipients.
type recipientPageItem struct {
	Body    store.Encoded[*RecipientPage] `dynamodbav:"body"`
	Expires int64                         `dynamodbav:"ttl"`
}

// RecipientPage reads the page of an event's recipients that begins at a cursor; nil when it was not decided yet.
func (s *Store) RecipientPage(ctx context.Context, ref collab.EventRef, cursor string) (*RecipientPage, error) {
	it, _, err := store.Read[recipientPageItem](ctx, s.Table, keys.RecipientPage(ref.Account, ref.ID, cursor))
	return it.Body.Value, err
}

// KeepRecipientPage stores a page of an event's recipients, unless one is stored already, and returns the stored one.
func (s *Store) KeepRecipientPage(ctx context.Context, ref collab.EventRef, cursor string, c *RecipientPage) (*RecipientPage, error) {
	page := recipientPageItem{store.Encoded[*RecipientPage]{Value: c}, outbox.Expiry(s.Millis())}
	there, err := s.Create(ctx, store.ItemOf(keys.RecipientPage(ref.Account, ref.ID, cursor), page))
	if err == nil && there != nil {
		err = there.Decode(&page)
	}
	return page.Body.Value, err
}
