package operator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/task"
)

// Event is an event in a response: the reference in the outbox, and the state of its delivery.
type Event struct {
	AccountID      string           `json:"accountId"`
	EventID        string           `json:"eventId"`
	Type           collab.EventType `json:"type"`
	Time           collab.Timestamp `json:"time"`
	ActorID        string           `json:"actorId,omitempty"`
	OrganizationID string           `json:"organizationId,omitempty"`
	DocumentID     string           `json:"documentId,omitempty"`
	AnnotationID   string           `json:"annotationId,omitempty"`
	CommentIDs     []int64          `json:"commentIds,omitempty"`
	Notifies       bool             `json:"notifies" doc:"It notifies people, not only webhooks"`
	Pending        *Pending         `json:"pending,omitempty" doc:"Its delivery, if pending"`
	Deliveries     []EventDelivery  `json:"deliveries" doc:"Its deliveries to webhooks"`
}

// EventDelivery is the delivery of an event to a webhook.
type EventDelivery struct {
	WebhookID   string               `json:"webhookId"`
	State       collab.DeliveryState `json:"state"`
	Tries       int64                `json:"tries"`
	LastStatus  int                  `json:"lastStatus,omitempty"`
	LastReason  string               `json:"lastReason,omitempty"`
	LastUpdated collab.Timestamp     `json:"lastUpdated"`
}

// EventsGetRequest selects events by id or by thread.
type EventsGetRequest struct {
	ofAccount
	EventIDs       []string `json:"eventIds" rule:"notnull,nonempty,max=30,each=id" doc:"Only these events; missing ones are skipped"`
	OrganizationID string   `json:"organizationId" rule:"notnull,id" doc:"Events of a thread, newest first, whether they notified people or not; with documentId and annotationId"`
	DocumentID     string   `json:"documentId" rule:"notnull,docid"`
	AnnotationID   string   `json:"annotationId" rule:"notnull,id"`
	rpc.PageRequest
}

// Validate requires either ids or a complete thread.
func (r *EventsGetRequest) Validate(m *rpc.Violations) {
	thread := r.OrganizationID != "" && r.DocumentID != "" && r.AnnotationID != ""
	if thread == (r.EventIDs != nil) {
		m.Add("eventIds", "is required without organizationId, documentId and annotationId")
	}
}

// EventsGet is POST /operator/events/get.
func EventsGet() rpc.Endpoint {
	return reading("events/get", rpc.Method((*Service).EventsGet), `
Get events and the state of their delivery. Select them by id, or by their thread. Events are stored
for 30 days.`)
}

// EventsGet returns events.
func (s *Service) EventsGet(ctx context.Context, call *rpc.Call, req *EventsGetRequest) (*rpc.Page[Event], error) {
	var at string
	page, err := rpc.NewPage[Event](call, "event", req.PageRequest, &at)
	if err == nil {
		err = s.exists(ctx, req.AccountID)
	}
	if err != nil {
		return nil, err
	}
	ids, next := rpc.Distinct(req.EventIDs), ""
	if ids == nil {
		if ids, next, err = s.eventsOf(ctx, req, at, min(page.Most(), 100)); err != nil {
			return nil, err
		}
	} else if ids = ids[slices.Index(ids, at)+1:]; len(ids) > page.Most() {
		ids = ids[:page.Most()]
		next = ids[len(ids)-1]
	}
	for _, id := range ids {
		ev, err := s.event(ctx, req.AccountID, id)
		if err != nil {
			return nil, err
		}
		if ev != nil {
			page.Add(*ev)
		}
	}
	if next != "" {
		page.Next(next)
	}
	return page, nil
}

// eventsOf returns the ids of up to limit events of a thread before an id, newest first. next is
// the last of them, "" at the end.
func (s *Service) eventsOf(ctx context.Context, req *EventsGetRequest, before string, limit int) (ids []string, next string, err error) {
	org, err := s.Directory.FindOrganization(ctx, req.AccountID, req.OrganizationID, false)
	if err != nil {
		return nil, "", err
	}
	documents, err := s.Directory.DocumentsByID(ctx, org, []string{req.DocumentID})
	if err == nil && len(documents) == 0 {
		err = missing("document", req.DocumentID)
	}
	if err != nil {
		return nil, "", err
	}
	ids, more, err := s.Outbox.EventsOf(ctx, documents[0].Ref(org), req.AnnotationID, before, limit)
	if more && len(ids) > 0 {
		next = ids[len(ids)-1]
	}
	return ids, next, err
}

// event returns an event with its deliveries, or nil if it does not exist.
func (s *Service) event(ctx context.Context, acct, id string) (*Event, error) {
	ev, err := s.Outbox.Event(ctx, acct, id)
	if collab.CodeOf(err) == collab.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	shown := &Event{
		AccountID: acct, EventID: id, Type: ev.Type, Time: collab.Timestamp(ev.Time), OrganizationID: ev.OrganizationID,
		DocumentID: ev.DocumentID, AnnotationID: ev.AnnotationID, CommentIDs: ev.CommentIDs, Notifies: ev.Notify, Deliveries: []EventDelivery{},
	}
	if ev.Actor != nil {
		shown.ActorID = ev.Actor.UserID
	}
	t, err := s.Outbox.Task(ctx, outbox.EventTask(acct, id))
	if err != nil {
		return nil, err
	}
	if t != nil && t.Due != 0 {
		shown.Pending = new(pending(t))
	}
	endpoints, err := s.Hooks.Endpoints(ctx, acct)
	for _, h := range endpoints {
		d, err := s.Hooks.Delivery(ctx, collab.EndpointRef{Account: acct, WebhookID: h.ID, CreatedAt: h.CreatedAt}, id)
		if collab.CodeOf(err) == collab.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		entry := EventDelivery{WebhookID: h.ID, State: d.State, Tries: int64(d.Tries), LastUpdated: collab.Timestamp(d.LastUpdated)}
		if n := len(d.Attempts); n > 0 {
			entry.LastStatus, entry.LastReason = d.Attempts[n-1].Status, d.Attempts[n-1].Reason
		}
		shown.Deliveries = append(shown.Deliveries, entry)
	}
	return shown, err
}

// EventsExplainRequest selects an event, and optionally one person.
type EventsExplainRequest struct {
	ofAccount
	EventID string `json:"eventId" rule:"required,id" doc:"The event"`
	UserID  string `json:"userId" rule:"notnull,id" doc:"Only this person"`
	rpc.PageRequest
}

// Explanation is the effect of an event on one person.
type Explanation struct {
	UserID  string           `json:"userId"`
	Name    string           `json:"name,omitempty"`
	Inbox   string           `json:"inbox" doc:"in it, would be notified, or a reason why not"`
	InboxAt collab.Timestamp `json:"inboxAt,omitzero" doc:"When it reached the inbox"`
	ReadAt  collab.Timestamp `json:"readAt,omitzero" doc:"When the person read it"`
	Mail    string           `json:"mail" doc:"sent, would be sent, or a reason why not"`
	MailAt  collab.Timestamp `json:"mailAt,omitzero" doc:"When the email was sent"`
	Email   string           `json:"email,omitempty" doc:"The email address"`
	// by name
	Channels []ChannelExplanation `json:"channels,omitempty" doc:"The further channels that the person wants, or was notified on"`
}

// ChannelExplanation is the effect of an event on one person on a further channel.
type ChannelExplanation struct {
	Channel string           `json:"channel"`
	Outcome string           `json:"outcome" doc:"posted, would be posted, or a reason why not"`
	At      collab.Timestamp `json:"at,omitzero" doc:"When notification.due was recorded"`
}

// EventsExplain is POST /operator/events/explain.
func EventsExplain() rpc.Endpoint {
	return reading("events/explain", rpc.Method((*Service).EventsExplain), `
Explain the notifications of an event: why people are notified or not, by current access,
preferences and addresses. The response has the times at which the event reached an inbox, was
read, was sent by email, or was posted to webhooks for further channels.`)
}

// EventsExplain returns an explanation for each person concerned.
func (s *Service) EventsExplain(ctx context.Context, call *rpc.Call, req *EventsExplainRequest) (*rpc.Page[Explanation], error) {
	var at string
	page, err := rpc.NewPage[Explanation](call, "explanation", req.PageRequest, &at)
	if err != nil {
		return nil, err
	}
	ref := collab.EventRef{Account: req.AccountID, ID: req.EventID}
	e, err := s.Deliverer.Explain(ctx, ref, req.UserID, at, page.Most())
	if err != nil {
		return nil, err
	}
	if e.Gone != "" {
		call.Message = "no one is notified any more: " + e.Gone
	}
	for _, p := range e.People {
		page.Add(explained(p))
	}
	if e.Next != "" {
		page.Next(e.Next)
	}
	return page, nil
}

func explained(e delivery.Explanation) Explanation {
	outcome := func(o delivery.Outcome, reached, would string) string {
		switch {
		case o.Why != "":
			return "no: " + o.Why
		case o.At != 0:
			return reached
		}
		return would
	}
	x := Explanation{
		UserID: e.UserID, Name: collab.Deref(e.Name), Email: collab.Deref(e.Email),
		Inbox: outcome(e.Inbox, "in it", "would be notified"), InboxAt: collab.Timestamp(e.Inbox.At), ReadAt: collab.Timestamp(e.Inbox.ReadAt),
		Mail: outcome(e.Mail, "sent", "would be sent"), MailAt: collab.Timestamp(e.Mail.At),
	}
	for _, channel := range slices.Sorted(maps.Keys(e.Further)) {
		o := e.Further[channel]
		x.Channels = append(x.Channels, ChannelExplanation{channel, outcome(o, "posted", "would be posted"), collab.Timestamp(o.At)})
	}
	return x
}

// Pending is unfinished work.
type Pending struct {
	Kind      collab.TaskKind  `json:"kind"`
	AccountID string           `json:"accountId"`
	EventID   string           `json:"eventId,omitempty"`
	NoticeID  string           `json:"noticeId,omitempty"`
	WebhookID string           `json:"webhookId,omitempty"`
	JobID     string           `json:"jobId,omitempty"`
	Failed    bool             `json:"failed,omitempty" doc:"It has failed for hours, and waits for a retry"`
	Error     string           `json:"error,omitempty" doc:"Of the last attempt"`
	Since     collab.Timestamp `json:"since" doc:"When it was or will be due"`
	Next      collab.Timestamp `json:"next,omitzero" doc:"Time of the next attempt"`
	Attempts  int64            `json:"attempts,omitempty"`
}

func pending(t *task.Task) Pending {
	p := Pending{
		Kind: t.Kind, AccountID: t.Account, Failed: t.Failed, Error: t.Failure, Since: collab.Timestamp(t.Due), Attempts: t.Attempts,
	}
	if !t.Failed {
		p.Next = collab.Timestamp(t.Next)
	}
	*map[collab.TaskKind]*string{
		collab.EventTask: &p.EventID, collab.NoticeTask: &p.NoticeID, collab.WebhookTask: &p.WebhookID, collab.JobTask: &p.JobID,
	}[t.Kind] = t.ID
	return p
}

// PendingKind is a kind of pending work, or all that has failed.
type PendingKind string

func (PendingKind) Values() []string {
	return append(collab.Map(collab.TaskKinds(), func(k collab.TaskKind) string { return string(k) }), keys.FailedTasks)
}

type PendingGetRequest struct {
	Kind PendingKind `json:"kind" rule:"notnull" doc:"event: undelivered; notice: waiting email or notification.due; webhook: endpoint with waiting deliveries; job: unfinished deletion; failed: any of them that has failed for hours"`
}

// PendingGet is POST /operator/pending/get.
func PendingGet() rpc.Endpoint {
	return reading("pending/get", rpc.Method((*Service).PendingGet), `
List pending work, by the time of the next attempt. For each kind, the list has 10 items from each of ten partitions.`)
}

const pendingOfShard = 10

// PendingGet lists pending work.
func (s *Service) PendingGet(ctx context.Context, call *rpc.Call, req *PendingGetRequest) ([]Pending, error) {
	kinds := req.Kind.Values()
	if req.Kind != "" {
		kinds = []string{string(req.Kind)}
	}
	var mu sync.Mutex
	var refs []collab.TaskRef
	unreadable := 0
	err := store.Each(ctx, len(kinds)*keys.DueShards, func(ctx context.Context, i int) error {
		page, _, err := s.Outbox.Waiting(ctx, kinds[i/keys.DueShards], i%keys.DueShards, collab.MaxMillis-1, "", pendingOfShard, func(error) {
			mu.Lock()
			defer mu.Unlock()
			unreadable++
		})
		mu.Lock()
		defer mu.Unlock()
		for _, t := range page {
			refs = append(refs, t.TaskRef)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	tasks, err := s.Outbox.Tasks(ctx, refs...)
	list := []Pending{}
	for _, t := range tasks {
		if t != nil && t.Due != 0 {
			list = append(list, pending(t))
		}
	}
	slices.SortFunc(list, func(a, b Pending) int { return cmp.Compare(a.Since, b.Since) })
	call.Message = fmt.Sprintf("%s pending", rpc.Count(len(list), "entry"))
	if unreadable > 0 {
		call.Message += fmt.Sprintf("; %d cannot be read", unreadable)
	}
	return list, err
}

// RetryKind is the kind of a failed task.
type RetryKind string

func (RetryKind) Values() []string {
	return collab.Map(collab.TaskKinds(), func(k collab.TaskKind) string { return string(k) })
}

type EventsRetryRequest struct {
	ofAccount
	EventID string    `json:"eventId" rule:"required,id" doc:"The event, or the id of other pending work"`
	Kind    RetryKind `json:"kind" rule:"notnull" doc:"Its kind; event if absent"`
}

// EventsRetry is POST /operator/events/retry.
func EventsRetry() rpc.Endpoint {
	return changing("events/retry", rpc.Method((*Service).EventsRetry), "", `
Retry pending work that has failed for hours, after its cause is fixed. The relay starts it within a
minute. The request fails with NOT_FOUND if it has not failed.`)
}

// EventsRetry makes a failed task due.
func (s *Service) EventsRetry(ctx context.Context, call *rpc.Call, req *EventsRetryRequest) (any, error) {
	kind := cmp.Or(collab.TaskKind(req.Kind), collab.EventTask)
	call.Message = fmt.Sprintf("%s %q is tried again within about a minute", kind, req.EventID)
	return nil, s.Outbox.Retry(ctx, collab.TaskRef{Kind: kind, Account: req.AccountID, ID: req.EventID})
}
