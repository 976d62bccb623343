package webhooks

import (
	"cmp"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// ReplayDeliveriesRequest is the data of POST /v2/webhooks/deliveries/replay. It selects one
// delivery by event, or those since a time, in pages.
type ReplayDeliveriesRequest struct {
	WebhookID string  `json:"webhookId" rule:"required,id"`
	EventID   *string `json:"eventId" rule:"notnull,id" doc:"Only this event; not with since, pageSize and pageToken"`
	Since     *int64  `json:"since" rule:"notnull,time"`
	PageSize  *int64  `json:"pageSize" rule:"notnull,min=1,max=10000" doc:"Maximum number of deliveries. Default: 10,000"`
	PageToken string  `json:"pageToken"`
}

// Validate requires either an event or a time.
func (r *ReplayDeliveriesRequest) Validate(m *rpc.Violations) {
	switch {
	case r.EventID == nil && r.Since == nil:
		m.Add("since", "is required without eventId")
	case r.EventID != nil && (r.Since != nil || r.PageSize != nil || r.PageToken != ""):
		m.Add("eventId", "cannot be combined with since, pageSize and pageToken")
	}
}

// ReplayDeliveriesResult is the response to a replay.
type ReplayDeliveriesResult struct {
	Replayed int `json:"replayed" doc:"Number of deliveries that are pending again"`
}

// MaxReplay is the maximum number of deliveries that one call replays.
const MaxReplay = 10_000

// DeliveriesReplay is POST /v2/webhooks/deliveries/replay.
func DeliveriesReplay() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/webhooks/deliveries/replay", Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadWebhooks,
		Operation: rpc.Method((*Service).ReplayDeliveries), Description: `
Replay deliveries.

Delivers events to a webhook endpoint again, regardless of their state: the event of eventId, or
the events since a time, oldest first, one page a request. Posts begin within about a minute. The
endpoint can get an event again, with the same 'webhook-id'. Earlier attempts remain listed. The
retry of an interrupted request counts only the deliveries that it makes pending itself.

The request fails with NOT_FOUND if the endpoint does not exist or has no delivery of the event,
and with FAILED_PRECONDITION if the endpoint is disabled.`}
}

// ReplayDeliveries makes deliveries pending again, regardless of their state; earlier attempts
// remain.
func (s *Service) ReplayDeliveries(ctx context.Context, call *rpc.Call, req *ReplayDeliveriesRequest) (ReplayDeliveriesResult, error) {
	var result ReplayDeliveriesResult
	var after string
	if err := call.Position(req.PageToken, &after); err != nil {
		return result, err
	}
	if req.EventID != nil {
		if err := s.checkEnabled(ctx, call.Account, req.WebhookID); err != nil {
			return result, err
		}
		if err := s.Store.ReplayDelivery(ctx, call.Account, req.WebhookID, *req.EventID); err != nil {
			return result, err
		}
		result.Replayed = 1
	} else {
		limit := int(cmp.Or(collab.Deref(req.PageSize), MaxReplay))
		replayed, next, err := s.ReplaySince(ctx, call.Account, req.WebhookID, *req.Since, after, limit)
		if err != nil {
			return result, err
		}
		if next != "" {
			call.NextPageToken = call.PageToken(next)
		}
		result.Replayed = replayed
	}
	call.Items = result.Replayed
	call.Message = rpc.Count(call.Items, "delivery") + " to be sent again"
	return result, nil
}

// ReplaySince makes up to limit deliveries since a time pending again, oldest event first,
// beginning after a position, or "" for the start. next is the position of the last, or "" if there
// are no more. It returns the errors of ReplayDeliveries.
func (s *Service) ReplaySince(
	ctx context.Context, acct, webhook string, since collab.Millis, after string, limit int,
) (replayed int, next string, err error) {
	if err := s.checkEnabled(ctx, acct, webhook); err != nil {
		return 0, "", err
	}
	return s.Store.ReplayDeliveries(ctx, acct, webhook, since, after, limit)
}

// checkEnabled returns NOT_FOUND if the endpoint does not exist, and FAILED_PRECONDITION if it is
// disabled: replayed events would wait until it is enabled.
func (s *Service) checkEnabled(ctx context.Context, acct, id string) error {
	w, err := s.Store.Webhook(ctx, acct, id)
	if err == nil && w.Disabled {
		err = collab.Errorf(collab.FailedPrecondition, "webhook %q is disabled: enable it first", id)
	}
	return err
}
