package webhook

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"collabdata/shared/testing/must"
)

// published is the common example of the reference libraries of Standard Webhooks.
var published = struct {
	secret, id, body, signature string
	at                          int64
}{
	secret:    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
	id:        "msg_p5jXN8AQM9LWM0D4loKWxJek",
	body:      `{"test": 2432232314}`,
	signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
	at:        1614265330,
}

func TestSignPublishedExample(t *testing.T) {
	header, err := sign(published.id, time.Unix(published.at, 0), []byte(published.body), []string{published.secret})
	must.Do(t, err)
	for name, want := range map[string]string{
		"webhook-id":        published.id,
		"webhook-timestamp": "1614265330",
		"webhook-signature": published.signature,
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

func TestSignWhileSecretsRotate(t *testing.T) {
	random := bytes.NewReader(bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuv"), 2))
	random.Seek(7, 0) // so that the two differ
	older, err := NewSecret(random)
	must.Do(t, err)
	random.Seek(0, 0)
	newer, err := NewSecret(random)
	must.Do(t, err)
	stranger := published.secret
	body := []byte(`{"type":"comment.added"}`)
	header, err := sign("id", time.Unix(1, 0), body, []string{newer, older})
	must.Do(t, err)
	for _, test := range []struct {
		secret string
		known  bool
	}{{newer, true}, {older, true}, {stranger, false}} {
		receiver, err := standardwebhooks.NewWebhook(test.secret)
		must.Do(t, err)
		if err := receiver.VerifyIgnoringTimestamp(body, header); (err == nil) != test.known {
			t.Errorf("verified with %s: error %v, want it known: %t", test.secret, err, test.known)
		}
	}
	if n := len(strings.Fields(header.Get("webhook-signature"))); n != 2 {
		t.Errorf("%d signatures, want 2", n)
	}
}

func TestNewSecret(t *testing.T) {
	key := []byte("0123456789abcdefghijklmnopqrstuv")
	secret, err := NewSecret(bytes.NewReader(key))
	must.Do(t, err)
	if want := "whsec_" + base64.StdEncoding.EncodeToString(key); secret != want {
		t.Errorf("secret %q, want %q", secret, want)
	}
	if _, err := NewSecret(bytes.NewReader(key[1:])); err == nil {
		t.Error("a secret was made though randomness ran out")
	}
}

func TestSignRefusesBadSecrets(t *testing.T) {
	encode := func(n int) string { return "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, n)) }
	for name, secrets := range map[string][]string{
		"none":      nil,
		"empty":     {""},
		"no key":    {"whsec_"},
		"no prefix": {strings.TrimPrefix(published.secret, "whsec_")},
		"no base64": {"whsec_********************************"},
		"short":     {encode(23)},
		"long":      {encode(65)},
		"the other": {published.secret, ""},
	} {
		_, err := sign("id", time.Unix(1, 0), nil, secrets)
		if err == nil {
			t.Errorf("%s: signed", name)
		}
		for _, s := range secrets {
			if err != nil && s != "" && s != "whsec_" && strings.Contains(err.Error(), s) {
				t.Errorf("%s: the error repeats the secret: %v", name, err)
			}
		}
	}
	if _, err := sign("id", time.Unix(1, 0), nil, []string{encode(24), encode(64)}); err != nil {
		t.Error(err)
	}
}
