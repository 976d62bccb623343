package collab

// Act is a record of the audit log: a call that changes accounts, credentials, access or the data
// of persons. It has ids and names of fields, and never texts or secrets.
type Act struct {
	Account   string              `dynamodbav:"-"`
	At        Millis              `dynamodbav:"-"`
	ID        string              `dynamodbav:"-"`
	By        ActorKind           `dynamodbav:"by"`
	Actor     string              `dynamodbav:"act"`           // AWS identity of an operator, API key of a back end, or user of a person
	Operation string              `dynamodbav:"op"`            // path
	IDs       map[string][]string `dynamodbav:"ids"`           // by the names of the request's fields
	Omitted   int                 `dynamodbav:"om,omitempty"`  // number of further ids: see MaxActIDs
	Fields    []string            `dynamodbav:"fld,omitempty"` // names of other fields of the request
	Error     Code                `dynamodbav:"err,omitempty"` // the act changed nothing or a part
	RequestID string              `dynamodbav:"req,omitempty"`
}

// DefaultAuditDays is the number of days that acts are stored.
const DefaultAuditDays = 400

// MaxActIDs limits the ids of an Act, in bytes.
const MaxActIDs = 8_000

// ActorKind is the kind of caller of an Act.
type ActorKind string

const (
	ByOperator ActorKind = "operator"
	ByBackEnd  ActorKind = "backEnd"
	ByPerson   ActorKind = "person"
)
