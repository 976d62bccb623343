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
	Kept          = "kept" // object of the fields that are only given back
	ResolvedBy    = "rby"  // user id
	ByAgent       = "agt"
	LastUpdated   = "lu"  // milliseconds
	Rev           = "rev" // one more with every write
	AddedBy       = "m"   // mark of the request that added the item, of a notification the event: tells a repeat of it from another's item
	Writer        = "w"   // mark of the request that changed the item last: tells a repeat of it from another's change
	ReplacedBy    = "um"  // mark of the request that replaced users in the item last: a repeat of it must not replace them again

	Text         = "txt"
	HTML         = "htm"
	ResolverUsed = "rsv"
	HasText      = "tav"
	Tagged       = "tag"
	Attachments  = "att"
)

// Attributes of the other items.
const (
	Name      = "name"
	Disabled  = "off"
	Metadata  = "meta" // JSON
	Parent    = "par"  // folder of a document or folder
	Shards    = "shn"  // of a lane
	Access    = "acc"
	Users     = "usr" // list of user ids
	Email     = "mail"
	AccountID = "acct"
	Settings  = "set" // JSON
	URL       = "url"
	Secret    = "secret"
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

	Stage     = "stg"   // of an event's delivery
	Cursor    = "cur"   // where in the stage
	Type      = "typ"   // of an event
	State     = "sta"   // of a delivery
	Tries     = "tries" // attempts
	Reason    = "why"
	ReadAt    = "rd" // milliseconds
	ClickedAt = "ck" // milliseconds
	SentAt    = "sa" // milliseconds

	Holder   = "by"     // mark of who holds a lane
	Asked    = "ask"    // its holder is to look again
	Next     = "next"   // milliseconds
	Alarm    = "alarm"  // milliseconds
	Pause    = "pause"  // milliseconds
	Health   = "health" // map
	Began    = "run"    // milliseconds: of an attempt that has not reported an end
	Deaths   = "dead"   // runs that never reported an end
	WorkKind = "kind"

	Description = "desc"
	EventTypes  = "types" // list
	Secrets     = "keys"  // list of maps
	SecretID    = "id"    // within such a map
	Duration    = "ms"    // within that of an attempt
	Failures    = "n"     // within health, as those below
	FailedSince = "since" // milliseconds
	FailedDays  = "days"  // list

	PaidWrites = "pdw" // milliseconds: until then an account has paid for its write units
	PaidReads  = "pdr" // the same for its read units
	PaidEvents = "pde" // the same for events
	PaidMails  = "pdm" // the same for mails
)
