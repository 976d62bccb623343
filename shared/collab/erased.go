package collab

// ErasedUser replaces a user whose data was deleted. It gets no notifications, and a visibility
// that names it shows nothing to anyone.
const (
	ErasedUser     = "erased-user" // the id
	ErasedUserName = "erased user"
)

// Erased returns the user object that replaces erased users.
func Erased() User { return User{UserID: ErasedUser, Name: new(ErasedUserName)} }

// EventErased names a user whose data is being deleted.
type EventErased struct {
	UserID          string   `json:"userId" doc:"User whose data is deleted"`
	OrganizationIDs []string `json:"organizationIds,omitempty" doc:"Organizations of the erasure; if absent, the whole account"`
}
