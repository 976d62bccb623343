package collab

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEffectivePreferences holds which preference counts, channel by channel.
func TestEffectivePreferences(t *testing.T) {
	both := func(inbox, email Preference) Preferences { return Preferences{Inbox: inbox, Email: email} }
	for _, tt := range []struct{ document, organization, want Preferences }{
		{Preferences{}, Preferences{}, DefaultPreferences},
		{Preferences{Inbox: PreferNone}, Preferences{}, both(PreferNone, PreferMine)},
		{Preferences{}, Preferences{Email: PreferAll}, both(PreferAll, PreferAll)},
		{Preferences{Email: PreferMine}, both(PreferNone, PreferAll), both(PreferNone, PreferMine)},
		{both(PreferMine, PreferNone), both(PreferAll, PreferAll), both(PreferMine, PreferNone)},
		{
			Preferences{Further: map[string]Preference{"slack": PreferNone, "sms": PreferAll}},
			Preferences{Further: map[string]Preference{"slack": PreferAll, "pager": PreferMine}},
			Preferences{PreferAll, PreferMine, map[string]Preference{"slack": PreferNone, "sms": PreferAll, "pager": PreferMine}},
		},
	} {
		if got := EffectivePreferences(tt.document, tt.organization); !cmp.Equal(got, tt.want) {
			t.Errorf("document %v, organization %v: %v, want %v", tt.document, tt.organization, got, tt.want)
		}
	}
}
