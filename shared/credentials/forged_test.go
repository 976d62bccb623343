package credentials_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/credentials"
)

// Parts of tokens that are valid at noon.
const (
	goodHeader = `{"alg":"HS256","typ":"JWT","kid":"k2"}`
	goodClaims = `{"iss":"test/acme","sub":"ann","iat":1772625600,"exp":1772629200,"resources":[]}`
)

// forge returns a token of texts, signed with a secret.
func forge(header, claims, secret string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	mac := hmac.New(sha256.New, []byte(secret))
	if strings.Contains(header, "384") {
		mac = hmac.New(sha512.New384, []byte(secret))
	}
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// signers returns the keys of two accounts and a disabled one, all signed by one key. k1 precedes
// acme's two.
func signers() *keyring {
	store := newKeyring()
	keys := func(ids ...string) collab.Signing {
		return collab.Signing{Account: "acme", Keys: collab.Map(ids, func(id string) collab.SigningKey {
			return collab.SigningKey{ID: id, Secret: []byte("secret of " + id)}
		})}
	}
	store.signing = map[string]collab.Signing{"acme": keys("k3", "k2"), "other": keys("o1"), "off": keys("k2"), "bare": {}}
	off := store.signing["off"]
	off.Disabled = true
	store.signing["off"] = off
	return store
}

// TestForged: only tokens signed with the account's keys are accepted. Each other token is refused
// with the text of its reason, which reveals nothing internal, and costs at most one look-up.
func TestForged(t *testing.T) {
	const invalid, algorithm, stage, form = "the token is not valid", "the token's algorithm must be HS256", "the token is of another stage",
		"the header Authorization must be Bearer and a token of at most 8000 bytes"
	const secret = "secret of k2"
	with := func(old, text string) string {
		return forge(goodHeader, strings.Replace(goodClaims, old, text, 1), secret)
	}
	head := func(old, text string) string {
		return forge(strings.Replace(goodHeader, old, text, 1), goodClaims, secret)
	}
	good := forge(goodHeader, goodClaims, secret)
	parts := strings.Split(good, ".")
	raw := func(header, claims string) string { return forge(header, claims, secret) }
	const issued, expires = `"iat":1772625600`, `"exp":1772629200`
	tests := []struct{ name, token, want string }{
		{"good", good, ""},
		{"good, by the newer key", forge(strings.Replace(goodHeader, "k2", "k3", 1), goodClaims, "secret of k3"), ""},
		{"expired within the clocks' difference", with(expires, `"exp":1772625596`), ""},

		{"alg none", head("HS256", "none"), algorithm},
		{"alg none, unsigned", strings.TrimSuffix(head("HS256", "none"), "."+strings.Split(head("HS256", "none"), ".")[2]) + ".", algorithm},
		{"alg None", head("HS256", "None"), algorithm},
		{"alg hs256", head("HS256", "hs256"), algorithm},
		{"alg HS384", head("HS256", "HS384"), algorithm},
		{"alg HS512", head("HS256", "HS512"), algorithm},
		{"alg RS256", head("HS256", "RS256"), algorithm},
		{"alg ES256", head("HS256", "ES256"), algorithm},
		{"alg PS256", head("HS256", "PS256"), algorithm},
		{"alg EdDSA", head("HS256", "EdDSA"), algorithm},
		{"alg empty", head("HS256", ""), algorithm},
		{"no alg", head(`"alg":"HS256",`, ""), algorithm},
		{"alg a number", head(`"HS256"`, "256"), algorithm},
		{"alg null", head(`"HS256"`, "null"), algorithm},
		{"alg twice, the last none", head(`"alg":"HS256"`, `"alg":"HS256","alg":"none"`), algorithm},
		{"header no JSON", raw("x", goodClaims), algorithm},
		{"header no base64", "!." + parts[1] + "." + parts[2], algorithm},
		{"header an array", raw("[]", goodClaims), algorithm},

		{"signature empty", parts[0] + "." + parts[1] + ".", invalid},
		{"signature cut", good[:len(good)-4], invalid},
		{"signature changed", parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2])), invalid},
		{"signature with unused bits", good[:len(good)-1] + string(good[len(good)-1]+1), invalid},
		{"signature no base64", parts[0] + "." + parts[1] + ".!", invalid},
		{"signature of another text", parts[0] + "." + strings.Split(with("ann", "bob"), ".")[1] + "." + parts[2], invalid},
		{"signed with the other key", forge(goodHeader, goodClaims, "secret of k3"), invalid},
		{"signed with nothing", forge(goodHeader, goodClaims, ""), invalid},
		{"signed with the name of the key", forge(goodHeader, goodClaims, "k2"), invalid},
		{"kid of another account", head("k2", "o1"), invalid},
		{"kid and key of another account", forge(strings.Replace(goodHeader, "k2", "o1", 1), goodClaims, "secret of o1"), invalid},
		{"another account's, by its key", forge(goodHeader, strings.Replace(goodClaims, "acme", "other", 1), secret), invalid},
		{"after two rotations", forge(strings.Replace(goodHeader, "k2", "k1", 1), goodClaims, "secret of k1"), invalid},
		{"no kid", head(`,"kid":"k2"`, ""), invalid},
		{"kid empty", head("k2", ""), invalid},
		{"kid an array", head(`"k2"`, `["k2"]`), invalid},
		{"kid an object", head(`"k2"`, `{"k2":1}`), invalid},
		{"kid a path", head("k2", "../../k2"), invalid},
		{"key in the header", forge(strings.Replace(goodHeader, `"kid":"k2"`, `"kid":"x","jwk":{"kty":"oct","k":"eA"}`, 1), goodClaims, "x"), invalid},

		{"another stage", with("test/", "prod/"), stage},
		{"stage alone", with("test/acme", "test"), stage},
		{"no account", with("test/acme", "test/"), stage},
		{"no stage", with("test/acme", "/acme"), stage},
		{"no iss", with(`"iss":"test/acme",`, ""), stage},
		{"iss of another case", with("test/", "Test/"), stage},
		{"iss with a control character", with("acme", `ac\u0000me`), stage},
		{"iss with an endless account", with("acme", strings.Repeat("a", 3000)), stage},
		{"iss with more parts", with("acme", "acme/acme"), invalid},
		{"iss of an account that does not exist", with("acme", "nobody"), invalid},
		{"iss of the table", with("acme", "acme#KEY"), invalid},
		{"iss of an account without keys", with("acme", "bare"), invalid},
		{"iss an array", with(`"test/acme"`, `["test/acme"]`), invalid},

		{"expired", with(expires, `"exp":1772625590`), "the token has expired"},
		{"expired long ago", with(expires, `"exp":0`), "the token has expired"},
		{"from the future", with(issued, `"iat":1772625610`), "the token is from the future"},
		{"not before later", with(`"sub"`, `"nbf":1772629000,"sub"`), invalid},
		{"no exp", with(","+expires, ""), invalid},
		{"exp null", with(expires, `"exp":null`), invalid},
		{"exp a text", with(expires, `"exp":"never"`), invalid},
		{"no iat", with(issued+",", ""), invalid},
		{"no sub", with(`"sub":"ann",`, ""), invalid},
		{"sub empty", with(`"ann"`, `""`), invalid},
		{"sub a number", with(`"ann"`, `1`), invalid},
		{"claims twice, the last one foreign", with(`"resources"`, `"iss":"prod/acme","resources"`), stage},
		{"resources no array", with(`[]`, `{}`), invalid},
		{"claims no JSON", raw(goodHeader, "x"), invalid},
		{"claims cut", raw(goodHeader, goodClaims[:40]), invalid},
		{"claims null", raw(goodHeader, "null"), stage},
		{"claims no base64", parts[0] + ".!." + parts[2], invalid},
		{"claims with padding", parts[0] + "." + parts[1] + "==." + parts[2], invalid},

		{"empty", "", invalid}, {"one part", parts[0], invalid}, {"two parts", parts[0] + "." + parts[1], invalid},
		{"four parts", good + "." + parts[2], invalid}, {"dots", "..", algorithm}, {"many dots", strings.Repeat(".", 7000), invalid},
		{"five parts", good + ".." + parts[2], invalid},
		{"huge", strings.Repeat("a", credentials.MaxToken+1), form},
		{"of a disabled account", with("acme", "off"), "the credentials are not valid"},
		{"of a disabled account, not signed", forge(goodHeader, strings.Replace(goodClaims, "acme", "off", 1), "x"), invalid},
	}
	names := regexp.MustCompile(`(?i)jwt|kid|k[123]|acme|secret|prod|base64|hmac|json|table|key`)
	check := func(name string, h http.Header, want string) {
		t.Helper()
		store := signers()
		c := credentials.Checker{Keys: store, Now: func() time.Time { return noon }, Stage: "test"}
		id, err := c.Check(t.Context(), h)
		text := collab.MessageOf(err)
		code := map[bool]collab.Code{true: collab.PermissionDenied, false: collab.Unauthenticated}[want == "the credentials are not valid"]
		switch {
		case want == "":
			if err != nil || id.Account != "acme" || id.APIKey != "" || id.Person.UserID != "ann" {
				t.Errorf("%s: %v, %v", name, id, err)
			}
		case text != want || collab.CodeOf(err) != code || id.Account != "" || id.Person != nil:
			t.Errorf("%s: %v, %v, want %s", name, id, err, want)
		case names.MatchString(strings.ReplaceAll(text, "x-service-api-key", "")):
			t.Errorf("%s: %q names what is within", name, text)
		}
		if store.lookUp > 1 || store.lookUp > 0 && want != "" && want != invalid && !strings.Contains(text, "expired") &&
			!strings.Contains(text, "future") && code != collab.PermissionDenied {
			t.Errorf("%s: %d look-ups", name, store.lookUp)
		}
	}
	bearer := func(values ...string) http.Header { return http.Header{"Authorization": values} }
	for _, test := range tests {
		check(test.name, bearer("Bearer "+test.token), test.want)
	}
	check("the scheme in lower case", bearer("bearer "+good), "")
	for _, value := range []string{"", "Bearer", good, "Basic " + good, "Bearer:" + good, "Token " + good, "Bearer\t" + good, " Bearer " + good} {
		want := form
		if value == "Bearer" {
			want = invalid
		}
		check(fmt.Sprintf("header %.10q", value), bearer(value), want)
	}
	check("two spaces", bearer("Bearer  "+good), algorithm)
	check("twice", bearer("Bearer "+good, "Bearer "+good), form)
	check("two in one", bearer("Bearer "+good+", Bearer "+good), invalid)
	for name, values := range map[string][]string{"X-Service-Api-Key": {"key"}, "X-Service-Auth-Token": {""}} {
		both := bearer("Bearer " + good)
		both[name] = values
		check("with "+name, both, "send either x-service-api-key and x-service-auth-token, or Authorization: not both")
	}
}

// TestForgedCost: an account's keys are read once in 60 s, and a missing account's once in 10 s,
// with the same result. A failing table does not make a token invalid.
func TestForgedCost(t *testing.T) {
	now, store := noon, signers()
	c := credentials.Checker{Keys: credentials.Cached(store, func() time.Time { return now }), Now: func() time.Time { return now }, Stage: "test"}
	look := func(account string, want collab.Code, lookUps int) {
		t.Helper()
		_, err := c.Check(t.Context(), http.Header{"Authorization": {"Bearer " + forge(goodHeader, strings.Replace(goodClaims, "acme", account, 1), "secret of k2")}})
		if collab.CodeOf(err) != want || store.lookUp != lookUps {
			t.Errorf("%s: %v after %d look-ups, want %q after %d", account, err, store.lookUp, want, lookUps)
		}
	}
	look("acme", "", 1)
	look("nobody", collab.Unauthenticated, 2)
	now = now.Add(10*time.Second - 1)
	look("nobody", collab.Unauthenticated, 2)
	now = now.Add(1)
	look("nobody", collab.Unauthenticated, 3)
	now = noon.Add(credentials.TTL - 1)
	look("acme", "", 3)
	now = now.Add(1)
	look("acme", "", 4)
	store.err = errors.New("table unreachable")
	now = now.Add(credentials.TTL)
	look("acme", collab.Unavailable, 5)
	look("acme", collab.Unavailable, 6)
}
