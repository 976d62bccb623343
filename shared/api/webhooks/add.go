package webhooks

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// AddRequest is the data of POST /v2/webhooks/add. Without event types, events of every type are posted, those too that come to be later.
type AddRequest struct {
	WebhookID   *string            `json:"webhookId" rule:"notificationid" doc:"Generated where it is left out"`
	URL         string             `json:"url" rule:"required,url" doc:"Where events are posted: https, or http to an address that the operator allows"`
	Description string             `json:"description" rule:"max=1000"`
	EventTypes  []collab.EventType `json:"eventTypes" rule:"nonempty,max=30"`
	Payload     collab.PayloadForm `json:"payload" doc:"standard where it is left out. contract: the form and the event names of the hosted service, see [Webhooks](#webhooks)"`
}

// Add is POST /v2/webhooks/add.
func Add() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/webhooks/add", Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadWebhooks | rpc.WriteWebhooks,
		Operation: rpc.Method((*Service).Add), Description: `
Adds a webhook endpoint. It is for the events of all organizations of the account. The response has the secret that signs what it gets,
this once; only a repeat under the same Idempotency-Key shows it again. It gets what happens from then on. The URL begins with https:// and
has at most 2,048 bytes; it names no user, and no private, local or reserved address.

ALREADY_EXISTS when there is an endpoint with its id; FAILED_PRECONDITION when the account has as many as its quota. NOT_FOUND only when a
repeat comes after its endpoint or secret is gone.`}
}

// Add makes a webhook endpoint and shows its secret, which nothing shows again. It fails with INVALID_ARGUMENT for a URL that nothing may
// be posted to, with ALREADY_EXISTS when there is an endpoint with its id, and with FAILED_PRECONDITION when the account has
// as many of them as its quota.
func (s *Service) Add(ctx context.Context, call *rpc.Call, req *AddRequest) (WebhookWithSecret, error) {
	if err := s.CheckURL(req.URL); err != nil {
		return WebhookWithSecret{}, collab.FieldErrorf("data.url", "%s", err)
	}
	secret, err := s.NewSecret()
	if err != nil {
		return WebhookWithSecret{}, err
	}
	now := call.Now.UnixMilli()
	w := collab.Webhook{
		ID: collab.Deref(req.WebhookID), URL: req.URL, Description: req.Description, EventTypes: rpc.Distinct(req.EventTypes),
		Payload: req.Payload,
		Secrets: []collab.WebhookSecret{{ID: call.IDs.Next(), Secret: secret, CreatedAt: now}}, CreatedAt: now, LastUpdated: now,
	}
	if w.ID == "" {
		w.ID = call.IDs.Next()
	}
	if err := w.CheckEventTypes("data.eventTypes"); err != nil {
		return WebhookWithSecret{}, err
	}
	call.Items = 1
	call.Message = "the webhook was added: keep its secret, which is not shown again"
	if call.Again {
		return s.showMade(ctx, call, w.ID, w.Secrets[0].ID)
	}
	err = s.Store.AddWebhook(ctx, call.Account, call.Settings.Webhooks(), w)
	if collab.CodeOf(err) == collab.AlreadyExists {
		if made, gone := s.showMade(ctx, call, w.ID, w.Secrets[0].ID); gone == nil {
			return made, nil // by an earlier attempt at this request
		}
	}
	if err != nil {
		return WebhookWithSecret{}, err
	}
	return showWithSecret(call, w, w.Secrets[0]), nil
}

// showMade shows a secret that this same request made before, by its id. It fails with NOT_FOUND when the endpoint or the secret is gone.
func (s *Service) showMade(ctx context.Context, call *rpc.Call, webhook, secret string) (WebhookWithSecret, error) {
	w, err := s.Store.Webhook(ctx, call.Account, webhook)
	if err != nil {
		return WebhookWithSecret{}, err
	}
	made, ok := w.Secret(secret)
	if !ok {
		return WebhookWithSecret{}, collab.Errorf(collab.NotFound, "the secret that this request made is gone")
	}
	return showWithSecret(call, w, made), nil
}
