package rpc

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/quota"
	"collabdata/shared/request"
)

// exchange is one request and its response.
type exchange struct {
	Call
	ctx          context.Context
	header       http.Header // of the response
	keys         []string    // Idempotency-Key headers
	organization string      // from the request, for the log
	usage        *collab.Usage
}

func (s *Server) exchange(ctx context.Context, path string, identity collab.Identity) *exchange {
	usage := new(collab.Usage)
	return &exchange{
		Call:  Call{Request: &request.Request{Identity: identity, Now: s.Now()}, Path: path, limiter: &s.limiter, directory: s.Directory},
		ctx:   collab.WithUsage(ctx, usage),
		usage: usage,
	}
}

// spend charges the account for the exchange. It comes last.
func (x *exchange) spend() {
	x.usage.Wait()
	read, written, _ := x.usage.Total()
	x.Quota.Spend(x.ctx, quota.Amounts{quota.Reads: read, quota.Writes: written, quota.Events: float64(x.Events())})
}

// drained limits the bytes read from a body before it is rejected; the gateway accepts no more. If
// the connection ends earlier, the client can miss the response.
const drained = 10 << 20

// serve writes the response of run, or its failure, and one access-log record.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, identity collab.Identity, run run) {
	x := s.exchange(r.Context(), r.URL.Path, identity)
	x.header = w.Header()
	a, err := recovered(func() (response, error) { return run(x) })
	if err != nil {
		if a = failureResponse(x.ctx, err); a.http >= 500 {
			x.cause = err
		}
		_, _ = io.CopyN(io.Discard, r.Body, drained)
	}
	x.spend()
	a.write(w)
	s.record(x, a)
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

// record logs the exchange, without body, credentials and texts of the caller except the ids of
// account and organization.
func (s *Server) record(x *exchange, a response) {
	level, status := slog.LevelInfo, "success"
	if a.code != "" {
		status = string(a.code)
	}
	if collab.CheckID(x.organization, collab.MaxID) != nil {
		x.organization = ""
	}
	read, write, calls := x.usage.Total()
	attrs := []slog.Attr{
		slog.String("requestId", collab.RequestIDOf(x.ctx)),
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
	if x.Person != nil {
		attrs = append(attrs, slog.Bool("person", true))
	}
	if x.cause != nil {
		if !errors.Is(x.ctx.Err(), context.Canceled) { // otherwise the caller has gone
			level = slog.LevelError
		}
		attrs = append(attrs, slog.Any("cause", x.cause))
	}
	s.Log.LogAttrs(x.ctx, level, "request", attrs...)
}

// readBody returns the decompressed body of a POST of at most MaxBody bytes of JSON.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Method != http.MethodPost {
		return nil, refuse(http.StatusMethodNotAllowed, "the method must be POST")
	}
	if err := checkContentType(r.Header); err != nil {
		return nil, err
	}
	tooLarge := refuse(http.StatusRequestEntityTooLarge, BodyRule)
	if r.ContentLength > MaxBody {
		return nil, tooLarge
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, MaxBody), r.ContentLength)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	if err != nil {
		return nil, &collab.Error{Code: collab.InvalidArgument, Message: "the body could not be read completely", Err: err}
	}
	if body, err = decompress(body, strings.Join(r.Header.Values("Content-Encoding"), ", ")); err != nil {
		return nil, refuse(http.StatusUnsupportedMediaType, MediaRule)
	}
	if WrappedLen(body) > MaxBody {
		return nil, tooLarge
	}
	return body, nil
}

// readAll reads r, in one allocation if its size is known. A negative size is unknown.
func readAll(r io.Reader, size int64) ([]byte, error) {
	if size < 0 {
		return io.ReadAll(r)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, err
	}
	return body, nil
}

// decompress returns at most MaxBody + 1 bytes of the decompressed body. It returns an error if the
// body does not match its Content-Encoding, or if the gateway would not decompress it.
func decompress(body []byte, coding string) ([]byte, error) {
	var r io.Reader
	var err error
	switch strings.ToLower(coding) {
	case "", "identity":
		return body, nil
	case "gzip":
		r, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		r, err = zlib.NewReader(bytes.NewReader(body))
	default:
		err = errors.ErrUnsupported
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, MaxBody+1))
}

func checkContentType(h http.Header) error {
	mediaType, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset, named := params["charset"]
	if err != nil || mediaType != "application/json" || named && !strings.EqualFold(charset, "utf-8") {
		return refuse(http.StatusUnsupportedMediaType, MediaRule)
	}
	return nil
}

// run processes a request after its body was read.
type run func(*exchange) (response, error)
