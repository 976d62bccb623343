package collab

import "slices"

// Level selects the events of a thread for which a user is notified.
type Level string

// The levels. By default, users are notified if they wrote in the thread, are mentioned or
// assigned.
const (
	LevelDefault  Level = "default" // none is set
	LevelAll      Level = "all"
	LevelMentions Level = "mentions"
	LevelNone     Level = "none"
)

func (Level) Values() []string { return texts(LevelAll, LevelMentions, LevelNone, LevelDefault) }

// Follows lists the ids of users with a level for a thread; each is in one list. A nil Follows is
// empty.
type Follows struct {
	All      []string `dynamodbav:"all,omitempty"`
	Mentions []string `dynamodbav:"mentions,omitempty"`
	None     []string `dynamodbav:"none,omitempty"`
}

// MaxFollows is the maximum of users with a level for a thread.
const MaxFollows = 500

const MaxFollowers = 1_000

// followBytes is the maximum of bytes of an id with a level that a person adds, on average of
// MaxFollows or MaxFollowers.
const followBytes = 64

// Of returns a user's level.
func (f *Follows) Of(user string) Level {
	switch {
	case f == nil:
	case slices.Contains(f.All, user):
		return LevelAll
	case slices.Contains(f.Mentions, user):
		return LevelMentions
	case slices.Contains(f.None, user):
		return LevelNone
	}
	return LevelDefault
}

// Mutes reports whether a user is not told of new comments, except mentions.
func (f *Follows) Mutes(user string) bool {
	level := f.Of(user)
	return level == LevelNone || level == LevelMentions
}

// Set returns a copy of f with a user's level changed.
func (f *Follows) Set(user string, level Level) *Follows {
	others := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return id == user })
	}
	old := Deref(f)
	set := &Follows{others(old.All), others(old.Mentions), others(old.None)}
	switch level {
	case LevelAll:
		set.All = append(set.All, user)
	case LevelMentions:
		set.Mentions = append(set.Mentions, user)
	case LevelNone:
		set.None = append(set.None, user)
	}
	if set.Len() == 0 {
		return nil
	}
	return set
}

func (f *Follows) Len() int {
	if f == nil {
		return 0
	}
	return len(f.All) + len(f.Mentions) + len(f.None)
}

// CheckFollows returns RESOURCE_EXHAUSTED if a change adds users with a level to a thread or a
// document, so that there are more than limit. For a person's change, it also does so beyond 64
// bytes of ids for each of most.
func CheckFollows(before, after *Follows, limit int, person bool) error {
	if after.Len() <= before.Len() {
		return nil
	}
	bytes := 0
	for _, id := range slices.Concat(after.All, after.Mentions, after.None) {
		bytes += len(id)
	}
	switch {
	case after.Len() > limit:
		return Errorf(ResourceExhausted, "at most %d users may follow or mute it", limit)
	case person && bytes > followBytes*limit:
		return Errorf(ResourceExhausted, "the users who follow or mute it may have ids of at most %d bytes in all", followBytes*limit)
	}
	return nil
}
