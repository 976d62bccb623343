package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/app/operate"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/testing/must"
)

// operate sends a request of the operator, which must succeed.
func (c *caller) operate(path, data string) {
	c.Helper()
	h := operate.New(operate.Config{App: c.Config(), CheckURL: c.Guard.CheckURL})
	r := httptest.NewRequest(http.MethodPost, "/operator/"+path, strings.NewReader(`{"data": {`+data+`}}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusOK {
		c.Fatal(path, w.Code, w.Body)
	}
}

// wants checks the HTTP status of a read with credentials.
func (c *caller) wants(what string, code int, header ...string) {
	c.Helper()
	if got, body := c.send("commentannotations/count/get", `"documentIds": ["plan"]`, header...); got != code {
		c.Errorf("%s: %d, want %d: %s", what, got, code, body)
	}
}

// TestRotatedToken checks that a rotated token of a back end works for the grace period, and not
// after it.
func TestRotatedToken(t *testing.T) {
	t.Parallel()
	c := newCaller(t, func(*app.Config) {})
	const grace = 2 * credentials.TTL
	c.operate("tokens/rotate", fmt.Sprintf(`"apiKey": "key", "graceSeconds": %d`, int(grace.Seconds())))
	end := c.now.Add(grace)
	old := []string{credentials.KeyHeader, "key", credentials.TokenHeader, "token"}
	c.now = end.Add(-time.Millisecond)
	c.wants("at the end of the grace", http.StatusOK, old...)
	c.now = end
	c.wants("after the grace", http.StatusForbidden, old...)
}

// TestRotatedSigningKey checks that a person's token is valid until it expires, or its signing key
// is rotated for the second time.
func TestRotatedSigningKey(t *testing.T) {
	t.Parallel()
	c := newCaller(t, func(*app.Config) {})
	began := c.now
	wants := func(what string, code int) {
		t.Helper()
		c.wants(what, code, "Authorization", "Bearer "+c.token)
	}
	c.now = began.Add(collab.MaxTokenLife - time.Millisecond)
	wants("at the end of its life", http.StatusOK)
	c.now = began.Add(collab.MaxTokenLife + credentials.TTL)
	wants("after its life", http.StatusUnauthorized)

	c.token = c.sign(collab.ResourceOrganization, "acme")
	for rotations, code := range []int{http.StatusOK, http.StatusOK, http.StatusUnauthorized} {
		if rotations > 0 {
			c.operate("signing/rotate", `"accountId": "acme"`)
		}
		c.now = c.now.Add(credentials.TTL)
		wants(fmt.Sprint("after rotations: ", rotations), code)
	}
	keys, err := c.Accounts.Signing(t.Context(), "acme")
	must.Do(t, err)
	c.key = keys.Keys[0]
	c.token = c.sign(collab.ResourceOrganization, "acme")
	wants("with the newest key", http.StatusOK)
}
