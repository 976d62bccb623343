// Awslike is a proxy between the service and a DynamoDB emulator. It adds what AWS does and emulators do not: latency, conflicts of
// transactions, the throughput of a partition, lost answers. It stands in for SQS, too, at the same address. See README.md.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"strconv"
)

// settings are what the proxy adds. Times are in milliseconds: the median and the 99th percentile of a log-normal distribution.
type settings struct {
	Latency           bool
	ReadMs, ReadP99   float64
	WriteMs, WriteP99 float64
	TxMs, TxP99       float64
	SQSMs, SQSP99     float64
	MsPer100KB        float64
	Conflicts         bool
	WCU, RCU          float64 // of a partition key value in a second; 0: no limit
	Lose, Throttle    float64 // shares of the calls
}

func defaults() settings {
	return settings{
		Latency: true, ReadMs: 4, ReadP99: 12, WriteMs: 4, WriteP99: 12, TxMs: 9, TxP99: 25, SQSMs: 5, SQSP99: 15, MsPer100KB: 1,
		Conflicts: true, WCU: 1000, RCU: 3000,
	}
}

// named is a setting by the name that flags and /_config have for it.
type named struct {
	name, usage string
	value       any // *float64 or *bool
}

func (s *settings) named() []named {
	return []named{
		{"latency", "whether calls take time", &s.Latency},
		{"read-ms", "median of GetItem, BatchGetItem and Query", &s.ReadMs},
		{"read-p99", "", &s.ReadP99},
		{"write-ms", "median of PutItem, UpdateItem and DeleteItem", &s.WriteMs},
		{"write-p99", "", &s.WriteP99},
		{"tx-ms", "median of TransactWriteItems and TransactGetItems", &s.TxMs},
		{"tx-p99", "", &s.TxP99},
		{"sqs-ms", "median of SQS", &s.SQSMs},
		{"sqs-p99", "", &s.SQSP99},
		{"ms-per-100kb", "for each 100 KB of an answer", &s.MsPer100KB},
		{"conflicts", "whether transactions conflict", &s.Conflicts},
		{"wcu", "write units that one partition key value takes in a second; 0: no limit", &s.WCU},
		{"rcu", "read units; 0: no limit", &s.RCU},
		{"lose", "share of the answers that are lost after the call was carried out", &s.Lose},
		{"throttle", "share of the calls that are throttled at random", &s.Throttle},
	}
}

// set changes a setting by its name. The error says what is wrong with name or text.
func (s *settings) set(name, text string) (err error) {
	for _, n := range s.named() {
		if n.name != name {
			continue
		}
		switch v := n.value.(type) {
		case *float64:
			*v, err = strconv.ParseFloat(text, 64)
		case *bool:
			*v, err = strconv.ParseBool(text)
		}
		return err
	}
	return fmt.Errorf("there is no setting %q", name)
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8181", "address to serve at")
	target := flag.String("target", "http://127.0.0.1:8000", "the emulator")
	s := defaults()
	for _, n := range s.named() {
		switch v := n.value.(type) {
		case *float64:
			flag.Float64Var(v, n.name, *v, n.usage)
		case *bool:
			flag.BoolVar(v, n.name, *v, n.usage)
		}
	}
	flag.Parse()
	log.Printf("listening on %s in front of %s", *listen, *target)
	log.Fatal(http.ListenAndServe(*listen, newProxy(*target, s)))
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	_ = e.Encode(v) // the caller has gone
}
