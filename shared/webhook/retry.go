package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter is the longest time that an endpoint's Retry-After is honoured for: the longest step of the ladder.
const MaxRetryAfter = 10 * time.Hour

// Attempts is how often a message is posted in all: at once, and after each step of the ladder.
const Attempts = 8

// RetryDelay returns how long to wait before the next attempt, when the last of those made so far (1 or more) failed: the step of the
// ladder 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h, made up to 20 % shorter or longer by random, which is 0 or more and less than 1; and
// retryAfter where that is longer. It reports false when all attempts are made.
func RetryDelay(made int, retryAfter time.Duration, random float64) (time.Duration, bool) {
	ladder := [Attempts - 1]time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
	}
	if made >= Attempts {
		return 0, false
	}
	delay := time.Duration(float64(ladder[max(made, 1)-1]) * (0.8 + 0.4*random))
	return max(delay, retryAfter), true
}

// parseRetryAfter reads a Retry-After header, in seconds or as an HTTP date, that came at the time at. The time is 0 for what can't be
// read or lies in the past, and at most MaxRetryAfter.
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
