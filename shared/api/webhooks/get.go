package webhooks

import (
	"context"
	"slices"

	"collabdata/shared/api/rpc"
)

// GetRequest is the data of POST /v2/webhooks/get. Without ids it selects all webhook endpoints of
// the account.
type GetRequest struct {
	WebhookIDs []string `json:"webhookIds" rule:"notnull,nonempty,max=30,each=id"`
}

// Get is POST /v2/webhooks/get.
func Get() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/webhooks/get", Grants: rpc.ReadTable | rpc.ReadWebhooks,
		Operation: rpc.Method((*Service).Get), Description: `
List webhook endpoints.

Lists webhook endpoints with their state, in one response: the existing ones of webhookIds in the
order asked, without duplicates, or all, by id.`}
}

// Get returns webhook endpoints: the existing ones of webhookIds in the order asked, or all, by id.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) ([]Webhook, error) {
	all, err := s.Store.Webhooks(ctx, call.Account)
	if err != nil {
		return nil, err
	}
	list := make([]Webhook, len(all))
	for i, w := range all {
		list[i] = show(w, call.Now)
	}
	if ids := req.WebhookIDs; ids != nil {
		list = slices.DeleteFunc(list, func(w Webhook) bool { return !slices.Contains(ids, w.WebhookID) })
		slices.SortFunc(list, func(a, b Webhook) int { return slices.Index(ids, a.WebhookID) - slices.Index(ids, b.WebhookID) })
	}
	call.Items = len(list)
	call.Message = rpc.Count(call.Items, "webhook")
	return list, nil
}
