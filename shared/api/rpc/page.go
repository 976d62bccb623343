package rpc

import (
	"cmp"
	"encoding/json"
	"math"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
)

// PageRequest is what the requests of all lists have: embed it.
type PageRequest struct {
	PageSize  *int64 `json:"pageSize" rule:"notnull,min=1,max=1000" person:"in" doc:"The most items to answer; 1,000 where it is left out"`
	PageToken string `json:"pageToken" person:"in"`
}

// MaxPage is the most that the items of an answer take, in bytes as Lambda wraps them: 5 MB less what is around them.
const MaxPage = 4_990_000

// Page is an answer whose data are an array of T, as it fills: up to the items asked for, and to the bytes that an answer holds. The items
// are encoded as they come in, so that their size is known.
type Page[T any] struct {
	call  *Call
	noun  string
	most  int
	left  int // bytes that still fit, as wrapped
	items []collab.JSON
}

// NewPage returns an empty page of the list that req asks for, of collab.MaxPageSize items where it names no pageSize, and reads the place
// where it begins into what position points at: see Call.Position. The noun is that of its items, as for Count.
func NewPage[T any](call *Call, noun string, req PageRequest, position any) (*Page[T], error) {
	if err := call.Position(req.PageToken, position); err != nil {
		return nil, err
	}
	most := cmp.Or(collab.Deref(req.PageSize), collab.MaxPageSize)
	return &Page[T]{call: call, noun: noun, most: int(most), left: MaxPage}, nil
}

// NewList is NewPage for a list that is answered in one piece, however many items it has.
func NewList[T any](call *Call, noun string) *Page[T] {
	return &Page[T]{call: call, noun: noun, most: math.MaxInt, left: MaxPage}
}

// Most returns how many further items were asked for.
func (p *Page[T]) Most() int { return p.most - len(p.items) }

// Len returns how many items the page has.
func (p *Page[T]) Len() int { return len(p.items) }

// Room returns how many bytes the next item may take, as wrapped.
func (p *Page[T]) Room() int { return p.left - len(",") }

// Add takes an item, and reports whether it fits. The first one always does.
func (p *Page[T]) Add(item T) bool {
	text := JSON(item)
	return p.AddEncoded(text, WrappedLen(text))
}

// AddEncoded is Add for an item that is encoded already, null for nil, and whose WrappedLen is known.
func (p *Page[T]) AddEncoded(text collab.JSON, size int) bool {
	if len(p.items) > 0 && (size > p.Room() || p.Most() <= 0) {
		return false
	}
	p.left -= size + len(",")
	p.items = append(p.items, text)
	return true
}

// BothTokens has the answer say where the list goes on under the name pageToken, too, as the contract does for some lists.
func (p *Page[T]) BothTokens() { p.call.bothTokens = true }

// Next says that the list goes on after a position: see Call.PageToken.
func (p *Page[T]) Next(position any) { p.call.NextPageToken = p.call.PageToken(position) }

func (p *Page[T]) segments(s *segments) { s.value(p.items) }

// report tells the call what the page holds, where the operation has not done so.
func (p *Page[T]) report() {
	p.call.Items = len(p.items)
	if p.call.Message == "" {
		p.call.Message = Count(len(p.items), p.noun)
	}
}

// GroupedPage is a Page that is answered, where the request asks for it, as an object of arrays by a key, in the order in which the keys
// came.
type GroupedPage[T any] struct {
	*Page[T]
	grouped bool
	groups  Keyed[[]collab.JSON]
	index   map[string]int // a key's place in groups
}

// Group returns the page as one whose items are added by AddTo, where grouped is true, or by AddEncoded.
func (p *Page[T]) Group(grouped bool) *GroupedPage[T] {
	return &GroupedPage[T]{Page: p, grouped: grouped, index: map[string]int{}}
}

// RoomIn is Room for the next item of a group.
func (g *GroupedPage[T]) RoomIn(key string) int {
	room := g.Room()
	if _, known := g.index[key]; g.grouped && !known {
		room -= 2*WrappedLen(key) + len(`\"\":[],`) // a quote in a key takes four
	}
	return room
}

// AddTo is AddEncoded, into the group of a key.
func (g *GroupedPage[T]) AddTo(key string, text collab.JSON, size int) bool {
	if !g.AddEncoded(text, size+g.Room()-g.RoomIn(key)) {
		return false
	}
	if !g.grouped {
		return true
	}
	i, known := g.index[key]
	if !known {
		i = len(g.groups)
		g.index[key] = i
		g.groups = append(g.groups, Member[[]collab.JSON]{Key: key})
	}
	g.groups[i].Value = append(g.groups[i].Value, text)
	return true
}

func (g *GroupedPage[T]) segments(s *segments) {
	if g.grouped {
		g.groups.segments(s)
	} else {
		g.Page.segments(s)
	}
}

// PageToken returns the token that leads back to a position in this request's list. The position is any value that encoding/json
// writes and reads. The token holds for the same account, path and data; pageSize, order of keys and white space may differ.
func (c *Call) PageToken(position any) string {
	return c.scope().Encode(JSON(position))
}

// Position reads the position of a token that PageToken made into what position points at, and leaves that alone where the token is
// empty: the first page. The error is INVALID_ARGUMENT. A caller can forge a token: the position is no more to be trusted than the
// rest of the request.
func (c *Call) Position(token string, position any) error {
	if token == "" {
		return nil
	}
	text, err := c.scope().Decode(token)
	if err == nil {
		err = json.Unmarshal(text, position)
	}
	if err != nil {
		return collab.PageTokenError(err)
	}
	return nil
}

func (c *Call) scope() PageScope {
	return PageScope{Account: c.Account, Path: c.Path, Filters: c.filters()}
}

// filters returns the data of the request less pageSize and pageToken in its canonical form (RFC 8785).
func (c *Call) filters() []byte {
	filters := Keyed[collab.JSON]{}
	for name, data := range Members(c.body) {
		if name != "data" {
			continue
		}
		for name, value := range Members(data) {
			if name != "pageSize" && name != "pageToken" {
				filters = append(filters, Member[collab.JSON]{Key: name, Value: value})
			}
		}
	}
	canonical := jsontext.Value(JSON(filters))
	if err := canonical.Canonicalize(); err != nil {
		panic(err) // the body was read without an error
	}
	return canonical
}

// Open is embedded in a struct whose object has further members, of any name. In a request they are kept here, in their order, null as
// null.
type Open struct {
	Further Keyed[collab.JSON] `json:"-"`
}

// ItemType returns T, for who describes the answer.
func (*Page[T]) ItemType() reflect.Type { return reflect.TypeFor[T]() }

// ItemType returns T, for who describes the answer.
func (*GroupedPage[T]) ItemType() reflect.Type { return reflect.TypeFor[T]() }
