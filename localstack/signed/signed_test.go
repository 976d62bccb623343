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
	"github.com/google/go-cmp/cmp"
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

func TestStackOutputs(t *testing.T) {
	s := &service{status: 200, body: `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><Outputs>
		<member><OutputKey>TableName</OutputKey><OutputValue>t</OutputValue></member>
		<member><OutputKey>BaseUrl</OutputKey><OutputValue>https://x/prod</OutputValue></member>
		</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`}
	cfg := aws.Config{Region: "eu-west-1", HTTPClient: s, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "session")}
	got, err := signed.StackOutputs(t.Context(), cfg, "collabdata-prod")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"TableName": "t", "BaseUrl": "https://x/prod"}, got); diff != "" {
		t.Error(diff)
	}
	if url := s.asked.URL.String(); !strings.HasPrefix(url, "https://cloudformation.eu-west-1.amazonaws.com/?Action=DescribeStacks&StackName=collabdata-prod") {
		t.Errorf("asked %s", url)
	}
	if h := s.asked.Header; h.Get("X-Amz-Security-Token") != "session" || !strings.Contains(h.Get("Authorization"), "/eu-west-1/cloudformation/aws4_request") {
		t.Errorf("signed with %v", h)
	}

	s.status = 400
	s.body = `<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id collabdata-prod does not exist</Message></Error></ErrorResponse>`
	if _, err := signed.StackOutputs(t.Context(), cfg, "collabdata-prod"); !errors.Is(err, signed.ErrNoStack) {
		t.Errorf("error %v, want ErrNoStack", err)
	}
	s.status, s.body = 403, `<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>`
	_, err = signed.StackOutputs(t.Context(), cfg, "collabdata-prod")
	if refused, ok := errors.AsType[*signed.Error](err); !ok || refused.Status != 403 {
		t.Errorf("error %v, want the refusal", err)
	}
}
