package webhooks

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// GetDeliveriesRequest is the data of POST /v2/webhooks/deliveries/get. All filters combine; times are those of the events, bounds are
// inclusive.
type GetDeliveriesRequest struct {
	WebhookID     string                `json:"webhookId" rule:"required,id"`
	State         *collab.DeliveryState `json:"state" rule:"notnull" doc:"Only those in this state"`
	EventType     *collab.EventType     `json:"eventType" rule:"notnull" doc:"Only of events of this type"`
	CreatedAfter  *int64                `json:"createdAfter" rule:"notnull,time" doc:"Of events of then or later"`
	CreatedBefore *int64                `json:"createdBefore" rule:"notnull,time" doc:"Of events of then or earlier"`
	rpc.PageRequest
}

// Validate refuses a window that ends before it begins.
func (r *GetDeliveriesRequest) Validate(m *rpc.Violations) {
	if r.CreatedAfter != nil && r.CreatedBefore != nil && *r.CreatedAfter > *r.CreatedBefore {
		m.Add("createdBefore", "must not be earlier than createdAfter")
	}
}

func (r *GetDeliveriesRequest) filter() collab.DeliveryFilter {
	f := collab.DeliveryFilter{State: collab.Deref(r.State), Type: collab.Deref(r.EventType), After: collab.Deref(r.CreatedAfter)}
	if r.CreatedBefore != nil {
		f.Before = max(*r.CreatedBefore, 1) // 0 would be no bound
	}
	return f
}

// Delivery is the delivery of an event to a webhook endpoint as it is answered.
type Delivery struct {
	WebhookID   string               `json:"webhookId"`
	EventID     string               `json:"eventId" doc:"The event, also the header webhook-id of its posts"`
	EventType   collab.EventType     `json:"eventType" doc:"The type of the event"`
	State       collab.DeliveryState `json:"state"`
	Attempts    []Attempt            `json:"attempts" doc:"The posts so far, oldest first, the last 20"`
	NextAttempt collab.Timestamp     `json:"nextAttempt,omitzero" doc:"When a pending one is posted next, unless the endpoint rests"`
	CreatedAt   collab.Timestamp     `json:"createdAt"`
	LastUpdated collab.Timestamp     `json:"lastUpdated"`
}

// Attempt is one post of a delivery.
type Attempt struct {
	At         collab.Timestamp `json:"at"`
	Status     int              `json:"status,omitempty" doc:"HTTP status of the answer, absent where there was none"`
	Reason     string           `json:"reason,omitempty"` // why it failed
	DurationMS int64            `json:"durationMs"`
	Answer     string           `json:"answer,omitempty" doc:"The endpoint's answer where it failed, the first 1,000 bytes: of the last three such attempts"`
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
Lists the deliveries to a webhook endpoint, in pages. The response says what became of the events of the last 30 days that were meant for
it, newest event first. Filters combine; times are those of the events, and inclusive. NOT_FOUND when there is no such endpoint.`}
}

// GetDeliveries returns a page of what was delivered to a webhook endpoint in the last 30 days, newest event first. A page ends at
// pageSize, before its answer is larger than 5 MB, or when 1,000 deliveries were looked at. It fails with NOT_FOUND when there is no such
// endpoint.
func (s *Service) GetDeliveries(ctx context.Context, call *rpc.Call, req *GetDeliveriesRequest) (*rpc.Page[Delivery], error) {
	var after string // the event of the last delivery looked at
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
