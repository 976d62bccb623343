// Package env reads settings from environment variables and collects what is missing.
package env

import (
	"errors"
	"fmt"
)

// Reader reads variables. Lookup is os.LookupEnv, or another function in tests.
type Reader struct {
	Lookup func(name string) (string, bool)
	errs   []error
}

// Required returns the value of a variable. That it is missing or empty is noted.
func (r *Reader) Required(name string) string {
	value, _ := r.Lookup(name)
	if value == "" {
		r.errs = append(r.errs, fmt.Errorf("the environment variable %s is missing", name))
	}
	return value
}

// Optional returns the value of a variable, "" for one that is missing.
func (r *Reader) Optional(name string) string {
	value, _ := r.Lookup(name)
	return value
}

// Note notes that the value of a variable is wrong, unless err is nil.
func (r *Reader) Note(name string, err error) {
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("the environment variable %s: %w", name, err))
	}
}

// Err returns what was noted, nil for nothing.
func (r *Reader) Err() error { return errors.Join(r.errs...) }
