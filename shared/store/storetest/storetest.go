// Package storetest gives tests a store to run against.
package storetest

import (
	"crypto/rand"
	"testing"
	"time"

	"collabdata/localstack/localstacktest"
	"collabdata/shared/store"
)

// New returns a store on an empty table of its own.
func New(t testing.TB) *store.Store {
	t.Helper()
	s := store.New(localstacktest.Config(localstacktest.DynamoDB(t)), "test-"+rand.Text(), time.Now, rand.Reader)
	if err := s.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}
