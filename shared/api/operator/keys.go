package operator

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Token is a token of an API key as it is answered: the service stores its hash alone. A key without tokens is answered with its name alone.
type Token struct {
	APIKey    string           `json:"apiKey"`
	Hash      string           `json:"hash,omitempty" doc:"The first 12 hexadecimal digits of its SHA-256"`
	Expired   bool             `json:"expired"`
	CreatedAt collab.Timestamp `json:"createdAt,omitzero"`
	ExpiresAt collab.Timestamp `json:"expiresAt,omitzero"`
}

// ofKey is what requests about one API key have.
type ofKey struct {
	APIKey string `json:"apiKey" rule:"required,nonempty,max=128" doc:"The API key"`
}

// KeysGet is POST /operator/keys/get.
func KeysGet() rpc.Endpoint {
	return reading("keys/get", rpc.Method((*Service).KeysGet), `Lists the tokens of an account's API keys.`)
}

// KeysGet returns the tokens of all API keys of an account.
func (s *Service) KeysGet(ctx context.Context, call *rpc.Call, req *ofAccount) ([]Token, error) {
	if err := s.exists(ctx, req.AccountID); err != nil {
		return nil, err
	}
	keys, err := s.Accounts.APIKeys(ctx, req.AccountID, "", collab.MaxPageSize)
	list := []Token{}
	for _, name := range keys {
		k, err := s.Accounts.APIKey(ctx, name)
		if err != nil {
			return nil, err
		}
		if len(k.Tokens) == 0 {
			list = append(list, Token{APIKey: k.Key})
		}
		for _, t := range k.Tokens {
			list = append(list, Token{k.Key, tokenName(t), expired(t, call.Now), collab.Timestamp(t.CreatedAt), collab.Timestamp(t.Expires)})
		}
	}
	call.Message = rpc.Count(len(list), "token")
	return list, err
}

// KeysAdd is POST /operator/keys/add.
func KeysAdd() rpc.Endpoint {
	return changing("keys/add", rpc.Method((*Service).KeysAdd), "", `Adds an API key to an account, with a token that is shown this once.`)
}

// KeysAdd adds an API key.
func (s *Service) KeysAdd(ctx context.Context, call *rpc.Call, req *ofAccount) (Credentials, error) {
	return s.addKey(ctx, call, req.AccountID)
}

func (s *Service) addKey(ctx context.Context, call *rpc.Call, account string) (c Credentials, err error) {
	c.AccountID = account
	if c.APIKey, err = s.secret("key-"); err != nil {
		return c, err
	}
	var stored collab.Token
	if c.Token, stored, err = s.newToken(call.Now, 0); err != nil {
		return c, err
	}
	call.Message = "the API key was added; its token is shown this once"
	return c, s.Accounts.AddAPIKey(ctx, c.APIKey, account, []collab.Token{stored})
}

// KeysDelete is POST /operator/keys/delete.
func KeysDelete() rpc.Endpoint {
	return changing("keys/delete", rpc.Method((*Service).KeysDelete), "Back ends that use the API key are refused within 60 s, for good.", `
Deletes an API key with its tokens. They are refused within 60 s.`)
}

// KeysDelete deletes an API key.
func (s *Service) KeysDelete(ctx context.Context, call *rpc.Call, req *ofKey) (any, error) {
	account, err := s.Accounts.DeleteAPIKey(ctx, req.APIKey)
	call.Message = fmt.Sprintf("the API key of account %q was deleted: it is refused within 60 s", account)
	return nil, err
}

// NewToken is a token of an API key, which is shown this once.
type NewToken struct {
	APIKey    string           `json:"apiKey"`
	Token     string           `json:"token"`
	Hash      string           `json:"hash"`
	ExpiresAt collab.Timestamp `json:"expiresAt,omitzero"`
	Ending    int              `json:"ending,omitempty" doc:"How many other tokens of the key expire"`
}

// TokensAddRequest names an API key.
type TokensAddRequest struct {
	ofKey
	ExpiresAt *collab.Millis `json:"expiresAt" rule:"notnull,time" doc:"When the token expires; never where it is left out"`
}

// TokensAdd is POST /operator/tokens/add.
func TokensAdd() rpc.Endpoint {
	return changing("tokens/add", rpc.Method((*Service).TokensAdd), "", `
Adds a token to an API key, to replace one or for another back end. It is shown this once. A key has at most 100.`)
}

// TokensAdd adds a token.
func (s *Service) TokensAdd(ctx context.Context, call *rpc.Call, req *TokensAddRequest) (NewToken, error) {
	expires := collab.Deref(req.ExpiresAt)
	if req.ExpiresAt != nil && expires <= call.Millis() {
		return NewToken{}, collab.Errorf(collab.InvalidArgument, "data.expiresAt must be in the future")
	}
	return s.addToken(ctx, call, req.APIKey, expires, func([]collab.Token) int { return 0 })
}

// TokensRotateRequest names an API key.
type TokensRotateRequest struct {
	ofKey
	GraceSeconds *int64 `json:"graceSeconds" rule:"notnull,min=0,max=31536000" doc:"How long the other tokens stay valid; 86,400 where it is left out"`
}

// TokensRotate is POST /operator/tokens/rotate.
func TokensRotate() rpc.Endpoint {
	return changing("tokens/rotate", rpc.Method((*Service).TokensRotate), "Back ends that use another token of the API key are refused after the grace.", `
Adds a token to an API key, and lets the others expire after a grace. A token that expires sooner still does so.`)
}

// TokensRotate adds a token and ends the others.
func (s *Service) TokensRotate(ctx context.Context, call *rpc.Call, req *TokensRotateRequest) (NewToken, error) {
	grace := 24 * time.Hour
	if req.GraceSeconds != nil {
		grace = time.Duration(*req.GraceSeconds) * time.Second
	}
	end := call.Now.Add(grace).UnixMilli()
	return s.addToken(ctx, call, req.APIKey, 0, func(others []collab.Token) int {
		for i := range others {
			if others[i].Expires == 0 || others[i].Expires > end {
				others[i].Expires = end
			}
		}
		return len(others)
	})
}

// maxTokens keeps the item of a key small: functions read it.
const maxTokens = 100

// addToken adds a token to an API key. end changes the other tokens that have not expired, and returns how many expire.
func (s *Service) addToken(
	ctx context.Context, call *rpc.Call, key string, expires collab.Millis, end func(others []collab.Token) int,
) (NewToken, error) {
	token, stored, err := s.newToken(call.Now, expires)
	if err != nil {
		return NewToken{}, err
	}
	made := NewToken{APIKey: key, Token: token, Hash: tokenName(stored), ExpiresAt: collab.Timestamp(expires)}
	call.Message = "the token was added; it is shown this once"
	err = s.Accounts.ChangeTokens(ctx, key, func(tokens []collab.Token) ([]collab.Token, error) {
		tokens = slices.DeleteFunc(tokens, func(t collab.Token) bool { return expired(t, call.Now) })
		if len(tokens) >= maxTokens {
			return nil, collab.Errorf(collab.FailedPrecondition, "the key has %d tokens: delete one first", len(tokens))
		}
		made.Ending = end(tokens)
		return append(tokens, stored), nil
	})
	return made, err
}

// SigningKey is a key that signs the tokens of an account's persons, without its secret.
type SigningKey struct {
	ID        string           `json:"id"`
	CreatedAt collab.Timestamp `json:"createdAt"`
}

// SigningRotate is POST /operator/signing/rotate.
func SigningRotate() rpc.Endpoint {
	return changing("signing/rotate", rpc.Method((*Service).SigningRotate), "Tokens of persons that the key before the last one signed are refused within 60 s.", `
Adds a key to sign the tokens of an account's persons with. It signs after a minute, when all functions know it. The key before stays valid
for the tokens that it signed, and older ones end: to end all tokens, rotate twice, two minutes apart. The answer has the valid keys, the newest
first.`)
}

// SigningRotate adds a signing key.
func (s *Service) SigningRotate(ctx context.Context, call *rpc.Call, req *ofAccount) ([]SigningKey, error) {
	list, err := s.Accounts.RotateSigningKeys(ctx, req.AccountID)
	call.Message = fmt.Sprintf("account %q signs with the new key in a minute", req.AccountID)
	return collab.Map(list, func(k collab.SigningKey) SigningKey { return SigningKey{k.ID, collab.Timestamp(k.CreatedAt)} }), err
}

// TokensDeleteRequest names a token by its hash.
type TokensDeleteRequest struct {
	ofKey
	Hash string `json:"hash" rule:"required" doc:"The beginning of its SHA-256, as keys/get shows it: four characters or more"`
}

// Validate checks the form of the hash.
func (r *TokensDeleteRequest) Validate(m *rpc.Violations) {
	if len(r.Hash) < 4 || len(r.Hash) > 64 || strings.Trim(strings.ToLower(r.Hash), "0123456789abcdef") != "" {
		m.Add("hash", "must be 4 to 64 hexadecimal digits, as keys/get shows them: not the token itself")
	}
}

// TokensDelete is POST /operator/tokens/delete.
func TokensDelete() rpc.Endpoint {
	return changing("tokens/delete", rpc.Method((*Service).TokensDelete), "Back ends that use the token are refused within 60 s.", `
Deletes a token of an API key. It is refused within 60 s.

NOT_FOUND where the key has none whose hash begins so; FAILED_PRECONDITION where it has several.`)
}

// TokensDelete deletes a token.
func (s *Service) TokensDelete(ctx context.Context, call *rpc.Call, req *TokensDeleteRequest) (any, error) {
	prefix := strings.ToLower(req.Hash)
	err := s.Accounts.ChangeTokens(ctx, req.APIKey, func(tokens []collab.Token) ([]collab.Token, error) {
		matches := func(t collab.Token) bool { return strings.HasPrefix(hex.EncodeToString(t.Hash), prefix) }
		first := slices.IndexFunc(tokens, matches)
		if first < 0 {
			return nil, collab.Errorf(collab.NotFound, "the key has no token whose hash begins with %s", prefix)
		}
		if slices.ContainsFunc(tokens[first+1:], matches) {
			return nil, collab.Errorf(collab.FailedPrecondition, "several tokens have a hash that begins with %s: give more of it", prefix)
		}
		return slices.Delete(tokens, first, first+1), nil
	})
	call.Message = "the token was deleted: it is refused within 60 s"
	return nil, err
}

// newToken returns a random token and what is stored of it; 0 is without expiry.
func (s *Service) newToken(now time.Time, expires collab.Millis) (string, collab.Token, error) {
	token, err := s.secret("token-")
	return token, collab.Token{Hash: collab.HashToken(token), CreatedAt: now.UnixMilli(), Expires: expires}, err
}

// secret returns a prefix and 16 random bytes in hexadecimal.
func (s *Service) secret(prefix string) (string, error) {
	bytes := make([]byte, 16)
	_, err := io.ReadFull(s.Random, bytes)
	return prefix + hex.EncodeToString(bytes), err
}

func expired(t collab.Token, now time.Time) bool {
	return t.Expires != 0 && t.Expires <= now.UnixMilli()
}

// tokenName is the beginning of a token's hash.
func tokenName(t collab.Token) string { return hex.EncodeToString(t.Hash[:6]) }
