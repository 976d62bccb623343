package transfer

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/client"
)

// outcome is the result of an item of a bulk call.
type outcome struct {
	Success   bool        `json:"success"`
	Unchanged bool        `json:"unchanged"` // it existed
	Message   string      `json:"message"`
	Code      client.Code `json:"code"`
}

// outcomes are the results of a bulk call's items, in order. Operations return an array, or an
// object by id.
type outcomes []outcome

// UnmarshalJSON reads both forms.
func (o *outcomes) UnmarshalJSON(text []byte) error {
	if jsontext.Value(text).Kind() == '[' {
		return json.Unmarshal(text, (*[]outcome)(o))
	}
	var byID client.Keyed[outcome]
	err := json.Unmarshal(text, &byID)
	for _, m := range byID {
		*o = append(*o, m.Value)
	}
	return err
}

// Paths of operations that need no organization besides the subject.
const (
	addOrganizations     = "/v2/organizations/add"
	disableOrganizations = "/v2/organizations/access/disablestate/update"
	addPermissions       = "/v2/auth/permissions/add"
)

// call calls a bulk operation. It returns the operation's error, or that of the first failed item.
func (i *importer) call(path string, request map[string]any) error {
	if path != addOrganizations && path != disableOrganizations && path != addPermissions {
		request["organizationId"] = i.org
	}
	data, _, err := client.Call[jsontext.Value](i.ctx, i.c, path, request)
	if err != nil {
		return err
	}
	for _, m := range parse(data) {
		o := parse(m.Value)
		if v, is := o.Get("success"); is && v.Kind() == 'f' {
			return client.Errorf(client.Code(textOf(o, "code")), "%s", textOf(o, "message"))
		}
	}
	return nil
}

// get calls a list operation, and each for all objects in its response.
func (i *importer) get(path string, request map[string]any, each func(object)) error {
	request["organizationId"] = i.org
	for {
		list, next, err := client.Call[items](i.ctx, i.c, path, request)
		if err != nil {
			return err
		}
		for _, v := range list {
			if o := parse(v); o != nil {
				each(o)
			}
		}
		if next == "" {
			return nil
		}
		request["pageToken"] = next
	}
}

// refuses reports whether an error is permanent.
func refuses(err error) bool {
	switch client.CodeOf(err) {
	case client.CodeInvalidArgument, client.CodeNotFound, client.CodeFailedPrecondition, client.CodeAlreadyExists:
		return true
	}
	return false
}

// one counts a line by the result. It returns an error if the import must stop.
func (i *importer) one(l *line, err error) error {
	if err == nil {
		i.added(l)
		return nil
	}
	if !refuses(err) {
		return err
	}
	field, message := "", client.MessageOf(err)
	if e, ok := errors.AsType[*client.Error](err); ok && len(e.Details) > 0 {
		field, message = e.Details[0].Field, e.Details[0].Message
	}
	i.refuse(l, field, message)
	return nil
}

// bulk sends lines as the items of a request and counts added ones. It moves common fields from the
// items to the request, and drops some of them.
func (i *importer) bulk(
	path, name string, batch []*line, common []string, further ...string,
) (added []*line, err error) {
	if len(batch) == 0 {
		return nil, nil
	}
	base := map[string]any{}
	for _, name := range common {
		if v, has := batch[0].Get(name); has {
			base[name] = v
		}
	}
	body := func(l *line) jsontext.Value { return value(without(l.object, append(further, common...)...)) }
	added, err = i.items(path, base, name, batch, body, nil)
	i.added(added...)
	return added, err
}

// place matches a mistake in an item of a request: the item's number, and the field in it.
var place = regexp.MustCompile(`^data\.\w+\[(\d+)\]\.?(.*)$`)

// items sends lines as the items of a request. It repeats the request without refused lines until
// each line is added or refused. It returns an error if the import must stop. within finds the line
// of an item's field; it may be nil.
func (i *importer) items(
	path string, base map[string]any, name string, batch []*line, body func(*line) jsontext.Value,
	within func(l *line, field string) (*line, string),
) (added []*line, err error) {
	left := batch
	for try := 1; len(left) > 0; try++ {
		request := maps.Clone(base)
		request["organizationId"] = i.org
		list := make([]jsontext.Value, len(left))
		for n, l := range left {
			list[n] = body(l)
		}
		request[name] = list
		answer, _, err := client.Call[outcomes](i.ctx, i.c, path, request)
		if err != nil {
			if left, err = i.mistakes(left, err, within); err != nil {
				return added, err
			}
			continue
		}
		if len(answer) != len(left) {
			return added, fmt.Errorf("%s answers %d items for %d", path, len(answer), len(left))
		}
		var again []*line
		for n, l := range left {
			switch o := answer[n]; {
			case o.Unchanged:
				i.unchanged(l)
			case o.Success:
				added = append(added, l)
			case !o.Code.MayRepeat():
				i.refuse(l, "", o.Message)
			case try == maxTries:
				return added, client.Errorf(o.Code, "%s", o.Message)
			default:
				again = append(again, l)
			}
		}
		if left = again; left != nil && !i.pause(try) {
			return added, i.ctx.Err()
		}
	}
	return added, nil
}

// mistakes refuses the lines with mistakes that an error names, or all lines if it names none, and
// returns the others. It returns the error if it is temporary.
func (i *importer) mistakes(batch []*line, err error, within func(*line, string) (*line, string)) (left []*line, _ error) {
	if !refuses(err) {
		return nil, err
	}
	wrong := map[*line]bool{}
	seen := map[int]bool{} // items without one mistake: others may refer to moved positions
	if e, ok := errors.AsType[*client.Error](err); ok {
		for _, d := range e.Details {
			found := place.FindStringSubmatch(d.Field)
			if found == nil {
				continue
			}
			n, err := strconv.Atoi(found[1])
			if err != nil || n >= len(batch) || seen[n] {
				continue
			}
			seen[n] = true
			l, field := batch[n], found[2]
			if within != nil {
				l, field = within(l, field)
			}
			wrong[l] = true
			i.refuse(l, field, d.Message)
		}
	}
	if len(wrong) == 0 {
		for _, l := range batch {
			i.refuse(l, "", client.MessageOf(err))
		}
		return nil, nil
	}
	return slices.DeleteFunc(slices.Clone(batch), func(l *line) bool { return wrong[l] }), nil
}

// pause waits before a retry, and reports whether the import continues.
func (i *importer) pause(try int) bool {
	select {
	case <-time.After(min(time.Duration(try)*100*time.Millisecond, 5*time.Second)):
		return true
	case <-i.ctx.Done():
		return false
	}
}
