package pagetoken_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"collabdata/shared/pagetoken"
)

var scope = pagetoken.Scope{Account: "acme", Path: "/v2/commentannotations/get", Filters: []byte(`{"organizationId":"o"}`)}

func TestRoundTrip(t *testing.T) {
	for _, position := range []string{"", "x", `{"after":"D#doc#ANN#1"}`, "\x00\xff", strings.Repeat("long", 1000)} {
		token := scope.Encode([]byte(position))
		got, err := scope.Decode(token)
		if err != nil || string(got) != position {
			t.Errorf("position %.20q: got %.20q, %v", position, got, err)
		}
		if strings.Trim(token, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("token %q does not fit into a URL or a JSON string as it stands", token)
		}
	}
}

// TestForm holds the form of version 1: tokens outlive a deployment.
func TestForm(t *testing.T) {
	const token = "AR8VLXmO8flH8Yk9vc9WvkVwb3NpdGlvbg"
	if got := scope.Encode([]byte("position")); got != token {
		t.Errorf("the token is %s, was %s: raise the version when the form changes", got, token)
	}
}

func TestOtherScope(t *testing.T) {
	token := scope.Encode([]byte("position"))
	other := map[string]pagetoken.Scope{
		"account":           {Account: "other", Path: scope.Path, Filters: scope.Filters},
		"path":              {Account: scope.Account, Path: "/v2/organizations/get", Filters: scope.Filters},
		"filters":           {Account: scope.Account, Path: scope.Path, Filters: []byte(`{"organizationId":"p"}`)},
		"no filters":        {Account: scope.Account, Path: scope.Path},
		"parts cut apart":   {Account: scope.Account + scope.Path, Filters: scope.Filters},
		"parts differently": {Account: scope.Account + "/", Path: scope.Path[1:], Filters: scope.Filters},
	}
	for name, s := range other {
		if _, err := s.Decode(token); !errors.Is(err, pagetoken.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}

func TestMalformed(t *testing.T) {
	token := scope.Encode([]byte("position"))
	for _, bad := range []string{
		"", "A", "====", token + "=", token + "A", token[:len(token)-1], token + "\n", token[:4] + "\r\n" + token[4:], " " + token,
		strings.ReplaceAll(token, token[:1], "+"), "AAAA", "B" + token[1:], token[4:],
	} {
		if _, err := scope.Decode(bad); !errors.Is(err, pagetoken.ErrInvalid) {
			t.Errorf("%q: got %v, want ErrInvalid", bad, err)
		}
	}
	for i := range token {
		flipped := []byte(token)
		flipped[i] = 'A' + (flipped[i]+1)%26
		if string(flipped) == token {
			t.Fatal("nothing was flipped")
		}
		if _, err := scope.Decode(string(flipped)); !errors.Is(err, pagetoken.ErrInvalid) {
			t.Errorf("character %d changed: got %v, want ErrInvalid", i, err)
		}
	}
}

func FuzzToken(f *testing.F) {
	f.Add("acme", "/v2/commentannotations/get", []byte(`{}`), []byte("position"), "AQ")
	f.Add("", "", []byte(nil), []byte(nil), "")
	f.Fuzz(func(t *testing.T, account, path string, filters, position []byte, text string) {
		s := pagetoken.Scope{Account: account, Path: path, Filters: filters}
		token := s.Encode(position)
		got, err := s.Decode(token)
		if err != nil || !bytes.Equal(got, position) {
			t.Fatalf("round trip: got %q, %v, want %q", got, err, position)
		}
		if position, err := s.Decode(text); err == nil && s.Encode(position) != text {
			t.Fatalf("%q is a second spelling of a token", text)
		}
		s.Account += "x"
		if _, err := s.Decode(token); err == nil {
			t.Fatal("the token holds in another account")
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	position := []byte(`{"source":12,"after":"O#organization#D#document-0001#ANN#0123456789abcdef"}`)
	b.ReportAllocs()
	for b.Loop() {
		scope.Encode(position)
	}
}

func BenchmarkDecode(b *testing.B) {
	token := scope.Encode([]byte(`{"source":12,"after":"O#organization#D#document-0001#ANN#0123456789abcdef"}`))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := scope.Decode(token); err != nil {
			b.Fatal(err)
		}
	}
}
