package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// webhookItem is a webhook endpoint.
type webhookItem struct {
	Body        store.JSON    `dynamodbav:"body"` // webhookBody
	Disabled    bool          `dynamodbav:"off,omitempty"`
	Reason      string        `dynamodbav:"why,omitempty"`
	CreatedAt   collab.Millis `dynamodbav:"ca"`
	LastUpdated collab.Millis `dynamodbav:"lu"`
}

// webhookBody is what the owner of a webhook endpoint set.
type webhookBody struct {
	URL         string                 `json:"url"`
	Description string                 `json:"description,omitempty"`
	EventTypes  []collab.EventType     `json:"eventTypes,omitempty"`
	Secrets     []collab.WebhookSecret `json:"secrets"`
}

func (it *webhookItem) set(w collab.Webhook) error {
	body, err := json.Marshal(webhookBody{w.URL, w.Description, w.EventTypes, w.Secrets})
	if err == nil && len(body) > collab.MaxItemBytes {
		err = collab.Errorf(collab.InvalidArgument, "the webhook is too large: %d bytes stored, at most %d", len(body), collab.MaxItemBytes)
	}
	*it = webhookItem{
		Body: body, Disabled: w.Disabled, Reason: w.DisabledReason, CreatedAt: w.CreatedAt, LastUpdated: w.LastUpdated,
	}
	return err
}

func (it *webhookItem) webhook(id string) (w collab.Webhook, err error) {
	var body webhookBody
	if err := json.Unmarshal(it.Body, &body); err != nil {
		return w, store.Unreadable(table.Webhook("", id), err)
	}
	return collab.Webhook{
		ID: id, URL: body.URL, Description: body.Description, EventTypes: body.EventTypes, Secrets: body.Secrets,
		Disabled: it.Disabled, DisabledReason: it.Reason, CreatedAt: it.CreatedAt, LastUpdated: it.LastUpdated,
	}, nil
}

func readWebhook(it store.Item) (w collab.Webhook, err error) {
	id, err := table.Unescape(it.Text(table.SK))
	if err != nil {
		return w, store.Unreadable(it.Key(), err)
	}
	var stored webhookItem
	if err := it.Decode(&stored); err != nil {
		return w, err
	}
	return stored.webhook(id)
}

func noWebhook(id string) error {
	return collab.Errorf(collab.NotFound, "webhook %q does not exist", id)
}

// AddWebhook adds a webhook endpoint, with a lane of its own; ALREADY_EXISTS when there is one with its id.
func (s *Store) AddWebhook(ctx context.Context, acct string, w collab.Webhook) error {
	var stored webhookItem
	if err := stored.set(w); err != nil {
		return store.Fail(ctx, err)
	}
	it, err := store.Encode(table.Webhook(acct, w.ID), stored)
	if err != nil {
		return err
	}
	lane, err := store.Encode(table.Lane(acct, w.ID), laneItem{})
	if err != nil {
		return err
	}
	refused, err := s.Write(ctx, s.Change(nil, it, s.NewMark()), s.Replace(lane))
	if err == nil && refused != nil {
		err = collab.Errorf(collab.AlreadyExists, "webhook %q already exists", w.ID)
	}
	return err
}

// UpdateWebhook changes a webhook endpoint and returns it as it is then; NOT_FOUND when it does not exist. How it has failed is forgotten:
// whoever changes an endpoint gives it a fresh start; the relay wakes its lane. change may be called again with what others wrote meanwhile;
// its error leaves the endpoint as it is.
func (s *Store) UpdateWebhook(ctx context.Context, acct, id string, change func(*collab.Webhook) error) (collab.Webhook, error) {
	var w collab.Webhook
	err := s.changeWebhook(ctx, acct, id, func(stored *webhookItem, exists bool) (more []store.Write, err error) {
		if !exists {
			return nil, noWebhook(id)
		}
		if w, err = stored.webhook(id); err == nil {
			err = change(&w)
		}
		if err == nil {
			err = stored.set(w)
		}
		if err != nil {
			return nil, err
		}
		lane, err := s.addedTo(collab.LaneRef{Account: acct, WebhookID: id}, true)
		return []store.Write{lane}, err
	})
	return w, err
}

// DisableWebhook disables a webhook endpoint for a reason and records the event that tells of it, both or neither. disabled is false, and
// nothing has changed, when it is disabled already or does not exist.
func (s *Store) DisableWebhook(ctx context.Context, acct, id, reason string, ev *collab.Event) (disabled bool, err error) {
	err = s.changeWebhook(ctx, acct, id, func(stored *webhookItem, exists bool) ([]store.Write, error) {
		if disabled = exists && !stored.Disabled; !disabled {
			return nil, errNothing
		}
		stored.Disabled, stored.Reason, stored.LastUpdated = true, reason, s.Millis()
		return s.recordOne(ctx, ev)
	})
	return disabled && err == nil, err
}

// errNothing says that there is nothing to change.
var errNothing = errors.New("nothing to change")

// changeWebhook changes the item of a webhook endpoint, together with more writes, as store.Rewrite does. errNothing changes nothing.
func (s *Store) changeWebhook(ctx context.Context, acct, id string, change func(stored *webhookItem, exists bool) ([]store.Write, error)) error {
	k, mark := table.Webhook(acct, id), s.NewMark()
	return s.Try(ctx, "webhook "+strconv.Quote(id), mark, func(ctx context.Context) ([]store.Write, error) {
		before, err := s.Get(ctx, k)
		if err != nil {
			return nil, err
		}
		var stored webhookItem
		var more []store.Write
		write, err := store.Rewritten(s.Table, k, before, mark, &stored, func(stored *webhookItem, exists bool) (err error) {
			more, err = change(stored, exists)
			return err
		})
		if errors.Is(err, errNothing) {
			return nil, nil
		}
		return append([]store.Write{write}, more...), err
	})
}

// Webhook reads a webhook endpoint of the account, but not how it has answered; NOT_FOUND when it does not exist.
func (s *Store) Webhook(ctx context.Context, acct, id string) (collab.Webhook, error) {
	it, err := s.Get(ctx, table.Webhook(acct, id))
	if err != nil {
		return collab.Webhook{}, err
	}
	if it == nil {
		return collab.Webhook{}, noWebhook(id)
	}
	return readWebhook(it)
}

// Endpoints returns the webhook endpoints of the account by id, but not how they have answered. Strongly consistent.
func (s *Store) Endpoints(ctx context.Context, acct string) ([]collab.Webhook, error) {
	items, err := s.Query(ctx, store.Scan{PK: table.Webhook(acct, "").PK, Keys: store.Everything, Strong: true})
	if err != nil {
		return nil, err
	}
	list := make([]collab.Webhook, len(items))
	for i, it := range items {
		if list[i], err = readWebhook(it); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Webhooks returns the webhook endpoints of the account by id, and how they have answered. Strongly consistent.
func (s *Store) Webhooks(ctx context.Context, acct string) ([]collab.Webhook, error) {
	list, err := s.Endpoints(ctx, acct)
	if err != nil {
		return nil, err
	}
	refs := make([]collab.LaneRef, len(list))
	for i, w := range list {
		refs[i] = collab.LaneRef{Account: acct, WebhookID: w.ID}
	}
	lanes, err := s.Lanes(ctx, refs...)
	for i := range lanes {
		list[i].Health = lanes[i].Health
	}
	return list, err
}

// DeleteWebhook deletes a webhook endpoint with its lane for the request of a mark; NOT_FOUND when it does not exist, unless an earlier try
// of this request has deleted it. What was on its way to it is not posted any more, not even to one that is made with its id, and expires.
func (s *Store) DeleteWebhook(ctx context.Context, acct, id, mark string) error {
	removal := table.Removal(acct, mark)
	done, err := store.Encode(removal, removalItem{s.Millis()/1000 + int64(collab.IdempotencyExpiry.Seconds())})
	if err != nil {
		return err
	}
	refused, err := s.Write(ctx, s.RemoveExisting(table.Webhook(acct, id)), s.Remove(table.Lane(acct, id)), s.Replace(done))
	if err != nil || refused == nil {
		return err
	}
	before, err := s.Get(ctx, removal)
	if err == nil && before == nil {
		err = noWebhook(id)
	}
	return err
}

// removalItem says that a request has removed something. It is of use as long as the request may be repeated.
type removalItem struct {
	Expires int64 `dynamodbav:"ttl"` // seconds
}
