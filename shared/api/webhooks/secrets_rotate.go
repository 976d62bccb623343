package webhooks

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// RotateSecretRequest is the data of POST /v2/webhooks/secrets/rotate.
type RotateSecretRequest struct {
	WebhookID string `json:"webhookId" rule:"required,id"`
}

// SecretsRotate is POST /v2/webhooks/secrets/rotate.
func SecretsRotate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/webhooks/secrets/rotate", Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadWebhooks | rpc.WriteWebhooks,
		Operation: rpc.Method((*Service).RotateSecret), Description: `
Gives a webhook endpoint a new secret. The response has it, this once; only a repeat under the same Idempotency-Key shows it again. The one
before signs beside it for 24 hours: each post then has two signatures, and a receiver accepts either. NOT_FOUND when there is no such
endpoint; FAILED_PRECONDITION when five secrets sign already.`}
}

// RotateSecret gives a webhook endpoint a new secret and shows it, which nothing does again. The one before signs beside it for
// collab.SecretRotation. It fails with NOT_FOUND when there is no such endpoint, and with FAILED_PRECONDITION when
// collab.MaxWebhookSecrets sign already.
func (s *Service) RotateSecret(ctx context.Context, call *rpc.Call, req *RotateSecretRequest) (WebhookWithSecret, error) {
	secret, err := s.NewSecret()
	if err != nil {
		return WebhookWithSecret{}, err
	}
	id := call.IDs.Next()
	call.Items = 1
	call.Message = "the secret was rotated: keep the new one, which is not shown again; the one before signs for 24 h more"
	if call.Again {
		return s.showMade(ctx, call, req.WebhookID, id)
	}
	w, err := s.Store.UpdateWebhook(ctx, call.Account, req.WebhookID, func(w *collab.Webhook) error {
		if _, made := w.Secret(id); made {
			return nil // by an earlier attempt at this request
		}
		w.LastUpdated = call.Now.UnixMilli()
		return w.Rotate(id, secret, call.Now.UnixMilli())
	})
	if err != nil {
		return WebhookWithSecret{}, err
	}
	made, _ := w.Secret(id)
	return showWithSecret(call, w, made), nil
}
