package keys

// Queue is an SQS standard queue with its dead-letter queue `<Name>-dead`. Times are in seconds.
type Queue struct {
	Name string
	// VisibilityTimeout is the time after which an undeleted message returns. AWS advises six times
	// the function's time-out.
	VisibilityTimeout int
	MaxReceives       int // then it goes to the dead-letter queue
	Retention         int // of the queue
	DeadRetention     int // of the dead-letter queue
}

// Names of the queues.
const (
	EventsQueue   = "events"   // ids of events, jobs and notices for deliver
	WebhooksQueue = "webhooks" // one message for each webhook endpoint with work
)

// Queues returns the definitions of all queues.
func Queues() []Queue {
	const day = 24 * 60 * 60
	return []Queue{
		{EventsQueue, 540, 5, 4 * day, 14 * day},
		{WebhooksQueue, 540, 5, 4 * day, 14 * day},
	}
}
