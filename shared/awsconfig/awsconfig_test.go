package awsconfig_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"collabdata/shared/awsconfig"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// quick answers a request before it has looked for the end of its body.
type quick struct{ asked *http.Request }

func (q *quick) Do(r *http.Request) (*http.Response, error) {
	if _, err := io.CopyN(io.Discard, r.Body, r.ContentLength); err != nil {
		return nil, err
	}
	q.asked = r
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{}`))}, nil
}

// TestBodyAfterAnswer does what net/http may do after an answer has come.
func TestBodyAfterAnswer(t *testing.T) {
	q := &quick{}
	cfg := awsconfig.New("http://127.0.0.1", "eu-west-1", credentials.NewStaticCredentialsProvider("id", "secret", ""))
	cfg.HTTPClient = awsconfig.Client{Next: q}
	_, err := sqs.NewFromConfig(cfg).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String("http://127.0.0.1/queue")})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, q.asked.Body); n != 0 || err != nil {
		t.Errorf("the body's end: %d bytes, %v", n, err)
	}
}

func TestLoad(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-north-1")
	cfg, err := awsconfig.Load(t.Context())
	if err != nil || cfg.Region != "eu-north-1" {
		t.Errorf("region %q, %v", cfg.Region, err)
	}
	if _, ok := cfg.HTTPClient.(awsconfig.Client); !ok {
		t.Errorf("client %T", cfg.HTTPClient)
	}
	t.Setenv("AWS_CA_BUNDLE", "/none")
	if _, err := awsconfig.Load(t.Context(), config.WithRegion("eu-west-1")); err == nil {
		t.Error("a bundle of certificates that does not exist was accepted")
	}
}
