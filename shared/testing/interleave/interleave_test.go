package interleave

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOrders runs actors with two calls and one call in every order, once each.
func TestOrders(t *testing.T) {
	var got []string
	tried := Orders(func(choose func(int) int) {
		var order strings.Builder
		calls := func(names string) func(*Actor) error {
			return func(a *Actor) error {
				for _, name := range names {
					a.Pause()
					order.WriteRune(name)
				}
				return nil
			}
		}
		Run(choose, func() { order.WriteByte(' ') }, Start(2, calls("abc")), Start(9, calls("x")), Start(9, calls("")))
		got = append(got, order.String())
	})
	want := []string{"a bc x ", "a x bc ", "x a bc "}
	if diff := cmp.Diff(want, got); diff != "" || tried != len(want) {
		t.Errorf("%d tried:\n%s", tried, diff)
	}
}
