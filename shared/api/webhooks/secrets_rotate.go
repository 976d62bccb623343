package webhooks

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type RotateSecretRequest struct {
	WebhookID string `json:"webhookId" rule:"required,id"`
}

// SecretsRotate is POST /v2/webhooks/secrets/rotate.
func SecretsRotate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/webhooks/secrets/rotate", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit | rpc.ReadWebhooks | rpc.WriteWebhooks,
		Operation: rpc.Method((*Service).RotateSecret), Description: `
Rotate a webhook secret.

Adds a new secret to a webhook endpoint. The response shows it only once; only a retry with the
same Idempotency-Key shows it again. The previous secret also signs for 24 hours: each request
then has two signatures, and a receiver accepts either. The request fails with NOT_FOUND if the
endpoint does not exist, and with FAILED_PRECONDITION if it has five active secrets.`}
}

// RotateSecret adds a secret to a webhook endpoint and shows it only once.
func (s *Service) RotateSecret(ctx context.Context, call *rpc.Call, req *RotateSecretRequest) (WebhookWithSecret, error) {
	secret, err := s.NewSecret()
	if err != nil {
		return WebhookWithSecret{}, err
	}
	id := call.IDs.Next()
	call.Items = 1
	call.Message = "the secret was rotated: keep the new one, which is not shown again; the previous one also signs for 24 h"
	if call.Again {
		return s.showCreated(ctx, call, req.WebhookID, id)
	}
	w, err := s.Store.UpdateWebhook(ctx, call.Account, req.WebhookID, func(w *collab.Webhook) error {
		if _, created := w.Secret(id); created {
			return nil // by an earlier attempt of this request
		}
		w.LastUpdated = call.Now.UnixMilli()
		return w.Rotate(id, secret, call.Now.UnixMilli())
	})
	if err != nil {
		return WebhookWithSecret{}, err
	}
	created, _ := w.Secret(id)
	return showWithSecret(call, w, created), nil
}
