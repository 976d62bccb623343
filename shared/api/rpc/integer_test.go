package rpc

import (
	"math/big"
	"strings"
	"testing"
)

func TestParseInteger(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "0.000": 0, "0e5": 0, "-0.0E-7": 0, "0e999999999999999999999": 0,
		"5": 5, "5.0": 5, "50e-1": 5, "0.5e1": 5, "0.05E+2": 5, "-5.00": -5, "1.7e12": 1_700_000_000_000, "170e10": 1_700_000_000_000,
		"9223372036854775807": 9223372036854775807, "9223372036854775807.0": 9223372036854775807,
		"-9223372036854775808": -9223372036854775808, "-9223372036854775808.0": -9223372036854775808,
		"1" + strings.Repeat("0", 5000) + "e-5000": 1, "0." + strings.Repeat("0", 4999) + "1e5000": 1,
	} {
		if got, ok := parseInteger(text); !ok || got != want {
			t.Errorf("%.40s: %d %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"0.5", "5.5", "-1.000001", "5e-1", "1e19", "9223372036854775808", "9223372036854775808.0", "-9223372036854775809", "1e400",
		"1e999999999999999999999", "1e-999999999999999999999", "123456789012345678901234567890", "1e-1000000000",
	} {
		if got, ok := parseInteger(text); ok {
			t.Errorf("%s is %d", text, got)
		}
	}
}

// FuzzParseInteger compares parseInteger with exact fractions.
func FuzzParseInteger(f *testing.F) {
	f.Add(false, uint64(17), uint64(0), int16(11))
	f.Add(true, uint64(9), uint64(5), int16(-1))
	f.Fuzz(func(t *testing.T, negative bool, whole, fraction uint64, exponent int16) {
		text := new(
			big.Int,
		).SetUint64(whole).
			String() +
			"." + new(
			big.Int,
		).SetUint64(fraction).
			String() +
			"e" + big.NewInt(int64(exponent%100)).
			String()
		if negative {
			text = "-" + text
		}
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%s is no number", text)
		}
		fits := want.IsInt() && want.Num().IsInt64()
		got, ok := parseInteger(text)
		if ok != fits || ok && got != want.Num().Int64() {
			t.Errorf("%s: %d %v, want %s", text, got, ok, want)
		}
	})
}
