package app

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// TestLog holds that the lines of an invocation carry its id.
func TestLog(t *testing.T) {
	var out bytes.Buffer
	log := NewLog(&out)
	ctx := lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
	log.InfoContext(ctx, "a")
	log.With("b", 1).InfoContext(ctx, "b")
	log.WithGroup("c").InfoContext(ctx, "c")
	log.Info("outside")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, line := range lines {
		if got := strings.Contains(line, `"requestId":"request-1"`); got != (i < 3) {
			t.Errorf("logged %s", line)
		}
	}
	if len(lines) != 4 {
		t.Errorf("logged %s", &out)
	}
}

// TestFromEnvironment holds what a function takes from its variables, and refuses.
func TestFromEnvironment(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-west-1")
	for _, tt := range []struct {
		shards, wrong string
		want          int
	}{
		{"", "", 0}, {"1", "", 1}, {"64", "", 64}, {"0", "1 to 64", 0}, {"65", "1 to 64", 0}, {"many", "ORGANIZATION_SHARDS", 0},
	} {
		variables := map[string]string{"TABLE_NAME": "t", "EVENTS_QUEUE_URL": "q", "ORGANIZATION_SHARDS": tt.shards}
		c, err := fromEnvironment(t.Context(), func(name string) (string, bool) { v, ok := variables[name]; return v, ok })
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) || c.HotShards != tt.want {
			t.Errorf("%q: %d, %v", tt.shards, c.HotShards, err)
		}
	}
}
