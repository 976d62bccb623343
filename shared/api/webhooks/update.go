package webhooks

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// UpdateRequest is the data of POST /v2/webhooks/update.
type UpdateRequest struct {
	WebhookID   string                 `json:"webhookId" rule:"required,id"`
	UpdatedData rpc.One[WebhookChange] `json:"updatedData" rule:"required,nonempty"`
}

// WebhookChange is what an update makes of an endpoint: a field left out stays, and null clears it. Without event types, events of every
// type are posted.
type WebhookChange struct {
	URL         rpc.Opt[string]             `json:"url" rule:"notnull,url"`
	Description rpc.Opt[string]             `json:"description" rule:"max=1000"`
	EventTypes  rpc.Opt[[]collab.EventType] `json:"eventTypes" rule:"nonempty,max=30"`
	Payload     rpc.Opt[collab.PayloadForm] `json:"payload" doc:"As in webhooks/add; null: standard"`
	Disabled    rpc.Opt[bool]               `json:"disabled" rule:"notnull" doc:"false enables it again, and forgets how it failed"`
}

// Update is POST /v2/webhooks/update.
func Update() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/webhooks/update", Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadWebhooks | rpc.WriteWebhooks,
		Operation: rpc.Method((*Service).Update), Description: `
Updates a webhook endpoint, or enables it again. A field left out stays; null clears description, and as eventTypes means all. Every update
forgets how the endpoint failed: it begins afresh, also where it rested. disabled: false enables it again where you or the service had
disabled it; posts that were waiting go on. NOT_FOUND when there is no such endpoint.`}
}

// Update changes a webhook endpoint, and forgets how it failed: it begins afresh. It fails with INVALID_ARGUMENT for a URL that nothing may
// be posted to, and with NOT_FOUND when there is no such endpoint.
func (s *Service) Update(ctx context.Context, call *rpc.Call, req *UpdateRequest) (Webhook, error) {
	data := req.UpdatedData.Value
	if data.URL.Sent() {
		if err := s.CheckURL(data.URL.Value); err != nil {
			return Webhook{}, collab.FieldErrorf("data.updatedData.url", "%s", err)
		}
	}
	w, err := s.Store.UpdateWebhook(ctx, call.Account, req.WebhookID, func(w *collab.Webhook) error {
		data.apply(w)
		w.LastUpdated = call.Now.UnixMilli()
		return w.CheckEventTypes("data.updatedData.eventTypes")
	})
	if err != nil {
		return Webhook{}, err
	}
	call.Items = 1
	call.Message = "the webhook was updated"
	return show(w, call.Now), nil
}

func (d *WebhookChange) apply(w *collab.Webhook) {
	if d.URL.Sent() {
		w.URL = d.URL.Value
	}
	if d.Description.Sent() {
		w.Description = d.Description.Value
	}
	if d.EventTypes.Sent() {
		w.EventTypes = rpc.Distinct(d.EventTypes.Value)
	}
	if d.Payload.Sent() {
		w.Payload = d.Payload.Value
	}
	if d.Disabled.Sent() {
		w.Disabled, w.DisabledReason = d.Disabled.Value, ""
	}
}
