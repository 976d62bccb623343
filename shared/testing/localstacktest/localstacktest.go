// Package localstacktest gives tests the AWS stand-ins to run against.
package localstacktest

import (
	"context"
	"os"
	"sync"
	"testing"

	"collabdata/localstack"
	"collabdata/shared/platform"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// DynamoDB returns the URL of a DynamoDB: the one that AWS_ENDPOINT_URL_DYNAMODB
// or AWS_ENDPOINT_URL names, else an emulator in memory, which is started at the
// first call and shared by all tests of the process. Tests keep out of each
// other's way by the names of their tables. When there is none the test fails
// with a message that says how to mend it.
func DynamoDB(t testing.TB) string {
	t.Helper()
	return endpoint(t, dynamoDB, "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL")
}

// MiniStack returns the URL of everything else, as DynamoDB does: the one that
// AWS_ENDPOINT_URL names, else a MiniStack in memory that does not enforce IAM.
// Tests keep out of each other's way by the names of queues and senders.
func MiniStack(t testing.TB) string {
	t.Helper()
	return endpoint(t, miniStack, "AWS_ENDPOINT_URL")
}

// One server each for the process, at whose end it ends too.
var (
	dynamoDB = sync.OnceValues(func() (*localstack.Server, error) {
		return localstack.StartDynamoDB(context.Background(), localstack.DynamoDBOptions{Log: os.Stderr})
	})
	miniStack = sync.OnceValues(func() (*localstack.Server, error) {
		return localstack.StartMiniStack(context.Background(), localstack.MiniStackOptions{Log: os.Stderr})
	})
)

func endpoint(t testing.TB, start func() (*localstack.Server, error), variables ...string) string {
	t.Helper()
	for _, name := range variables {
		if url := os.Getenv(name); url != "" {
			return url
		}
	}
	server, err := start()
	must.Do(t, err)
	return server.URL
}

// Config returns how the SDK reaches the stand-in at a URL, with all rights.
func Config(url string) aws.Config {
	return platform.AWSAt(
		url, localstack.Region, credentials.NewStaticCredentialsProvider(localstack.AccessKeyID, localstack.SecretAccessKey, ""),
	)
}
