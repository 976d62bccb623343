package rpc

import (
	"strconv"
	"strings"
)

// parseInteger returns the value of a JSON number that is exactly whole, in whatever form it is written, and whether it is one that
// fits an int64.
func parseInteger(number string) (int64, bool) {
	if value, err := strconv.ParseInt(number, 10, 64); err == nil {
		return value, true
	}
	digits, negative := strings.CutPrefix(number, "-")
	exponent := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		e, _ := strconv.Atoi(digits[i+1:]) // an error is of range, with the nearest int
		exponent = max(-maxExponent, min(e, maxExponent))
		digits = digits[:i]
	}
	if i := strings.IndexByte(digits, '.'); i >= 0 {
		exponent -= len(digits) - i - 1
		digits = digits[:i] + digits[i+1:]
	}
	digits = strings.TrimLeft(digits, "0")
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	switch {
	case trimmed == "":
		return 0, true
	case exponent < 0, len(trimmed)+exponent > 19:
		return 0, false
	}
	text := trimmed + strings.Repeat("0", exponent)
	if negative {
		text = "-" + text
	}
	value, err := strconv.ParseInt(text, 10, 64)
	return value, err == nil
}

// maxExponent is beyond every exponent that a body of MaxBody bytes can make up for with its digits.
const maxExponent = 2 * MaxBody
