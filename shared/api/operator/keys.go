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

// Token is a token of an API key in a response. The service stores only its hash. A key without
// tokens has only a name.
type Token struct {
	APIKey    string           `json:"apiKey"`
	Hash      string           `json:"hash,omitempty" doc:"The first 12 hexadecimal digits of its SHA-256"`
	Expired   bool             `json:"expired"`
	CreatedAt collab.Timestamp `json:"createdAt,omitzero"`
	ExpiresAt collab.Timestamp `json:"expiresAt,omitzero"`
}

type ofKey struct {
	APIKey string `json:"apiKey" rule:"required,nonempty,max=128" doc:"The API key"`
}

// KeysGet is POST /operator/keys/get.
func KeysGet() rpc.Endpoint {
	return reading("keys/get", rpc.Method((*Service).KeysGet), `List the tokens of an account's API keys.`)
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
	return changing("keys/add", rpc.Method((*Service).KeysAdd), "", `Add an API key to an account. Its token is shown only once.`)
}

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
	call.Message = "the API key was added; its token is shown only once"
	return c, s.Accounts.AddAPIKey(ctx, c.APIKey, account, []collab.Token{stored})
}

// KeysDelete is POST /operator/keys/delete.
func KeysDelete() rpc.Endpoint {
	return changing("keys/delete", rpc.Method((*Service).KeysDelete), "Back ends that use the API key are permanently refused within 60 s.", `
Delete an API key with its tokens. They are refused within 60 s.`)
}

func (s *Service) KeysDelete(ctx context.Context, call *rpc.Call, req *ofKey) (any, error) {
	account, err := s.Accounts.DeleteAPIKey(ctx, req.APIKey)
	call.Message = fmt.Sprintf("the API key of account %q was deleted: refused within 60 s", account)
	return nil, err
}

// NewToken is a token of an API key, shown only once.
type NewToken struct {
	APIKey    string           `json:"apiKey"`
	Token     string           `json:"token"`
	Hash      string           `json:"hash"`
	ExpiresAt collab.Timestamp `json:"expiresAt,omitzero"`
	Ending    int              `json:"ending,omitempty" doc:"Number of other tokens of the key that expire"`
}

type TokensAddRequest struct {
	ofKey
	ExpiresAt *collab.Millis `json:"expiresAt" rule:"notnull,time" doc:"Expiry of the token. Default: never"`
}

// TokensAdd is POST /operator/tokens/add.
func TokensAdd() rpc.Endpoint {
	return changing("tokens/add", rpc.Method((*Service).TokensAdd), "", `
Add a token to an API key. Use it to replace a token, or for another back end. It is shown only
once. A key has at most 100 tokens.`)
}

func (s *Service) TokensAdd(ctx context.Context, call *rpc.Call, req *TokensAddRequest) (NewToken, error) {
	expires := collab.Deref(req.ExpiresAt)
	if req.ExpiresAt != nil && expires <= call.Millis() {
		return NewToken{}, collab.Errorf(collab.InvalidArgument, "data.expiresAt must be in the future")
	}
	return s.addToken(ctx, call, req.APIKey, expires, func([]collab.Token) int { return 0 })
}

type TokensRotateRequest struct {
	ofKey
	GraceSeconds *int64 `json:"graceSeconds" rule:"notnull,min=0,max=31536000" doc:"Remaining life of the other tokens. Default: 86,400"`
}

// TokensRotate is POST /operator/tokens/rotate.
func TokensRotate() rpc.Endpoint {
	return changing("tokens/rotate", rpc.Method((*Service).TokensRotate), "Back ends that use another token of the API key are refused after the grace period.", `
Rotate the tokens of an API key. This adds a token, and lets the others expire after a grace
period, or at their earlier expiry.`)
}

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

// maxTokens limits the size of a key's item, which functions read.
const maxTokens = 100

// addToken adds a token to an API key. end changes the other unexpired tokens, and returns the
// number of expiring ones.
func (s *Service) addToken(
	ctx context.Context, call *rpc.Call, key string, expires collab.Millis, end func(others []collab.Token) int,
) (NewToken, error) {
	token, stored, err := s.newToken(call.Now, expires)
	if err != nil {
		return NewToken{}, err
	}
	added := NewToken{APIKey: key, Token: token, Hash: tokenName(stored), ExpiresAt: collab.Timestamp(expires)}
	call.Message = "the token was added; it is shown only once"
	err = s.Accounts.ChangeTokens(ctx, key, func(tokens []collab.Token) ([]collab.Token, error) {
		tokens = slices.DeleteFunc(tokens, func(t collab.Token) bool { return expired(t, call.Now) })
		if len(tokens) >= maxTokens {
			return nil, collab.Errorf(collab.FailedPrecondition, "the key has %d tokens: delete one first", len(tokens))
		}
		added.Ending = end(tokens)
		return append(tokens, stored), nil
	})
	return added, err
}

// SigningKey is a key that signs person tokens, without its secret.
type SigningKey struct {
	ID        string           `json:"id"`
	CreatedAt collab.Timestamp `json:"createdAt"`
}

// SigningRotate is POST /operator/signing/rotate.
func SigningRotate() rpc.Endpoint {
	return changing("signing/rotate", rpc.Method((*Service).SigningRotate), "Person tokens of the second-newest signing key are refused within 60 s.", `
Rotate the signing key of person tokens. The new key signs after a minute, when all functions know
it. The previous key remains valid for its tokens, and tokens of older keys end. To end all tokens,
rotate twice, two minutes apart. The response has the valid keys, newest first.`)
}

func (s *Service) SigningRotate(ctx context.Context, call *rpc.Call, req *ofAccount) ([]SigningKey, error) {
	list, err := s.Accounts.RotateSigningKeys(ctx, req.AccountID)
	call.Message = fmt.Sprintf("account %q signs with the new key within a minute", req.AccountID)
	return collab.Map(list, func(k collab.SigningKey) SigningKey { return SigningKey{k.ID, collab.Timestamp(k.CreatedAt)} }), err
}

type TokensDeleteRequest struct {
	ofKey
	Hash string `json:"hash" rule:"required" doc:"A prefix of its SHA-256 from keys/get: at least four characters"`
}

func (r *TokensDeleteRequest) Validate(m *rpc.Violations) {
	if len(r.Hash) < 4 || len(r.Hash) > 64 || strings.Trim(strings.ToLower(r.Hash), "0123456789abcdef") != "" {
		m.Add("hash", "must be 4 to 64 hexadecimal digits, from keys/get: not the token itself")
	}
}

// TokensDelete is POST /operator/tokens/delete.
func TokensDelete() rpc.Endpoint {
	return changing("tokens/delete", rpc.Method((*Service).TokensDelete), "Back ends that use the token are refused within 60 s.", `
Delete a token of an API key. It is refused within 60 s. The request fails with NOT_FOUND if no hash
of the key has this prefix, and with FAILED_PRECONDITION if several have it.`)
}

func (s *Service) TokensDelete(ctx context.Context, call *rpc.Call, req *TokensDeleteRequest) (any, error) {
	prefix := strings.ToLower(req.Hash)
	err := s.Accounts.ChangeTokens(ctx, req.APIKey, func(tokens []collab.Token) ([]collab.Token, error) {
		matches := func(t collab.Token) bool { return strings.HasPrefix(hex.EncodeToString(t.Hash), prefix) }
		first := slices.IndexFunc(tokens, matches)
		if first < 0 {
			return nil, collab.Errorf(collab.NotFound, "the key has no token whose hash begins with %s", prefix)
		}
		if slices.ContainsFunc(tokens[first+1:], matches) {
			return nil, collab.Errorf(collab.FailedPrecondition, "several tokens have a hash that begins with %s: use more digits", prefix)
		}
		return slices.Delete(tokens, first, first+1), nil
	})
	call.Message = "the token was deleted: refused within 60 s"
	return nil, err
}

// newToken returns a random token and its stored form. An expires of 0 means never.
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

// tokenName is the displayed prefix of a token's hash.
func tokenName(t collab.Token) string { return hex.EncodeToString(t.Hash[:6]) }
