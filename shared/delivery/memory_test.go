//go:build !e2e

package delivery_test

var newCloud = newMemory

var _ = newMiniStack // e2e_test.go's
