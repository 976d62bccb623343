package rpc_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"collabdata/shared/api/rpc"
)

var pageScope = rpc.PageScope{Account: "acme", Path: "/v2/commentannotations/get", Filters: []byte(`{"organizationId":"o"}`)}

func TestPageTokenRoundTrip(t *testing.T) {
	for _, position := range []string{"", "x", `{"after":"D#doc#ANN#1"}`, "\x00\xff", strings.Repeat("long", 1000)} {
		token := pageScope.Encode([]byte(position))
		got, err := pageScope.Decode(token)
		if err != nil || string(got) != position {
			t.Errorf("position %.20q: got %.20q, %v", position, got, err)
		}
		if strings.Trim(token, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("token %q does not fit into a URL or a JSON string as it stands", token)
		}
	}
}

// TestPageTokenForm holds the form of version 1: tokens outlive a deployment.
func TestPageTokenForm(t *testing.T) {
	const token = "AR8VLXmO8flH8Yk9vc9WvkVwb3NpdGlvbg"
	if got := pageScope.Encode([]byte("position")); got != token {
		t.Errorf("the token is %s, was %s: raise the version when the form changes", got, token)
	}
}

func TestPageTokenOfOtherScope(t *testing.T) {
	token := pageScope.Encode([]byte("position"))
	other := map[string]rpc.PageScope{
		"account":           {Account: "other", Path: pageScope.Path, Filters: pageScope.Filters},
		"path":              {Account: pageScope.Account, Path: "/v2/organizations/get", Filters: pageScope.Filters},
		"filters":           {Account: pageScope.Account, Path: pageScope.Path, Filters: []byte(`{"organizationId":"p"}`)},
		"no filters":        {Account: pageScope.Account, Path: pageScope.Path},
		"parts cut apart":   {Account: pageScope.Account + pageScope.Path, Filters: pageScope.Filters},
		"parts differently": {Account: pageScope.Account + "/", Path: pageScope.Path[1:], Filters: pageScope.Filters},
	}
	for name, s := range other {
		if _, err := s.Decode(token); !errors.Is(err, rpc.ErrPageToken) {
			t.Errorf("%s: got %v, want ErrPageToken", name, err)
		}
	}
}

func TestMalformedPageToken(t *testing.T) {
	token := pageScope.Encode([]byte("position"))
	for _, bad := range []string{
		"", "A", "====", token + "=", token + "A", token[:len(token)-1], token + "\n", token[:4] + "\r\n" + token[4:], " " + token,
		strings.ReplaceAll(token, token[:1], "+"), "AAAA", "B" + token[1:], token[4:],
	} {
		if _, err := pageScope.Decode(bad); !errors.Is(err, rpc.ErrPageToken) {
			t.Errorf("%q: got %v, want ErrPageToken", bad, err)
		}
	}
	for i := range token {
		flipped := []byte(token)
		flipped[i] = 'A' + (flipped[i]+1)%26
		if string(flipped) == token {
			t.Fatal("nothing was flipped")
		}
		if _, err := pageScope.Decode(string(flipped)); !errors.Is(err, rpc.ErrPageToken) {
			t.Errorf("character %d changed: got %v, want ErrPageToken", i, err)
		}
	}
}

func FuzzPageToken(f *testing.F) {
	f.Add("acme", "/v2/commentannotations/get", []byte(`{}`), []byte("position"), "AQ")
	f.Add("", "", []byte(nil), []byte(nil), "")
	f.Fuzz(func(t *testing.T, account, path string, filters, position []byte, text string) {
		s := rpc.PageScope{Account: account, Path: path, Filters: filters}
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

func BenchmarkPageTokenEncode(b *testing.B) {
	position := []byte(`{"source":12,"after":"O#organization#D#document-0001#ANN#0123456789abcdef"}`)
	b.ReportAllocs()
	for b.Loop() {
		pageScope.Encode(position)
	}
}

func BenchmarkPageTokenDecode(b *testing.B) {
	token := pageScope.Encode([]byte(`{"source":12,"after":"O#organization#D#document-0001#ANN#0123456789abcdef"}`))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pageScope.Decode(token); err != nil {
			b.Fatal(err)
		}
	}
}
