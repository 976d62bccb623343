package webhooks

import (
	"context"

	"collabdata/shared/api/rpc"
)

// DeleteRequest is the data of POST /v2/webhooks/delete.
type DeleteRequest struct {
	WebhookID string `json:"webhookId" rule:"required,id"`
}

// DeleteResult is the answer to a delete.
type DeleteResult struct {
	Success   bool   `json:"success"`
	WebhookID string `json:"webhookId"`
	Message   string `json:"message"`
}

// Delete is POST /v2/webhooks/delete.
func Delete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/webhooks/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadWebhooks | rpc.WriteWebhooks,
		Operation: rpc.Method((*Service).Delete), Description: `
Deletes a webhook endpoint with its secrets. Nothing is posted to it any more, and its deliveries are gone, even for one that is added
later with the same id. A post that is under way may still arrive. NOT_FOUND when there is no such endpoint.`}
}

// Delete deletes a webhook endpoint: nothing is posted to it any more, what is on its way is canceled. It fails with NOT_FOUND when there
// is no such endpoint.
func (s *Service) Delete(ctx context.Context, call *rpc.Call, req *DeleteRequest) (DeleteResult, error) {
	if err := s.Store.DeleteWebhook(ctx, call.Account, req.WebhookID, call.IDs.Mark()); err != nil {
		return DeleteResult{}, err
	}
	call.Items = 1
	call.Message = "the webhook was deleted"
	return DeleteResult{true, req.WebhookID, call.Message}, nil
}
