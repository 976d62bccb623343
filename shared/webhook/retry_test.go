package webhook

import (
	"math"
	"net/http"
	"testing"
	"time"
)

func TestRetryDelay(t *testing.T) {
	almostOne := math.Nextafter(1, 0)
	steps := []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
	}
	for i, step := range steps {
		for _, test := range []struct {
			random float64
			want   time.Duration
		}{{0, step * 8 / 10}, {0.5, step}, {almostOne, step * 12 / 10}} {
			got, ok := RetryDelay(i+1, 0, test.random)
			if !ok || (got-test.want).Abs() > time.Microsecond {
				t.Errorf("after %d attempts, random %v: %v, %t; want %v", i+1, test.random, got, ok, test.want)
			}
		}
	}
	if got, ok := RetryDelay(len(steps)+1, time.Hour, 0.5); ok {
		t.Errorf("after the last attempt: %v, want none", got)
	}
	if got, _ := RetryDelay(1, time.Hour, 0.5); got != time.Hour {
		t.Errorf("asked for an hour: %v", got)
	}
	if got, _ := RetryDelay(4, time.Hour, 0.5); got != 2*time.Hour {
		t.Errorf("asked for less than the step: %v, want the step of 2h", got)
	}
}

func TestJudge(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return at.Add(d).Format(http.TimeFormat) }
	for _, test := range []struct {
		status     int
		retryAfter string
		want       Outcome
		reason     string
		delay      time.Duration
	}{
		{200, "", Delivered, "", 0},
		{204, "60", Delivered, "", 0},
		{299, "", Delivered, "", 0},
		{301, "", Failed, "answered 301 Moved Permanently: redirects are not followed", 0},
		{304, "", Failed, "answered 304 Not Modified: redirects are not followed", 0},
		{308, "60", Failed, "answered 308 Permanent Redirect: redirects are not followed", 0},
		{400, "60", Failed, "answered 400 Bad Request", 0},
		{404, "", Failed, "answered 404 Not Found", 0},
		{410, "60", Gone, "answered 410 Gone", 0},
		{429, "60", Failed, "answered 429 Too Many Requests", time.Minute},
		{429, date(2 * time.Hour), Failed, "answered 429 Too Many Requests", 2 * time.Hour},
		{429, "Sunday, 01-Mar-26 12:00:30 GMT", Failed, "answered 429 Too Many Requests", 30 * time.Second},
		{503, "0", Failed, "answered 503 Service Unavailable", 0},
		{503, "1000000", Failed, "answered 503 Service Unavailable", MaxRetryAfter},
		{503, "99999999999999999999999999", Failed, "answered 503 Service Unavailable", MaxRetryAfter},
		{503, date(400 * time.Hour), Failed, "answered 503 Service Unavailable", MaxRetryAfter},
		{503, date(-time.Hour), Failed, "answered 503 Service Unavailable", 0},
		{503, "-5", Failed, "answered 503 Service Unavailable", 0},
		{503, "soon", Failed, "answered 503 Service Unavailable", 0},
		{503, "", Failed, "answered 503 Service Unavailable", 0},
		{500, "60", Failed, "answered 500 Internal Server Error", 0},
		{999, "", Failed, "answered 999", 0},
	} {
		got := classify(Answer{Status: test.status, Header: http.Header{"Retry-After": {test.retryAfter}}}, at)
		want := Attempt{Outcome: test.want, Status: test.status, Reason: test.reason, RetryAfter: test.delay}
		if got != want {
			t.Errorf("%d, Retry-After %q: %+v, want %+v", test.status, test.retryAfter, got, want)
		}
	}
}
