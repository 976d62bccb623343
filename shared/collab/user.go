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

// Settings are an operator's settings for an account. The zero value of each field is its default.
type Settings struct {
	// operations that require AdvancedQueries return FailedPrecondition
	AdvancedQueriesOff bool `json:"advancedQueriesOff,omitempty"`
	// config get and set return FailedPrecondition.
	NotificationPreferencesOff bool `json:"notificationPreferencesOff,omitempty"`
	// webhook events for every change, not only with triggerNotification
	AllEvents bool `json:"allEvents,omitempty"`
	// Wait between the first event and its email; 0 is the deployment's default.
	MailDelaySeconds int64     `json:"mailDelaySeconds,omitempty"`
	MailBatch        MailBatch `json:"mailBatch,omitempty"` // "" is BatchThread
	// No email to addresses other than members'.
	MailToMembersOnly bool `json:"mailToMembersOnly,omitempty"`
	// Empty fields are the deployment's.
	MailLook MailLook `json:"mailLook,omitzero"`
	// of folders and documents that inherit none; "" is AccessOrganizationPrivate
	DefaultAccess Access `json:"defaultAccess,omitempty"`
	// a permission provider is set: see accounts.Store.SetPermissionProvider
	PermissionProvider bool `json:"permissionProvider,omitempty"`
	// of back ends; "" is RefuseUnknown
	UnknownFields UnknownFields `json:"unknownFields,omitempty"`
	// origins of pages that may call with a person's token: https://app.example.com
	AllowedOrigins []string `json:"allowedOrigins,omitempty"`

	// Of the table, by requests, averaged over 10 s; Unlimited for no limit.
	WriteUnitsPerSecond int64 `json:"writeUnitsPerSecond,omitempty"`
	ReadUnitsPerSecond  int64 `json:"readUnitsPerSecond,omitempty"` // likewise
	// Recorded by requests; Unlimited for no limit.
	EventsPerMinute  int64 `json:"eventsPerMinute,omitempty"`
	MailsPerDay      int64 `json:"mailsPerDay,omitempty"`      // Unlimited for no limit
	WebhookEndpoints int64 `json:"webhookEndpoints,omitempty"` // at most MaxWebhooks
	// Concurrent connections; Unlimited for no limit.
	LiveConnections int64 `json:"liveConnections,omitempty"`
}

// MaxGroupMention is the maximum of group members, the first with access to the thread, that a
// comment notifies if it tags the group.
const MaxGroupMention = 200

// Default quotas of an account, for a product of 100,000 users, and the value for no quota.
const (
	WriteUnitsPerSecond = 1_000
	ReadUnitsPerSecond  = 4_000
	EventsPerMinute     = 6_000
	MailsPerDay         = 20_000
	WebhookEndpoints    = 10
	Unlimited           = -1
)

// UnknownFields is the treatment of requests with fields to store that their operation does not
// define.
type UnknownFields string

// Refuse the request, or drop the field and name it in a response header.
const (
	RefuseUnknown UnknownFields = "refuse"
	DropUnknown   UnknownFields = "drop"
)

func (UnknownFields) Values() []string { return texts(RefuseUnknown, DropUnknown) }

func (s Settings) Webhooks() int { return int(cmp.Or(s.WebhookEndpoints, WebhookEndpoints)) }

// Feature is a part of the API that an operator can switch off for an account.
type Feature string

// The features, by the names of their settings.
const (
	AdvancedQueries         Feature = "advanced queries"
	NotificationPreferences Feature = "notification preferences"
)

// Off reports whether the feature is switched off; false for "".
func (s Settings) Off(f Feature) bool {
	return f == AdvancedQueries && s.AdvancedQueriesOff || f == NotificationPreferences && s.NotificationPreferencesOff
}

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
