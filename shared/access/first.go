package access

import "context"

// MaxCandidates is how many users one search for those who may see something looks at.
const MaxCandidates = 1_000

// First returns the first want users of a stream who may see something, after a user ("" for the
// beginning), and the user after whom the search goes on, "" if the stream has ended. It looks at
// no more than bound users: then it returns fewer.
//
// next returns those of the next at most n users of the stream after one that count, and the last
// of the n, "" if the stream has ended. may returns those of them who may see it.
func First(
	ctx context.Context, want, bound int, after string,
	next func(ctx context.Context, after string, n int) (users []string, last string, err error),
	may func(ctx context.Context, users []string) (map[string]bool, error),
) (found []string, last string, err error) {
	for n := want; ; n *= 2 {
		n = min(n, bound)
		users, last, err := next(ctx, after, n)
		if err != nil {
			return nil, "", err
		}
		var allowed map[string]bool
		if len(users) > 0 {
			if allowed, err = may(ctx, users); err != nil {
				return nil, "", err
			}
		}
		for i, u := range users {
			if !allowed[u] {
				continue
			}
			if found = append(found, u); len(found) == want && (i < len(users)-1 || last != "") {
				return found, u, nil
			}
		}
		if bound -= n; last == "" || bound == 0 {
			return found, last, nil
		}
		after = last
	}
}
