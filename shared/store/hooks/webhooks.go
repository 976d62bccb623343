package hooks

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
)

func readWebhook(it store.Item) (w collab.Webhook, err error) {
	if err := it.Decode(&w); err != nil {
		return w, err
	}
	if w.ID, err = keys.Unescape(it.Text(keys.SK)); err != nil {
		return w, store.Unreadable(it.Key(), err)
	}
	return w, nil
}

func noWebhook(id string) error {
	return collab.Errorf(collab.NotFound, "webhook %q does not exist", id)
}

// AddWebhook adds a webhook endpoint. It returns ALREADY_EXISTS if the id is taken,
// and FAILED_PRECONDITION if the account already has limit endpoints. Concurrent calls may return
// ABORTED for all except one.
func (s *Store) AddWebhook(ctx context.Context, acct string, limit int, w collab.Webhook) error {
	last, mark := keys.LastWebhook(acct), s.NewMark()
	return s.Try(ctx, "the webhooks of the account", mark, func(ctx context.Context) ([]store.Write, error) {
		before, err := s.Get(ctx, last)
		if err != nil {
			return nil, err
		}
		all, err := s.Endpoints(ctx, acct)
		switch {
		case err != nil:
			return nil, err
		case slices.ContainsFunc(all, func(other collab.Webhook) bool { return other.ID == w.ID }):
			return nil, collab.Errorf(collab.AlreadyExists, "webhook %q already exists", w.ID)
		case len(all) >= limit:
			return nil, collab.Errorf(
				collab.FailedPrecondition, "the account has %d webhooks, and its quota is %d: delete one before", len(all), limit,
			)
		}
		return []store.Write{
			store.Change(nil, store.ItemOf(keys.Webhook(acct, w.ID), w), mark),
			store.Change(before, store.NewItem(last), mark), // another was added: fails
		}, nil
	})
}

// UpdateWebhook changes a webhook endpoint, which resets its failures, wakes its task, and returns
// it. change may be called again; its error leaves the endpoint unchanged. It returns
// NOT_FOUND if the endpoint does not exist.
func (s *Store) UpdateWebhook(ctx context.Context, acct, id string, change func(*collab.Webhook) error) (w collab.Webhook, err error) {
	err = s.changeWebhook(ctx, acct, id, func(stored *collab.Webhook) ([]store.Write, error) {
		err := change(stored)
		w = *stored
		return []store.Write{s.outbox.Wake(EndpointTask(acct, id), false)}, err
	})
	return w, err
}

// DisableWebhook disables a webhook endpoint and records the event in the same transaction. It
// returns false, and changes nothing, if the endpoint is already disabled, does not exist, or
// differs from seen: its URL changed, or it was deleted and added again.
func (s *Store) DisableWebhook(
	ctx context.Context, acct string, seen collab.Webhook, reason string, ev *collab.Event,
) (disabled bool, err error) {
	err = s.changeWebhook(ctx, acct, seen.ID, func(w *collab.Webhook) ([]store.Write, error) {
		if disabled = !w.Disabled && w.URL == seen.URL && w.CreatedAt == seen.CreatedAt; !disabled {
			return nil, nil
		}
		w.Disabled, w.DisabledReason, w.LastUpdated = true, reason, s.Millis()
		return s.outbox.Record(ev), nil
	})
	if collab.CodeOf(err) == collab.NotFound {
		return false, nil
	}
	return disabled && err == nil, err
}

// changeWebhook changes a webhook endpoint in one transaction with the writes of change, or does
// nothing if there are none. It returns NOT_FOUND if the endpoint does not exist. See store.Try.
func (s *Store) changeWebhook(ctx context.Context, acct, id string, change func(*collab.Webhook) ([]store.Write, error)) error {
	k, mark := keys.Webhook(acct, id), s.NewMark()
	return s.Try(ctx, "webhook "+strconv.Quote(id), mark, func(ctx context.Context) ([]store.Write, error) {
		before, err := s.Get(ctx, k)
		if err == nil && before == nil {
			err = noWebhook(id)
		}
		if err != nil {
			return nil, err
		}
		w, err := readWebhook(before)
		if err != nil {
			return nil, err
		}
		more, err := change(&w)
		if err != nil || len(more) == 0 {
			return nil, err
		}
		return append(more, store.Change(before, store.Overlay[collab.Webhook](before, store.ItemOf(k, w)), mark)), nil
	})
}

// Webhook returns a webhook endpoint of the account without its Health. It returns NOT_FOUND if the
// endpoint does not exist.
func (s *Store) Webhook(ctx context.Context, acct, id string) (collab.Webhook, error) {
	it, err := s.Get(ctx, keys.Webhook(acct, id))
	if err != nil {
		return collab.Webhook{}, err
	}
	if it == nil {
		return collab.Webhook{}, noWebhook(id)
	}
	return readWebhook(it)
}

// Endpoints returns the webhook endpoints of the account in id order, without their Health. It
// reads with strong consistency.
func (s *Store) Endpoints(ctx context.Context, acct string) ([]collab.Webhook, error) {
	items, err := s.Query(ctx, store.Scan{PK: keys.Webhook(acct, "").PK, Keys: store.Everything, Strong: true})
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

// Webhooks returns the webhook endpoints of the account in id order, with their Health. It reads
// with strong consistency.
func (s *Store) Webhooks(ctx context.Context, acct string) ([]collab.Webhook, error) {
	list, err := s.Endpoints(ctx, acct)
	if err != nil {
		return nil, err
	}
	tasks, err := s.outbox.Tasks(ctx, collab.Map(list, func(w collab.Webhook) collab.TaskRef { return EndpointTask(acct, w.ID) })...)
	for i, t := range tasks {
		p, unreadable := ProgressOf(t, list[i])
		list[i].Health, err = p.Health, cmp.Or(err, unreadable)
	}
	return list, err
}

// DeleteWebhook deletes a webhook endpoint with its task. It returns NOT_FOUND if the endpoint does
// not exist, unless an earlier attempt with the same mark deleted it. Its deliveries expire
// unposted, even if its id is added again.
func (s *Store) DeleteWebhook(ctx context.Context, acct, id, mark string) error {
	_, err := s.Webhook(ctx, acct, id)
	if err == nil {
		var refused *store.Refusal
		refused, err = s.Write(ctx, store.DeleteRead(store.NewItem(keys.Webhook(acct, id))), store.Delete(keys.Task(EndpointTask(acct, id))),
			s.outbox.Remembered(outbox.Job{ID: mark, Account: acct}))
		if err == nil && refused != nil {
			err = noWebhook(id)
		}
	}
	if collab.CodeOf(err) == collab.NotFound {
		if _, jobErr := s.outbox.Job(ctx, acct, mark); collab.CodeOf(jobErr) != collab.NotFound {
			return jobErr
		}
	}
	return err
}
