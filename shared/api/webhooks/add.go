package webhooks

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// AddRequest is the data of POST /v2/webhooks/add. Without event types, events of every type are
// posted, including future ones.
type AddRequest struct {
	WebhookID        *string            `json:"webhookId" rule:"notificationid" doc:"Generated if absent"`
	URL              string             `json:"url" rule:"required,url" doc:"Target of the posts: https, or http to an address that the operator allows"`
	Description      string             `json:"description" rule:"max=1000"`
	EventTypes       []collab.EventType `json:"eventTypes" rule:"nonempty,max=30"`
	Channel          string             `json:"channel" rule:"notnull,nonempty,max=100" doc:"Post only notification.due events of this channel, such as slack or email"`
	MentionedUserIDs []string           `json:"mentionedUserIds" rule:"notnull,nonempty,max=100,each=id" doc:"Post only events that notify one of these users of a mention, also of a group"`
	Payload          collab.PayloadForm `json:"payload" doc:"Default: standard. contract: the hosted service's form, see [Webhooks](#webhooks)"`
}

// Add is POST /v2/webhooks/add.
func Add() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/webhooks/add", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit | rpc.ReadWebhooks | rpc.WriteWebhooks,
		Operation: rpc.Method((*Service).Add), Description: `
Add a webhook endpoint.

Adds a webhook endpoint for the later events of all organizations of the account. The response has
the secret that signs its requests. The secret is shown only once; only a retry with the same
Idempotency-Key shows it again. The URL begins with 'https://', has at most 2,048 bytes and no
user, and its address is not private, local or reserved.

The request fails with ALREADY_EXISTS if the id already exists, and with FAILED_PRECONDITION if
the account has reached its quota. A retry fails with NOT_FOUND if the endpoint or its secret was
deleted.`}
}

// Add creates a webhook endpoint and shows its secret only once.
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
		Payload: req.Payload, Channel: req.Channel, MentionedUserIDs: rpc.Distinct(req.MentionedUserIDs),
		Secrets: []collab.WebhookSecret{{ID: call.IDs.Next(), Secret: secret, CreatedAt: now}}, CreatedAt: now, LastUpdated: now,
	}
	if w.ID == "" {
		w.ID = call.IDs.Next()
	}
	if err := w.CheckForm("data"); err != nil {
		return WebhookWithSecret{}, err
	}
	call.Items = 1
	call.Message = "the webhook was added: keep its secret, which is not shown again"
	if call.Again {
		return s.showCreated(ctx, call, w.ID, w.Secrets[0].ID)
	}
	err = s.Store.AddWebhook(ctx, call.Account, int(call.Settings.OrDefaults().WebhookEndpoints), w)
	if collab.CodeOf(err) == collab.AlreadyExists {
		if created, missing := s.showCreated(ctx, call, w.ID, w.Secrets[0].ID); missing == nil {
			return created, nil // by an earlier attempt of this request
		}
	}
	if err != nil {
		return WebhookWithSecret{}, err
	}
	return showWithSecret(call, w, w.Secrets[0]), nil
}

// showCreated shows the secret that an earlier attempt created. It returns NOT_FOUND if the
// endpoint or the secret was deleted.
func (s *Service) showCreated(ctx context.Context, call *rpc.Call, webhook, secret string) (WebhookWithSecret, error) {
	w, err := s.Store.Webhook(ctx, call.Account, webhook)
	if err != nil {
		return WebhookWithSecret{}, err
	}
	created, ok := w.Secret(secret)
	if !ok {
		return WebhookWithSecret{}, collab.Errorf(collab.NotFound, "the secret that this request created was deleted")
	}
	return showWithSecret(call, w, created), nil
}
