// Package signed calls AWS's own interfaces that this repository has no client for: the few calls that deploying and its test need.
package signed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"collabdata/shared/awsconfig"

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
	res, err := cfg.HTTPClient.Do(req.WithContext(awsconfig.WithAttemptTime(ctx, time.Minute))) // it is not repeated
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

// Query sends an action of a service that takes its parameters in the query, such as IAM.
func Query(ctx context.Context, cfg aws.Config, service, version, action string, parameters map[string]string) ([]byte, error) {
	query := url.Values{"Action": {action}, "Version": {version}}
	for name, value := range parameters {
		query.Set(name, value)
	}
	return Call(ctx, cfg, service, http.MethodGet, "/?"+query.Encode(), nil)
}
