package access

import "context"

// MaxCandidates is the number of users that one search for users with access examines.
const MaxCandidates = 1_000

// First returns the first want users of a stream that have access, after a user. next is the user
// to continue after, "" at the end. It examines at most bound users, so it may return fewer.
//
// The function next returns eligible users among the next n users of the stream. last is the last
// of the n, "" at the end. The function may returns the users among them that have access.
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
