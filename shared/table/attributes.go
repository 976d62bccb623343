package table

// Attributes of annotation heads and comments. Objects and arrays are kept as the JSON text that was sent.
const (
	From          = "from"
	LocationJSON  = "loc"
	TargetElement = "tgt"
	StatusJSON    = "sts"
	AssignedTo    = "asg"
	Context       = "ctx"
	Priority      = "pri"
	LastUpdated   = "lu"  // milliseconds
	Rev           = "rev" // one more with every write
	LastComment   = "lc"  // the largest comment id so far
	Authors       = "au"  // map of user id to the time of the latest comment
	Batches       = "bs"  // set of the marks of batches whose comments are shown
	AddedBy       = "m"   // mark of the request that added the item: tells a repeat of it from another's item
	Writer        = "w"   // mark of the request that changed the item last: tells a repeat of it from another's change
	Writer2       = "w2"  // of the one before
	Writer3       = "w3"

	Text         = "txt"
	HTML         = "htm"
	ResolverUsed = "rsv"
	HasText      = "tav"
	Tagged       = "tag"
	Attachments  = "att"
	Batch        = "bm" // mark of the batch that the comment came with; shown when the head's Batches lists it
	BatchedAt    = "bt" // milliseconds: when the batch put the comment
)

// Attributes of the other items.
const (
	Name      = "name"
	Disabled  = "off"
	Metadata  = "meta" // JSON
	Parent    = "par"  // folder of a document or folder
	Access    = "acc"
	Users     = "usr" // list of user ids
	Email     = "mail"
	AccountID = "acct"
	Settings  = "set"  // JSON
	Tokens    = "tok"  // JSON
	Inbox     = "inb"  // preference
	Mail      = "eml"  // preference
	Body      = "body" // JSON of an event, a notification, an answer
	Attempts  = "try"
	BodyHash  = "hash"
	Seed      = "seed"
	Lease     = "until" // milliseconds
	HTTPCode  = "code"
	StartedAt = "at" // milliseconds

	DueAt        = "due"  // milliseconds: where in the pending work the item stands
	Stage        = "stg"  // of an event's delivery
	Cursor       = "cur"  // where in the stage
	Type         = "typ"  // of an event
	State        = "sta"  // of a delivery
	Made         = "made" // attempts
	NextAttempt  = "next" // milliseconds
	Reason       = "why"
	Failures     = "nf"
	FailingSince = "fs" // milliseconds
	NextProbe    = "pb" // milliseconds
	ReadAt       = "rd" // milliseconds
	ClickedAt    = "ck" // milliseconds
	SentAt       = "sa" // milliseconds
)
