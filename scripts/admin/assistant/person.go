package assistant

import (
	"errors"
	"net/http"
	"sync"

	"collabdata/shared/client"
	"collabdata/shared/credentials"

	"github.com/golang-jwt/jwt/v5"
)

// ReadToken returns the claims of a person's token without a check of its signature, which is the
// service's.
func ReadToken(token string) (*credentials.Claims, error) {
	var claims credentials.Claims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil || claims.Subject == "" {
		return nil, errors.New("this is no token of auth/generate_token")
	}
	return &claims, nil
}

// Transport sends requests with a person's token. If the service does not accept the token, it gets
// another from renew, and sends the request once more.
type Transport struct {
	renew func() (string, error) // nil if there is no other token

	mu       sync.Mutex
	token    string
	attempts int // to renew it
}

// NewTransport returns a transport with a person's token.
func NewTransport(token string, renew func() (string, error)) *Transport {
	return &Transport{renew: renew, token: token}
}

// RoundTrip sends a request.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	attempts, res, err := t.send(r)
	if err != nil || res.StatusCode != http.StatusUnauthorized || t.renew == nil {
		return res, err
	}
	if err := t.another(attempts); err != nil {
		return res, nil // the service's error says more
	}
	again := r.Clone(r.Context())
	if again.Body, err = r.GetBody(); err != nil {
		return res, nil
	}
	_ = res.Body.Close()
	_, res, err = t.send(again)
	return res, err
}

// send sends a request, and returns the number of attempts before it to renew the token.
func (t *Transport) send(r *http.Request) (attempts int, res *http.Response, err error) {
	t.mu.Lock()
	token, attempts := t.token, t.attempts
	t.mu.Unlock()
	r = r.Clone(r.Context())
	r.Header.Del(client.DefaultAPIKeyHeader)
	r.Header.Del(client.DefaultAuthTokenHeader)
	r.Header.Set("Authorization", "Bearer "+token)
	res, err = http.DefaultTransport.RoundTrip(r)
	return attempts, res, err
}

// another gets another token, unless another request has tried to since this one was sent.
func (t *Transport) another(attempts int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.attempts != attempts {
		return nil
	}
	t.attempts++
	token, err := t.renew()
	if err == nil {
		t.token = token
	}
	return err
}
