package collab

import (
	"slices"
	"time"
)

// Limits on webhook endpoints.
const (
	MaxWebhooks         = 50             // endpoints that an account may be allowed
	MaxWebhookSecrets   = 5              // of an endpoint that sign at the same time
	SecretRotation      = 24 * time.Hour // how long a secret goes on signing after it was replaced
	MaxDeliveryAttempts = 20             // attempts of a delivery that are kept
	MaxDeliveryAnswers  = 3              // of these, the latest that keep what the endpoint answered
	MaxDeliveryAnswer   = 1_000          // bytes of one such answer
)

// Webhook is an endpoint of an account to which events are posted.
type Webhook struct {
	ID             string          `dynamodbav:"-"`
	URL            string          `dynamodbav:"url"`
	Description    string          `dynamodbav:"desc,omitempty"`
	EventTypes     []EventType     `dynamodbav:"types,omitempty"` // those that it wants; nil for all
	Secrets        []WebhookSecret `dynamodbav:"keys"`
	Payload        PayloadForm     `dynamodbav:"form,omitempty"` // "" is PayloadStandard
	Disabled       bool            `dynamodbav:"off,omitempty"`  // nothing is posted to it
	DisabledReason string          `dynamodbav:"why,omitempty"`  // why, when the service disabled it
	CreatedAt      Millis          `dynamodbav:"ca"`
	LastUpdated    Millis          `dynamodbav:"lu"`
	Health         WebhookHealth   `dynamodbav:"-"`
}

// WebhookSecret is one of the secrets that sign what an endpoint gets.
type WebhookSecret struct {
	ID        string `dynamodbav:"id,omitempty"` // generated, the same at every attempt of the request that made it
	Secret    string `dynamodbav:"secret"`       // `whsec_` and base64
	CreatedAt Millis `dynamodbav:"ca"`
	Expires   Millis `dynamodbav:"until,omitempty"` // it signs until then; 0 for the endpoint's present secret
}

// WebhookHealth is how an endpoint has answered. The zero value is that of an endpoint whose last post succeeded.
type WebhookHealth struct {
	Failures     int     `dynamodbav:"n"`     // posts that failed since the last one that succeeded
	FailingSince Millis  `dynamodbav:"since"` // the first of them, 0 for none
	Days         []int64 `dynamodbav:"days"`  // the last disableDays of the days on which they failed, in days since epoch, ascending
}

// When an endpoint rests, and when it is disabled.
const (
	RestAfter = 5 // posts in a row that fail before posts are held back except for a probe from time to time

	disableAfter = 5 // days since the first failure
	disableDays  = 3 // of the last disableAfter days on which posts failed
	millisOfDay  = Millis(24 * time.Hour / time.Millisecond)
)

// Resting reports whether posts are held back except for a probe from time to time.
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

// Hopeless reports whether an endpoint is to be disabled: it has answered nothing since a failure five days ago, and failed on three of the
// last five days.
func (h WebhookHealth) Hopeless(now Millis) bool {
	return h.FailingSince != 0 && now-h.FailingSince >= disableAfter*millisOfDay &&
		len(h.Days) == disableDays && h.Days[0] > now/millisOfDay-disableAfter
}

// Wants reports whether events of a type are posted to the endpoint.
func (w *Webhook) Wants(t EventType) bool {
	return !w.Disabled && (len(w.EventTypes) == 0 || slices.Contains(w.EventTypes, t)) &&
		(w.Payload != PayloadContract || contractNames[t] != "")
}

// WantsEvent is Wants for one event.
func (w *Webhook) WantsEvent(e *Event) bool {
	return w.Wants(e.Type) && (w.Payload != PayloadContract || e.ContractName() != "")
}

// CheckEventTypes fails with INVALID_ARGUMENT, about a field, where the endpoint wants events that its form does not have.
func (w *Webhook) CheckEventTypes(field string) error {
	for _, t := range w.EventTypes {
		if w.Payload == PayloadContract && contractNames[t] == "" {
			return FieldErrorf(field, "must be without %s, which the payload contract does not have", t)
		}
	}
	return nil
}

// PayloadForm is the form of what is posted to an endpoint.
type PayloadForm string

// The forms: the service's own, and that of the hosted service whose contract the API follows.
const (
	PayloadStandard PayloadForm = "standard"
	PayloadContract PayloadForm = "contract"
)

// Values returns both forms.
func (PayloadForm) Values() []string { return texts(PayloadStandard, PayloadContract) }

// contractNames are the names of the event types in the contract. Others have none there.
var contractNames = map[EventType]string{
	AnnotationAdded: "comment_annotation.add", AnnotationAssigned: "comment_annotation.assign",
	AnnotationStatusChanged: "comment_annotation.status_change", AnnotationUpdated: "comment_annotation.priority_change",
	CommentAdded: "comment.add", CommentUpdated: "comment.update", CommentDeleted: "comment.delete",
}

// ContractName returns the event's name in the contract, "" for none. An update has one where it changed the priority.
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

// Rotate gives the endpoint a new secret. The one before it goes on signing for SecretRotation; those that sign no more are dropped. It
// fails with FAILED_PRECONDITION, and changes nothing, when MaxWebhookSecrets sign already.
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

// DeliveryState is what has become of a delivery.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = "pending"   // an attempt is to come
	DeliveryDelivered DeliveryState = "delivered" // the endpoint answered 2xx
	DeliveryExhausted DeliveryState = "exhausted" // every attempt failed
	// there was nothing to post any more: the event had expired or could not be read, or its type was not wanted any more
	DeliveryCanceled DeliveryState = "canceled"
)

// Values returns all states.
func (DeliveryState) Values() []string {
	return texts(DeliveryPending, DeliveryDelivered, DeliveryExhausted, DeliveryCanceled)
}

// Delivery is one event on its way to one webhook endpoint. It is kept for 30 days.
type Delivery struct {
	WebhookID string        `dynamodbav:"-"`
	EventID   string        `dynamodbav:"-"` // also the webhook-id of its posts
	Type      EventType     `dynamodbav:"typ"`
	State     DeliveryState `dynamodbav:"sta"`
	Tries     int           `dynamodbav:"tries"` // attempts since it was added, or replayed last
	// pending: the time of the next attempt, unless the endpoint rests or is disabled
	NextAttempt Millis            `dynamodbav:"next"`
	Attempts    []DeliveryAttempt `dynamodbav:"try,omitempty"` // oldest first, the last MaxDeliveryAttempts
	CreatedAt   Millis            `dynamodbav:"ca"`
	LastUpdated Millis            `dynamodbav:"lu"`
	Rev         int64             `dynamodbav:"rev"` // 0 while it is new, then one more with every write
}

// LaneRef names the lane of a webhook endpoint.
type LaneRef struct{ Account, WebhookID string }

// EndpointRef names a webhook endpoint as it was created: one that is deleted and added again under its id is another.
type EndpointRef struct {
	LaneRef
	CreatedAt Millis
}

// DeliveryAttempt is one post of a delivery.
type DeliveryAttempt struct {
	At       Millis `dynamodbav:"at"`
	Status   int    `dynamodbav:"code,omitempty"` // HTTP status of the answer, 0 for none
	Reason   string `dynamodbav:"why,omitempty"`  // why it failed, "" when it succeeded
	Duration int64  `dynamodbav:"ms"`             // milliseconds
	// what the endpoint answered where it failed, as Legible shows it; "" for nothing, and where MaxDeliveryAnswers later attempts have one
	Answer string `dynamodbav:"ans,omitempty"`
}

// Keep adds an attempt. It forgets the oldest attempts beyond MaxDeliveryAttempts, and the oldest answers beyond MaxDeliveryAnswers.
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

// Replay makes the delivery pending again, with all its attempts before it.
func (d *Delivery) Replay(now Millis) {
	d.State, d.Tries, d.NextAttempt = DeliveryPending, 0, now
}

// DeliveryFilter narrows a list of deliveries. The zero value of each field is no filter.
type DeliveryFilter struct {
	State  DeliveryState
	Type   EventType
	After  Millis // of the event's time; bounds are inclusive
	Before Millis
}

// Matches reports whether the delivery passes the filter's state and type.
func (f DeliveryFilter) Matches(d *Delivery) bool {
	return (f.State == "" || f.State == d.State) && (f.Type == "" || f.Type == d.Type)
}
