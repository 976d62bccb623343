package credentials

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"collabdata/shared/collab"

	"github.com/golang-jwt/jwt/v5"
)

// MaxToken is the maximum length of a user's token, in bytes. The gateway accepts 10,240 bytes of
// headers.
const MaxToken = 8_000

// skew is the maximum difference between the clocks of two functions.
const skew = 5 * time.Second

// Claims are the claims of a user's token. The issuer is stage and account, separated by a slash;
// the subject is the user id.
type Claims struct {
	jwt.RegisteredClaims
	Name      string                 `json:"name,omitempty"`
	PhotoURL  string                 `json:"photoUrl,omitempty"`
	Resources []collab.TokenResource `json:"resources"`
	Agent     *collab.TokenAgent     `json:"agent,omitempty"`
}

// Signer returns the key that signs at a time. It is the newest key that every process knows by
// then, because processes remember keys for TTL; otherwise the oldest. keys must be newest first.
// It returns FAILED_PRECONDITION if there are no keys.
func Signer(keys []collab.SigningKey, now time.Time) (collab.SigningKey, error) {
	if len(keys) == 0 {
		return collab.SigningKey{}, collab.Errorf(
			collab.FailedPrecondition, "the account has no signing key: its operator adds one (admin signing rotate)",
		)
	}
	oldest := now.Add(-TTL - skew).UnixMilli()
	i := slices.IndexFunc(keys, func(k collab.SigningKey) bool { return k.CreatedAt <= oldest })
	if i < 0 {
		i = len(keys) - 1
	}
	return keys[i], nil
}

// Sign returns a token for a user of an account in a stage.
func Sign(key collab.SigningKey, stage, account string, p collab.Person, now, expires time.Time) (string, error) {
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, Claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: stage + "/" + account, Subject: p.UserID, IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expires),
		},
		Name: p.Name, PhotoURL: p.PhotoURL, Resources: p.Resources, Agent: p.Agent,
	})
	t.Header["kid"] = key.ID
	return t.SignedString(key.Secret)
}

// checkToken returns the identity of a user's token. It returns Unauthenticated with the reason,
// PermissionDenied if the account is disabled, and Unavailable if the store fails.
func (c *Checker) checkToken(ctx context.Context, token string) (collab.Identity, error) {
	var claims Claims
	var signing collab.Signing
	var unavailable error
	parsed, err := jwt.NewParser(
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuedAt(), jwt.WithExpirationRequired(), jwt.WithLeeway(skew), jwt.WithTimeFunc(c.Now),
		// Otherwise one token has several texts, which the firewall counts separately.
		jwt.WithStrictDecoding(),
	).ParseWithClaims(token, &claims, func(t *jwt.Token) (any, error) {
		stage, account, _ := strings.Cut(claims.Issuer, "/")
		if stage != c.Stage || collab.CheckID(account, collab.MaxID) != nil {
			return nil, jwt.ErrTokenInvalidIssuer
		}
		var err error
		if signing, err = c.Keys.Signing(ctx, account); err != nil {
			if collab.CodeOf(err) != collab.NotFound {
				unavailable = err
			}
			return nil, jwt.ErrTokenUnverifiable
		}
		i := slices.IndexFunc(signing.Keys, func(k collab.SigningKey) bool { return k.ID == t.Header["kid"] })
		if i < 0 {
			return nil, jwt.ErrTokenUnverifiable
		}
		return signing.Keys[i].Secret, nil
	})
	switch {
	case unavailable != nil:
		return collab.Identity{}, errUnavailable(unavailable)
	case parsed != nil && parsed.Header["alg"] != jwt.SigningMethodHS256.Alg():
		return collab.Identity{}, collab.Errorf(collab.Unauthenticated, "the token's algorithm must be HS256")
	case errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return collab.Identity{}, collab.Errorf(collab.Unauthenticated, "the token is of another stage")
	case errors.Is(err, jwt.ErrTokenExpired):
		return collab.Identity{}, collab.Errorf(collab.Unauthenticated, "the token has expired")
	case errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return collab.Identity{}, collab.Errorf(collab.Unauthenticated, "the token is from the future")
	case err != nil || claims.Subject == "" || claims.IssuedAt == nil:
		return collab.Identity{}, collab.Errorf(collab.Unauthenticated, "the token is not valid")
	case signing.Disabled:
		return collab.Identity{}, errDenied()
	}
	return collab.Identity{Account: signing.Account, Settings: signing.Settings, Person: &collab.Person{
		UserID: claims.Subject, Name: claims.Name, PhotoURL: claims.PhotoURL, Resources: claims.Resources, Agent: claims.Agent, IssuedAt: claims.IssuedAt.UnixMilli(),
	}}, nil
}
