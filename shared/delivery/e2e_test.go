//go:build e2e

package delivery_test

var newCloud = newMiniStack

var _ = newMemory // memory_test.go's
