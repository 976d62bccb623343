package outbox

import (
	"context"
	"encoding/json"
	"strconv"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// webhookItem is a webhook endpoint.
type webhookItem struct {
	Body         store.JSON    `dynamodbav:"body"` // webhookBody
	Disabled     bool          `dynamodbav:"off,omitempty"`
	Reason       string        `dynamodbav:"why,omitempty"`
	CreatedAt    collab.Millis `dynamodbav:"ca"`
	LastUpdated  collab.Millis `dynamodbav:"lu"`
	Failures     int           `dynamodbav:"nf,omitempty"`
	FailingSince collab.Millis `dynamodbav:"fs,omitempty"`
	NextProbe    collab.Millis `dynamodbav:"pb,omitempty"`
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
		Failures: w.Health.Failures, FailingSince: w.Health.FailingSince, NextProbe: w.Health.NextProbe,
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
		Health: collab.WebhookHealth{Failures: it.Failures, FailingSince: it.FailingSince, NextProbe: it.NextProbe},
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

// AddWebhook adds a webhook endpoint; ALREADY_EXISTS when there is one with its id.
func (s *Store) AddWebhook(ctx context.Context, acct string, w collab.Webhook) error {
	var stored webhookItem
	if err := stored.set(w); err != nil {
		return store.Fail(ctx, err)
	}
	it, err := store.Encode(table.Webhook(acct, w.ID), stored)
	if err != nil {
		return err
	}
	mark := s.NewMark()
	write, err := s.Change(nil, it, mark)
	if err != nil {
		return err
	}
	refused, err := s.Write(ctx, write)
	if err == nil && refused != nil && !refused.By(mark) {
		err = collab.Errorf(collab.AlreadyExists, "webhook %q already exists", w.ID)
	}
	return err
}

// UpdateWebhook changes a webhook endpoint and returns it as it is then; NOT_FOUND when it does not exist. Its health is forgotten: whoever
// changes an endpoint gives it a fresh start. change may be called again with what others wrote meanwhile; its error leaves the endpoint as
// it is.
func (s *Store) UpdateWebhook(ctx context.Context, acct, id string, change func(*collab.Webhook) error) (collab.Webhook, error) {
	var w collab.Webhook
	_, err := store.Rewrite(ctx, s.Table, table.Webhook(acct, id), "webhook "+strconv.Quote(id), func(stored *webhookItem, exists bool) (err error) {
		if !exists {
			return noWebhook(id)
		}
		if w, err = stored.webhook(id); err != nil {
			return err
		}
		w.Health = collab.WebhookHealth{}
		if err := change(&w); err != nil {
			return err
		}
		return stored.set(w)
	})
	return w, err
}

// Webhook reads a webhook endpoint of the account; NOT_FOUND when it does not exist.
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

// Webhooks returns the webhook endpoints of the account by id. Strongly consistent.
func (s *Store) Webhooks(ctx context.Context, acct string) ([]collab.Webhook, error) {
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

// DeleteWebhook deletes a webhook endpoint; NOT_FOUND when it does not exist. What was on its way to it is canceled when it comes up, and
// the record of its deliveries expires.
func (s *Store) DeleteWebhook(ctx context.Context, acct, id string) error {
	it, _, err := s.WriteOne(ctx, s.Remove(table.Webhook(acct, id)), types.ReturnValueAllOld)
	if err == nil && it == nil {
		return noWebhook(id)
	}
	return err
}

// DisableWebhook disables a webhook endpoint for a reason and records the event that tells of it, both or neither. disabled is false, and
// nothing has changed, when it is disabled already or does not exist.
func (s *Store) DisableWebhook(ctx context.Context, acct, id, reason string, ev *collab.Event) (disabled bool, err error) {
	k, mark := table.Webhook(acct, id), s.NewMark()
	err = s.Try(ctx, "webhook "+strconv.Quote(id), mark, func(ctx context.Context) ([]store.Write, error) {
		before, err := s.Get(ctx, k)
		if err != nil {
			return nil, err
		}
		var stored webhookItem
		write, err := store.Rewritten(s.Table, k, before, mark, &stored, func(stored *webhookItem, exists bool) error {
			disabled = exists && !stored.Disabled
			stored.Disabled, stored.Reason, stored.LastUpdated = true, reason, s.Millis()
			return nil
		})
		if err != nil || !disabled {
			return nil, err
		}
		event, err := s.recordOne(ctx, ev)
		return append([]store.Write{write}, event...), err
	})
	return disabled && err == nil, err
}

// updateWebhook updates what deliveries know of an endpoint, on a condition beside that it exists. It returns the endpoint as it is then,
// nil when the condition is refused.
func (s *Store) updateWebhook(ctx context.Context, acct, id string, u expression.UpdateBuilder, conditions ...expression.ConditionBuilder) (*collab.Webhook, error) {
	condition := expression.AttributeExists(expression.Name(table.PK))
	for _, c := range conditions {
		condition = condition.And(c)
	}
	write, err := s.update(table.Webhook(acct, id), u, &condition)
	if err != nil {
		return nil, err
	}
	it, refused, err := s.WriteOne(ctx, write, types.ReturnValueAllNew)
	if err != nil || refused != nil {
		return nil, err
	}
	w, err := readWebhook(it)
	return &w, err
}

// CountFailure records that a post to an endpoint failed at the time now, and that the next probe is made at nextProbe when it rests. It
// returns the endpoint as it is then, nil when it does not exist. A failure may be counted twice when the table's answer is lost.
func (s *Store) CountFailure(ctx context.Context, acct, id string, now, nextProbe collab.Millis) (*collab.Webhook, error) {
	since := expression.Name(table.FailingSince)
	return s.updateWebhook(ctx, acct, id, expression.Set(since, expression.IfNotExists(since, expression.Value(now))).
		Set(expression.Name(table.NextProbe), expression.Value(nextProbe)).Add(expression.Name(table.Failures), expression.Value(1)))
}

// ForgetFailures records that a post to an endpoint succeeded. An endpoint that does not exist is no error.
func (s *Store) ForgetFailures(ctx context.Context, acct, id string) error {
	_, err := s.updateWebhook(ctx, acct, id, expression.Set(expression.Name(table.Failures), expression.Value(0)).
		Remove(expression.Name(table.FailingSince)).Remove(expression.Name(table.NextProbe)))
	return err
}

// ClaimProbe claims the probe of a resting endpoint, and sets the time of the next one. It reports false when that is later than now:
// another has claimed it.
func (s *Store) ClaimProbe(ctx context.Context, acct, id string, now, next collab.Millis) (bool, error) {
	probe := expression.Name(table.NextProbe)
	w, err := s.updateWebhook(ctx, acct, id, expression.Set(probe, expression.Value(next)), probe.LessThanEqual(expression.Value(now)))
	return w != nil, err
}
