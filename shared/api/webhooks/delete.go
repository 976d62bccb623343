package webhooks

import (
	"context"

	"collabdata/shared/api/rpc"
)

type DeleteRequest struct {
	WebhookID string `json:"webhookId" rule:"required,id"`
}

// DeleteResult is the response to a delete.
type DeleteResult struct {
	Success   bool   `json:"success"`
	WebhookID string `json:"webhookId"`
	Message   string `json:"message"`
}

// Delete is POST /v2/webhooks/delete.
func Delete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/webhooks/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit | rpc.ReadWebhooks | rpc.WriteWebhooks,
		Operation: rpc.Method((*Service).Delete), Description: `
Delete a webhook endpoint.

Deletes a webhook endpoint with its secrets and deliveries. Nothing more is posted to it, and a
later endpoint with the same id does not get its deliveries. A request on its way can still
arrive. The request fails with NOT_FOUND if the endpoint does not exist.`}
}

// Delete deletes a webhook endpoint and cancels its deliveries.
func (s *Service) Delete(ctx context.Context, call *rpc.Call, req *DeleteRequest) (DeleteResult, error) {
	if err := s.Store.DeleteWebhook(ctx, call.Account, req.WebhookID, call.IDs.Mark()); err != nil {
		return DeleteResult{}, err
	}
	call.Items = 1
	call.Message = "the webhook was deleted"
	return DeleteResult{true, req.WebhookID, call.Message}, nil
}
