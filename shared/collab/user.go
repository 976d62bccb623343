package collab

import (
	"cmp"
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
