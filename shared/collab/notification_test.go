package collab

import "testing"

// TestEffectivePreferences holds which preference counts, channel by channel.
func TestEffectivePreferences(t *testing.T) {
	for _, tt := range []struct{ document, organization, want Preferences }{
		{Preferences{}, Preferences{}, DefaultPreferences},
		{Preferences{Inbox: PreferNone}, Preferences{}, Preferences{PreferNone, PreferMine}},
		{Preferences{}, Preferences{Email: PreferAll}, Preferences{PreferAll, PreferAll}},
		{Preferences{Email: PreferMine}, Preferences{PreferNone, PreferAll}, Preferences{PreferNone, PreferMine}},
		{Preferences{PreferMine, PreferNone}, Preferences{PreferAll, PreferAll}, Preferences{PreferMine, PreferNone}},
	} {
		if got := EffectivePreferences(tt.document, tt.organization); got != tt.want {
			t.Errorf("document %v, organization %v: %v, want %v", tt.document, tt.organization, got, tt.want)
		}
	}
}
