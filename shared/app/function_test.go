package app

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// TestLog checks that all lines contain the hash of the program, and those of an invocation its id.
func TestLog(t *testing.T) {
	t.Setenv("CODE", "5dbdd280c1f4")
	var out bytes.Buffer
	log := NewLog(&out)
	ctx := lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
	log.InfoContext(ctx, "a")
	log.With("b", 1).InfoContext(ctx, "b")
	log.WithGroup("c").InfoContext(ctx, "c")
	log.Info("outside")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, line := range lines {
		if got := strings.Contains(line, `"invocationId":"request-1"`); got != (i < 3) || !strings.Contains(line, `"code":"5dbdd280c1f4"`) {
			t.Errorf("logged %s", line)
		}
	}
	if len(lines) != 4 {
		t.Errorf("logged %s", &out)
	}
}

// TestFromEnvironment checks the variables of a function.
func TestFromEnvironment(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-west-1")
	for _, tt := range []struct {
		name, value string
		wrong       string // in the error
		ranges      int
		readOnly    bool
	}{
		{name: "TABLE_NAME", wrong: "TABLE_NAME is missing"},
		{name: "EVENTS_QUEUE_URL", wrong: "EVENTS_QUEUE_URL is missing"},
		{name: "STAGE", wrong: "STAGE is missing"},
		{name: "ALLOWED_PRIVATE_CIDRS"},
		{name: "ALLOWED_PRIVATE_CIDRS", value: "10.0.0.0/8", ranges: 1},
		{name: "ALLOWED_PRIVATE_CIDRS", value: "10.0.0.1", wrong: "ALLOWED_PRIVATE_CIDRS"},
		{name: "WRITES", value: "on"},
		{name: "WRITES", value: "off", readOnly: true},
		{name: "WRITES", value: "no", wrong: "WRITES: must be on or off"},
	} {
		variables := map[string]string{"STAGE": "s", "TABLE_NAME": "t", "EVENTS_QUEUE_URL": "q"}
		variables[tt.name] = tt.value
		c, err := fromEnvironment(t.Context(), &Environment{Get: func(name string) string { return variables[name] }})
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) ||
			err == nil && len(c.PrivateRanges) != tt.ranges || c.ReadOnly != tt.readOnly {
			t.Errorf("%s=%q: %+v, %v", tt.name, tt.value, c, err)
		}
	}
}
