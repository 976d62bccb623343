package rpc

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"collabdata/shared/collab"
)

// readBody returns the body of a request that is a POST of at most MaxBody bytes of JSON.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Method != http.MethodPost {
		return nil, refuse(http.StatusMethodNotAllowed, "the method must be POST")
	}
	if err := checkContentType(r.Header); err != nil {
		return nil, err
	}
	tooLarge := refuse(http.StatusRequestEntityTooLarge, "the body must be at most %d bytes", MaxBody)
	if r.ContentLength > MaxBody {
		return nil, tooLarge
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, MaxBody), r.ContentLength)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	if err != nil {
		return nil, &collab.Error{Code: collab.InvalidArgument, Message: "the body could not be read to its end", Err: err}
	}
	return body, nil
}

// readAll reads r to its end into one allocation where its size is known; size is negative where it is not.
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

func checkContentType(h http.Header) error {
	const rule = "the Content-Type must be application/json in UTF-8"
	mediaType, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || mediaType != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, rule)
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return refuse(http.StatusUnsupportedMediaType, rule)
	}
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return refuse(http.StatusUnsupportedMediaType, "the body must not be compressed")
	}
	return nil
}
