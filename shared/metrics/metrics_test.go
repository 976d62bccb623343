package metrics

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/testing/must"
)

func TestFlush(t *testing.T) {
	var out bytes.Buffer
	m := New(&out, "prod", func() time.Time { return time.UnixMilli(5) })
	m.Add(Events, "", 2)
	m.Add(Events, "", 1)
	m.Add(Deliveries, Inbox, 3)
	m.Add(DeliveryRetries, Inbox, 1)
	m.Add(DeliveryFailures, Email, 0)
	m.Set(TaskAge, 0)
	must.Do(t, m.Flush())
	const want = `{"Events":3,"Stage":"prod","TaskAge":0,"_aws":{"CloudWatchMetrics":[{"Dimensions":[["Stage"]],` +
		`"Metrics":[{"Name":"Events","Unit":"Count"},{"Name":"TaskAge","Unit":"Seconds"}],"Namespace":"CollabData"}],"Timestamp":5}}
{"Channel":"inbox","Deliveries":3,"DeliveryRetries":1,"Stage":"prod","_aws":{"CloudWatchMetrics":[{"Dimensions":[["Stage","Channel"]],` +
		`"Metrics":[{"Name":"Deliveries","Unit":"Count"},{"Name":"DeliveryRetries","Unit":"Count"}],"Namespace":"CollabData"}],"Timestamp":5}}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := m.Flush(); err != nil || out.Len() > 0 {
		t.Errorf("%v, wrote again %s", err, &out)
	}
	var none *Metrics
	none.Add(Events, "", 1)
	none.Set(TaskAge, 1)
	if err := none.Flush(); err != nil {
		t.Error(err)
	}
}
