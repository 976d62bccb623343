package rpc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// TestWithFurther checks that own members take precedence, and that many further ones take no time
// that grows with their square.
func TestWithFurther(t *testing.T) {
	further := collab.Object{{Name: "id", Value: collab.JSON("2")}}
	for i := range 100_000 {
		further = append(further, collab.ObjectMember{Name: fmt.Sprintf("%06d", i), Value: collab.JSON("1")})
	}
	began := time.Now()
	got := string(rpc.WithFurther(rpc.Keyed[any]{{Key: "id", Value: "a"}}, further))
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if !strings.HasPrefix(got, `{"id":"a","000000":1`) || !strings.HasSuffix(got, `,"099999":1}`) {
		t.Errorf("%.100s", got)
	}
}
