package client

import "iter"

// Page is one page of a list.
type Page[T any] struct {
	Items         []T    // nil for an item that does not exist, where they are pointers
	NextPageToken string // the pageToken of the next page, empty on the last
}

// items yields the items of the pages that read returns for a pageToken, and for those that follow.
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
