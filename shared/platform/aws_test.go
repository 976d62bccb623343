package platform_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/platform"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// quick responds to a request before it reads the end of its body.
type quick struct{ asked *http.Request }

func (q *quick) Do(r *http.Request) (*http.Response, error) {
	if _, err := io.CopyN(io.Discard, r.Body, r.ContentLength); err != nil {
		return nil, err
	}
	q.asked = r
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{}`))}, nil
}

// TestBodyAfterAnswer imitates net/http after a response.
func TestBodyAfterAnswer(t *testing.T) {
	q := &quick{}
	cfg := platform.AWSAt("http://127.0.0.1", "eu-west-1", credentials.NewStaticCredentialsProvider("id", "secret", ""))
	cfg.HTTPClient = platform.AWSClient{Next: q}
	_, err := sqs.NewFromConfig(cfg).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String("http://127.0.0.1/queue")})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, q.asked.Body); n != 0 || err != nil {
		t.Errorf("the body's end: %d bytes, %v", n, err)
	}
}

// TestSilentConnection checks that a hanging call costs one attempt.
func TestSilentConnection(t *testing.T) {
	for name, silent := range map[string]func(http.ResponseWriter){
		"no answer": func(http.ResponseWriter) {},
		"half a body": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("{"))
			w.(http.Flusher).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			var silences atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if silences.Add(-1) >= 0 {
					silent(w)
					<-r.Context().Done()
					return
				}
				io.WriteString(w, `{"QueueUrl": "there"}`)
			}))
			defer server.Close()
			cfg := platform.AWSAt(server.URL, "eu-west-1", credentials.NewStaticCredentialsProvider("id", "secret", ""))
			cfg.Retryer = func() aws.Retryer { return retry.AddWithMaxBackoffDelay(retry.NewStandard(), time.Millisecond) }
			cfg.HTTPClient = platform.AWSClient{Next: http.DefaultClient, AttemptTime: time.Second / 4}
			ask := func() (*sqs.GetQueueUrlOutput, error) {
				return sqs.NewFromConfig(cfg).GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("q")})
			}
			silences.Store(1)
			if out, err := ask(); err != nil || *out.QueueUrl != "there" {
				t.Errorf("after one silence: %v, %v", out, err)
			}
			silences.Store(100)
			_, err := ask()
			if got, ok := errors.AsType[platform.NoAnswer](err); !ok || got.After != time.Second/4 {
				t.Errorf("after many: %v", err)
			}
			cfg.HTTPClient = platform.AWSClient{Next: http.DefaultClient, AttemptTime: time.Nanosecond}
			silences.Store(0)
			_, err = sqs.NewFromConfig(cfg).
				GetQueueUrl(platform.WithAttemptTime(t.Context(), time.Minute), &sqs.GetQueueUrlInput{QueueName: aws.String("q")})
			if err != nil {
				t.Errorf("with a time of the call's own: %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = sqs.NewFromConfig(cfg).GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("q")})
			if _, silent := errors.AsType[platform.NoAnswer](err); !errors.Is(err, context.Canceled) || silent {
				t.Errorf("after its caller has gone: %v", err)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-north-1")
	cfg, err := platform.LoadAWS(t.Context())
	if err != nil || cfg.Region != "eu-north-1" {
		t.Errorf("region %q, %v", cfg.Region, err)
	}
	if _, ok := cfg.HTTPClient.(platform.AWSClient); !ok {
		t.Errorf("client %T", cfg.HTTPClient)
	}
	t.Setenv("AWS_CA_BUNDLE", "/none")
	if _, err := platform.LoadAWS(t.Context(), config.WithRegion("eu-west-1")); err == nil {
		t.Error("a bundle of certificates that does not exist was accepted")
	}
}
