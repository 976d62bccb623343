package rpc_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"collabdata/shared/api/rpc"
)

var pageScope = rpc.PageScope{Account: "acme", Path: "/v2/commentannotations/get", Filters: []byte(`{"organizationId":"o"}`)}

// TestPageTokenForm checks the form of version 1: tokens outlive a deployment.
func TestPageTokenForm(t *testing.T) {
	const token = "AR8VLXmO8flH8Yk9vc9WvkVwb3NpdGlvbg"
	if got := pageScope.Encode([]byte("position")); got != token {
		t.Errorf("the token is %s, was %s: raise the version when the form changes", got, token)
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
	f.Add("acme", "/v2/x", []byte(nil), []byte("\x00\xff"+strings.Repeat("long", 1000)), "AQ=")
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
		for _, other := range []rpc.PageScope{{account + "x", path, filters}, {account + "/", strings.TrimPrefix(path, "/"), filters}} {
			if _, err := other.Decode(token); err == nil {
				t.Fatalf("the token holds in the scope %+v", other)
			}
		}
	})
}
