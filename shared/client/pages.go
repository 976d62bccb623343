package client

import (
	"context"
	"encoding/json"
	"iter"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Pages yields the pages of an operation that answers in pages, from the one that the request's pageToken names on, the first without
// one. An error ends them. Data is the type of a page's data, such as []commentannotations.Annotation.
func Pages[Data any](ctx context.Context, c *Client, path string, request any) iter.Seq2[*Result[Data], error] {
	return func(yield func(*Result[Data], error) bool) {
		fields := map[string]json.RawMessage{}
		data, err := rpc.EncodeData(request)
		if err == nil {
			err = json.Unmarshal(data, &fields)
		}
		if err != nil {
			yield(nil, &collab.Error{Code: collab.InvalidArgument, Message: "the request cannot be written as a JSON object", Err: err})
			return
		}
		for {
			result, err := call[Data](ctx, c, path, data, nil)
			if !yield(result, err) || err != nil || result.NextPageToken == "" {
				return
			}
			if fields["pageToken"], err = json.Marshal(result.NextPageToken); err == nil {
				data, err = json.Marshal(fields)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// Items yields the items of all pages, in their order; see Pages. An error ends them.
func Items[Item any](ctx context.Context, c *Client, path string, request any) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for page, err := range Pages[[]Item](ctx, c, path, request) {
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
