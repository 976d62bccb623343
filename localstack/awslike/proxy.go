package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

type proxy struct {
	target string
	client *http.Client
	now    func() time.Time

	mu       sync.Mutex
	settings settings

	items   items
	writes  underWay
	buckets buckets
	stats   stats
}

func newProxy(target string, s settings) *proxy {
	p := &proxy{
		target: target, settings: s, now: time.Now,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000, MaxIdleConns: 2000}},
	}
	p.items.ask = p.ask
	p.writes.reset()
	p.buckets.reset()
	p.stats.reset(p.now())
	return p
}

// ServeHTTP carries out a call of DynamoDB or SQS, or one of the proxy's own.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrival := p.now()
	switch r.URL.Path {
	case "/_stats":
		writeJSON(w, p.stats.report(arrival))
		return
	case "/_mark":
		writeJSON(w, p.stats.mark())
		return
	case "/_reset":
		p.stats.reset(arrival)
		p.buckets.reset()
		return
	case "/_config":
		p.configure(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller has gone
	}
	service, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch {
	case service == "AmazonSQS":
		p.sqs(w, r, op, body, arrival)
	case strings.HasPrefix(service, "DynamoDB") && isData(op):
		p.dynamo(w, r, op, body, arrival)
	default:
		p.pass(w, r, body)
	}
}

// configure changes the settings that the query names, all or none, and answers with all of them.
func (p *proxy) configure(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.settings
	for name, values := range r.URL.Query() {
		if err := s.set(name, values[0]); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	p.settings = s
	writeJSON(w, s)
}

func (p *proxy) current() settings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings
}

// duration draws a time of which half are below the median and 99 % below p99, both in milliseconds.
func (s *settings) duration(median, p99 float64) time.Duration {
	if !s.Latency || median <= 0 {
		return 0
	}
	sigma := math.Log(max(p99, median)/median) / 2.3263
	return time.Duration(median * math.Exp(sigma*rand.NormFloat64()) * float64(time.Millisecond))
}

// pass hands a request on as it is.
func (p *proxy) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	status, header, answer, err := p.forward(r, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	reply(w, status, header, answer)
}

// forward sends a request to the emulator.
func (p *proxy) forward(r *http.Request, body []byte) (status int, header http.Header, answer []byte, err error) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, p.target+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	out.Header = r.Header.Clone()
	out.Header.Del("Accept-Encoding")
	res, err := p.client.Do(out)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, res.Header, answer, err
}

// ask makes a call of the proxy's own to the emulator.
func (p *proxy) ask(op string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, "/", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", jsonType)
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+op)
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=proxy/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	r.Header.Set("X-Amz-Date", "20260101T000000Z")
	_, _, text, err := p.forward(r, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

const jsonType = "application/x-amz-json-1.0"

func reply(w http.ResponseWriter, status int, header http.Header, body []byte) {
	maps.Copy(w.Header(), header)
	for _, own := range []string{"Connection", "Transfer-Encoding"} {
		w.Header().Del(own)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may have gone
}
