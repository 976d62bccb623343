// Package webhooks implements the operations on webhook endpoints and their deliveries.
package webhooks

import (
	"cmp"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/store/hooks"
)

// Service runs the operations.
type Service struct {
	Store *hooks.Store
	// CheckURL returns the rule that a URL breaks, such as "must begin with https://", or nil.
	CheckURL  func(url string) error
	NewSecret func() (string, error) // returns a random signing secret
}

// Webhook is a webhook endpoint in a response, without the text of its secrets.
type Webhook struct {
	WebhookID        string             `json:"webhookId"`
	URL              string             `json:"url"`
	Description      string             `json:"description"`
	EventTypes       []collab.EventType `json:"eventTypes" rule:"nullable"` // null means all
	Channel          string             `json:"channel,omitempty" doc:"Only notification.due events of this channel"`
	MentionedUserIDs []string           `json:"mentionedUserIds,omitempty" doc:"Only events that notify one of these users of a mention"`
	Payload          collab.PayloadForm `json:"payload" doc:"The form of the posts"`
	Disabled         bool               `json:"disabled"`
	DisabledReason   string             `json:"disabledReason,omitempty" doc:"Why the service disabled it"`
	Failures         int                `json:"failures" doc:"Failed posts since the last success"`
	FailingSince     collab.Timestamp   `json:"failingSince,omitzero" doc:"Time of the first of these failures"`
	Resting          bool               `json:"resting"` // posts are paused after many failures, except probes
	Secrets          []Secret           `json:"secrets" doc:"Active secrets, current one first"`
	CreatedAt        collab.Timestamp   `json:"createdAt"`
	LastUpdated      collab.Timestamp   `json:"lastUpdated"`
}

// Secret is a secret in a response, without its text.
type Secret struct {
	CreatedAt collab.Timestamp `json:"createdAt"`
	Expires   collab.Timestamp `json:"expires,omitzero"` // until then it signs together with the current one
}

// WebhookWithSecret is a response with a new secret, shown only once.
type WebhookWithSecret struct {
	Webhook
	Secret string `json:"secret"`
}

// show returns an endpoint in the form of a response.
func show(w collab.Webhook, now time.Time) Webhook {
	shown := Webhook{
		WebhookID: w.ID, URL: w.URL, Description: w.Description, EventTypes: w.EventTypes,
		Channel: w.Channel, MentionedUserIDs: w.MentionedUserIDs,
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

// showWithSecret is show with the text of a new secret. The response is not stored.
func showWithSecret(call *rpc.Call, w collab.Webhook, created collab.WebhookSecret) WebhookWithSecret {
	call.Secret = true
	return WebhookWithSecret{show(w, call.Now), created.Secret}
}
