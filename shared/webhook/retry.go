package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter limits an endpoint's Retry-After to the longest step of the ladder.
const MaxRetryAfter = 10 * time.Hour

// Attempts is the number of posts of a message: the first, and one after each step of the ladder.
const Attempts = 8

// RetryDelay returns the wait before the next attempt, after made failed attempts (at least 1). The
// steps are 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h, varied up to 20 % by random, which is in [0,
// 1). If retryAfter is longer, it returns that. It returns false if no attempts are left.
func RetryDelay(attempts int, retryAfter time.Duration, random float64) (time.Duration, bool) {
	ladder := [Attempts - 1]time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
	}
	if attempts >= Attempts {
		return 0, false
	}
	delay := time.Duration(float64(ladder[max(attempts, 1)-1]) * (0.8 + 0.4*random))
	return max(delay, retryAfter), true
}

// parseRetryAfter parses a Retry-After header, in seconds or as an HTTP date, received at a time.
// It returns 0 if the value is invalid or past, and at most MaxRetryAfter.
func parseRetryAfter(value string, at time.Time) time.Duration {
	if strings.Trim(value, "0123456789") == "" && value != "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(MaxRetryAfter/time.Second) {
			return MaxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(date.Sub(at), 0), MaxRetryAfter)
}
