package main

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// sqs stands in for SQS. It swallows what is sent, so that no delivery disturbs, and every queue is there and empty.
func (p *proxy) sqs(w http.ResponseWriter, r *http.Request, op string, body []byte, arrival time.Time) {
	s := p.current()
	var q struct {
		QueueName, QueueUrl, MessageBody string
		WaitTimeSeconds                  int
		Entries                          []struct{ Id, MessageBody string }
	}
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name := q.QueueName + q.QueueUrl[strings.LastIndex(q.QueueUrl, "/")+1:] // a request has one of the two
	record := &record{op: op, start: arrival, in: len(body), background: !strings.HasPrefix(op, "SendMessage")}
	answer := map[string]any{}
	done := []map[string]string{} // for each entry of a batch
	for _, e := range q.Entries {
		done = append(done, map[string]string{"Id": e.Id, "MessageId": e.Id, "MD5OfMessageBody": md5Of(e.MessageBody)})
	}
	switch op {
	case "CreateQueue", "GetQueueUrl":
		answer["QueueUrl"] = "http://" + r.Host + "/000000000000/" + name
	case "GetQueueAttributes":
		answer["Attributes"] = map[string]string{"QueueArn": "arn:aws:sqs:us-east-1:000000000000:" + name, "ApproximateNumberOfMessages": "0"}
	case "SendMessage":
		answer["MessageId"], answer["MD5OfMessageBody"] = "1", md5Of(q.MessageBody)
	case "SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch":
		answer["Successful"], answer["Failed"] = done, []any{}
	case "ReceiveMessage":
		select {
		case <-time.After(time.Duration(q.WaitTimeSeconds) * time.Second):
		case <-r.Context().Done():
		}
	}
	if !record.background {
		time.Sleep(time.Until(arrival.Add(s.duration(s.SQSMs, s.SQSP99))))
	}
	text, _ := json.Marshal(answer) // maps and texts always have a form
	record.end, record.out = p.now(), len(text)
	p.stats.add(record)
	reply(w, http.StatusOK, http.Header{"Content-Type": {jsonType}}, text)
}

func md5Of(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}
