package transfer_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	gocmp "github.com/google/go-cmp/cmp"

	"collabdata/shared/app/operate"
	"collabdata/shared/client"
	"collabdata/shared/client/transfer"
	"collabdata/shared/testing/golden"
	"collabdata/shared/testing/must"
)

const moving = "../examples/moving/"

// convert runs the example's converter. It returns its file, and its messages if it fails.
func convert(t *testing.T, args ...string) (file, failure string) {
	t.Helper()
	var out, said bytes.Buffer
	cmd := exec.Command("python3", append([]string{moving + "convert.py", "--organization", "acme"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if out.Len() > 0 {
			t.Errorf("it fails after it wrote %d bytes", out.Len())
		}
		return "", said.String()
	}
	return out.String(), ""
}

// checked returns the refusals and warnings of a check.
func checked(t *testing.T, file string) (list []string) {
	t.Helper()
	note := func(r transfer.Refusal) {
		list = append(list, fmt.Sprintf("%d %s %s: %s %s", r.Line, r.Kind, r.ID, r.Field, r.Message))
	}
	_, err := transfer.Import(t.Context(), operate.Checker(), strings.NewReader(file), transfer.ImportOptions{Check: true, Refused: note, Warned: note})
	must.Do(t, err)
	return list
}

// shownThread has fields of a thread in a response to a person.
type shownThread struct {
	AnnotationID string `json:"annotationId"`
	From, Status struct {
		ID     string `json:"id"`
		UserID string `json:"userId"`
	}
	Visibility struct {
		Type string `json:"type"`
	} `json:"visibility"`
	CreatedAt string         `json:"createdAt"`
	Context   jsontext.Value `json:"context"`
	Comments  []struct {
		CommentID   int64  `json:"commentId"`
		CommentText string `json:"commentText"`
		CommentHTML string `json:"commentHtml"`
		From        struct {
			UserID string `json:"userId"`
			Name   string `json:"name"`
		} `json:"from"`
		CreatedAt   string         `json:"createdAt"`
		LastUpdated string         `json:"lastUpdated"`
		Reactions   jsontext.Value `json:"reactions"`
		Attachments jsontext.Value `json:"attachments"`
	} `json:"comments"`
}

// shown returns the threads of a document as a user of acme receives them with a token.
func (s *service) shown(t *testing.T, c *client.Client, user, document string) string {
	t.Helper()
	var token struct {
		Token string `json:"token"`
	}
	must.Do(t, json.Unmarshal([]byte(ask(t, c, "/v2/auth/generate_token",
		`"userId": "`+user+`", "permissions": {"resources": [{"type": "organization", "id": "acme"}]}`)), &token))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v2/commentannotations/get",
		strings.NewReader(`{"data": {"organizationId": "acme", "documentId": "`+document+`"}}`))
	must.Do(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token.Token)
	res, err := http.DefaultClient.Do(r)
	must.Do(t, err)
	defer res.Body.Close()
	var answer struct {
		Result struct {
			Data []shownThread `json:"data"`
		} `json:"result"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	must.Do(t, json.UnmarshalRead(res.Body, &answer, json.MatchCaseInsensitiveNames(true)))
	var b strings.Builder
	fmt.Fprintf(&b, "document %s %s\n", document, answer.Error.Message)
	for _, a := range answer.Result.Data {
		fmt.Fprintf(&b, "  thread %s by %s, %s, %s, %s, %s\n", a.AnnotationID, a.From.UserID, a.CreatedAt, a.Status.ID, a.Visibility.Type, a.Context)
		for _, c := range a.Comments {
			fmt.Fprintf(&b, "    %d by %s (%s), %s to %s\n      %q\n      %q\n", c.CommentID, c.From.UserID, c.From.Name, c.CreatedAt, c.LastUpdated,
				c.CommentText, c.CommentHTML)
			if c.Reactions != nil || c.Attachments != nil {
				fmt.Fprintf(&b, "      %s %s\n", c.Reactions, c.Attachments)
			}
		}
	}
	return b.String()
}

// TestMoving converts an export of each service, checks and imports it, and reads it as a person. A
// repeated conversion and import changes nothing.
func TestMoving(t *testing.T) {
	s := serve(t)
	for format, reader := range map[string]string{
		"disqus.xml": "disqus-bob", "wordpress.xml": "wordpress-7", "remark42.json": "remark42-github_1a", "liveblocks.json": "ann",
	} {
		t.Run(format, func(t *testing.T) {
			name := strings.TrimSuffix(format, filepath.Ext(format))
			file, failure := convert(t, name, moving+"testdata/"+format)
			if failure != "" {
				t.Fatal(failure)
			}
			if again, _ := convert(t, name, moving+"testdata/"+format); again != file {
				t.Error("the second conversion differs")
			}
			if list := checked(t, file); list != nil {
				t.Errorf("the check reports %q", list)
			}
			c := s.account(t, name)
			lines := int64(strings.Count(file, "\n"))
			if added, _, _ := load(t, c, file, transfer.ImportOptions{}).Sum(); added != lines {
				t.Errorf("it adds %d of %d lines", added, lines)
			}
			before := export(t, c, transfer.ExportOptions{})
			if _, unchanged, _ := load(t, c, file, transfer.ImportOptions{}).Sum(); unchanged != lines {
				t.Errorf("repeated, it leaves %d of %d lines unchanged", unchanged, lines)
			}
			same(t, "after the second import", before, export(t, c, transfer.ExportOptions{}))

			var shown strings.Builder
			for line := range strings.Lines(file) {
				var l struct {
					Kind       string `json:"kind"`
					DocumentID string `json:"documentId"`
				}
				must.Do(t, json.Unmarshal([]byte(line), &l))
				if l.Kind == "document" {
					shown.WriteString(s.shown(t, c, reader, l.DocumentID))
				}
			}
			golden.Check(t, moving+"testdata/"+name+".txt", shown.String())
		})
	}
}

// TestMovingLater converts a later export, in which an answer is no spam any more. Its import adds
// this answer, and reports the answer to it, which has a quote now.
func TestMovingLater(t *testing.T) {
	export, err := os.ReadFile(moving + "testdata/disqus.xml")
	must.Do(t, err)
	before, after, _ := strings.Cut(string(export), `<post dsq:id="101">`)
	earlier := filepath.Join(t.TempDir(), "earlier.xml")
	must.Do(t, os.WriteFile(earlier, []byte(before+`<post dsq:id="101">`+strings.Replace(after, "<isSpam>false", "<isSpam>true", 1)), 0o600))
	monday, failure := convert(t, "disqus", earlier)
	friday, _ := convert(t, "disqus", moving+"testdata/disqus.xml")
	c := serve(t).account(t, "one")
	load(t, c, monday, transfer.ImportOptions{})
	result, err := transfer.Import(t.Context(), c, strings.NewReader(friday), transfer.ImportOptions{Refused: func(r transfer.Refusal) {
		if r.Field+r.Message != "already exists with a different commentText, commentHtml; left unchanged" {
			t.Errorf("refused: %+v", r)
		}
	}})
	if err != nil || result.Added[transfer.Comment] != 1 || result.Refused[transfer.Comment] != 1 {
		t.Errorf("%v %+v, %s", err, result, failure)
	}
}

// TestMovingOdd converts odd files. Each one is refused with one message, or the check of its
// converted file reports the expected line.
func TestMovingOdd(t *testing.T) {
	const disqus, end = `<disqus xmlns="http://disqus.com" xmlns:dsq="http://disqus.com/disqus-internals"><thread dsq:id="1"><link>https://e.x/</link></thread>`, `</disqus>`
	const author = `<author><name>A</name><isAnonymous>false</isAnonymous><username>a</username></author>`
	post := func(id, parent, author, at, message string) string {
		return `<post dsq:id="` + id + `"><message><![CDATA[` + message + `]]></message><createdAt>` + at + `</createdAt>` + author +
			`<thread dsq:id="1"/><parent dsq:id="` + parent + `"/></post>`
	}
	const day, head = "2024-01-01T00:00:00Z", `{"version":1}` + "\n"
	remark := func(more string) string {
		return `{"id":"a","text":"x","user":{"name":"N","id":"u"},"locator":{"url":"https://e.x"},"time":"` + day + `"` + more + "}\n"
	}
	thread := func(more string) string {
		return `[{"type":"thread","id":"t","roomId":"r","createdAt":"` + day + `","comments":[{"id":"c","userId":"u","createdAt":"` + day +
			`","body":{"content":[{"children":[{"text":"x"}]}]}` + more + `}]}]`
	}
	for name, test := range map[string]struct{ format, file, failure, text, refused string }{
		"empty":           {format: "disqus", failure: "the file is empty"},
		"blank":           {format: "liveblocks", file: " \n", failure: "the file is empty"},
		"no XML":          {format: "wordpress", file: "hello", failure: "syntax error: line 1"},
		"no JSON":         {format: "liveblocks", file: "<a/>", failure: "Expecting value: line 1"},
		"no JSON line":    {format: "remark42", file: head + remark("") + "{", failure: "line 3"},
		"no UTF-8":        {format: "remark42", file: "\xff", failure: "can't decode byte 0xff"},
		"another root":    {format: "disqus", file: "<rss/>", failure: "begins with <rss>, not <disqus>"},
		"no backup":       {format: "remark42", file: remark(""), failure: "line 1 must be the head of a backup"},
		"no threads":      {format: "liveblocks", file: `{"a":1}`, failure: "must be a list of threads"},
		"deep JSON":       {format: "liveblocks", file: strings.Repeat("[", 100_000), failure: "maximum recursion depth"},
		"entities":        {format: "disqus", file: `<!DOCTYPE x [<!ENTITY a "a"><!ENTITY b "&a;&a;">]>` + disqus + end, failure: "has a DOCTYPE"},
		"byte order mark": {format: "disqus", file: "\ufeff" + disqus + post("1", "", author, day, "x") + end, text: `"commentText":"x"`},
		"line ends":       {format: "remark42", file: "\ufeff" + strings.ReplaceAll(head+remark(""), "\n", "\r\n"), text: `"commentText":"x"`},
		"no author":       {format: "disqus", file: disqus + post("1", "", "", day, "x") + end, text: `"name":"Anonymous","isAnonymous":true`},
		"no time":         {format: "disqus", file: disqus + post("1", "", author, "", "x") + end, failure: "the post 1 has no valid time, but ''"},
		"no id":           {format: "disqus", file: disqus + post("", "", author, day, "x") + end, failure: "a comment has no id"},
		"no thread":       {format: "disqus", file: strings.Replace(disqus, `dsq:id="1"`, `dsq:id="2"`, 1) + post("1", "", author, day, "x") + end, failure: "post 1 is in no thread"},
		"no page":         {format: "remark42", file: head + remark(`,"locator":null`), failure: "the address of a page, is empty"},
		"repeated id":     {format: "disqus", file: disqus + post("1", "", author, day, "x") + post("1", "", author, day, "x") + end, failure: "the comment 1 is there twice"},
		"circle":          {format: "disqus", file: disqus + post("1", "2", author, day, "x") + post("2", "1", author, day, "x") + end, failure: "answers itself"},
		"another type":    {format: "remark42", file: head + remark(`,"text":5`), failure: `text must be a value such as "", not 5`},
		"no objects":      {format: "liveblocks", file: thread(`,"reactions":[1]`), failure: "reactions must be a value such as [{}], not [1]"},
		"control in XML":  {format: "disqus", file: disqus + post("1", "", author, day, "\a") + end, failure: "invalid token"},
		"control in JSON": {format: "remark42", file: head + remark(`,"id":"a\u0000","user":{"name":"\u0007","id":"\u0001"}`), text: `"userId":"hash-`},
		"half a letter":   {format: "remark42", file: head + remark(`,"text":"a\ud800"`), text: `"commentText":"a?"`},
		"long names":      {format: "disqus", file: disqus + post("1", "", strings.ReplaceAll(author, ">a<", ">"+strings.Repeat("a", 300)+"<"), day, "x") + end, text: `"userId":"hash-`},
		"broken HTML":     {format: "disqus", file: disqus + post("1", "", author, day, "a<![b[ <!c <a <b> <script>alert(1)") + end, text: `"commentText":"a`},
		"too large":       {format: "disqus", file: disqus + post("1", "", author, day, strings.Repeat("x", 500_000)) + end, text: "comment", refused: "4 comment 1704067200000001:  comment is too large: 1000130 bytes stored, at most 350000"},
		"no emoji":        {format: "liveblocks", file: thread(`,"reactions":[{"emoji":":smile:","users":[{"id":"u"}]}]`), text: "smile", refused: "4 comment 1704067200000493: reactions[0].emoji must be one emoji"},
		"five replies": {
			format: "disqus", file: disqus + post("1", "", author, "2024-01-01T00:00:01Z", "one") + post("2", "1", author, "2024-01-01T00:00:02Z", "two") +
				post("3", "2", author, "2024-01-01T00:00:03Z", "three") + post("4", "3", author, "2024-01-01T00:00:04Z", "four") + post("5", "4", author, "2024-01-01T00:00:05Z", "five") +
				post("6", "5", author, "2024-01-01T00:00:06Z", "six") + end, text: `"commentText":"> A: five\n\nsix"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "export")
			must.Do(t, os.WriteFile(path, []byte(test.file), 0o600))
			file, failure := convert(t, test.format, path)
			if strings.Count(failure, "\n") > 1 || !strings.Contains(failure, test.failure) || (failure == "") != (test.failure == "") {
				t.Errorf("it says %q", failure)
			}
			if !strings.Contains(file, test.text) {
				t.Errorf("the file is %.2000s", file)
			}
			if test.failure != "" {
				return
			}
			if list := checked(t, file); strings.Join(list, "; ") != test.refused {
				t.Errorf("the check reports %q", list)
			}
		})
	}
}

// TestCheck checks a file without a service: it reports each bad line once, in order, and warns of
// missing owners.
func TestCheck(t *testing.T) {
	const file = `{"kind":"organization","organizationId":"acme"}
{"kind":"document","documentId":"plan","folderId":"plans"}
{"kind":"annotation","documentId":"plan","annotationId":"a","createdAt":1700000000}
nothing

{"kind":"comment","documentId":"plan","annotationId":"a","commentId":1,"commentText":"x","from":{"userId":"ann","colour":"red"}}
{"kind":"comment","documentId":"plan","annotationId":"b","commentId":1,"commentText":"x","from":{"userId":"ann"}}
{"kind":"comment","documentId":"plan","annotationId":"b","commentId":1,"commentText":"x","from":{"userId":"ann"}}
{"kind":"thing"}
{"kind":"grant","userId":"ann","type":"organization","id":"other"}
{"kind":"user","userId":"ann","email":"ann"}
{"kind":"document","documentId":"plan","folderId":"root"}
{"kind":"organization","organizationId":"acme"}
{"kind":"readState","documentId":"other","userId":"ann","read":true,"readAt":1700000000000}
{"kind":"comment","documentId":"plan","annotationId":"b","commentId":2`
	want := []string{
		`2 document plan:  no earlier line adds the folder "plans"`,
		"3 annotation a: createdAt must be a time in milliseconds since epoch, from 100000000000 (in 1973): 1700000000 may be in seconds",
		"6 comment 1: from.colour is not a known field",
		`7 comment 1:  no earlier line adds the annotation "b"`,
		"8 comment 1: commentId must not repeat that of line 7",
		"10 grant other: id must be the organizationId of the request",
		"11 user ann: email must be an address that email can reach, such as bob@example.com",
		"12 document plan: documentId must not repeat that of line 2",
		"13 organization acme: kind must be organization in the first line, and in no other",
		`14 readState ann:  no earlier line adds the document "other"`,
	}
	var got []string
	for _, line := range checked(t, file) {
		if !strings.HasPrefix(line, "4 ") && !strings.HasPrefix(line, "5 ") && !strings.HasPrefix(line, "9 ") && !strings.HasPrefix(line, "15 ") {
			got = append(got, line)
		}
	}
	order := func(a, b string) int {
		var m, n int
		_, _ = fmt.Sscan(a, &m)
		_, _ = fmt.Sscan(b, &n)
		return m - n
	}
	slices.SortStableFunc(got, order) // warnings come before refusals of their request
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if all := checked(t, file); len(all) != len(want)+4 {
		t.Errorf("%d lines are reported: %q", len(all), all)
	}
	if list := checked(t, `{"kind":"document","documentId":"plan"}`+"\n"+`{"kind":"folder","folderId":""}`+"\n"); len(list) != 2 {
		t.Errorf("without an organization: %q", list)
	}
	if list := checked(t, `{"kind":"organization","organizationId":"`+strings.Repeat("x", 300)+`"}`+"\n"+`{"kind":"folder","folderId":"a"}`+"\n"); len(list) != 1 {
		t.Errorf("of a bad organization: %q", list)
	}
	deep := `{"kind":"document","documentId":"deep","further":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}\n"
	if list := checked(t, strings.ReplaceAll(file[:strings.Index(file, "nothing")], "1700000000", "1700000000000")+deep); len(list) != 2 ||
		list[1] != "4 document deep:  the body must nest at most 32 levels deep" {
		t.Errorf("of a deep line: %q", list)
	}
	long := `{"kind":"document","documentId":"` + strings.Repeat("a", 2*transfer.MaxLine) + `"}` + "\n"
	list := checked(t, file[:strings.IndexByte(file, '\n')+1]+long+long+`{"kind":"folder","folderId":"a","folderId":"b"}`+"\n")
	if len(list) != 3 || list[0] != "2  :  has more than 5242880 bytes" || list[1] != "3  :  has more than 5242880 bytes" {
		t.Errorf("of long lines: %q", list)
	}
}

// TestExamples imports the lines of the README.
func TestExamples(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	must.Do(t, err)
	_, text, _ := strings.Cut(string(readme), "```jsonl\n")
	file, _, _ := strings.Cut(text, "```")
	if list := checked(t, file); list != nil {
		t.Errorf("the check reports %q", list)
	}
	s := serve(t)
	c := s.account(t, "one")
	if added, _, _ := load(t, c, file, transfer.ImportOptions{}).Sum(); added != int64(strings.Count(file, "\n")) {
		t.Errorf("it adds %d lines", added)
	}
}

// TestRead marks everything imported as read for the users of the file, and nothing that is added
// on the target.
func TestRead(t *testing.T) {
	const file = `{"kind":"organization","organizationId":"acme"}
{"kind":"document","documentId":"plan"}
{"kind":"document","documentId":"map"}
{"kind":"document","documentId":"empty"}
{"kind":"annotation","documentId":"plan","annotationId":"a","createdAt":1700000000000}
{"kind":"comment","documentId":"plan","annotationId":"a","commentId":1,"commentText":"x","from":{"userId":"dee"},"createdAt":1700000000000,"lastUpdated":1700000009000}
{"kind":"comment","documentId":"plan","annotationId":"a","commentId":2,"commentText":"x","from":{"userId":"dee"},"createdAt":1.7e12,"addedAt":1700000001000}
{"kind":"annotation","documentId":"map","annotationId":"a"}
{"kind":"comment","documentId":"map","annotationId":"a","commentId":1,"commentText":"now","from":{"userId":"dee"}}
{"kind":"user","userId":"ann"}
{"kind":"user","userId":"bob"}
{"kind":"user","userId":"bob","documentId":"plan"}
`
	s := serve(t)
	unread := func(c *client.Client, user string) string {
		return ask(t, c, "/v2/commentannotations/count/get", `"organizationId": "acme", "documentIds": ["plan", "map"], "userId": "`+user+`"`)
	}
	one, two := s.account(t, "one"), s.account(t, "two")
	load(t, one, file, transfer.ImportOptions{})
	without := unread(one, "ann")
	if n := load(t, two, file, transfer.ImportOptions{Read: true}).Added[transfer.ReadState]; n != 4 {
		t.Errorf("it adds %d read states", n)
	}
	read := unread(two, "ann")
	if !strings.Contains(without, `"unread":1`) || strings.Contains(read, `"unread":1`) || unread(two, "bob") != read || unread(two, "cid") != without {
		t.Errorf("without: %s, with: %s, bob: %s, not in the file: %s", without, read, unread(two, "bob"), unread(two, "cid"))
	}
	call(t, two, "/v2/commentannotations/comments/add", `"organizationId": "acme", "documentId": "plan", "annotationId": "a", "commentData": [{"commentId": 3, "commentText": "new", "from": {"userId": "dee"}}]`)
	before := unread(two, "ann")
	past, _, _ := strings.Cut(file, `{"kind":"annotation","documentId":"map"`) // the map's comment is of now
	past += `{"kind":"user","userId":"ann"}` + "\n"
	if result := load(t, two, past, transfer.ImportOptions{Read: true}); result.Unchanged[transfer.ReadState] != 1 || unread(two, "ann") != before || before == read {
		t.Errorf("repeated: %+v, unread %s, before %s", result, unread(two, "ann"), before)
	}
}
