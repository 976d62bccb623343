package outbox

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// recipientPageItem is a page of an event's recipients.
type recipientPageItem struct {
	Body    store.Encoded[*RecipientPage] `dynamodbav:"body"`
	Expires int64                         `dynamodbav:"ttl"`
}

// RecipientPage reads the page of an event's recipients that begins at a cursor; nil when it has not been worked out.
func (s *Store) RecipientPage(ctx context.Context, ref collab.EventRef, cursor string) (*RecipientPage, error) {
	it, _, err := store.Read[recipientPageItem](ctx, s.Table, table.RecipientPage(ref.Account, ref.ID, cursor))
	return it.Body.Value, err
}

// KeepRecipientPage keeps a page of an event's recipients, unless it was kept before, and returns the one that is kept.
func (s *Store) KeepRecipientPage(ctx context.Context, ref collab.EventRef, cursor string, c *RecipientPage) (*RecipientPage, error) {
	page := recipientPageItem{store.Encoded[*RecipientPage]{Value: c}, expiry(s.Millis())}
	there, err := s.Create(ctx, store.ItemOf(table.RecipientPage(ref.Account, ref.ID, cursor), page))
	if err == nil && there != nil {
		err = there.Decode(&page)
	}
	return page.Body.Value, err
}
