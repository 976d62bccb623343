package webhooks

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type UpdateRequest struct {
	WebhookID   string                 `json:"webhookId" rule:"required,id"`
	UpdatedData rpc.One[WebhookChange] `json:"updatedData" rule:"required,nonempty"`
}

// WebhookChange is an update of an endpoint: an absent field is unchanged, and null clears. Without
// event types, events of every type are posted.
type WebhookChange struct {
	URL              rpc.Opt[string]             `json:"url" rule:"notnull,url"`
	Description      rpc.Opt[string]             `json:"description" rule:"max=1000"`
	EventTypes       rpc.Opt[[]collab.EventType] `json:"eventTypes" rule:"nonempty,max=30"`
	Channel          rpc.Opt[string]             `json:"channel" rule:"nonempty,max=100" doc:"As in webhooks/add; null: no filter"`
	MentionedUserIDs rpc.Opt[[]string]           `json:"mentionedUserIds" rule:"nonempty,max=100,each=id" doc:"As in webhooks/add; null: no filter"`
	Payload          rpc.Opt[collab.PayloadForm] `json:"payload" doc:"As in webhooks/add; null: standard"`
	Disabled         rpc.Opt[bool]               `json:"disabled" rule:"notnull" doc:"false enables it, and resets its failures"`
}

// Update is POST /v2/webhooks/update.
func Update() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/webhooks/update", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit | rpc.ReadWebhooks | rpc.WriteWebhooks,
		Operation: rpc.Method((*Service).Update), Description: `
Update a webhook endpoint.

Updates or enables a webhook endpoint. Absent fields are unchanged; 'null' clears 'description',
and means all types for eventTypes. Every update resets the endpoint's failures and ends its rest.
'disabled: false' enables an endpoint that you or the service disabled; waiting deliveries
continue. The request fails with NOT_FOUND if the endpoint does not exist.`}
}

// Update updates a webhook endpoint and resets its failures.
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
		return w.CheckForm("data.updatedData")
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
	if d.Channel.Sent() {
		w.Channel = d.Channel.Value
	}
	if d.MentionedUserIDs.Sent() {
		w.MentionedUserIDs = rpc.Distinct(d.MentionedUserIDs.Value)
	}
	if d.Payload.Sent() {
		w.Payload = d.Payload.Value
	}
	if d.Disabled.Sent() {
		w.Disabled, w.DisabledReason = d.Disabled.Value, ""
	}
}
