package api

import (
	"collabdata/shared/api/webhooks"
)

// V2WebhooksAdd is POST /v2/webhooks/add.
func V2WebhooksAdd() Endpoint {
	return Endpoint{
		Path:      "/v2/webhooks/add",
		Summary:   "Adds a webhook endpoint",
		Grants:    ReadTable | WriteTable | ReadWebhooks | WriteWebhooks,
		Operation: operation(webhook, (*webhooks.Service).Add),
	}
}

// V2WebhooksGet is POST /v2/webhooks/get.
func V2WebhooksGet() Endpoint {
	return Endpoint{
		Path:      "/v2/webhooks/get",
		Summary:   "Answers webhook endpoints",
		Grants:    ReadTable | ReadWebhooks,
		Operation: operation(webhook, (*webhooks.Service).Get),
	}
}

// V2WebhooksUpdate is POST /v2/webhooks/update.
func V2WebhooksUpdate() Endpoint {
	return Endpoint{
		Path:      "/v2/webhooks/update",
		Summary:   "Updates a webhook endpoint, or enables it again",
		Grants:    ReadTable | WriteTable | ReadWebhooks | WriteWebhooks,
		Operation: operation(webhook, (*webhooks.Service).Update),
	}
}

// V2WebhooksDelete is POST /v2/webhooks/delete.
func V2WebhooksDelete() Endpoint {
	return Endpoint{
		Path:      "/v2/webhooks/delete",
		Summary:   "Deletes a webhook endpoint",
		Grants:    ReadTable | WriteTable | ReadWebhooks | WriteWebhooks,
		Operation: operation(webhook, (*webhooks.Service).Delete),
	}
}

// V2WebhooksSecretsRotate is POST /v2/webhooks/secrets/rotate.
func V2WebhooksSecretsRotate() Endpoint {
	return Endpoint{
		Path:      "/v2/webhooks/secrets/rotate",
		Summary:   "Gives a webhook endpoint a new secret",
		Grants:    ReadTable | WriteTable | ReadWebhooks | WriteWebhooks,
		Operation: operation(webhook, (*webhooks.Service).RotateSecret),
	}
}

// V2WebhooksDeliveriesGet is POST /v2/webhooks/deliveries/get.
func V2WebhooksDeliveriesGet() Endpoint {
	return Endpoint{
		Path:      "/v2/webhooks/deliveries/get",
		Summary:   "Answers what was delivered to a webhook endpoint, in pages",
		Grants:    ReadTable | ReadWebhooks,
		Operation: operation(webhook, (*webhooks.Service).GetDeliveries),
	}
}

// V2WebhooksDeliveriesReplay is POST /v2/webhooks/deliveries/replay.
func V2WebhooksDeliveriesReplay() Endpoint {
	return Endpoint{
		Path:      "/v2/webhooks/deliveries/replay",
		Summary:   "Delivers events to a webhook endpoint again",
		Grants:    ReadTable | WriteTable | ReadWebhooks,
		Operation: operation(webhook, (*webhooks.Service).ReplayDeliveries),
	}
}
