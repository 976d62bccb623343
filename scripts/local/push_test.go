//go:build e2e

package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/client"
)

// subscriber is the subscription of a browser: RFC 8291.
type subscriber struct {
	key  *ecdh.PrivateKey
	auth []byte
}

// open decrypts a message of RFC 8188 and RFC 8291 with one record.
func (b *subscriber) open(t *testing.T, body []byte) []byte {
	t.Helper()
	if len(body) < 21 || int(body[20]) != 65 || len(body) < 86+17 {
		t.Fatalf("the message has no aes128gcm header: %x", body)
	}
	salt, size, sender, sealed := body[:16], binary.BigEndian.Uint32(body[16:20]), body[21:86], body[86:]
	if int(size) < len(sealed) {
		t.Fatalf("the message has records of %d bytes", size)
	}
	from, err := ecdh.P256().NewPublicKey(sender)
	must(t, err)
	shared, err := b.key.ECDH(from)
	must(t, err)
	info := "WebPush: info\x00" + string(b.key.PublicKey().Bytes()) + string(sender)
	secret, err := hkdf.Key(sha256.New, shared, b.auth, info, 32)
	must(t, err)
	key, err := hkdf.Key(sha256.New, secret, salt, "Content-Encoding: aes128gcm\x00", 16)
	must(t, err)
	nonce, err := hkdf.Key(sha256.New, secret, salt, "Content-Encoding: nonce\x00", 12)
	must(t, err)
	block, err := aes.NewCipher(key)
	must(t, err)
	gcm, err := cipher.NewGCM(block)
	must(t, err)
	text, err := gcm.Open(nil, nonce, sealed, nil)
	must(t, err)
	text, last := bytes.CutSuffix(bytes.TrimRight(text, "\x00"), []byte{2})
	if !last {
		t.Fatalf("the record is not the last: %q", text)
	}
	return text
}

// checkVAPID checks the header of RFC 8292 with the sender's public key.
func checkVAPID(t *testing.T, header, audience string, sender *ecdsa.PrivateKey) {
	t.Helper()
	public, err := sender.PublicKey.ECDH()
	must(t, err)
	token, key, _ := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	if key != base64.RawURLEncoding.EncodeToString(public.Bytes()) {
		t.Errorf("the key in %q is not the sender's", header)
	}
	signed, signature, _ := strings.Cut(token, ".")
	claims, signature, _ := strings.Cut(signature, ".")
	signed += "." + claims
	sum := sha256.Sum256([]byte(signed))
	rs, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || len(rs) != 64 || !ecdsa.Verify(&sender.PublicKey, sum[:], new(big.Int).SetBytes(rs[:32]), new(big.Int).SetBytes(rs[32:])) {
		t.Errorf("the signature of %q is wrong", header)
	}
	text, err := base64.RawURLEncoding.DecodeString(claims)
	must(t, err)
	var c struct {
		Aud, Sub string
		Exp      int64
	}
	must(t, json.Unmarshal(text, &c))
	left := time.Until(time.Unix(c.Exp, 0))
	if c.Aud != audience || c.Sub != "mailto:admin@example.com" || left <= 0 || left > 24*time.Hour {
		t.Errorf("the claims are %s", text)
	}
}

// TestPush checks that the example of web push sends an encrypted and signed notification to each
// browser of a user who chose the channel. It forgets a browser that ended its subscription, and
// repeats a request that the push service failed to serve.
func TestPush(t *testing.T) {
	t.Parallel()
	const folder, packages = "../../shared/client/examples/web-push", "../../shared/client/ts"
	example := &outside{dir: folder, env: os.Environ()}
	(&outside{dir: packages, env: os.Environ()}).do(t, "sh", "-c", "npm ci --silent --ignore-scripts --no-audit --no-fund && npm run --silent build")
	example.do(t, "npm", "ci", "--silent", "--no-audit", "--no-fund")
	example.do(t, "npm", "run", "--silent", "build")

	type push struct {
		path   string
		header http.Header
		body   []byte
	}
	pushes := make(chan push, 10)
	busy := true
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		switch {
		case r.URL.Path == "/gone":
			w.WriteHeader(http.StatusGone)
		case busy: // only the first time
			busy = false
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusCreated)
			pushes <- push{r.URL.Path, r.Header, body}
		}
	}))
	t.Cleanup(service.Close)
	dir := t.TempDir()
	certificate, subscriptions := filepath.Join(dir, "push.pem"), filepath.Join(dir, "subscriptions.json")
	must(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: service.Certificate().Raw}), 0o600))
	sender, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	private, err := sender.ECDH()
	must(t, err)
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	must(t, err)
	browser := &subscriber{key, make([]byte, 16)}
	rand.Read(browser.auth)
	text := base64.RawURLEncoding.EncodeToString
	subscription := func(path string) map[string]any {
		return map[string]any{"endpoint": service.URL + path, "keys": map[string]string{"p256dh": text(key.PublicKey().Bytes()), "auth": text(browser.auth)}}
	}
	stored, err := json.Marshal(map[string]any{"bob": []any{subscription("/gone"), subscription("/bob")}, "cid": []any{}})
	must(t, err)
	must(t, os.WriteFile(subscriptions, stored, 0o600))

	s, port := start(t, t.TempDir()), freePort(t)
	cmd := exec.Command("node", "dist/push.js")
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	cmd.Env = append(os.Environ(), "COLLABDATA_URL="+s.url, "COLLABDATA_KEY=dev-key", "COLLABDATA_TOKEN=dev-token", "PORT="+port,
		"SUBSCRIPTIONS="+subscriptions, "VAPID_SUBJECT=mailto:admin@example.com", "NODE_EXTRA_CA_CERTS="+certificate,
		"VAPID_PUBLIC_KEY="+text(private.PublicKey().Bytes()), "VAPID_PRIVATE_KEY="+text(private.Bytes()))
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for deadline := time.Now().Add(time.Minute); ; {
		res, err := http.Post("http://127.0.0.1:"+port, "application/json", strings.NewReader("{}"))
		if err == nil {
			res.Body.Close()
			if res.StatusCode != http.StatusUnauthorized {
				t.Errorf("a webhook without a signature gets %s", res.Status)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	ask := func(path, data string) { s.post(t, "dev-key", "dev-token", path, `{"data": {`+data+`}}`) }
	ask("/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["bob", "cid"], "config": {"push": "MINE"}`)
	long := strings.Repeat("é", 6_000)
	c := client.New(client.Config{BaseURL: s.url, APIKey: "dev-key", AuthToken: "dev-token"})
	_, err = c.CommentAnnotations.Add(t.Context(), &client.CommentAnnotationsAddRequest{
		OrganizationID: "acme", DocumentID: "plan", CommentAnnotations: []client.NewAnnotation{{AnnotationID: "pushed", CommentData: []client.AnnotationComment{{
			CommentText: "{{bob}}, <b>look</b> " + long, From: client.User{UserID: "ann", Name: "Ann"}, TriggerNotification: true,
			TaggedUserContacts: []client.TaggedUser{{UserID: "bob"}, {UserID: "cid"}},
		}}}},
	})
	must(t, err)
	select {
	case got := <-pushes:
		if got.path != "/bob" || got.header.Get("Content-Encoding") != "aes128gcm" || got.header.Get("TTL") != "86400" {
			t.Errorf("pushed to %s with %q", got.path, got.header)
		}
		checkVAPID(t, got.header.Get("Authorization"), service.URL, sender)
		if len(got.body) > 4_096 {
			t.Errorf("pushed %d bytes", len(got.body))
		}
		var m map[string]string
		must(t, json.Unmarshal(browser.open(t, got.body), &m))
		if m["tag"] == "" || !strings.Contains(m["url"], "annotation=pushed") {
			t.Errorf("pushed %q", m)
		}
		delete(m, "tag")
		delete(m, "url")
		words := []rune("@Bob, <b>look</b> " + long)
		if diff := cmp.Diff(map[string]string{"title": "Ann mentioned you", "body": string(words[:500]) + "…"}, m); diff != "" {
			t.Errorf("pushed (-want +got):\n%s", diff)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("nothing was pushed")
	}
	for deadline := time.Now().Add(time.Minute); ; {
		left, err := os.ReadFile(subscriptions)
		if must(t, err); !bytes.Contains(left, []byte("/gone")) {
			if !bytes.Contains(left, []byte("/bob")) {
				t.Errorf("subscriptions %s", left)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("subscriptions %s", left)
		}
	}
}
