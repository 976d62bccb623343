package webhooks

import (
	"cmp"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// ReplayDeliveriesRequest is the data of POST /v2/webhooks/deliveries/replay: one delivery by its event, or all of the events since a time,
// a page of them per call.
type ReplayDeliveriesRequest struct {
	WebhookID string  `json:"webhookId" rule:"required,id"`
	EventID   *string `json:"eventId" rule:"notnull,id" doc:"This event alone: since, pageSize and pageToken are of others"`
	Since     *int64  `json:"since" rule:"notnull,time"`
	PageSize  *int64  `json:"pageSize" rule:"notnull,min=1,max=10000" doc:"The most deliveries to replay; 10,000 where it is left out"`
	PageToken string  `json:"pageToken"`
}

// Validate demands either one delivery or a time.
func (r *ReplayDeliveriesRequest) Validate(m *rpc.Violations) {
	switch {
	case r.EventID == nil && r.Since == nil:
		m.Add("since", "is required when there is no eventId")
	case r.EventID != nil && (r.Since != nil || r.PageSize != nil || r.PageToken != ""):
		m.Add("eventId", "must stand alone: since, pageSize and pageToken replay others")
	}
}

// ReplayDeliveriesResult is the answer to a replay.
type ReplayDeliveriesResult struct {
	Replayed int `json:"replayed" doc:"Deliveries that are pending again"`
}

// MaxReplay is the most deliveries that one call replays.
const MaxReplay = 10_000

// DeliveriesReplay is POST /v2/webhooks/deliveries/replay.
func DeliveriesReplay() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/webhooks/deliveries/replay", Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadWebhooks,
		Operation: rpc.Method((*Service).ReplayDeliveries), Description: `
Delivers events to a webhook endpoint again. They are pending again, whatever had become of them, with all their attempts before them: that
of eventId alone, or those since a time, oldest event first, a page of them per call. Posts begin
within a minute or so. An endpoint may so get events again that it has had, with the same webhook-id. A repeat after a call that did not
finish counts what it makes pending itself.

NOT_FOUND when there is no such endpoint, or no delivery of the event to it; FAILED_PRECONDITION when the endpoint is disabled.`}
}

// ReplayDeliveries makes deliveries pending again, whatever had become of them, with all their attempts before them; they are posted oldest
// first, from within a minute or so. With since it makes at most pageSize, else MaxReplay, and fewer when its time runs out: a page
// without a nextPageToken is the last. It fails with NOT_FOUND when there is no such endpoint or no
// delivery of the event to it, and with FAILED_PRECONDITION when the endpoint is disabled.
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
		most := int(cmp.Or(collab.Deref(req.PageSize), MaxReplay))
		replayed, next, err := s.ReplaySince(ctx, call.Account, req.WebhookID, *req.Since, after, most)
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

// ReplaySince makes up to most deliveries of events since a time pending again, oldest event first, after the position after ("" for the
// oldest). next is the position of the last of them, "" when there are no more. It fails as ReplayDeliveries does.
func (s *Service) ReplaySince(
	ctx context.Context, acct, webhook string, since collab.Millis, after string, most int,
) (replayed int, next string, err error) {
	if err := s.checkEnabled(ctx, acct, webhook); err != nil {
		return 0, "", err
	}
	return s.Store.ReplayDeliveries(ctx, acct, webhook, since, after, most)
}

// checkEnabled fails with NOT_FOUND when there is no such endpoint, and with FAILED_PRECONDITION when it is disabled: what is replayed
// would wait until it is enabled.
func (s *Service) checkEnabled(ctx context.Context, acct, id string) error {
	w, err := s.Store.Webhook(ctx, acct, id)
	if err == nil && w.Disabled {
		err = collab.Errorf(collab.FailedPrecondition, "webhook %q is disabled: enable it before", id)
	}
	return err
}
