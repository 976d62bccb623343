package rpc

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
	"collabdata/shared/pagetoken"
)

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

func (c *Call) scope() pagetoken.Scope {
	return pagetoken.Scope{Account: c.Account, Path: c.Path, Filters: c.filters()}
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
