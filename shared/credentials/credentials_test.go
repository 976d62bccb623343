package credentials_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/auth"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/testing/must"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// keyring is a KeyStore in memory that counts look-ups.
type keyring struct {
	keys    map[string]collab.APIKey
	signing map[string]collab.Signing
	err     error
	lookUp  int
}

func (k *keyring) Signing(_ context.Context, account string) (collab.Signing, error) {
	k.lookUp++
	if k.err != nil {
		return collab.Signing{}, k.err
	}
	signing, ok := k.signing[account]
	if !ok {
		return collab.Signing{}, collab.Errorf(collab.NotFound, "no such account")
	}
	return signing, nil
}

func (k *keyring) APIKey(_ context.Context, key string) (collab.APIKey, error) {
	k.lookUp++
	if k.err != nil {
		return collab.APIKey{}, k.err
	}
	record, ok := k.keys[key]
	if !ok {
		return collab.APIKey{}, collab.Errorf(collab.NotFound, "no such key")
	}
	return record, nil
}

func token(text string, expires collab.Millis) collab.Token {
	return collab.Token{Hash: collab.HashToken(text), Expires: expires}
}

func newKeyring() *keyring {
	settings := collab.Settings{AllEvents: true}
	long := strings.Repeat("k", credentials.MaxCredential)
	return &keyring{keys: map[string]collab.APIKey{
		"key": {Key: "key", Account: "acme", Settings: settings, Tokens: []collab.Token{
			token("first", 0),
			token("second", noon.UnixMilli()+1),
			token("expired", noon.UnixMilli()),
		}},
		"off":  {Key: "off", Account: "gone", Disabled: true, Tokens: []collab.Token{token("first", 0)}},
		"bare": {Key: "bare", Account: "bare"},
		long:   {Key: long, Account: "long", Tokens: []collab.Token{token(long, 0)}},
	}}
}

func TestCheck(t *testing.T) {
	long := strings.Repeat("k", credentials.MaxCredential)
	tests := []struct {
		name        string
		keys, token []string
		want        collab.Code
		lookUps     int
	}{
		{"first token", []string{"key"}, []string{"first"}, "", 1},
		{"second token, about to expire", []string{"key"}, []string{"second"}, "", 1},
		{"longest", []string{long}, []string{long}, "", 1},
		{"no header", nil, nil, collab.Unauthenticated, 0},
		{"no token", []string{"key"}, nil, collab.Unauthenticated, 0},
		{"no key", nil, []string{"first"}, collab.Unauthenticated, 0},
		{"empty key", []string{""}, []string{"first"}, collab.Unauthenticated, 0},
		{"empty token", []string{"key"}, []string{""}, collab.Unauthenticated, 0},
		{"unknown key", []string{"kex"}, []string{"first"}, collab.PermissionDenied, 1},
		{"wrong token", []string{"key"}, []string{"third"}, collab.PermissionDenied, 1},
		{"expired token", []string{"key"}, []string{"expired"}, collab.PermissionDenied, 1},
		{"key without tokens", []string{"bare"}, []string{"first"}, collab.PermissionDenied, 1},
		{"disabled account", []string{"off"}, []string{"first"}, collab.PermissionDenied, 1},
		{"key too long", []string{long + "k"}, []string{"first"}, collab.PermissionDenied, 0},
		{"token too long", []string{"key"}, []string{long + "k"}, collab.PermissionDenied, 0},
		{"key twice", []string{"key", "key"}, []string{"first"}, collab.PermissionDenied, 0},
		{"token twice", []string{"key"}, []string{"first", "first"}, collab.PermissionDenied, 0},
		{"space in key", []string{"k y"}, []string{"first"}, collab.PermissionDenied, 0},
		{"separator of the table in key", []string{"key#KEY"}, []string{"first"}, collab.PermissionDenied, 0},
		{"beyond ASCII in token", []string{"key"}, []string{"fírst"}, collab.PermissionDenied, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			store := newKeyring()
			c := credentials.Checker{Keys: store, Now: func() time.Time { return noon }}
			h := http.Header{http.CanonicalHeaderKey(credentials.KeyHeader): test.keys, http.CanonicalHeaderKey(credentials.TokenHeader): test.token}
			got, err := c.Check(t.Context(), h)
			if code := collab.CodeOf(err); code != test.want {
				t.Fatalf("got %v, want code %q", err, test.want)
			}
			if test.want == collab.PermissionDenied && collab.MessageOf(err) != "the credentials are not valid" {
				t.Errorf("the text %q tells why", collab.MessageOf(err))
			}
			if want := store.keys[first(test.keys)]; err == nil {
				if diff := cmp.Diff(collab.Identity{Account: want.Account, APIKey: want.Key, Settings: want.Settings}, got); diff != "" {
					t.Error(diff)
				}
			} else if diff := cmp.Diff(collab.Identity{}, got); diff != "" {
				t.Errorf("a refused request has identity %v", got)
			}
			if store.lookUp != test.lookUps {
				t.Errorf("%d look-ups, want %d", store.lookUp, test.lookUps)
			}
		})
	}
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

func TestStoreFails(t *testing.T) {
	c := credentials.Checker{Keys: &keyring{err: errors.New("table unreachable")}, Now: time.Now}
	_, err := c.Check(t.Context(), header("key", "first"))
	if collab.CodeOf(err) != collab.Unavailable || strings.Contains(collab.MessageOf(err), "table") {
		t.Errorf("got %q %q", collab.CodeOf(err), collab.MessageOf(err))
	}
}

func TestCached(t *testing.T) {
	now := noon
	store := newKeyring()
	keys := credentials.Cached(store, func() time.Time { return now })
	look := func(key string, want collab.Code, lookUps int) {
		t.Helper()
		_, err := keys.APIKey(t.Context(), key)
		if collab.CodeOf(err) != want || store.lookUp != lookUps {
			t.Errorf("%s: got %v after %d look-ups, want %q after %d", key, err, store.lookUp, want, lookUps)
		}
	}
	look("key", "", 1)
	now = now.Add(credentials.TTL - 1)
	look("key", "", 1)
	look("off", "", 2)
	delete(store.keys, "key")
	look("key", "", 2)
	now = now.Add(1)
	look("key", collab.NotFound, 3)
	store.keys["key"] = collab.APIKey{Key: "key"}
	now = now.Add(10*time.Second - 1) // a missing key
	look("key", collab.NotFound, 3)
	now = now.Add(1)
	look("key", "", 4)
	store.err = errors.New("table unreachable")
	look("key", "", 4)
	look("new", collab.Internal, 5)
	look("new", collab.Internal, 6)
}

// TestRotate: tokens from before, during and after a key rotation are valid in a process with
// cached keys, and the new key signs in the end.
func TestRotate(t *testing.T) {
	now := noon
	store := newKeyring()
	key := func(id string, at time.Time) collab.SigningKey {
		return collab.SigningKey{ID: id, Secret: []byte(id), CreatedAt: at.UnixMilli()}
	}
	first, second := key("first", noon.Add(-time.Hour)), key("second", noon.Add(30*time.Second))
	c := credentials.Checker{Keys: credentials.Cached(store, func() time.Time { return now }), Now: func() time.Time { return now }, Stage: "test"}
	for _, keys := range [][]collab.SigningKey{{first}, {second, first}} {
		store.signing = map[string]collab.Signing{"acme": {Account: "acme", Keys: keys}}
		for ; now.Before(noon.Add(time.Duration(len(keys)*len(keys)) * 30 * time.Second)); now = now.Add(time.Second) {
			signer, err := credentials.Signer(keys, now)
			must.Do(t, err)
			signed, err := credentials.Sign(signer, "test", "acme", collab.Person{UserID: "ann"}, now, now.Add(time.Minute))
			must.Do(t, err)
			if _, err := c.Check(t.Context(), http.Header{"Authorization": {"Bearer " + signed}}); err != nil {
				t.Fatalf("%v after noon, with %d keys: %v", now.Sub(noon), len(keys), err)
			}
		}
		if signer, err := credentials.Signer(keys, now); err != nil || signer.ID != keys[0].ID {
			t.Errorf("%v after noon the key %s signs, want %s", now.Sub(noon), signer.ID, keys[0].ID)
		}
	}
}

func TestRequire(t *testing.T) {
	var log bytes.Buffer
	server := &rpc.Server{Now: func() time.Time { return noon }, Random: rand.Reader, Log: slog.New(slog.NewJSONHandler(&log, nil))}
	var seen collab.Identity
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { seen, _ = collab.IdentityOf(r.Context()) })
	h := auth.Require(&credentials.Checker{Keys: newKeyring(), Now: server.Now}, server, next)

	r := httptest.NewRequest("POST", "/v2/organizations/get", strings.NewReader("not looked at"))
	r.Header = header("key", "first")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if seen.Account != "acme" || log.Len() != 0 {
		t.Errorf("next saw %v; logged %s", seen, &log)
	}

	for token, want := range map[string]int{"": 401, "wrong-token": 403} {
		seen = collab.Identity{}
		log.Reset()
		w := httptest.NewRecorder()
		r.Header = header("key", token)
		h.ServeHTTP(w, r)
		if w.Code != want || seen.Account != "" || !strings.HasPrefix(w.Body.String(), `{"error":{"message":`) {
			t.Errorf("token %q: %d %s, next saw %v", token, w.Code, w.Body, seen)
		}
		if line := log.String(); strings.Count(line, "\n") != 1 || strings.Contains(line, "wrong-token") || strings.Contains(line, `"key"`) {
			t.Errorf("logged %s", line)
		}
	}
}

func header(key, token string) http.Header {
	h := http.Header{}
	h.Set(credentials.KeyHeader, key)
	h.Set(credentials.TokenHeader, token)
	return h
}

// TestHeaders: configured names replace the default ones, and reserved names are refused.
func TestHeaders(t *testing.T) {
	c := credentials.Checker{Keys: newKeyring(), Now: func() time.Time { return noon }, Headers: credentials.Headers{Key: "x-other-key"}}
	h := http.Header{"X-Other-Key": {"key"}, http.CanonicalHeaderKey(credentials.KeyHeader): {"off"}, http.CanonicalHeaderKey(credentials.TokenHeader): {"first"}}
	if id, err := c.Check(t.Context(), h); err != nil || id.Account != "acme" {
		t.Errorf("%v, %v", id, err)
	}
	h.Del("x-other-key")
	if _, err := c.Check(t.Context(), h); collab.MessageOf(err) != "the headers x-other-key and x-service-auth-token are required" {
		t.Errorf("without the key: %v", err)
	}
	for _, wrong := range []credentials.Headers{
		{Key: "x key"}, {Token: "host"}, {Token: "idempotency-key"}, {Key: "x-amz-date"}, {Key: strings.Repeat("a", 65)}, {Key: credentials.TokenHeader},
	} {
		if wrong.Check() == nil {
			t.Errorf("%+v may be the headers", wrong)
		}
	}
	if h, err := credentials.ReadHeaders(func(name string) string { return "x-" + strings.ToLower(name[:3]) }); err != nil ||
		h != (credentials.Headers{Key: "x-api", Token: "x-aut"}) {
		t.Errorf("%+v, %v", h, err)
	}
}
