package collab

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
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
	merged, from := reflect.ValueOf(&u).Elem(), reflect.ValueOf(stored)
	for _, f := range reflect.VisibleFields(merged.Type()) {
		if field := merged.FieldByIndex(f.Index); field.IsZero() {
			field.Set(from.FieldByIndex(f.Index))
		}
	}
	return u
}

// DisplayName returns the user's name or id, never the email address. A name of white space alone
// counts as none.
func (u User) DisplayName() string {
	if name := Deref(u.Name); strings.TrimSpace(name) != "" {
		return name
	}
	return u.UserID
}

// Profile is a stored user as a document shows them: each field from the nearest level that has it,
// among the document, its folders and the organization.
type Profile struct {
	User
	Locale, TimeZone string
}

// Or returns p with the missing fields taken from another profile of the user.
func (p Profile) Or(other Profile) Profile {
	if p.UserID == "" {
		return other
	}
	p.User = p.User.Over(other.User)
	p.Locale, p.TimeZone = cmp.Or(p.Locale, other.Locale), cmp.Or(p.TimeZone, other.TimeZone)
	return p
}

// Shown returns the fields that may be a minute old: name, picture, locale and time zone.
func (p Profile) Shown() Profile {
	p.User = User{UserID: p.UserID, Name: p.Name, UserDetails: UserDetails{PhotoURL: p.PhotoURL}}
	return p
}

// UserAt is a user at a resource.
type UserAt struct {
	In   Resource
	User string
}

// HasProfile reports whether the user can be stored. ErasedUser stands for many.
func (u UserAt) HasProfile() bool { return u.User != "" && u.User != ErasedUser }

// UsersAt returns users at a resource.
func UsersAt(in Resource, users []string) []UserAt {
	return Map(users, func(u string) UserAt { return UserAt{in, u} })
}

// Profiles are profiles by user id. They have no users who are not stored.
type Profiles map[string]Profile

// Names returns the names by user id.
func (p Profiles) Names() map[string]string {
	names := make(map[string]string, len(p))
	for id, u := range p {
		if u.Name != nil {
			names[id] = *u.Name
		}
	}
	return names
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
	if email := Deref(u.Email); cutEncoded(email, shortEmail) != email {
		u.Email = nil
	}
	return u
}

// ErasedUser replaces a user whose data was deleted. It gets no notifications, and a visibility
// that names it shows nothing to anyone.
const (
	ErasedUser     = "erased-user" // the id
	ErasedUserName = "erased user"
)

// Erased returns the user object that replaces erased users.
func Erased() User { return User{UserID: ErasedUser, Name: new(ErasedUserName)} }

// UserOf decodes a user object. It returns the zero User for other values.
func UserOf(object JSON) (u User) {
	if len(object) == 0 || json.Unmarshal(object, &u) != nil {
		return User{}
	}
	return u
}
