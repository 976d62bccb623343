// Package signed calls AWS's own interfaces that this repository has no client for: the few calls that deploying and its test need.
package signed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Error is an answer other than 2xx.
type Error struct {
	Status int
	Body   string
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Status, e.Body) }

// Call sends a request to a service of the configured region, or to the configured endpoint, and returns the body of its answer. path
// begins with a slash and may have a query. The configuration is one of package awsconfig. The error is *Error where the service refused.
func Call(ctx context.Context, cfg aws.Config, service, method, path string, body []byte) ([]byte, error) {
	base := fmt.Sprintf("https://%s.%s.amazonaws.com", service, cfg.Region)
	if cfg.BaseEndpoint != nil {
		base = strings.TrimSuffix(*cfg.BaseEndpoint, "/")
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(body)
	payload := hex.EncodeToString(hash[:])
	req.Header.Set("X-Amz-Content-Sha256", payload)
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	credentials, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	if err := v4.NewSigner().SignHTTP(ctx, credentials, req, payload, service, cfg.Region, time.Now()); err != nil {
		return nil, err
	}
	res, err := cfg.HTTPClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 != 2 {
		return nil, &Error{res.StatusCode, string(answer)}
	}
	return answer, nil
}

// Query sends an action of a service that takes its parameters in the query, such as CloudFormation.
func Query(ctx context.Context, cfg aws.Config, service, version, action string, parameters map[string]string) ([]byte, error) {
	query := url.Values{"Action": {action}, "Version": {version}}
	for name, value := range parameters {
		query.Set(name, value)
	}
	return Call(ctx, cfg, service, http.MethodGet, "/?"+query.Encode(), nil)
}

// ErrNoStack is the error of a CloudFormation stack that does not exist.
var ErrNoStack = errors.New("there is no such stack")

// StackOutputs returns the outputs of a CloudFormation stack.
func StackOutputs(ctx context.Context, cfg aws.Config, stack string) (map[string]string, error) {
	text, err := Query(ctx, cfg, "cloudformation", "2010-05-15", "DescribeStacks", map[string]string{"StackName": stack})
	if refused, ok := errors.AsType[*Error](err); ok && strings.Contains(refused.Body, "does not exist") {
		return nil, ErrNoStack
	}
	if err != nil {
		return nil, err
	}
	var described struct {
		Outputs []struct {
			Name  string `xml:"OutputKey"`
			Value string `xml:"OutputValue"`
		} `xml:"DescribeStacksResult>Stacks>member>Outputs>member"`
	}
	if err := xml.Unmarshal(text, &described); err != nil {
		return nil, err
	}
	outputs := map[string]string{}
	for _, o := range described.Outputs {
		outputs[o.Name] = o.Value
	}
	return outputs, nil
}

// DeleteStack asks for the deletion of a CloudFormation stack, which may go on after it returns.
func DeleteStack(ctx context.Context, cfg aws.Config, stack string) error {
	_, err := Query(ctx, cfg, "cloudformation", "2010-05-15", "DeleteStack", map[string]string{"StackName": stack})
	return err
}
