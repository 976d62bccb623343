package outbox

import (
	"collabdata/shared/collab"
	"collabdata/shared/store"
)

// Stage is how far the delivery of an event has come.
type Stage string

// The stages of a delivery, in their order.
const (
	StageNew    Stage = ""        // nothing is known to be done
	StageFanOut Stage = "fan-out" // webhooks are on their way; notifications are being put into inboxes
	StageMail   Stage = "mail"    // mails are being sent, or wait for others on the same thread
)

// Recipient is a person whom an event is to reach, as it was worked out once.
type Recipient struct {
	collab.User
	Inbox bool `json:"inbox,omitempty"` // an entry in the person's inbox
	Mail  bool `json:"mail,omitempty"`  // a mail to the person's e-mail address, which is known then
}

// MailMode says when the mails about an event are sent.
type MailMode string

// The modes.
const (
	MailNone  MailMode = ""     // there are none
	MailNow   MailMode = "now"  // once everyone's inbox has the notification
	MailWaits MailMode = "wait" // after a while, so that several on one thread become one
)

// RecipientPage are some of the recipients of an event, at most RecipientPageSize.
type RecipientPage struct {
	Recipients []Recipient `json:"recipients,omitempty"`
	Next       string      `json:"next,omitempty"`     // the cursor of the next page, "" when this is the last
	MailMode   MailMode    `json:"mailMode,omitempty"` // the same in every page
}

// RecipientPageSize is the most recipients that are worked out and served at once.
const RecipientPageSize = 200

// Work is an entry of the pending work: an event whose delivery is not done, with how far that has come, or a lane, whose ID is then its
// webhook endpoint's. A lane has neither Stage nor Cursor nor what follows Next.
type Work struct {
	collab.EventRef `dynamodbav:"-"`
	Kind            collab.WorkKind `dynamodbav:"kind"`
	Stage           Stage           `dynamodbav:"stg"`
	Cursor          string          `dynamodbav:"cur"`           // with which of the recipients the stage goes on; "" is the first
	Since           collab.Millis   `dynamodbav:"at"`            // when it was first to be done
	Next            collab.Millis   `dynamodbav:"next"`          // when it is sent again
	Moves           int64           `dynamodbav:"try"`           // how often the relay has moved that on
	Deaths          int64           `dynamodbav:"dead"`          // attempts that never reported an end
	Began           collab.Millis   `dynamodbav:"run,omitempty"` // when the last attempt that is counted began; 0 once it has reported its end
	Expires         int64           `dynamodbav:"ttl"`           // when it is pointless, in seconds since epoch
}

// Quarantined is an event in the quarantine.
type Quarantined struct {
	Work                 // as its delivery stood
	At     collab.Millis `dynamodbav:"ca"`
	Reason string        `dynamodbav:"why"`
}

// MailThread is a thread as one person gets mail about it. Annotation is "" for events that belong to none.
type MailThread struct {
	collab.DocumentRef
	Annotation string
	User       string
}

// Lane is the state of all deliveries to a webhook endpoint together. One process at a time works on it: its holder.
type Lane struct {
	collab.LaneRef `dynamodbav:"-"`
	Holder         string               `dynamodbav:"by,omitempty"`    // who works on it, or whose message it waits for; "" for nobody
	Until          collab.Millis        `dynamodbav:"until,omitempty"` // the end of the holder's lease
	Asked          bool                 `dynamodbav:"ask"`             // something was added since its holder looked: it looks again
	Since          collab.Millis        `dynamodbav:"at,omitempty"`    // when the first message that nobody has taken was sent; 0 for none
	Next           collab.Millis        `dynamodbav:"next,omitempty"`  // when the relay wakes it, 0 for never
	Alarm          collab.Millis        `dynamodbav:"alarm,omitempty"` // the last delayed message for it comes then
	Pause          collab.Millis        `dynamodbav:"pause,omitempty"` // nothing is posted before: the endpoint rests, or asked for it
	Health         collab.WebhookHealth `dynamodbav:"health"`

	read store.Item // the lane as it was read
}

// Held reports whether the lane has a holder.
func (l *Lane) Held(now collab.Millis) bool { return l.Until > now }
