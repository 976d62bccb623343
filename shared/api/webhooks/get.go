package webhooks

import (
	"context"
	"slices"

	"collabdata/shared/api/rpc"
)

// GetRequest is the data of POST /v2/webhooks/get. Without ids it asks for all webhook endpoints of the account.
type GetRequest struct {
	WebhookIDs []string `json:"webhookIds" rule:"notnull,nonempty,max=30,each=id"`
}

// Get is POST /v2/webhooks/get.
func Get() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/webhooks/get", Grants: rpc.ReadTable | rpc.ReadWebhooks,
		Operation: rpc.Method((*Service).Get), Description: `
Lists webhook endpoints, and how they have answered. The response has those of webhookIds that exist, in the order asked and each once, or
all by id, in one response.`}
}

// Get returns webhook endpoints: those asked for that exist, in the order asked and each once, or all by id.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) ([]Webhook, error) {
	all, err := s.Store.Webhooks(ctx, call.Account)
	if err != nil {
		return nil, err
	}
	list := make([]Webhook, len(all))
	for i, w := range all {
		list[i] = show(w, call.Now)
	}
	if asked := req.WebhookIDs; asked != nil {
		list = slices.DeleteFunc(list, func(w Webhook) bool { return !slices.Contains(asked, w.WebhookID) })
		slices.SortFunc(list, func(a, b Webhook) int { return slices.Index(asked, a.WebhookID) - slices.Index(asked, b.WebhookID) })
	}
	call.Items = len(list)
	call.Message = rpc.Count(call.Items, "webhook")
	return list, nil
}
