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
Adds an endpoint of the account, for the events of all its organizations, and returns the secret that signs what it gets, this once; only a
repeat under the same Idempotency-Key shows it again. It gets what happens from then on. The URL begins with https:// and has at most 2,048
bytes; it names no user, and no private, local or reserved address.

ALREADY_EXISTS when there is an endpoint with its id; FAILED_PRECONDITION when the account has as many as its quota. NOT_FOUND only when a
repeat comes after its endpoint or secret is gone.`,
		Grants:    ReadTable | WriteTable | ReadWebhooks | WriteWebhooks,
		Operation: operation(webhook, (*webhooks.Service).Add),
	}
}

// V2WebhooksGet is POST /v2/webhooks/get.
func V2WebhooksGet() Endpoint {
	return Endpoint{
		Path:    "/v2/webhooks/get",
		Summary: "Lists webhook endpoints",
		Description: `
Returns webhook endpoints, and how they have answered: those of webhookIds that exist, in the order asked and each once, or all by id, in
one response.`,
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
Changes an endpoint: a field left out stays; null clears description, and as eventTypes means all. Every update forgets how the endpoint
failed: it begins afresh, also where it rested. disabled: false enables it again where you or the service had disabled it; posts that were
waiting go on. NOT_FOUND when there is no such endpoint.`,
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
Deletes an endpoint with its secrets: nothing is posted to it any more, and its deliveries are gone, even for one that is added later with
the same id. A post that is under way may still arrive. NOT_FOUND when there is no such endpoint.`,
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
Gives the endpoint a new secret and returns it, this once; only a repeat under the same Idempotency-Key shows it again. The one before
signs beside it for 24 hours: each post then has two signatures, and a receiver accepts either. NOT_FOUND when there is no such endpoint;
FAILED_PRECONDITION when five secrets sign already.`,
		Grants:    ReadTable | WriteTable | ReadWebhooks | WriteWebhooks,
		Operation: operation(webhook, (*webhooks.Service).RotateSecret),
	}
}

// V2WebhooksDeliveriesGet is POST /v2/webhooks/deliveries/get.
func V2WebhooksDeliveriesGet() Endpoint {
	return Endpoint{
		Path:    "/v2/webhooks/deliveries/get",
		Summary: "Lists the deliveries to a webhook endpoint, in pages",
		Description: `
Returns what became of the events of the last 30 days that were meant for the endpoint, newest event first. Filters combine; times are
those of the events, and inclusive. NOT_FOUND when there is no such endpoint.`,
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
Makes deliveries pending again, whatever had become of them, with all their attempts before them: that of eventId alone, or those since a
time (and in a state, where that is given), oldest event first, a page of them per call. Posts begin within a minute or so. An endpoint may
so get events again that it has had, with the same webhook-id. A repeat after a call that did not finish counts what it makes pending
itself.

NOT_FOUND when there is no such endpoint, or no delivery of the event to it; FAILED_PRECONDITION when the endpoint is disabled.`,
		Grants:    ReadTable | WriteTable | ReadWebhooks,
		Operation: operation(webhook, (*webhooks.Service).ReplayDeliveries),
	}
}
