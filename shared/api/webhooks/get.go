package webhooks

import (
	"context"

	"collabdata/shared/api/rpc"
)

// GetRequest is the data of POST /v2/webhooks/get. Without ids it asks for all webhook endpoints of the account.
type GetRequest struct {
	WebhookIDs []string `json:"webhookIds" rule:"notnull,nonempty,max=30,each=id"`
}

// Get returns webhook endpoints: those asked for that exist, in the order asked and each once, or all by id, which is by creation.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) ([]Webhook, error) {
	all, err := s.Store.Webhooks(ctx, call.Account)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]Webhook, len(all))
	list := make([]Webhook, 0, len(all))
	for _, w := range all {
		byID[w.ID] = show(w, call.Now)
		list = append(list, byID[w.ID])
	}
	if req.WebhookIDs != nil {
		list = list[:0]
		for _, id := range rpc.Distinct(req.WebhookIDs) {
			if w, ok := byID[id]; ok {
				list = append(list, w)
			}
		}
	}
	call.Items = len(list)
	call.Message = rpc.Count(call.Items, "webhook")
	return list, nil
}
