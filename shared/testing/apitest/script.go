package apitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

type script struct {
	name   string
	folder string // route of an endpoint, or a general folder
	seed   Seed
	steps  []*step

	samples map[string]json.RawMessage // values of variables in documents
}

// step is a request and its expected response.
type step struct {
	title  string
	wait   bool // until the response is as expected
	method string
	path   string
	header []header
	body   string
	answer answer
}

type answer struct {
	status int
	header []header
	body   value
}

type header struct {
	name, value string
	absent      bool
}

var (
	requestLine = regexp.MustCompile(`^([A-Z]+) (/\S*)$`)
	headerLine  = regexp.MustCompile(`^(!?)([A-Za-z-]+)(?:: *(.*))?$`)
	statusTitle = regexp.MustCompile(`^[1-5][0-9][0-9]$`)
)

// parse parses a script. Requests without a request line go to the endpoint.
func parse(text []byte, endpoint string) (*script, error) {
	archive := txtar.Parse(text)
	if len(bytes.TrimSpace(archive.Comment)) == 0 {
		return nil, errors.New("it needs a comment at its top")
	}
	s := &script{}
	sections := archive.Files
	if len(sections) > 0 && sections[0].Name == "seed" {
		dec := json.NewDecoder(bytes.NewReader(sections[0].Data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&s.seed); err != nil {
			return nil, fmt.Errorf("seed: %w", err)
		}
		sections = sections[1:]
	}
	if len(sections) > 0 && sections[0].Name == "samples" {
		if err := json.Unmarshal(sections[0].Data, &s.samples); err != nil {
			return nil, fmt.Errorf("samples: %w", err)
		}
		sections = sections[1:]
	}
	if len(sections) == 0 {
		return nil, errors.New("it has no request")
	}
	for len(sections) > 0 {
		title := sections[0].Name
		if statusTitle.MatchString(title) {
			return nil, fmt.Errorf("the answer %s has no request before it", title)
		}
		if len(sections) < 2 || !statusTitle.MatchString(sections[1].Name) {
			return nil, fmt.Errorf("%s: the section after it must be its answer, with the HTTP status for a title", title)
		}
		step, err := parseStep(sections[0], sections[1], endpoint)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", title, err)
		}
		s.steps = append(s.steps, step)
		sections = sections[2:]
	}
	return s, nil
}

func parseStep(request, response txtar.File, endpoint string) (*step, error) {
	head, body := divide(string(request.Data))
	s := &step{method: http.MethodPost, path: endpoint, body: body}
	s.title, s.wait = strings.CutPrefix(request.Name, "eventually: ")
	if len(head) > 0 {
		if m := requestLine.FindStringSubmatch(head[0]); m != nil {
			s.method, s.path = m[1], m[2]
			head = head[1:]
		}
	}
	var err error
	if s.header, err = parseHeaders(head); err != nil {
		return nil, err
	}
	if s.answer.status, err = strconv.Atoi(response.Name); err != nil {
		return nil, err
	}
	head, body = divide(string(response.Data))
	if s.answer.header, err = parseHeaders(head); err != nil {
		return nil, err
	}
	if s.answer.body, err = parseJSON([]byte(body)); err != nil {
		return nil, fmt.Errorf("expected answer: %w", err)
	}
	return s, checkPlaces(s.answer.body)
}

// divide returns the lines before a body, and the body without its last line end.
func divide(text string) (head []string, body string) {
	for text != "" && text[0] != '{' {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		if line == "" {
			break
		}
		head = append(head, line)
	}
	return head, strings.TrimSuffix(text, "\n")
}

func parseHeaders(lines []string) ([]header, error) {
	var list []header
	for _, line := range lines {
		m := headerLine.FindStringSubmatch(line)
		absent := m != nil && m[1] == "!"
		if m == nil || absent == strings.Contains(line, ":") {
			return nil, fmt.Errorf("%q is not a header: add an empty line before a body that does not start with {", line)
		}
		list = append(list, header{name: m[2], value: m[3], absent: absent})
	}
	return list, nil
}
