//go:build e2e

package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
)

// growth returns the ratio of the median times of a comment after and before writing a number of
// items.
func growth(t testing.TB, items int) float64 {
	t.Helper()
	p, err := prepare(t.Context(), t.TempDir(), slog.New(slog.DiscardHandler), "http://127.0.0.1:1", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		p.connected.follow(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-followed
		if err := p.clouds.stop(); err != nil {
			t.Error(err)
		}
	})
	handler := p.service.HandlerFor(collab.Identity{Account: "dev", Settings: collab.Settings{WriteUnitsPerSecond: collab.Unlimited}})
	post := func(path, data string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(`{"data": {`+target+`, `+data+`}}`))
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		if handler.ServeHTTP(answer, r); answer.Code != http.StatusOK || strings.Contains(answer.Body.String(), `"success":false`) {
			t.Fatalf("%s: %d %.300s", path, answer.Code, answer.Body)
		}
	}
	const comment = `{"commentText": "x", "from": {"userId": "ann"}}`
	median := func() time.Duration {
		took := make([]time.Duration, 500)
		for i := range took {
			began := time.Now()
			post("/v2/commentannotations/comments/add", `"annotationId": "first", "commentData": [`+comment+`]`)
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	post("/v2/commentannotations/add", `"commentAnnotations": [{"annotationId": "first", "commentData": [`+comment+`]}]`)
	median() // warm up
	before := median()
	const threads, comments = 20, 90
	thread := `{"commentData": [` + strings.Join(slices.Repeat([]string{comment}, comments), ", ") + `]}`
	for n := 0; n < items; n += threads * (2 + comments) { // includes a head and its look-up item
		post("/v2/commentannotations/add", `"commentAnnotations": [`+strings.Join(slices.Repeat([]string{thread}, threads), ", ")+`]`)
	}
	return float64(median()) / float64(before)
}

// BenchmarkGrowth measures the slowdown of a comment after 200,000 writes: go test -tags e2e -run -
// -bench Growth ./scripts/local
func BenchmarkGrowth(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(growth(b, 200_000), "growth-ratio")
	}
	b.ReportMetric(0, "ns/op")
}
