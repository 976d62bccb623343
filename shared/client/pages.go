package client

import "iter"

// Page is one page of a list.
type Page[T any] struct {
	Items         []T    // for pointers, nil means that an item does not exist
	NextPageToken string // the pageToken of the next page; "" on the last
}

// items yields the items of all pages from a pageToken on.
func items[T any](token string, read func(token string) (*Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for token := token; ; {
			page, err := read(token)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if token = page.NextPageToken; token == "" {
				return
			}
		}
	}
}
