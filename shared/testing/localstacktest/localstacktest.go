// Package localstacktest provides AWS stand-ins for tests.
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

// DynamoDB returns the URL in AWS_ENDPOINT_URL_DYNAMODB or AWS_ENDPOINT_URL. If neither is set, it
// starts an emulator in memory, which all tests of the process share. Tests must use distinct names
// of tables. If the emulator does not start, the test fails with a message that explains the fix.
func DynamoDB(t testing.TB) string {
	t.Helper()
	return endpoint(t, dynamoDB, "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL")
}

// MiniStack returns the URL in AWS_ENDPOINT_URL, or that of a shared MiniStack in memory, which
// does not enforce IAM. Tests must use distinct names of queues and senders.
func MiniStack(t testing.TB) string {
	t.Helper()
	return endpoint(t, miniStack, "AWS_ENDPOINT_URL")
}

// One server each per process; they end with it.
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

// Config returns the configuration of a stand-in, with all rights.
func Config(url string) aws.Config {
	return platform.AWSAt(
		url, localstack.Region, credentials.NewStaticCredentialsProvider(localstack.AccessKeyID, localstack.SecretAccessKey, ""),
	)
}
