package app_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
)

var update = flag.Bool("update", false, "write the table of costs in infra/README.md anew")

// List prices of a million units of the table, in dollars.
const (
	writePrice = 0.625
	readPrice  = 0.125
)

// units are used units of the table, rounded to halves.
type units struct{ write, read float64 }

func (u units) minus(v units) units { return units{u.write - v.write, u.read - v.read} }

// price returns the price of a million, in dollars.
func (u units) price() float64 { return math.Round((u.write*writePrice+u.read*readPrice)*100) / 100 }

// TestCosts compares the table of costs in infra/README.md with the units of operations, and the
// limits of deliveries.
func TestCosts(t *testing.T) {
	var log bytes.Buffer
	now := time.Now()
	s := apitest.Start(t, func(c *app.Config) {
		c.Log, c.Now = slog.New(slog.NewJSONHandler(&log, nil)), func() time.Time { return now }
	})
	h := s.Handler()
	n := 0
	// of returns the average units of a request. In data, %d is the number of the request, %t an
	// existing thread, in turn. Requests are a second apart, because an immediate write to the same
	// thread costs less.
	of := func(path, data, key string) units {
		t.Helper()
		const warm, requests = 5, 40
		for i := range warm + requests {
			if i == warm {
				log.Reset()
			}
			n++
			now = now.Add(time.Second)
			data := strings.NewReplacer("%d", strconv.Itoa(n), "%t", strconv.Itoa(1+i)).Replace(data)
			body := `{"data": {"organizationId": "acme", "documentId": "plan", ` + data + `}}`
			r := httptest.NewRequest(http.MethodPost, "/v2/commentannotations/"+path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("x-service-api-key", "key")
			r.Header.Set("x-service-auth-token", "token")
			if key != "" {
				r.Header.Set("Idempotency-Key", fmt.Sprint(key, n))
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"success":false`) {
				t.Fatalf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		var sum units
		records := 0
		for line := range strings.Lines(log.String()) {
			var record struct {
				Msg   string
				Read  float64 `json:"read_units"`
				Write float64 `json:"write_units"`
			}
			must.Do(t, json.Unmarshal([]byte(line), &record))
			if record.Msg == "request" {
				records++
				sum.read, sum.write = sum.read+record.Read, sum.write+record.Write
			}
		}
		if records != requests {
			t.Fatalf("%d records of %d requests:\n%s", records, requests, &log)
		}
		return units{sum.write / requests, sum.read / requests}
	}
	const (
		text      = `{"commentText": "Shall we ship this on Monday?", "from": {"userId": "ann", "name": "Ann"}}`
		event     = `{"commentText": "Shall we ship this on Monday?", "from": {"userId": "ann", "name": "Ann"}, "triggerNotification": true}`
		made      = `"createOrganization": true, "createDocument": true, "commentAnnotations": [{"annotationId": "a%d", "commentData": [`
		toThread  = `"annotationId": "a%t", "commentData": [`
		updated   = `"annotationIds": ["a%t"], "updatedData": {"context": {"n": %d}}`
		resolved  = `"annotationIds": ["a%t"], "updatedData": {"status": {"id": "status %d"}}`
		ofUpdates = `, "triggerNotification": true`
		key       = "key" // both clients send one with each write
	)
	add := of("add", made+text+"]}]", key)
	comment := of("comments/add", toThread+text+"]", key)
	change := of("update", updated, key)
	// 20 annotations of 4 KB each.
	long := strings.Repeat("x", 3_137)
	for i := range 20 {
		apitest.Post(s.Handler(), "/v2/commentannotations/add", fmt.Sprintf(`{"data": {"organizationId": "acme", "documentId": "long", "createDocument": true,
			"commentAnnotations": [{"annotationId": "l%d", "commentData": [{"commentText": %q, "from": {"userId": "ann"}}]}]}}`, i, long))
	}
	log.Reset()
	page := apitest.Post(s.Handler(), "/v2/commentannotations/get", `{"data": {"organizationId": "acme", "documentIds": ["long"]}}`)
	if size := page.Body.Len(); size < 79_900 || size > 80_100 {
		t.Fatalf("a page of %d bytes: %.200s", size, page.Body)
	}
	var read, readAs struct {
		Read float64 `json:"read_units"`
	}
	must.Do(t, json.Unmarshal(log.Bytes(), &read))
	log.Reset()
	apitest.Post(s.Handler(), "/v2/commentannotations/get", `{"data": {"organizationId": "acme", "documentIds": ["long"], "asUserId": "eve"}}`)
	must.Do(t, json.Unmarshal(log.Bytes(), &readAs))
	look := func(path, data string) units {
		var read struct {
			Read float64 `json:"read_units"`
		}
		for range 2 { // the second uses caches
			log.Reset()
			apitest.Post(s.Handler(), path, data)
			must.Do(t, json.Unmarshal(log.Bytes(), &read))
		}
		return units{0, read.Read}
	}
	later := time.Now().Add(time.Hour).UnixMilli()
	nobody := budget(t, "nobody")
	told, grouped := budget(t, "one person, mail at once"), budget(t, "one person, mail grouped")
	commentEvent := of("comments/add", toThread+event+"]", key).minus(comment)
	rows := []struct {
		name string
		units
	}{
		{"annotations added, with a comment each", add},
		{"comments added", comment},
		{"updates of one annotation, except its status", change},
		{"updates of its status", of("update", resolved, key)},
		{"of which the `Idempotency-Key` takes", comment.minus(of("comments/add", toThread+text+"]", ""))},
		{"an event, added to a comment", commentEvent},
		{"an event, added to an annotation", of("add", made+event+"]}]", key).minus(add)},
		{"an event, added to an update", of("update", updated+ofUpdates, key).minus(change)},
		{"pages of 80 KB, read by document", units{0, read.Read}},
		{"`asUserId`, added to one of a document without access settings", units{0, readAs.Read - read.Read}},
		{"looks at a document as a person, if nothing changed", look("/v2/commentannotations/get", fmt.Sprintf(`{"data": {
			"organizationId": "acme", "documentId": "long", "updatedAfter": %d, "includeDeleted": true, "asUserId": "eve", "unreadFor": "eve"}}`, later))},
		{"looks at an inbox, if nothing is new", look("/v2/notifications/get", fmt.Sprintf(`{"data": {
			"organizationId": "acme", "userId": "eve", "createdAfter": %d}}`, later))},
		{"events that concern nobody, worked out", nobody},
		{"webhooks posted, of the same events", budget(t, "one webhook").minus(nobody)},
		{"users notified, with an email at once", told.minus(nobody)},
		{"users notified, with an email that waits for others", grouped.minus(nobody)},
	}
	const begin, end = "<!-- costs: go test ./shared/app -run TestCosts -update writes this table -->\n", "<!-- end of costs -->\n"
	const file = "../../infra/README.md"
	readme, err := os.ReadFile(file)
	must.Do(t, err)
	head, rest, ok := strings.Cut(string(readme), begin)
	table, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", file)
	}
	fresh := "| a million | write units each | read units each | price |\n|---|---|---|---|\n"
	for _, r := range rows {
		t.Logf("%s: %.2f write units, %.2f read units", r.name, r.write, r.read)
		half := units{math.Round(2*r.write)/2 + 0, math.Round(2*r.read)/2 + 0} // avoids -0
		fresh += fmt.Sprintf("| %s | %g | %g | $%.2f |\n", r.name, half.write, half.read, half.price())
		stated := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(r.name) + ` \| ([0-9.]+) \| ([0-9.]+) \| \$([0-9.]+) \|$`).
			FindStringSubmatch(table)
		if stated == nil {
			if !*update {
				t.Errorf("the table has no row %q", r.name)
			}
			continue
		}
		there := units{number(t, stated[1]), number(t, stated[2])}
		// Quotas are written once per hundred units, and an organization is read once in five
		// seconds.
		if math.Abs(there.write-r.write) > 0.4 || math.Abs(there.read-r.read) > 0.4 || number(t, stated[3]) != there.price() {
			if !*update {
				t.Errorf("%s: %s; measured are %.2f write and %.2f read units, and a price of $%.2f", r.name, stated[0], r.write, r.read, half.price())
			}
		}
	}
	// The cost of a million comments, by the rows above and the sentence's additions.
	const requests, deliveries, mails = 5.20, 5.00, 100.0
	sum := comment.price() + commentEvent.price() + grouped.price()
	fresh += fmt.Sprintf(
		"| **in all: comments, each with one user notified by an email that waits for others** | | | **$%.0f, and $%.0f for SES** |\n",
		sum+requests+deliveries, mails,
	)
	if *update {
		must.Do(t, os.WriteFile(file, []byte(head+begin+fresh+end+tail), 0o644))
		return
	}
	total := regexp.MustCompile(`in all: .* \*\*\$([0-9]+), and \$100 for SES`).FindStringSubmatch(table)
	if total == nil || math.Abs(number(t, total[1])-(sum+requests+deliveries)) > 1 {
		t.Errorf("in all the table says %q; it is $%.2f", total, sum+requests+deliveries)
	}
}

// TestIdleCosts adds up the costs of an unused stage, which both READMEs state.
func TestIdleCosts(t *testing.T) {
	readme, err := os.ReadFile("../../infra/README.md")
	must.Do(t, err)
	_, table, _ := strings.Cut(string(readme), "| part | with live | without | reckoned | switched off by |")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := regexp.MustCompile(`(?m)^\| (.*?) \| \$([0-9.]+) \| \$([0-9.]+) \|`).FindAllStringSubmatch(table, -1)
	if len(rows) < 2 || rows[len(rows)-1][1] != "together" {
		t.Fatalf("rows %q", rows)
	}
	for column := 2; column < 4; column++ {
		sum := 0.0
		for _, r := range rows[:len(rows)-1] {
			sum += number(t, r[column])
		}
		if total := number(t, rows[len(rows)-1][column]); math.Abs(total-sum) > 0.001 {
			t.Errorf("together $%.2f, the rows are $%.2f", total, sum)
		}
	}
	first, err := os.ReadFile("../../README.md")
	must.Do(t, err)
	together := rows[len(rows)-1]
	if want := fmt.Sprintf("An idle deployment costs $%s a month, and $%s with live", together[3], together[2]); !strings.Contains(string(first), want) {
		t.Errorf("README.md does not say %q", want)
	}
}

// TestPageCosts reckons the costs of open pages, using the README's prices and the pauses of the
// elements.
func TestPageCosts(t *testing.T) {
	const file = "../../infra/README.md"
	text, err := os.ReadFile(file)
	must.Do(t, err)
	readme := string(text)
	price := func(row string) float64 {
		t.Helper()
		found := regexp.MustCompile(`(?m)^\| ` + row + `[^\n]* \| \$([0-9.]+) \|$`).FindStringSubmatch(readme)
		if found == nil {
			t.Fatalf("no row begins with %q", row)
		}
		return number(t, found[1])
	}
	hours := func(source, name string) float64 { // of a constant of the elements
		t.Helper()
		code, err := os.ReadFile("../client/elements/src/" + source)
		must.Do(t, err)
		found := regexp.MustCompile(`const ` + name + ` = ([0-9_]+);`).FindSubmatch(code)
		if found == nil {
			t.Fatalf("the elements have no %s", name)
		}
		return number(t, strings.ReplaceAll(string(found[1]), "_", "")) / 3_600_000
	}
	life := collab.ConnectionLifetime.Hours()
	polls := func(changes float64, live bool) float64 {
		if live {
			return math.Ceil(life/hours("poll.ts", "LIVE_PAUSE"))/life + changes
		}
		busy := changes * hours("poll.ts", "QUIET")
		return busy/hours("poll.ts", "PAUSE") + (1-busy)/hours("poll.ts", "QUIET_PAUSE")
	}
	type part struct {
		name    string
		perHour float64
		price   float64 // of a million
	}
	parts := func(ofDocument, ofInbox float64, live bool) []part {
		connections, preflights := 0.0, 1.0
		if live {
			connections, preflights = 1, 1.5
		}
		request := price("requests: gateway")
		return []part{
			{"polls of the document", polls(ofDocument, live), request + price("looks at a document as a person")},
			{"polls of the inbox", polls(ofInbox, live), request + price("looks at an inbox")},
			{"requests for tickets", connections / life, request},
			{"preflight requests", preflights, price("preflight requests")},
			{"connections started and ended", connections / life, price("connections of pages")},
			{"hours of connections", connections, price("hours of connections")},
			{"hints", (ofDocument + ofInbox) * connections, price("hints to them")},
		}
	}
	const million = 1_000 * 8 * 22 / 1e6 // hours
	sum := func(list []part) (dollars float64) {
		for _, p := range list {
			dollars += p.perHour * p.price * million
		}
		return dollars
	}
	live, off := parts(4, 1, true), parts(4, 1, false)
	var fresh strings.Builder
	fresh.WriteString("| part | per hour, with live | a month | per hour, with `live=off` | a month |\n|---|---|---|---|---|\n")
	for i, p := range live {
		q := off[i]
		fmt.Fprintf(&fresh, "| %s | %.1f | $%.2f | %.1f | $%.2f |\n", p.name, p.perHour, p.perHour*p.price*million, q.perHour, q.perHour*q.price*million)
	}
	fmt.Fprintf(&fresh, "| **together** | | **$%.0f** | | **$%.0f** |\n", sum(live), sum(off))
	fmt.Fprintf(&fresh, "| together, if nothing changes | | $%.0f | | $%.0f |\n", sum(parts(0, 0, true)), sum(parts(0, 0, false)))

	const begin, end = "<!-- people: go test ./shared/app -run TestPageCosts -update writes this table -->\n", "<!-- end of people -->\n"
	head, rest, ok := strings.Cut(readme, begin)
	table, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", file)
	}
	if *update {
		must.Do(t, os.WriteFile(file, []byte(head+begin+fresh.String()+end+tail), 0o644))
	} else if table != fresh.String() {
		t.Errorf("the table is\n%s\nwant\n%s", table, &fresh)
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	must.Do(t, err)
	return n
}

// budget returns the limit in a case of TestBudget of package delivery.
func budget(t *testing.T, name string) units {
	t.Helper()
	source, err := os.ReadFile("../delivery/budget_test.go")
	must.Do(t, err)
	found := regexp.MustCompile(`\{` + regexp.QuoteMeta(strconv.Quote(name)) + `, \d+, \d+, (?:true|false), ([0-9.]+), ([0-9.]+), \d+\}`).
		FindSubmatch(source)
	if found == nil {
		t.Fatalf("the test of delivery's budgets has no case %q", name)
	}
	return units{write: number(t, string(found[2])), read: number(t, string(found[1]))}
}
