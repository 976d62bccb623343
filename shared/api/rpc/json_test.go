package rpc_test

import (
	"testing"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// TestWithFurther checks that own members take precedence over further ones.
func TestWithFurther(t *testing.T) {
	further := collab.Object{{Name: "id", Value: collab.JSON("2")}, {Name: "x", Value: collab.JSON("1")}}
	if got := string(rpc.WithFurther(rpc.Keyed[any]{{Key: "id", Value: "a"}}, further)); got != `{"id":"a","x":1}` {
		t.Error(got)
	}
}
