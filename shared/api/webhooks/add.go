package webhooks

import (
	"context"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// AddRequest is the data of POST /v2/webhooks/add. Without event types, events of every type are posted, those too that come to be later.
type AddRequest struct {
	WebhookID   *string            `json:"webhookId" rule:"notificationid"`
	URL         string             `json:"url" rule:"required,nonempty"`
	Description string             `json:"description" rule:"max=1000"`
	EventTypes  []collab.EventType `json:"eventTypes" rule:"nonempty,max=30,each=oneof=comment_annotation.added|comment_annotation.updated|comment_annotation.status_changed|comment_annotation.assigned|comment.added|comment.updated|notification.added|notification.clicked|webhook.disabled"`
}

// Add makes a webhook endpoint and shows its secret, which nothing shows again. It fails with INVALID_ARGUMENT for a URL that nothing may
// be posted to, with ALREADY_EXISTS when there is an endpoint with its id, and with FAILED_PRECONDITION when the account has
// collab.MaxWebhooks of them.
func (s *Service) Add(ctx context.Context, call *rpc.Call, req *AddRequest) (WebhookWithSecret, error) {
	if err := s.checkURL("data.url", req.URL); err != nil {
		return WebhookWithSecret{}, err
	}
	secret, err := s.NewSecret()
	if err != nil {
		return WebhookWithSecret{}, err
	}
	now := call.IDs.Start().UnixMilli()
	w := collab.Webhook{
		ID: collab.Deref(req.WebhookID), URL: req.URL, Description: req.Description, EventTypes: distinct(req.EventTypes),
		Secrets: []collab.WebhookSecret{{Secret: secret, CreatedAt: now}}, CreatedAt: now, LastUpdated: now,
	}
	if w.ID == "" {
		w.ID = call.IDs.Next()
	}
	if w, err = s.add(ctx, call.Account, w); err != nil {
		return WebhookWithSecret{}, err
	}
	call.Items = 1
	call.Message = "the webhook was added: keep its secret, which is not shown again"
	return showWithSecret(w, call.Now), nil
}

// add adds an endpoint. One with its id and URL that was made in the same millisecond is what an earlier attempt at the same request made,
// and is returned as it is.
func (s *Service) add(ctx context.Context, acct string, w collab.Webhook) (collab.Webhook, error) {
	all, err := s.Store.Webhooks(ctx, acct)
	if err != nil {
		return w, err
	}
	there := slices.ContainsFunc(all, func(other collab.Webhook) bool { return other.ID == w.ID })
	if !there && len(all) >= collab.MaxWebhooks {
		return w, collab.Errorf(collab.FailedPrecondition, "the account has %d webhooks, the most there can be: delete one before", collab.MaxWebhooks)
	}
	err = s.Store.AddWebhook(ctx, acct, w)
	if collab.CodeOf(err) == collab.AlreadyExists {
		if earlier, readErr := s.Store.Webhook(ctx, acct, w.ID); readErr == nil && earlier.CreatedAt == w.CreatedAt && earlier.URL == w.URL {
			return earlier, nil
		}
	}
	return w, err
}
