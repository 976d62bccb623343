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
	EventsQueue = "events" // tasks of deliver that call no other service
	CallsQueue  = "calls"  // tasks that may wait for SES or a webhook endpoint
)

// Queues returns the definitions of all queues.
func Queues() []Queue {
	const day = 24 * 60 * 60
	return []Queue{
		{EventsQueue, 540, 5, 4 * day, 14 * day},
		{CallsQueue, 540, 5, 4 * day, 14 * day},
	}
}
