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
