package keys

// Queue is an SQS standard queue with its dead-letter queue `<Name>-dead`. Times are in seconds.
type Queue struct {
	Name string
	// a message taken and not deleted comes again after this time: AWS advises six times that of the function that takes it
	VisibilityTimeout int
	MaxReceives       int // then it goes to the dead-letter queue
	Retention         int // of the queue
	DeadRetention     int // of the dead-letter queue
}

// Names of the queues.
const (
	EventsQueue   = "events"   // event ids: what `deliver` is to work out and send
	WebhooksQueue = "webhooks" // one message for each webhook endpoint that has work
)

// Queues returns the queues beside the table.
func Queues() []Queue {
	const day = 24 * 60 * 60
	return []Queue{
		{EventsQueue, 540, 5, 4 * day, 14 * day},
		{WebhooksQueue, 540, 5, 4 * day, 14 * day},
	}
}
