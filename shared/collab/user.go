package collab

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
)

// User is the user object of the API.
type User struct {
	UserID      string  `json:"userId" rule:"required,id" person:"out" dynamodbav:"-"`
	Name        *string `json:"name,omitempty" person:"out" dynamodbav:"name,omitempty"`
	Email       *string `json:"email,omitempty" dynamodbav:"mail,omitempty"`
	UserDetails `dynamodbav:"-"`
}

// UserDetails are fields of a user object that the service returns unchanged and does not use. They
// grant nothing.
type UserDetails struct {
	PhotoURL       *string `json:"photoUrl,omitempty" person:"out" doc:"Address of a picture"`
	OrganizationID *string `json:"organizationId,omitempty" doc:"The user's organization in your application"`
	Color          *string `json:"color,omitempty" doc:"Color of the user's picture and cursor"`
	TextColor      *string `json:"textColor,omitempty" doc:"Color of text on it"`
	Initial        *string `json:"initial,omitempty" doc:"Shown if there is no picture. Returned as sent, never derived from the name"`
	Plan           *string `json:"plan,omitempty" doc:"Defined by your application"`
	Type           *string `json:"type,omitempty" doc:"Defined by your application"`
	IsReadOnly     *bool   `json:"isReadOnly,omitempty" doc:"Defined by your application. Removes no right"`
	IsAnonymous    *bool   `json:"isAnonymous,omitempty" doc:"Defined by your application"`
	IsGuest        *bool   `json:"isGuest,omitempty" doc:"Defined by your application"`
	IsAdmin        *bool   `json:"isAdmin,omitempty" doc:"Defined by your application. Grants nothing"`
	GroupID        *string `json:"groupId,omitempty" doc:"Deprecated"`
	ClientGroupID  *string `json:"clientGroupId,omitempty" doc:"Deprecated"`
}

// Over returns u with the missing fields taken from stored, an object of the same user.
func (u User) Over(stored User) User {
	sent, err := EncodeJSON(u)
	if err == nil {
		err = json.Unmarshal(sent, &stored)
	}
	if err != nil {
		panic(err) // users always encode
	}
	return stored
}

// DisplayName returns the user's name or id, never the email address.
func (u User) DisplayName() string { return cmp.Or(Deref(u.Name), u.UserID) }

func Map[T, U any](list []T, f func(T) U) []U {
	made := make([]U, len(list))
	for i, v := range list {
		made[i] = f(v)
	}
	return made
}

// Where returns the elements for which keep is true, in order. It leaves list unchanged.
func Where[T any](list []T, keep func(T) bool) []T {
	var kept []T
	for _, v := range list {
		if keep(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

// Deref returns the value at p, zero if p is nil.
func Deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Identity is the identity of a request's credentials.
type Identity struct {
	Account  string
	APIKey   string // "" with Person
	Settings Settings
	Person   *Person // user of the token; nil for a back end
}

// MaxGroupMention is the maximum of group members, the first with access to the thread, that a
// comment notifies if it tags the group.
const MaxGroupMention = 200

// PermissionProvider is an account's own service that decides access to documents. Its secret is no
// setting, because functions that read settings do not need it.
type PermissionProvider struct {
	URL    string `dynamodbav:"url"`    // https, or http in the deployment's allowed private ranges
	Secret string `dynamodbav:"secret"` // sent as bearer token
}

// Account is one customer of the deployment.
type Account struct {
	ID        string   `dynamodbav:"-"`
	Name      string   `dynamodbav:"name"`
	Disabled  bool     `dynamodbav:"off"` // its credentials are refused
	Settings  Settings `dynamodbav:"-"`   // stored separately, as JSON
	CreatedAt Millis   `dynamodbav:"ca"`
}

// APIKey is a key with its tokens.
type APIKey struct {
	Key      string
	Account  string
	Disabled bool // the account is disabled
	Settings Settings
	Tokens   []Token
}

// Token is an auth token, stored only as a hash.
type Token struct {
	Hash      []byte `json:"hash"`              // see HashToken
	Expires   Millis `json:"expires,omitempty"` // 0 for never
	CreatedAt Millis `json:"createdAt"`
}

// SigningKey signs the tokens of an account's users.
type SigningKey struct {
	ID        string `json:"id"`
	Secret    []byte `json:"secret"`
	CreatedAt Millis `json:"createdAt"`
}

// Signing holds the keys that verify the tokens of an account's users.
type Signing struct {
	Account  string
	Disabled bool
	Settings Settings
	Keys     []SigningKey // valid keys, newest first
}

func HashToken(token string) []byte {
	hash := sha256.Sum256([]byte(token))
	return hash[:]
}

// Limits of Short, in bytes as EncodeJSON writes them.
const (
	shortName  = 200
	shortEmail = 320 // no real address exceeds it
)

// Short returns the user without details, with a name of at most 200 bytes. It omits an address of
// more than 320 bytes, because a cut address may belong to someone else.
func (u User) Short() User {
	u.UserDetails = UserDetails{}
	u.Name = cutEncodedOpt(u.Name, shortName)
	if email := Deref(u.Email); CutEncoded(email, shortEmail) != email {
		u.Email = nil
	}
	return u
}
