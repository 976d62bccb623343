package collab

import "crypto/sha256"

// Identity is the identity of a request's credentials.
type Identity struct {
	Account  string
	APIKey   string // "" with Person or Operator
	Operator string // AWS identity of an operator that acts in the account's name, or ""
	Settings Settings
	Person   *Person // user of the token; nil for a back end
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
