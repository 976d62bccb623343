package webhooks

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// GetDeliveriesRequest is the data of POST /v2/webhooks/deliveries/get. All filters combine. Times
// are those of the events, and inclusive.
type GetDeliveriesRequest struct {
	WebhookID     string                `json:"webhookId" rule:"required,id"`
	State         *collab.DeliveryState `json:"state" rule:"notnull" doc:"Only those in this state"`
	EventType     *collab.EventType     `json:"eventType" rule:"notnull" doc:"Only of events of this type"`
	CreatedAfter  *int64                `json:"createdAfter" rule:"notnull,time" doc:"Of events at this time or later"`
	CreatedBefore *int64                `json:"createdBefore" rule:"notnull,time" doc:"Of events at this time or earlier"`
	rpc.PageRequest
}

func (r *GetDeliveriesRequest) Validate(m *rpc.Violations) {
	if r.CreatedAfter != nil && r.CreatedBefore != nil && *r.CreatedAfter > *r.CreatedBefore {
		m.Add("createdBefore", "must not be earlier than createdAfter")
	}
}

func (r *GetDeliveriesRequest) filter() collab.DeliveryFilter {
	f := collab.DeliveryFilter{State: collab.Deref(r.State), Type: collab.Deref(r.EventType), After: collab.Deref(r.CreatedAfter)}
	if r.CreatedBefore != nil {
		f.Before = max(*r.CreatedBefore, 1) // 0 would mean no limit
	}
	return f
}

// Delivery is the delivery of an event to a webhook endpoint, in a response.
type Delivery struct {
	WebhookID   string               `json:"webhookId"`
	EventID     string               `json:"eventId" doc:"The event, also in the header webhook-id"`
	EventType   collab.EventType     `json:"eventType" doc:"The type of the event"`
	State       collab.DeliveryState `json:"state"`
	Attempts    []Attempt            `json:"attempts" doc:"The last 20 posts, oldest first"`
	NextAttempt collab.Timestamp     `json:"nextAttempt,omitzero" doc:"Time of the next post of a pending delivery, unless the endpoint is resting"`
	CreatedAt   collab.Timestamp     `json:"createdAt"`
	LastUpdated collab.Timestamp     `json:"lastUpdated"`
}

type Attempt struct {
	At         collab.Timestamp `json:"at"`
	Status     int              `json:"status,omitempty" doc:"HTTP status of the response, if there was one"`
	Reason     string           `json:"reason,omitempty"` // cause of a failure
	DurationMS int64            `json:"durationMs"`
	Answer     string           `json:"answer,omitempty" doc:"The first 1,000 bytes of the response, for the last three failed attempts"`
}

func showDelivery(d collab.Delivery) Delivery {
	shown := Delivery{
		WebhookID: d.WebhookID, EventID: d.EventID, EventType: d.Type, State: d.State, Attempts: []Attempt{},
		CreatedAt: collab.Timestamp(d.CreatedAt), LastUpdated: collab.Timestamp(d.LastUpdated),
	}
	if d.State == collab.DeliveryPending {
		shown.NextAttempt = collab.Timestamp(d.NextAttempt)
	}
	for _, a := range d.Attempts {
		shown.Attempts = append(shown.Attempts, Attempt{collab.Timestamp(a.At), a.Status, a.Reason, a.Duration, a.Answer})
	}
	return shown
}

// DeliveriesGet is POST /v2/webhooks/deliveries/get.
func DeliveriesGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/webhooks/deliveries/get", Grants: rpc.ReadTable | rpc.ReadWebhooks,
		Operation: rpc.Method((*Service).GetDeliveries), Description: `
List deliveries.

Lists the deliveries to a webhook endpoint of the last 30 days, in pages, newest event first.
Filters combine; times are those of the events, and inclusive. The request fails with NOT_FOUND if
the endpoint does not exist.`}
}

// GetDeliveries returns a page of the deliveries to a webhook endpoint of the last 30 days, newest
// event first.
func (s *Service) GetDeliveries(ctx context.Context, call *rpc.Call, req *GetDeliveriesRequest) (*rpc.Page[Delivery], error) {
	var after string // event of the last examined delivery
	page, err := rpc.NewPage[Delivery](call, "delivery", req.PageRequest, &after)
	if err != nil {
		return nil, err
	}
	if _, err := s.Store.Webhook(ctx, call.Account, req.WebhookID); err != nil {
		return nil, err
	}
	deliveries, next, err := s.Store.Deliveries(ctx, call.Account, req.WebhookID, req.filter(), after, page.Most())
	if err != nil {
		return nil, err
	}
	for i, d := range deliveries {
		if !page.Add(showDelivery(d)) {
			next = deliveries[i-1].EventID
			break
		}
	}
	if next != "" {
		page.Next(next)
	}
	return page, nil
}
