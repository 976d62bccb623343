package app

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"collabdata/shared/platform"
	"collabdata/shared/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Environment reads the variables of a function and collects errors.
type Environment struct {
	Get  func(name string) string // os.Getenv, except in tests
	errs []error
}

// Required returns a variable. It notes an error if the variable is empty.
func (e *Environment) Required(name string) string {
	value := e.Get(name)
	if value == "" {
		e.errs = append(e.errs, fmt.Errorf("the environment variable %s is missing", name))
	}
	return value
}

// Note adds an error about a variable. It ignores a nil error.
func (e *Environment) Note(name string, err error) {
	if err != nil {
		e.errs = append(e.errs, fmt.Errorf("the environment variable %s: %w", name, err))
	}
}

// PrivateRanges returns the private networks that webhooks and permission providers may be in.
func (e *Environment) PrivateRanges() []netip.Prefix {
	const name = "ALLOWED_PRIVATE_CIDRS"
	ranges, err := webhook.ParseRanges(e.Get(name))
	e.Note(name, err)
	return ranges
}

// AWS returns the configuration of AWS clients. It returns all errors about the variables read
// before.
func (e *Environment) AWS(ctx context.Context) (aws.Config, error) {
	if err := errors.Join(e.errs...); err != nil {
		return aws.Config{}, err
	}
	return platform.LoadAWS(ctx)
}
