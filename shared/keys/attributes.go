package keys

// Attribute names in conditions, updates and projections. Other names appear only in the dynamodbav
// tags of stored types.

// Attributes of heads and comments. Objects and arrays are JSON text as sent.
const (
	From        = "from"
	LastUpdated = "lu"  // milliseconds
	Rev         = "rev" // increases with every write
	// Mark of the request, or of a notification's event, that added the item. It identifies a
	// retry.
	AddedBy = "m"
	Birth   = "of" // of a comment: the AddedBy of its head
	// Of a head: the mark of a deletion that looks for answers. The next touch removes it.
	Closing = "cls"
	// Ids of comments that imports added, in the record of an imported thread.
	ImportedComments = "ids"
	// Marks of the requests that last changed the item, latest first. They identify a retry.
	Writer = "w"
)

// Attributes of other items.
const (
	Name        = "name"
	Disabled    = "off"
	DeletedAt   = "del" // milliseconds: of an organization, folder or document
	Emptying    = "job" // of a deleted folder: see collab.Lifetime
	Incarnation = "inc" // see collab.Lifetime; of a preference, the document's
	Parent      = "par" // folder of a document or folder
	Removals    = "rem" // of an organization or document: has removed users
	// Of a removal, until the user's data is erased; the key has only a hash.
	RemovedUser = "usr"
	GrantOnly   = "go"   // of a removal: it took a grant and hides nothing
	GrantEnd    = "exp"  // Unix seconds: see collab.Grant
	Resting     = "rest" // of a removal: Unix seconds at which a grant ends; it hides nothing before
	Added       = "n"    // count of added folders
	Moved       = "mvd"  // count of moved folders
	Body        = "body" // JSON of an event, notification or response
	HTTPCode    = "code"
	StartedAt   = "at" // milliseconds; of a task: see package task
	ReadAt      = "rd" // milliseconds

	// Of tasks.
	Lease    = "until" // milliseconds: end of a claim
	Holder   = "by"    // mark of a claim
	Version  = "ver"
	Claimed  = "cv" // version at the last claim
	Attempts = "try"
	State    = "state" // progress
	Message  = "msg"   // milliseconds: arrival of a message
	Failure  = "why"   // error of the last attempt

	Channels     = "chn" // of preferences: further channels
	Hidden       = "hid" // of an inbox entry: only for notices
	Notices      = "ntc" // of an inbox entry: ids of waiting notices, by channel
	EmailAddress = "adr" // for that email, if not the member's; of a mark: see Undeliverable
	EmailEndedAt = "ema" // milliseconds
	EmailWhy     = "emw" // reason for no email
	// Beginning of the names of attributes of an inbox entry, which go on with a further channel: when
	// its notice ended, in milliseconds, and a space and the reason if it left the entry out.
	ChannelEnded = "end:"

	PaidWrites = "pdw" // milliseconds: paid-until time for write units
	PaidReads  = "pdr" // likewise for read units
	PaidEvents = "pde" // likewise for events
	PaidMails  = "pdm" // likewise for emails
)
