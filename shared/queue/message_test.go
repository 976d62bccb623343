package queue_test

import (
	"testing"
	"unicode/utf8"

	"collabdata/shared/collab"
	"collabdata/shared/queue"
)

var ref = collab.EventRef{Account: "acme", ID: "e1"}

// TestText checks texts that older and newer code exchange. They must be readable as long as a
// queue may hold them.
func TestText(t *testing.T) {
	for _, test := range []struct {
		event queue.Event
		text  string
	}{
		{queue.Event{EventRef: ref}, `{"v":1,"account":"acme","eventId":"e1"}`},
		{queue.Event{EventRef: ref, Again: true}, `{"v":1,"account":"acme","eventId":"e1","again":true}`},
		{queue.Event{EventRef: ref, Kind: collab.ParkedWork}, `{"v":1,"account":"acme","eventId":"e1","kind":"parked"}`},
	} {
		if got := test.event.Encode(); got != test.text {
			t.Errorf("%+v is written %s, want %s", test.event, got, test.text)
		}
		if got, err := queue.DecodeEvent(test.text); err != nil || got != test.event {
			t.Errorf("%s is read as %+v, %v", test.text, got, err)
		}
	}
	lane := collab.LaneRef{Account: "acme", WebhookID: "w1"}
	const text = `{"v":1,"account":"acme","webhookId":"w1"}`
	if got := (queue.Lane{LaneRef: lane}).Encode(); got != text {
		t.Errorf("%+v is written %s, want %s", lane, got, text)
	}
	for text, want := range map[string]queue.Lane{
		text: {LaneRef: lane},
		`{"v":1,"account":"acme","webhookId":"w1","token":"t","hops":7}`: {LaneRef: lane, Token: "t", Hops: 7},
	} {
		if got, err := queue.DecodeLane(text); err != nil || got != want {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
	}
	if got, err := queue.DecodeEvent(`{"v":1,"account":"acme","eventId":"e1","added":{"later":true}}`); err != nil || got.EventRef != ref {
		t.Errorf("with a field that newer code added: %+v, %v", got, err)
	}
}

func TestRefused(t *testing.T) {
	for _, text := range []string{
		``, `x`, `[]`, `{}`, `null`, `{"v":1}`,
		`{"v":1,"account":"acme"}`,
		`{"v":1,"eventId":"e1"}`,
		`{"v":0,"account":"acme","eventId":"e1"}`,
		`{"account":"acme","eventId":"e1"}`,
		`{"v":2,"account":"acme","eventId":"e1"}`,
		`{"v":"1","account":"acme","eventId":"e1"}`,
		`{"v":1,"account":"acme","eventId":"e1","webhookId":"w1","attempt":1}`,
	} {
		if got, err := queue.DecodeEvent(text); err == nil {
			t.Errorf("%s is read as an event's message: %+v", text, got)
		}
	}
	for _, text := range []string{
		`{"v":1,"account":"acme","eventId":"e1"}`,
		`{"v":1,"webhookId":"w1"}`,
		`{"v":1,"account":"acme","webhookId":1}`,
		`{"v":1,"account":"acme","webhookId":"w1","eventId":"e1"}`,
		`{"v":2,"account":"acme","webhookId":"w1"}`,
	} {
		if got, err := queue.DecodeLane(text); err == nil {
			t.Errorf("%s is read as a lane's message: %+v", text, got)
		}
	}
}

func FuzzEvent(f *testing.F) {
	f.Add("acme", "06bq2x9a400000000000000000", "", false)
	f.Add("a \"b\"\n<c>", "é\u2028", "parked", true)
	f.Fuzz(func(t *testing.T, account, id, kind string, again bool) {
		want := queue.Event{EventRef: collab.EventRef{Account: account, ID: id}, Kind: collab.WorkKind(kind), Again: again}
		got, err := queue.DecodeEvent(want.Encode())
		if account == "" || id == "" {
			if err == nil {
				t.Errorf("%+v was read", got)
			}
			return
		}
		if valid := utf8.ValidString(account + " " + id + " " + kind); valid && (err != nil || got != want) {
			t.Errorf("%+v came back as %+v, %v", want, got, err)
		}
	})
}

func FuzzLane(f *testing.F) {
	f.Add("acme", "hook", "token", 3)
	f.Add("a \"b\"\n<c>", "h\u2028", "", 0)
	f.Fuzz(func(t *testing.T, account, hook, token string, hops int) {
		want := queue.Lane{LaneRef: collab.LaneRef{Account: account, WebhookID: hook}, Token: token, Hops: hops}
		got, err := queue.DecodeLane(want.Encode())
		if account == "" || hook == "" {
			if err == nil {
				t.Errorf("%+v was read", got)
			}
			return
		}
		if valid := utf8.ValidString(account + " " + hook); valid && (err != nil || got != want) {
			t.Errorf("%+v came back as %+v, %v", want, got, err)
		}
	})
}

// FuzzDecode: no text is both kinds of message, and decoding survives a round trip.
func FuzzDecode(f *testing.F) {
	f.Add(`{"v":1,"account":"acme","eventId":"e1","again":true}`)
	f.Add(`{"v":1,"account":"acme","eventId":"e1","webhookId":"w1","attempt":3}`)
	f.Add(`{"V":1,"v":2}`)
	f.Fuzz(func(t *testing.T, text string) {
		event, notEvent := queue.DecodeEvent(text)
		lane, notLane := queue.DecodeLane(text)
		if notEvent == nil && notLane == nil {
			t.Errorf("%s is both", text)
		}
		if notEvent == nil {
			if again, err := queue.DecodeEvent(event.Encode()); err != nil || again != event {
				t.Errorf("%+v came back as %+v, %v", event, again, err)
			}
		}
		if notLane == nil {
			if again, err := queue.DecodeLane(lane.Encode()); err != nil || again != lane {
				t.Errorf("%+v came back as %+v, %v", lane, again, err)
			}
		}
	})
}
