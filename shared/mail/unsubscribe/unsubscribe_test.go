package unsubscribe

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"collabdata/shared/testing/must"
)

var secret = bytes.Repeat([]byte{7}, SecretBytes)

func known(account string) ([]byte, error) {
	switch account {
	case "acct":
		return secret, nil
	case "down":
		return nil, errors.New("down")
	}
	if account == "" || len(account) > 1_000 || !utf8.ValidString(account) {
		return nil, errors.New("not a key of the table")
	}
	return nil, nil
}

func TestToken(t *testing.T) {
	bob := Recipient{"acct", "org/1", "bob ü", "Bob@Example.com", "Acme", "de"}
	token := bob.Token(secret)
	if got, err := Read(token, known); got != bob || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" || len(token) > 100 {
		t.Errorf("token %q", token)
	}
	signed, err := base64.RawURLEncoding.DecodeString(token)
	must.Do(t, err)
	for i := range signed {
		forged := bytes.Clone(signed)
		forged[i]++
		if got, err := Read(base64.RawURLEncoding.EncodeToString(forged), known); !Invalid(err) || got != (Recipient{}) {
			t.Errorf("byte %d changed: %+v, %v", i, got, err)
		}
		if _, err := Read(base64.RawURLEncoding.EncodeToString(signed[:i]), known); !Invalid(err) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
	for name, other := range map[string]string{
		"another secret": bob.Token(bytes.Repeat([]byte{8}, SecretBytes)), "no secret": Recipient{Account: "acct"}.Token(nil),
		"an account without a secret": Recipient{Account: "other"}.Token(nil), "more behind it": token + "AA",
		"no account": Recipient{User: "bob"}.Token(secret), "a long account": Recipient{Account: strings.Repeat("a", 2_100)}.Token(secret),
		"an account that is no text": Recipient{Account: "\xff\xfe"}.Token(secret),
		"white space":                token + "\n", "nothing": "",
	} {
		if _, err := Read(other, known); !Invalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(Recipient{Account: "down"}.Token(secret), known); err == nil || Invalid(err) {
		t.Errorf("where the secret can't be read: %v", err)
	}
}

// TestTokensDiffer checks that the end of a part is not confused with the start of the next.
func TestTokensDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range []Recipient{
		{"a", "bc", "d", "", "", ""}, {"ab", "c", "d", "", "", ""}, {"a", "b", "cd", "", "", ""}, {"", "abc", "d", "", "", ""}, {"a", "bc", "", "d", "", ""}, {"a", "bc", "d", "", "e", ""}, {"a", "bc", "d", "", "", "e"},
	} {
		seen[r.Token(secret)] = true
	}
	if len(seen) != 7 {
		t.Errorf("%d tokens of 7 recipients", len(seen))
	}
}

func TestAddressOf(t *testing.T) {
	if AddressOf(" BOB@example.COM") != AddressOf("bob@example.com") || AddressOf("bob@example.com") == AddressOf("bob@example.org") {
		t.Error("addresses are told apart by case, or not at all")
	}
	if got := AddressOf("bob@example.com").String(); len(got) != 32 {
		t.Errorf("%q", got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(Recipient{"acct", "org", "user", "user@example.com", "Acme", ""}.Token(secret))
	f.Add(Recipient{}.Token(secret))
	f.Fuzz(func(t *testing.T, token string) {
		if r, err := Read(token, known); err == nil && r.Token(secret) != token {
			t.Errorf("%q is read as %+v", token, r)
		}
	})
}
