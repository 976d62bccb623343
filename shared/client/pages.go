package client

import (
	"context"
	"encoding/json"
	"iter"

	"collabdata/shared/api/rpc"
)

// list is what the operations answer that are for Items and Pages.
type list[Item any] interface{ Add(Item) bool } // see rpc.Page

// Pages yields the pages of a list, from the one that the request's pageToken names on, the first without one. An error ends them. An item
// that is null, as of an id that does not exist, is the zero value. Where the request groups the answer, call Send instead.
func Pages[Service, Request any, Page list[Item], Item any](ctx context.Context, c *Client, _ Operation[Service, Request, Page], request *Request,
) iter.Seq2[*Result[[]Item], error] {
	return func(yield func(*Result[[]Item], error) bool) {
		for token := ""; ; {
			result, err := call[[]Item](ctx, c, request, token, nil)
			if !yield(result, err) || err != nil || result.NextPageToken == "" {
				return
			}
			token = result.NextPageToken
		}
	}
}

// Items yields the items of all pages of a list, in their order: see Pages. An error ends them.
func Items[Service, Request any, Page list[Item], Item any](ctx context.Context, c *Client, operation Operation[Service, Request, Page], request *Request,
) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for page, err := range Pages(ctx, c, operation, request) {
			if err != nil {
				var none Item
				yield(none, err)
				return
			}
			for _, item := range page.Data {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// withPageToken returns the data of a request with another page token.
func withPageToken(data []byte, token string) ([]byte, error) {
	var fields rpc.Keyed[json.RawMessage]
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	text, err := json.Marshal(token)
	if err != nil {
		return nil, err
	}
	kept := fields[:0]
	for _, f := range fields {
		if f.Key != "pageToken" {
			kept = append(kept, f)
		}
	}
	return json.Marshal(append(kept, rpc.Member[json.RawMessage]{Key: "pageToken", Value: text}))
}
