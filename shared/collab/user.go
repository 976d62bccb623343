package collab

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
)

// User is the user object of the contract.
type User struct {
	UserID      string  `json:"userId" rule:"required,id" person:"out" dynamodbav:"-"`
	Name        *string `json:"name,omitempty" person:"out" dynamodbav:"name,omitempty"`
	Email       *string `json:"email,omitempty" dynamodbav:"mail,omitempty"`
	UserDetails `dynamodbav:"-"`
}

// UserDetails are the fields of a user object that the service does not read. They are given back as sent, and grant nothing.
type UserDetails struct {
	PhotoURL       *string `json:"photoUrl,omitempty" person:"out" doc:"Address of a picture"`
	OrganizationID *string `json:"organizationId,omitempty" doc:"The user's organization, as your application names it"`
	Color          *string `json:"color,omitempty" doc:"Of the user's picture and cursor"`
	TextColor      *string `json:"textColor,omitempty" doc:"Of the text on it"`
	Initial        *string `json:"initial,omitempty" doc:"Shown where there is no picture; kept as sent, never made of the name"`
	Plan           *string `json:"plan,omitempty" doc:"Of your application"`
	Type           *string `json:"type,omitempty" doc:"Of your application"`
	IsReadOnly     *bool   `json:"isReadOnly,omitempty" doc:"Of your application: it takes no right away"`
	IsAnonymous    *bool   `json:"isAnonymous,omitempty" doc:"Of your application"`
	IsGuest        *bool   `json:"isGuest,omitempty" doc:"Of your application"`
	IsAdmin        *bool   `json:"isAdmin,omitempty" doc:"Of your application: it grants nothing"`
	GroupID        *string `json:"groupId,omitempty" doc:"Deprecated"`
	ClientGroupID  *string `json:"clientGroupId,omitempty" doc:"Deprecated"`
}

// Over returns u with those fields of stored, an object of the same user, that u does not have.
func (u User) Over(stored User) User {
	sent, err := EncodeJSON(u)
	if err == nil {
		err = json.Unmarshal(sent, &stored)
	}
	if err != nil {
		panic(err) // users always marshal
	}
	return stored
}

// DisplayName is the user's name, else id. An email address is never shown to others.
func (u User) DisplayName() string { return cmp.Or(Deref(u.Name), u.UserID) }

// Map returns what f makes of each element, in their order.
func Map[T, U any](list []T, f func(T) U) []U {
	made := make([]U, len(list))
	for i, v := range list {
		made[i] = f(v)
	}
	return made
}

// Where returns a list of the elements for which keep holds, in their order. It leaves list alone.
func Where[T any](list []T, keep func(T) bool) []T {
	var kept []T
	for _, v := range list {
		if keep(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

// Deref returns what p points at, the zero value for nil.
func Deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Identity is whom the credentials of a request speak for.
type Identity struct {
	Account  string
	APIKey   string // "" with Person
	Settings Settings
	Person   *Person // whose token it was; nil for a back end
}

// Settings are what an operator sets for an account. The zero value of each field is its default.
type Settings struct {
	// the operations whose Endpoint requires AdvancedQueries are FailedPrecondition
	AdvancedQueriesOff         bool `json:"advancedQueriesOff,omitempty"`
	NotificationPreferencesOff bool `json:"notificationPreferencesOff,omitempty"` // config get and set are FailedPrecondition
	// webhook events for every change, not only where triggerNotification is true
	AllEvents         bool      `json:"allEvents,omitempty"`
	MailDelaySeconds  int64     `json:"mailDelaySeconds,omitempty"`  // of a mail after the first event that it tells of; 0 is the deployment's
	MailBatch         MailBatch `json:"mailBatch,omitempty"`         // "" is BatchThread
	MailToMembersOnly bool      `json:"mailToMembersOnly,omitempty"` // no mail to addresses that members do not have
	MailLook          MailLook  `json:"mailLook,omitzero"`           // what is empty is as the deployment has it
	// of folders and documents that inherit none; "" is AccessOrganizationPrivate
	DefaultAccess Access `json:"defaultAccess,omitempty"`
	// it has one, which is to be asked: accounts.Store.SetPermissionProvider sets this with it
	PermissionProvider bool `json:"permissionProvider,omitempty"`
	// how back ends' requests with unknown fields are taken; "" is RefuseUnknown
	UnknownFields UnknownFields `json:"unknownFields,omitempty"`
	// origins whose pages may call with a person's token: https://app.example.com
	AllowedOrigins []string `json:"allowedOrigins,omitempty"`

	WriteUnitsPerSecond int64 `json:"writeUnitsPerSecond,omitempty"` // of the table, by requests, averaged over 10 s; Unlimited for any number
	ReadUnitsPerSecond  int64 `json:"readUnitsPerSecond,omitempty"`  // the same of reads
	EventsPerMinute     int64 `json:"eventsPerMinute,omitempty"`     // that requests record; Unlimited for any number
	MailsPerDay         int64 `json:"mailsPerDay,omitempty"`         // Unlimited for any number
	WebhookEndpoints    int64 `json:"webhookEndpoints,omitempty"`    // at most MaxWebhooks
	LiveConnections     int64 `json:"liveConnections,omitempty"`     // at the same time; Unlimited for any number
}

// MaxGroupMention is how many members of a group, the first who may see the thread, are notified of
// a comment that tags the group.
const MaxGroupMention = 200

// Defaults of an account's quotas, for a product of 100,000 users, and the value for no quota.
const (
	WriteUnitsPerSecond = 1_000
	ReadUnitsPerSecond  = 4_000
	EventsPerMinute     = 6_000
	MailsPerDay         = 20_000
	WebhookEndpoints    = 10
	Unlimited           = -1
)

// UnknownFields is how requests are taken that have, in something to store, fields that their operation does not have.
type UnknownFields string

// The ways: such a request is refused, or carried out without the field, which a header of the response names.
const (
	RefuseUnknown UnknownFields = "refuse"
	DropUnknown   UnknownFields = "drop"
)

// Values returns both ways.
func (UnknownFields) Values() []string { return texts(RefuseUnknown, DropUnknown) }

// Webhooks is how many webhook endpoints the account may have.
func (s Settings) Webhooks() int { return int(cmp.Or(s.WebhookEndpoints, WebhookEndpoints)) }

// Feature is a part of the interface that an operator can switch off for an account.
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

// PermissionProvider is an account's own service that says who may see a document. Its secret is no setting, as functions that read
// settings need not know it.
type PermissionProvider struct {
	URL    string `dynamodbav:"url"`    // https, or http within the deployment's allowed private ranges
	Secret string `dynamodbav:"secret"` // sent as bearer token
}

// Account is one customer of the deployment.
type Account struct {
	ID        string   `dynamodbav:"-"`
	Name      string   `dynamodbav:"name"`
	Disabled  bool     `dynamodbav:"off"` // its credentials are refused
	Settings  Settings `dynamodbav:"-"`   // stored in an attribute of their own, as JSON
	CreatedAt Millis   `dynamodbav:"ca"`
}

// APIKey is a key with the tokens that go with it.
type APIKey struct {
	Key      string
	Account  string
	Disabled bool // the account is disabled
	Settings Settings
	Tokens   []Token
}

// Token is an auth token, known by its hash only.
type Token struct {
	Hash      []byte `json:"hash"`              // see HashToken
	Expires   Millis `json:"expires,omitempty"` // 0 for never
	CreatedAt Millis `json:"createdAt"`
}

// SigningKey signs the tokens of an account's persons.
type SigningKey struct {
	ID        string `json:"id"`
	Secret    []byte `json:"secret"`
	CreatedAt Millis `json:"createdAt"`
}

// Signing is what the tokens of an account's persons are checked by.
type Signing struct {
	Account  string
	Disabled bool
	Settings Settings
	Keys     []SigningKey // valid ones, the newest first
}

// HashToken returns the SHA-256 of a token.
func HashToken(token string) []byte {
	hash := sha256.Sum256([]byte(token))
	return hash[:]
}

// What Short leaves of a user, in bytes as EncodeJSON writes them.
const (
	shortName  = 200
	shortEmail = 320 // no real address exceeds it
)

// Short returns the user without details, with a name of at most 200 bytes, and without an address of more than 320, as EncodeJSON writes
// them: a cut address may be somebody else's.
func (u User) Short() User {
	u.UserDetails = UserDetails{}
	u.Name = cutEncodedOpt(u.Name, shortName)
	if email := Deref(u.Email); CutEncoded(email, shortEmail) != email {
		u.Email = nil
	}
	return u
}
