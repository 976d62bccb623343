package rpc

import (
	"cmp"
	"encoding/json"
	"math"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
)

// PageRequest has the fields of all list requests: embed it.
type PageRequest struct {
	PageSize  *int64 `json:"pageSize" rule:"notnull,min=1,max=1000" person:"in" doc:"The maximum number of items. Default: 1,000"`
	PageToken string `json:"pageToken" person:"in"`
}

// MaxPage is the maximum size of a page's items in bytes as Lambda encodes them: 5 MB without the
// envelope.
const MaxPage = 4_990_000

// Page collects the items of a list until the requested number or the maximum size is reached.
// Items are encoded when added, so that their size is known.
type Page[T any] struct {
	call  *Call
	noun  string
	limit int
	left  int // remaining bytes, as Lambda encodes them
	items []collab.JSON
}

// NewPage returns an empty page for req, by default of collab.MaxPageSize items. It stores the
// start in position, which is a pointer: see Call.Position. The noun is as in Count.
func NewPage[T any](call *Call, noun string, req PageRequest, position any) (*Page[T], error) {
	if err := call.Position(req.PageToken, position); err != nil {
		return nil, err
	}
	limit := cmp.Or(collab.Deref(req.PageSize), collab.MaxPageSize)
	return &Page[T]{call: call, noun: noun, limit: int(limit), left: MaxPage}, nil
}

// NewList is NewPage for a list in one response, without a limit on items.
func NewList[T any](call *Call, noun string) *Page[T] {
	return &Page[T]{call: call, noun: noun, limit: math.MaxInt, left: MaxPage}
}

// Most returns the number of items that can be added.
func (p *Page[T]) Most() int { return p.limit - len(p.items) }

// Len returns the number of items.
func (p *Page[T]) Len() int { return len(p.items) }

// Room returns the maximum size of the next item, as Lambda encodes it.
func (p *Page[T]) Room() int { return p.left - len(",") }

// Add adds an item, and reports whether it fits. The first item always fits.
func (p *Page[T]) Add(item T) bool {
	text := JSON(item)
	return p.AddEncoded(text, WrappedLen(text))
}

// AddEncoded is Add for an encoded item with a known WrappedLen; nil is null.
func (p *Page[T]) AddEncoded(text collab.JSON, size int) bool {
	if len(p.items) > 0 && (size > p.Room() || p.Most() <= 0) {
		return false
	}
	p.left -= size + len(",")
	p.items = append(p.items, text)
	return true
}

// BothTokens also returns the token as pageToken, as the contract requires for some lists.
func (p *Page[T]) BothTokens() { p.call.bothTokens = true }

// Next marks that the list continues after a position: see Call.PageToken.
func (p *Page[T]) Next(position any) { p.call.NextPageToken = p.call.PageToken(position) }

func (p *Page[T]) segments(s *segments) { s.value(p.items) }

// report sets the call's message and number of items, unless the operation has.
func (p *Page[T]) report() {
	p.call.Items = len(p.items)
	if p.call.Message == "" {
		p.call.Message = Count(len(p.items), p.noun)
	}
}

// GroupedPage is a Page that can be an object of arrays, ordered by the first use of each key.
type GroupedPage[T any] struct {
	*Page[T]
	grouped bool
	groups  Keyed[[]collab.JSON]
	index   map[string]int // index in groups by key
}

// Group returns a page that groups the items of AddTo if grouped is true.
func (p *Page[T]) Group(grouped bool) *GroupedPage[T] {
	return &GroupedPage[T]{Page: p, grouped: grouped, index: map[string]int{}}
}

// RoomIn is Room for the next item of a group.
func (g *GroupedPage[T]) RoomIn(key string) int {
	room := g.Room()
	if _, ok := g.index[key]; g.grouped && !ok {
		room -= 2*WrappedLen(key) + len(`\"\":[],`) // a quote in a key takes four bytes
	}
	return room
}

// AddTo is AddEncoded for the group of a key.
func (g *GroupedPage[T]) AddTo(key string, text collab.JSON, size int) bool {
	if !g.AddEncoded(text, size+g.Room()-g.RoomIn(key)) {
		return false
	}
	if !g.grouped {
		return true
	}
	i, ok := g.index[key]
	if !ok {
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

// PageToken returns the token of a position in this request's list. A position is any value that
// encoding/json can encode and decode. The token is valid for the same account, path and data,
// except for pageSize, order of keys and white space.
func (c *Call) PageToken(position any) string {
	return c.scope().Encode(JSON(position))
}

// Position decodes the position of a token into what position points to; an empty token leaves it
// unchanged. It returns INVALID_ARGUMENT if the token is invalid. A caller can forge a token, so do
// not trust the position.
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

// filters returns the request's data without pageSize and pageToken, in canonical form (RFC 8785).
func (c *Call) filters() []byte {
	filters := slices.DeleteFunc(collab.JSON(c.body).Get("data").Object(), func(m collab.ObjectMember) bool {
		return m.Name == "pageSize" || m.Name == "pageToken"
	})
	canonical := jsontext.Value(filters.JSON())
	if err := canonical.Canonicalize(); err != nil {
		panic(err) // the body is valid
	}
	return canonical
}

// ItemType returns T, for the description of responses.
func (*Page[T]) ItemType() reflect.Type { return reflect.TypeFor[T]() }

// ItemType returns T, for the description of responses.
func (*GroupedPage[T]) ItemType() reflect.Type { return reflect.TypeFor[T]() }
