package collab

// Stage is how far the delivery of an event has come.
type Stage string

// The stages of a delivery, in their order.
const (
	StageNew    Stage = ""       // nothing is known to be done
	StageSpread Stage = "spread" // webhooks are on their way; notifications are being put into inboxes
	StageMail   Stage = "mail"   // mails are being sent, or wait for others on the same thread
	StageDone   Stage = "done"
)

// Progress is where the delivery of an event stands. Cursor says with which of the recipients the stage goes on, in the words of package
// delivery; "" is the first.
type Progress struct {
	Stage  Stage
	Cursor string
	Due    Millis // when the relay will send the event again
}

// Recipient is a person whom an event is to reach, as it was worked out once.
type Recipient struct {
	User
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

// Circle is one part of the recipients of an event, at most MaxCircle.
type Circle struct {
	Recipients []Recipient `json:"recipients,omitempty"`
	Next       string      `json:"next,omitempty"`     // the cursor of the next part, "" when this is the last
	MailMode   MailMode    `json:"mailMode,omitempty"` // the same in every part
}

// MaxCircle is the most recipients that are worked out and served at once.
const MaxCircle = 200

// DueWork is an entry of the pending work: an event, or a delivery when WebhookID is not empty.
type DueWork struct {
	EventRef
	WebhookID string
	At        Millis // when it is due
	Moves     int64  // how often the relay has moved it on
	Since     Millis // when it was first to be done
	Expires   Millis // when it is pointless
}

// MailThread is a thread as one person gets mail about it. Annotation is "" for events that belong to none.
type MailThread struct {
	DocumentRef
	Annotation string
	User       string
}
