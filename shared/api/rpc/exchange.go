package rpc

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/quota"
)

// exchange is one request on its way to its answer.
type exchange struct {
	Call
	ctx          context.Context
	w            http.ResponseWriter
	r            *http.Request
	organization string         // as the request names it, for the log
	quota        *quota.Request // nil unless the operation writes
}

// drained is the most that is read of a body before it is refused, and all that the gateway takes. A caller who is still sending when the
// connection ends may not see the answer.
const drained = 10 << 20

// serve writes the answer of run, or its failure, and one access-log record.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, identity collab.Identity, run func(*exchange) (response, error)) {
	usage := new(collab.Usage)
	x := &exchange{
		Call: Call{Identity: identity, Path: r.URL.Path, Now: s.Now()},
		ctx:  collab.WithUsage(r.Context(), usage),
		w:    w,
		r:    r,
	}
	a, err := recovered(func() (response, error) { return run(x) })
	if err != nil {
		a = failureResponse(x.ctx, err)
		io.CopyN(io.Discard, r.Body, drained)
	}
	_, spent, _ := usage.Total()
	x.quota.End(x.ctx, spent, len(x.events))
	a.write(w)
	s.record(x, a, usage)
}

// recovered turns a panic of run into an error.
func recovered(run func() (response, error)) (a response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return run()
}

// record logs the exchange: no body, no credential, no text of the caller's but the ids of account and organization.
func (s *Server) record(x *exchange, a response, usage *collab.Usage) {
	level, status := slog.LevelInfo, "success"
	if a.code != "" {
		status = string(a.code)
	}
	if collab.CheckID(x.organization, collab.MaxID) != nil {
		x.organization = ""
	}
	read, write, calls := usage.Total()
	attrs := []slog.Attr{
		slog.String("path", clip(x.Path, 200)),
		slog.String("account", x.Account),
		slog.String("organization", x.organization),
		slog.String("status", status),
		slog.Int("code", a.http),
		slog.Int("items", x.Items),
		slog.Float64("read_units", read),
		slog.Float64("write_units", write),
		slog.Int("calls", calls),
		slog.Float64("ms", float64(s.Now().Sub(x.Now).Microseconds())/1000),
		slog.Bool("cold_start", !s.warm.Swap(true)),
	}
	if a.cause != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.Any("cause", a.cause))
	}
	s.Log.LogAttrs(x.ctx, level, "request", attrs...)
}

// response is what is written, in pieces that are written one after the other without being copied together.
type response struct {
	http       int
	code       collab.Code // "" for success
	body       segments
	retryAfter time.Duration
	cause      error // of a failure that the caller cannot mend, for the log
	unfinished bool  // a repetition of the request may carry out an item that failed
	secret     bool  // shows what must not be kept
}

func (a response) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(a.body.len()))
	if a.http == http.StatusMethodNotAllowed {
		h.Set("Allow", http.MethodPost)
	}
	if a.retryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((a.retryAfter+time.Second-1)/time.Second), 10))
	}
	w.WriteHeader(a.http)
	for _, piece := range a.body {
		if _, err := w.Write(piece); err != nil {
			return // the caller is gone
		}
	}
}
