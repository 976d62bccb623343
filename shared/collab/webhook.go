package collab

import (
	"slices"
	"time"
)

// Limits of webhook endpoints.
const (
	MaxWebhooks         = 50
	MaxWebhookSecrets   = 5              // concurrent
	SecretRotation      = 24 * time.Hour // of a replaced secret
	MaxDeliveryAttempts = 20             // stored attempts of a delivery
	MaxDeliveryAnswers  = 3              // latest with a response
	MaxDeliveryAnswer   = 1_000          // bytes of a stored response
)

// Webhook is an endpoint of an account that receives events.
type Webhook struct {
	ID          string      `dynamodbav:"-"`
	URL         string      `dynamodbav:"url"`
	Description string      `dynamodbav:"desc,omitempty"`
	EventTypes  []EventType `dynamodbav:"types,omitempty"` // nil for all
	// Only notification.due events of this channel; "" for no filter.
	Channel string `dynamodbav:"chn,omitempty"`
	// Only events that notify one of these users of a mention; nil for no filter.
	MentionedUserIDs []string        `dynamodbav:"men,omitempty"`
	Secrets          []WebhookSecret `dynamodbav:"keys"`
	Payload          PayloadForm     `dynamodbav:"form,omitempty"` // "" is PayloadStandard
	Disabled         bool            `dynamodbav:"off,omitempty"`  // nothing is posted to it
	DisabledReason   string          `dynamodbav:"why,omitempty"`  // set if the service disabled it
	CreatedAt        Millis          `dynamodbav:"ca"`
	LastUpdated      Millis          `dynamodbav:"lu"`
	Health           WebhookHealth   `dynamodbav:"-"`
}

// WebhookSecret is a secret that signs posts to an endpoint.
type WebhookSecret struct {
	ID        string `dynamodbav:"id,omitempty"` // the same in every attempt of a request
	Secret    string `dynamodbav:"secret"`       // `whsec_` and base64
	CreatedAt Millis `dynamodbav:"ca"`
	Expires   Millis `dynamodbav:"until,omitempty"` // end of signing; 0 for the present secret
}

// WebhookHealth is an endpoint's record of failures. It is zero if the last post succeeded.
type WebhookHealth struct {
	Failures     int    `dynamodbav:"n"`     // consecutive failed posts
	FailingSince Millis `dynamodbav:"since"` // time of the first of them, or 0
	// The last disableDays days with failures, in days since the epoch, ascending.
	Days []int64 `dynamodbav:"days"`
}

// Thresholds for resting and disabling an endpoint.
const (
	// Consecutive failed posts, after which only probes are posted.
	RestAfter = 5

	disableAfter = 5 // days since the first failure
	disableDays  = 3 // days with failures among the last disableAfter
	millisOfDay  = Millis(24 * time.Hour / time.Millisecond)
)

// Resting reports whether only probes are posted.
func (h WebhookHealth) Resting() bool { return h.Failures >= RestAfter }

// Fail counts a post that failed at a time.
func (h *WebhookHealth) Fail(at Millis) {
	h.Failures++
	if h.FailingSince == 0 {
		h.FailingSince = at
	}
	if day := at / millisOfDay; len(h.Days) == 0 || h.Days[len(h.Days)-1] < day {
		h.Days = append(slices.Clone(h.Days), day)
		h.Days = h.Days[max(len(h.Days)-disableDays, 0):]
	}
}

// Hopeless reports whether to disable an endpoint: no success since a failure five days ago, and
// failures on three of the last five days.
func (h WebhookHealth) Hopeless(now Millis) bool {
	return h.FailingSince != 0 && now-h.FailingSince >= disableAfter*millisOfDay &&
		len(h.Days) == disableDays && h.Days[0] > now/millisOfDay-disableAfter
}

// Wants reports whether the endpoint receives events of a type.
func (w *Webhook) Wants(t EventType) bool {
	return !w.Disabled && (len(w.EventTypes) == 0 || slices.Contains(w.EventTypes, t)) &&
		(w.Payload != PayloadContract || contractNames[t] != "")
}

// WantsEvent reports whether the endpoint receives an event, except for MentionedUserIDs.
func (w *Webhook) WantsEvent(e *Event) bool {
	return w.Wants(e.Type) && (w.Payload != PayloadContract || e.ContractName() != "") &&
		(w.Channel == "" || e.Due != nil && e.Due.Channel == w.Channel)
}

// WantsMention reports whether MentionedUserIDs admits an event that notifies users of a mention.
func (w *Webhook) WantsMention(users []string) bool {
	return len(w.MentionedUserIDs) == 0 ||
		slices.ContainsFunc(w.MentionedUserIDs, func(id string) bool { return slices.Contains(users, id) })
}

// Serves reports whether the endpoint receives notification.due events of a channel.
func (w *Webhook) Serves(channel string) bool {
	return w.WantsEvent(&Event{Type: NotificationDue, Due: &EventDue{Channel: channel}})
}

// CheckForm returns INVALID_ARGUMENT, about a field of the object, if the endpoint's form does not
// define a requested event type or the events of its channel.
func (w *Webhook) CheckForm(object string) error {
	if w.Payload != PayloadContract {
		return nil
	}
	for _, t := range w.EventTypes {
		if contractNames[t] == "" {
			return FieldErrorf(object+".eventTypes", "must be without %s, which the payload contract does not have", t)
		}
	}
	if w.Channel != "" {
		return FieldErrorf(object+".channel", "cannot be combined with the payload contract, which does not have %s", NotificationDue)
	}
	return nil
}

// PayloadForm is the form of posts to an endpoint.
type PayloadForm string

// The service's own form, and the form of the hosted service with the same API.
const (
	PayloadStandard PayloadForm = "standard"
	PayloadContract PayloadForm = "contract"
)

func (PayloadForm) Values() []string { return texts(PayloadStandard, PayloadContract) }

// contractNames are the event types' names in the hosted service's form. Others have none.
var contractNames = map[EventType]string{
	AnnotationAdded: "comment_annotation.add", AnnotationAssigned: "comment_annotation.assign",
	AnnotationStatusChanged: "comment_annotation.status_change", AnnotationUpdated: "comment_annotation.priority_change",
	CommentAdded: "comment.add", CommentUpdated: "comment.update", CommentDeleted: "comment.delete",
	SuggestionAccepted: "comment_annotation.suggestion_accept", SuggestionRejected: "comment_annotation.suggestion_reject",
	ReactionAdded: "comment.reaction_add", ReactionDeleted: "comment.reaction_delete",
}

// ContractName returns the event's name in the hosted service's form, or "". An update has one if
// it changed the priority.
func (e *Event) ContractName() string {
	if e.Type == AnnotationUpdated && !e.After.Priority {
		return ""
	}
	return contractNames[e.Type]
}

// SigningSecrets returns the secrets that sign at the time now, the present one first.
func (w *Webhook) SigningSecrets(now Millis) []string {
	var list []string
	for _, s := range w.Secrets {
		if s.Signs(now) {
			list = append(list, s.Secret)
		}
	}
	return list
}

// Signs reports whether the secret signs at the time now.
func (s WebhookSecret) Signs(now Millis) bool { return s.Expires == 0 || now < s.Expires }

// Secret returns the secret with an id, and whether there is one.
func (w *Webhook) Secret(id string) (WebhookSecret, bool) {
	i := slices.IndexFunc(w.Secrets, func(s WebhookSecret) bool { return s.ID == id })
	if i < 0 {
		return WebhookSecret{}, false
	}
	return w.Secrets[i], true
}

// Rotate gives the endpoint a new secret. The previous one still signs for SecretRotation; expired
// ones are dropped. It returns FAILED_PRECONDITION, and changes nothing, if MaxWebhookSecrets
// already sign.
func (w *Webhook) Rotate(id, secret string, now Millis) error {
	secrets := []WebhookSecret{{ID: id, Secret: secret, CreatedAt: now}}
	for _, s := range w.Secrets {
		if s.Expires == 0 {
			s.Expires = now + SecretRotation.Milliseconds()
		}
		if s.Signs(now) {
			secrets = append(secrets, s)
		}
	}
	if len(secrets) > MaxWebhookSecrets {
		return Errorf(
			FailedPrecondition, "webhook %q has %d secrets that sign: rotate again when one of them has expired", w.ID, MaxWebhookSecrets,
		)
	}
	w.Secrets = secrets
	return nil
}

type DeliveryState string

const (
	DeliveryPending   DeliveryState = "pending"   // another attempt follows
	DeliveryDelivered DeliveryState = "delivered" // the endpoint answered 2xx
	DeliveryExhausted DeliveryState = "exhausted" // every attempt failed
	// nothing to post: the event had expired or was unreadable, or its type was no longer wanted
	DeliveryCanceled DeliveryState = "canceled"
)

func (DeliveryState) Values() []string {
	return texts(DeliveryPending, DeliveryDelivered, DeliveryExhausted, DeliveryCanceled)
}

// Delivery is the delivery of one event to one webhook endpoint. It is kept for 30 days.
type Delivery struct {
	WebhookID string        `dynamodbav:"-"`
	EventID   string        `dynamodbav:"-"` // also the webhook-id of its posts
	Type      EventType     `dynamodbav:"typ"`
	State     DeliveryState `dynamodbav:"sta"`
	Tries     int           `dynamodbav:"tries"` // attempts since the addition or last replay
	// pending: the time of the next attempt, unless the endpoint rests or is disabled
	NextAttempt Millis            `dynamodbav:"next"`
	Attempts    []DeliveryAttempt `dynamodbav:"try,omitempty"` // the last MaxDeliveryAttempts
	CreatedAt   Millis            `dynamodbav:"ca"`
	LastUpdated Millis            `dynamodbav:"lu"`
	Rev         int64             `dynamodbav:"rev"` // 0 if new; increases with every write
}

// EndpointRef names a webhook endpoint by id and creation: one that is added again is another.
type EndpointRef struct {
	Account, WebhookID string
	CreatedAt          Millis
}

// DeliveryAttempt is one post of a delivery.
type DeliveryAttempt struct {
	At       Millis `dynamodbav:"at"`
	Status   int    `dynamodbav:"code,omitempty"` // HTTP status of the response, or 0
	Reason   string `dynamodbav:"why,omitempty"`  // reason of the failure, or ""
	Duration int64  `dynamodbav:"ms"`             // milliseconds
	// response to a failed post as Legible returns it; "" if none, or if MaxDeliveryAnswers later
	// attempts have one
	Answer string `dynamodbav:"ans,omitempty"`
}

// Keep adds an attempt. It drops the oldest attempts beyond MaxDeliveryAttempts, and the oldest
// responses beyond MaxDeliveryAnswers.
func (d *Delivery) Keep(a DeliveryAttempt) {
	d.Attempts = append(slices.Clone(d.Attempts), a)
	if n := len(d.Attempts) - MaxDeliveryAttempts; n > 0 {
		d.Attempts = d.Attempts[n:]
	}
	answers := 0
	for i := range slices.Backward(d.Attempts) {
		if d.Attempts[i].Answer == "" {
			continue
		}
		if answers++; answers > MaxDeliveryAnswers {
			d.Attempts[i].Answer = ""
		}
	}
}

// Replay makes the delivery pending again, and keeps its attempts.
func (d *Delivery) Replay(now Millis) {
	d.State, d.Tries, d.NextAttempt = DeliveryPending, 0, now
}

// DeliveryFilter limits a list of deliveries. The zero value of a field is no filter.
type DeliveryFilter struct {
	State  DeliveryState
	Type   EventType
	After  Millis // of the event's time; bounds are inclusive
	Before Millis
}

// Matches reports whether the delivery matches the filter's state and type.
func (f DeliveryFilter) Matches(d *Delivery) bool {
	return (f.State == "" || f.State == d.State) && (f.Type == "" || f.Type == d.Type)
}
