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

// Environment reads the variables of a function and collects what is wrong with them.
type Environment struct {
	Get  func(name string) string // os.Getenv, or another function in tests
	errs []error
}

// Required returns the value of a variable that must not be empty.
func (e *Environment) Required(name string) string {
	value := e.Get(name)
	if value == "" {
		e.errs = append(e.errs, fmt.Errorf("the environment variable %s is missing", name))
	}
	return value
}

// Note adds an error about a variable, unless err is nil.
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

// AWS returns how the function reaches AWS. Its error is everything that was wrong with the variables read before.
func (e *Environment) AWS(ctx context.Context) (aws.Config, error) {
	if err := errors.Join(e.errs...); err != nil {
		return aws.Config{}, err
	}
	return platform.LoadAWS(ctx)
}
