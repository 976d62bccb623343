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
)

// Webhook is an endpoint of an account to which events are posted.
type Webhook struct {
	ID             string
	URL            string
	Description    string
	EventTypes     []EventType // those that it wants; nil for all
	Secrets        []WebhookSecret
	Disabled       bool   // nothing is posted to it
	DisabledReason string // why, when the service disabled it
	CreatedAt      Millis
	LastUpdated    Millis
	Rev            int64 // 1 when added, one more with every change of what stands above
	Health         WebhookHealth
}

// WebhookSecret is one of the secrets that sign what an endpoint gets.
type WebhookSecret struct {
	ID        string `json:"id,omitempty"` // generated: tells which request made it
	Secret    string `json:"secret"`       // `whsec_` and base64
	CreatedAt Millis `json:"createdAt"`
	Expires   Millis `json:"expires,omitempty"` // it signs until then; 0 for the endpoint's present secret
}

// WebhookHealth is how an endpoint has answered. The zero value is that of an endpoint whose last post succeeded.
type WebhookHealth struct {
	Failures     int    // posts that failed since the last one that succeeded
	FailingSince Millis // the first of them, 0 for none
	NextProbe    Millis // while the endpoint rests, the next post is made at this time or later
}

// RestAfter is how many posts in a row fail before an endpoint rests.
const RestAfter = 5

// Resting reports whether posts are held back but for a probe from time to time.
func (h WebhookHealth) Resting() bool { return h.Failures >= RestAfter }

// Wants reports whether events of a type are posted to the endpoint.
func (w *Webhook) Wants(t EventType) bool {
	return !w.Disabled && (len(w.EventTypes) == 0 || slices.Contains(w.EventTypes, t))
}

// SigningSecrets returns the secrets that sign at the time now, the present one first.
func (w *Webhook) SigningSecrets(now Millis) []string {
	var list []string
	for _, s := range w.Secrets {
		if s.signs(now) {
			list = append(list, s.Secret)
		}
	}
	return list
}

func (s WebhookSecret) signs(now Millis) bool { return s.Expires == 0 || now < s.Expires }

// Secret returns the secret with an id, and whether there is one.
func (w *Webhook) Secret(id string) (WebhookSecret, bool) {
	i := slices.IndexFunc(w.Secrets, func(s WebhookSecret) bool { return s.ID == id })
	if i < 0 {
		return WebhookSecret{}, false
	}
	return w.Secrets[i], true
}

// Rotate makes secret, with a new id, the endpoint's present one. The one before it signs beside it for SecretRotation; those that sign no more are
// forgotten. It fails with FAILED_PRECONDITION, and changes nothing, when MaxWebhookSecrets sign already.
func (w *Webhook) Rotate(id, secret string, now Millis) error {
	secrets := []WebhookSecret{{ID: id, Secret: secret, CreatedAt: now}}
	for _, s := range w.Secrets {
		if s.Expires == 0 {
			s.Expires = now + SecretRotation.Milliseconds()
		}
		if s.signs(now) {
			secrets = append(secrets, s)
		}
	}
	if len(secrets) > MaxWebhookSecrets {
		return Errorf(FailedPrecondition, "webhook %q has %d secrets that sign: rotate again when one of them has expired", w.ID, MaxWebhookSecrets)
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
	DeliveryCanceled  DeliveryState = "canceled"  // the endpoint was disabled or deleted before it was delivered
)

// Values returns all states.
func (DeliveryState) Values() []string {
	return texts(DeliveryPending, DeliveryDelivered, DeliveryExhausted, DeliveryCanceled)
}

// Delivery is one event on its way to one webhook endpoint. It is kept for 30 days.
type Delivery struct {
	WebhookID   string
	EventID     string // also the webhook-id of its posts
	Type        EventType
	State       DeliveryState
	Made        int               // attempts since it was added, or replayed last
	NextAttempt Millis            // pending: the time of the next attempt, unless the endpoint rests
	Attempts    []DeliveryAttempt // oldest first, the last MaxDeliveryAttempts
	CreatedAt   Millis
	LastUpdated Millis

	Due Millis // when the relay will wake it, 0 for never: then a message waits in the queue
	Rev int64  // 1 when added, one more with every write
}

// DeliveryAttempt is one post of a delivery.
type DeliveryAttempt struct {
	At       Millis `json:"at"`
	Status   int    `json:"status,omitempty"` // HTTP status of the answer, 0 for none
	Reason   string `json:"reason,omitempty"` // why it failed, "" when it succeeded
	Duration int64  `json:"durationMs"`
}

// Keep adds an attempt and forgets the oldest beyond MaxDeliveryAttempts.
func (d *Delivery) Keep(a DeliveryAttempt) {
	d.Attempts = append(slices.Clone(d.Attempts), a)
	if n := len(d.Attempts) - MaxDeliveryAttempts; n > 0 {
		d.Attempts = d.Attempts[n:]
	}
}

// Replay makes the delivery pending again, with all its attempts before it. The relay wakes it.
func (d *Delivery) Replay(now Millis) {
	d.State, d.Made, d.NextAttempt, d.Due = DeliveryPending, 0, now, now
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
