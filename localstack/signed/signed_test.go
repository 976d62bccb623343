package signed_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"collabdata/localstack/signed"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// service answers every request in the same way.
type service struct {
	status int
	body   string
	asked  *http.Request
}

func (s *service) Do(r *http.Request) (*http.Response, error) {
	s.asked = r
	return &http.Response{StatusCode: s.status, Body: io.NopCloser(strings.NewReader(s.body))}, nil
}

func TestQuery(t *testing.T) {
	s := &service{status: 200, body: "answer"}
	cfg := aws.Config{Region: "eu-west-1", HTTPClient: s, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "session")}
	get := func() ([]byte, error) {
		return signed.Query(t.Context(), cfg, "iam", "2010-05-08", "GetRole", map[string]string{"RoleName": "r"})
	}
	if got, err := get(); err != nil || string(got) != "answer" {
		t.Errorf("answer %q, %v", got, err)
	}
	if url := s.asked.URL.String(); url != "https://iam.eu-west-1.amazonaws.com/?Action=GetRole&RoleName=r&Version=2010-05-08" {
		t.Errorf("asked %s", url)
	}
	if h := s.asked.Header; h.Get("X-Amz-Security-Token") != "session" ||
		!strings.Contains(h.Get("Authorization"), "/eu-west-1/iam/aws4_request") {
		t.Errorf("signed with %v", h)
	}
	s.status = 403
	_, err := get()
	if refused, ok := errors.AsType[*signed.Error](err); !ok || refused.Status != 403 || refused.Body != "answer" {
		t.Errorf("error %v, want the refusal", err)
	}
}
