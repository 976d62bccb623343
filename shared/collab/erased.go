package collab

// ErasedUser stands where a person was whose data were deleted. Nobody is told anything as this user, and a visibility that names it lets
// nobody see.
const (
	ErasedUser     = "erased-user" // the id
	ErasedUserName = "erased user"
)

// Erased is the user object that stands where a person was whose data were deleted.
func Erased() User { return User{UserID: ErasedUser, Name: new(ErasedUserName)} }

// EventErased names a person whose data are being deleted.
type EventErased struct {
	UserID          string   `json:"userId" doc:"The user whose data are deleted"`
	OrganizationIDs []string `json:"organizationIds,omitempty" doc:"In these organizations; none for all of the account"`
}
