package collab

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of ids, in bytes as stored: see IDLen.
const (
	MaxID             = 256       // all ids except a document's
	MaxDocumentID     = 600       //
	MaxNotificationID = 128       // letters, digits, `_` and `-`
	MaxCommentID      = 1<<53 - 1 // the largest integer that every JSON reader keeps
)

// RootFolder is the parentFolderId of a top-level folder. As a folder filter it selects documents
// outside folders.
const RootFolder = "root"

// IDLen returns the stored length of an id in bytes: `%`, `#`, space, `!` and `"` count three.
func IDLen(id string) int {
	n := len(id)
	for i := range len(id) {
		if strings.IndexByte(`%# !"`, id[i]) >= 0 {
			n += 2
		}
	}
	return n
}

// CheckID returns the rule that an id breaks, or nil. An id is valid UTF-8, of 1 to limit bytes
// (see IDLen), without control characters (C0, DEL, C1). The error's text is for the caller.
func CheckID(id string, limit int) error {
	if id == "" {
		return errors.New("must not be empty")
	}
	if !utf8.ValidString(id) {
		return errors.New("must be valid UTF-8")
	}
	if strings.ContainsFunc(id, unicode.IsControl) {
		return errors.New("must not contain control characters")
	}
	if n := IDLen(id); n > limit {
		return fmt.Errorf("must be at most %d bytes (%%, #, space, ! and \" count three), not %d", limit, n)
	}
	return nil
}

// CheckNotificationID returns the rule that a notification id breaks, or nil. The error's text is
// for the caller.
func CheckNotificationID(id string) error {
	if len(id) < 1 || len(id) > MaxNotificationID {
		return fmt.Errorf("must be 1 to %d characters", MaxNotificationID)
	}
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	if strings.Trim(id, characters) != "" {
		return errors.New("may contain only letters, digits, _ and -")
	}
	return nil
}

// idAlphabet is Crockford's base 32 in ascending order, so that encoded ids sort like their bytes.
var idAlphabet = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// IDs generates the ids of one request. The same start and seed give the same ids, so that a retry
// with an Idempotency-Key uses the ids of the first attempt. It is safe for concurrent use, except
// Next.
type IDs struct {
	start time.Time // of the first attempt
	seed  []byte
	n     uint16
}

// NewIDs returns a generator for a request that started at start. The seed has at least 16 random
// bytes.
func NewIDs(start time.Time, seed []byte) *IDs { return &IDs{start: start, seed: seed} }

// Mark returns the mark of this request's items: 26 characters that only this start and seed give.
func (g *IDs) Mark() string {
	sum := sha256.Sum256(append([]byte("mark"), g.seed...))
	return encodeID(g.start.UnixMilli(), sum[:10])
}

// Next returns an id of 26 characters, `0-9a-z`, that sorts after earlier ids of the request and
// ids of earlier requests. It encodes 48 bits of milliseconds, 16 bits of position, and 64 bits of
// the seed's hash. A request has at most 65,536 ids.
func (g *IDs) Next() string {
	id := g.id(g.n, "id", binary.BigEndian.AppendUint16(nil, g.n))
	g.n++
	return id
}

// For returns the id of one thing that the request adds, by position and name: the same in every
// attempt, whatever else the attempt adds. Ids sort by position, 0 to 65,535.
func (g *IDs) For(position int, name string) string {
	return g.id(uint16(position), "for", []byte(name))
}

func (g *IDs) id(position uint16, kind string, name []byte) string {
	sum := sha256.Sum256(slices.Concat([]byte(kind), g.seed, name))
	return encodeID(g.start.UnixMilli(), append(binary.BigEndian.AppendUint16(nil, position), sum[:8]...))
}

func encodeID(at Millis, rest []byte) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(at)<<16)
	return idAlphabet.EncodeToString(append(b[:6], rest...))
}

// Start returns the start of the first attempt.
func (g *IDs) Start() time.Time { return g.start }

// Elsewhere returns the distance from the first generated comment id to the next candidate if n+1
// ids were taken. It differs between requests and grows with n, so that concurrent requests find
// free ids.
func (g *IDs) Elsewhere(n int) int64 {
	sum := sha256.Sum256(append([]byte{byte(n)}, g.seed...))
	return int64(binary.BigEndian.Uint64(sum[:8]) % (256 << min(n, 20)))
}

// EarliestID returns the lowest id of a time: it sorts after all ids of earlier times.
func EarliestID(at Millis) string { return encodeID(at, make([]byte, 10)) }
