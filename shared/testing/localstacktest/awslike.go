package localstacktest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"collabdata/localstack"
)

// AWSLike is DynamoDB with the latency, the conflicts and the limits of AWS.
type AWSLike struct{ URL string }

// AWSLikeStats are the calls since the last Reset, by operation.
type AWSLikeStats struct {
	Ops map[string]struct {
		N, Conflicts, Throttles int
		ReadUnits, WriteUnits   float64
	}
}

// AWSLikeMark is what one caller's calls came to since the last Mark.
type AWSLikeMark struct {
	Dynamo, SQS           int // calls
	Depth                 int // the longest chain of calls of which none overlaps another
	ReadUnits, WriteUnits float64
}

// StartAWSLike puts awslike before the DynamoDB of the tests, with its own
// settings, until the benchmark ends.
func StartAWSLike(b *testing.B) AWSLike {
	b.Helper()
	server, err := localstack.StartAWSLike(b.Context(), DynamoDB(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	})
	return AWSLike{server.URL}
}

// Set changes settings, given as name and value in turn.
func (a AWSLike) Set(b *testing.B, settings ...string) {
	b.Helper()
	values := url.Values{}
	for i := 0; i < len(settings); i += 2 {
		values.Set(settings[i], settings[i+1])
	}
	a.post(b, "/_config?"+values.Encode(), nil)
}

// Reset counts from 0 again and fills the partitions' buckets.
func (a AWSLike) Reset(b *testing.B) {
	b.Helper()
	a.post(b, "/_reset", nil)
}

// Stats returns what was counted.
func (a AWSLike) Stats(b *testing.B) AWSLikeStats {
	b.Helper()
	var s AWSLikeStats
	a.post(b, "/_stats", &s)
	return s
}

// Mark returns what came since the last Mark.
func (a AWSLike) Mark(b *testing.B) AWSLikeMark {
	b.Helper()
	var m AWSLikeMark
	a.post(b, "/_mark", &m)
	return m
}

func (a AWSLike) post(b *testing.B, path string, answer any) {
	b.Helper()
	res, err := http.Post(a.URL+path, "", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		b.Fatalf("awslike: %s: %s", path, res.Status)
	}
	if answer == nil {
		return
	}
	if err := json.NewDecoder(res.Body).Decode(answer); err != nil {
		b.Fatal(err)
	}
}
