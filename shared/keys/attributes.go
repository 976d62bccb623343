package keys

// Attributes that are named apart from the types that are stored: in conditions, updates and projections. All others are named by the
// dynamodbav tags of those types alone.

// Attributes of annotation heads and comments. Objects and arrays are kept as the JSON text that was sent.
const (
	From        = "from"
	LastUpdated = "lu"  // milliseconds
	Rev         = "rev" // one more with every write
	AddedBy     = "m"   // mark of the request that added the item, of a notification the event: tells a repeat of it from another's item
	Birth       = "of"  // of a comment: the AddedBy of its head
	Writer      = "w"   // marks of the requests that changed the item last, latest first: tells a repeat of one of them from a new change
)

// Attributes of the other items.
const (
	Name        = "name"
	Disabled    = "off"
	DeletedAt   = "del"   // milliseconds: of an organization, a folder or a document
	Emptying    = "job"   // of a deleted folder: see collab.Lifetime
	Incarnation = "inc"   // see collab.Lifetime; of a preference, the document's
	Parent      = "par"   // folder of a document or folder
	Removals    = "rem"   // of an organization or a document: users were taken out of it at some time
	RemovedUser = "usr"   // of a removal, until the user's personal data are deleted: its key has a hash
	Added       = "n"     // folders, ever
	Moved       = "mvd"   // folders, ever
	Body        = "body"  // JSON of an event, a notification, an answer
	Lease       = "until" // milliseconds
	Deleting    = "dlg"   // of a job's progress: there is more to delete
	HTTPCode    = "code"
	StartedAt   = "at" // milliseconds

	Stage  = "stg" // of an event's delivery
	Cursor = "cur" // where in the stage
	ReadAt = "rd"  // milliseconds

	Hidden       = "hid" // of an entry of an inbox: it is there for an email alone
	ForEmail     = "eml" // of an entry of an inbox, until an email has told of it
	EmailAddress = "adr" // for that email, if it is not the member's
	EmailEndedAt = "ema" // milliseconds
	EmailWhy     = "emw" // why no email told of it

	Holder = "by"     // mark of who holds a lane
	Asked  = "ask"    // its holder is to look again
	Next   = "next"   // milliseconds
	Pause  = "pause"  // milliseconds
	Health = "health" // map

	PaidWrites = "pdw" // milliseconds: until then an account has paid for its write units
	PaidReads  = "pdr" // the same for its read units
	PaidEvents = "pde" // the same for events
	PaidMails  = "pdm" // the same for mails
)
