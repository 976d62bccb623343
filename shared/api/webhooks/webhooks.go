// Package webhooks has the operations on the webhook endpoints of an account, and on what was delivered to them.
package webhooks

import (
	"cmp"
	"context"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Service carries out the operations.
type Service struct {
	Store Store
	// reports the rule that a URL breaks, as a predicate: `must begin with https://`; nil where it may be posted to
	CheckURL  func(url string) error
	NewSecret func() (string, error) // returns a new random secret that signs
}

// Store keeps the webhook endpoints of accounts and what was delivered to them: see package hooks.
type Store interface {
	Webhooks(ctx context.Context, acct string) ([]collab.Webhook, error)
	Webhook(ctx context.Context, acct, id string) (collab.Webhook, error)
	AddWebhook(ctx context.Context, acct string, most int, w collab.Webhook) error
	UpdateWebhook(ctx context.Context, acct, id string, change func(*collab.Webhook) error) (collab.Webhook, error)
	DeleteWebhook(ctx context.Context, acct, id, mark string) error
	Deliveries(
		ctx context.Context, acct, hook string, f collab.DeliveryFilter, after string, most int,
	) (list []collab.Delivery, next string, err error)
	ReplayDelivery(ctx context.Context, acct, hook, event string) error
	ReplayDeliveries(
		ctx context.Context, acct, hook string, since collab.Millis, after string, most int,
	) (replayed int, next string, err error)
}

// Webhook is a webhook endpoint as it is answered: without the text of its secrets.
type Webhook struct {
	WebhookID      string             `json:"webhookId"`
	URL            string             `json:"url"`
	Description    string             `json:"description"`
	EventTypes     []collab.EventType `json:"eventTypes" rule:"nullable"` // null: all
	Payload        collab.PayloadForm `json:"payload" doc:"The form of what is posted"`
	Disabled       bool               `json:"disabled"`
	DisabledReason string             `json:"disabledReason,omitempty" doc:"Why the service disabled it"`
	Failures       int                `json:"failures" doc:"Posts that failed since the last one that succeeded"`
	FailingSince   collab.Timestamp   `json:"failingSince,omitzero" doc:"When the first of these failures was"`
	Resting        bool               `json:"resting"` // after too many failures posts are held back, except a probe from time to time
	Secrets        []Secret           `json:"secrets" doc:"Those that sign, the present one first"`
	CreatedAt      collab.Timestamp   `json:"createdAt"`
	LastUpdated    collab.Timestamp   `json:"lastUpdated"`
}

// Secret is a secret as it is answered: without its text.
type Secret struct {
	CreatedAt collab.Timestamp `json:"createdAt"`
	Expires   collab.Timestamp `json:"expires,omitzero"` // it signs until then, beside the present one
}

// WebhookWithSecret is the answer of the operations that make a secret, which show it this once.
type WebhookWithSecret struct {
	Webhook
	Secret string `json:"secret"`
}

// show returns an endpoint as it is answered at the time now.
func show(w collab.Webhook, now time.Time) Webhook {
	shown := Webhook{
		WebhookID: w.ID, URL: w.URL, Description: w.Description, EventTypes: w.EventTypes,
		Payload:  cmp.Or(w.Payload, collab.PayloadStandard),
		Disabled: w.Disabled, DisabledReason: w.DisabledReason,
		Failures: w.Health.Failures, FailingSince: collab.Timestamp(w.Health.FailingSince), Resting: w.Health.Resting(),
		CreatedAt: collab.Timestamp(w.CreatedAt), LastUpdated: collab.Timestamp(w.LastUpdated),
	}
	for _, s := range w.Secrets {
		if s.Signs(now.UnixMilli()) {
			shown.Secrets = append(shown.Secrets, Secret{collab.Timestamp(s.CreatedAt), collab.Timestamp(s.Expires)})
		}
	}
	return shown
}

// showWithSecret is show, with the text of a secret that the call made. The answer is not kept.
func showWithSecret(call *rpc.Call, w collab.Webhook, made collab.WebhookSecret) WebhookWithSecret {
	call.Secret = true
	return WebhookWithSecret{show(w, call.Now), made.Secret}
}
