package api

import (
	"collabdata/shared/api/webhooks"
)

// V2WebhooksAdd is POST /v2/webhooks/add.
func V2WebhooksAdd() Endpoint {
	return Endpoint{
		Path:    "/v2/webhooks/add",
		Summary: "Adds a webhook endpoint",
		Description: `
Adds an endpoint of the account and answers the secret that signs what it gets, this once. A repeat under the same Idempotency-Key shows it again.
ALREADY_EXISTS when there is an endpoint with its id; FAILED_PRECONDITION when the account has as many as it may.`,
		Grants:    ReadTable | WriteTable | ReadWebhooks | WriteWebhooks,
		Operation: operation(webhook, (*webhooks.Service).Add),
	}
}

// V2WebhooksGet is POST /v2/webhooks/get.
func V2WebhooksGet() Endpoint {
	return Endpoint{
		Path:    "/v2/webhooks/get",
		Summary: "Answers webhook endpoints",
		Description: `
Those of webhookIds that exist, in the order asked and each once, or all by id.`,
		Grants:    ReadTable | ReadWebhooks,
		Operation: operation(webhook, (*webhooks.Service).Get),
	}
}

// V2WebhooksUpdate is POST /v2/webhooks/update.
func V2WebhooksUpdate() Endpoint {
	return Endpoint{
		Path:    "/v2/webhooks/update",
		Summary: "Updates a webhook endpoint, or enables it again",
		Description: `
Changes an endpoint and forgets how it failed: it begins afresh, also where the service had disabled it.`,
		Grants:    ReadTable | WriteTable | ReadWebhooks | WriteWebhooks,
		Operation: operation(webhook, (*webhooks.Service).Update),
	}
}

// V2WebhooksDelete is POST /v2/webhooks/delete.
func V2WebhooksDelete() Endpoint {
	return Endpoint{
		Path:    "/v2/webhooks/delete",
		Summary: "Deletes a webhook endpoint",
		Description: `
Nothing is posted to the endpoint any more, what is on its way is canceled.`,
		Grants:    ReadTable | WriteTable | ReadWebhooks | WriteWebhooks,
		Operation: operation(webhook, (*webhooks.Service).Delete),
	}
}

// V2WebhooksSecretsRotate is POST /v2/webhooks/secrets/rotate.
func V2WebhooksSecretsRotate() Endpoint {
	return Endpoint{
		Path:    "/v2/webhooks/secrets/rotate",
		Summary: "Gives a webhook endpoint a new secret",
		Description: `
Gives the endpoint a new secret and answers it, this once; a repeat under the same Idempotency-Key shows it again. The one before signs beside it for
24 hours. FAILED_PRECONDITION when five secrets sign already.`,
		Grants:    ReadTable | WriteTable | ReadWebhooks | WriteWebhooks,
		Operation: operation(webhook, (*webhooks.Service).RotateSecret),
	}
}

// V2WebhooksDeliveriesGet is POST /v2/webhooks/deliveries/get.
func V2WebhooksDeliveriesGet() Endpoint {
	return Endpoint{
		Path:    "/v2/webhooks/deliveries/get",
		Summary: "Answers what was delivered to a webhook endpoint, in pages",
		Description: `
What became of the events of the last 30 days, newest event first.`,
		Grants:    ReadTable | ReadWebhooks,
		Operation: operation(webhook, (*webhooks.Service).GetDeliveries),
	}
}

// V2WebhooksDeliveriesReplay is POST /v2/webhooks/deliveries/replay.
func V2WebhooksDeliveriesReplay() Endpoint {
	return Endpoint{
		Path:    "/v2/webhooks/deliveries/replay",
		Summary: "Delivers events to a webhook endpoint again",
		Description: `
Makes deliveries pending again, whatever had become of them, with all their attempts before them: that of eventId, or those since a time, a page of
them per call. FAILED_PRECONDITION when the endpoint is disabled.`,
		Grants:    ReadTable | WriteTable | ReadWebhooks,
		Operation: operation(webhook, (*webhooks.Service).ReplayDeliveries),
	}
}
