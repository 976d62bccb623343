package outbox

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Recipient is a person whom an event is to reach, as it was worked out once.
type Recipient struct {
	collab.User
	Inbox bool `json:"inbox,omitempty"` // an entry in the person's inbox
	Mail  bool `json:"mail,omitempty"`  // a mail to the person's e-mail address, which is known then
}

// MailMode says when the mails about an event are sent.
type MailMode string

// The modes.
const (
	MailNone  MailMode = ""     // there are none
	MailNow   MailMode = "now"  // once everyone's inbox has the notification
	MailWaits MailMode = "wait" // after a while, so that several on one thread become one
)

// RecipientPage are some of the recipients of an event, at most RecipientPageSize.
type RecipientPage struct {
	Recipients []Recipient `json:"recipients,omitempty"`
	Next       string      `json:"next,omitempty"`     // the cursor of the next page, "" when this is the last
	MailMode   MailMode    `json:"mailMode,omitempty"` // the same in every page
}

// RecipientPageSize is the most recipients that are worked out and served at once.
const RecipientPageSize = 200

// recipientPageItem is a page of an event's recipients.
type recipientPageItem struct {
	Body    store.Encoded[*RecipientPage] `dynamodbav:"body"`
	Expires int64                         `dynamodbav:"ttl"`
}

// RecipientPage reads the page of an event's recipients that begins at a cursor; nil when it has not been worked out.
func (s *Store) RecipientPage(ctx context.Context, ref collab.EventRef, cursor string) (*RecipientPage, error) {
	it, _, err := store.Read[recipientPageItem](ctx, s.Table, keys.RecipientPage(ref.Account, ref.ID, cursor))
	return it.Body.Value, err
}

// KeepRecipientPage keeps a page of an event's recipients, unless it was kept before, and returns the one that is kept.
func (s *Store) KeepRecipientPage(ctx context.Context, ref collab.EventRef, cursor string, c *RecipientPage) (*RecipientPage, error) {
	page := recipientPageItem{store.Encoded[*RecipientPage]{Value: c}, expiry(s.Millis())}
	there, err := s.Create(ctx, store.ItemOf(keys.RecipientPage(ref.Account, ref.ID, cursor), page))
	if err == nil && there != nil {
		err = there.Decode(&page)
	}
	return page.Body.Value, err
}
