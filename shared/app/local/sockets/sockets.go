// Package sockets holds connections of pages on one machine, in the place of API Gateway's WebSocket API.
package sockets

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"collabdata/shared/live"

	"github.com/coder/websocket"
)

// What API Gateway lets a connection have.
const (
	lifetime = 2 * time.Hour
	idle     = 10 * time.Minute
)

const (
	waiting      = 64 // messages for a connection that reads slowly: one with more is ended
	writeTimeout = 5 * time.Second
)

// Pages is what pages do with their connections: see live.Pages.
type Pages interface {
	Connect(ctx context.Context, id, ticket string) error
	Message(ctx context.Context, id string, began time.Time, text string)
	Disconnect(ctx context.Context, id string)
}

// Hub serves connections. It is a live.Gateway. Pages is set before the first one.
type Hub struct {
	Pages Pages

	mu      sync.Mutex
	sockets map[string]*socket
}

// socket is a connection.
type socket struct {
	conn *websocket.Conn
	out  chan string        // what is to be written, in its order; "" ends it
	end  context.CancelFunc // at once
}

// ServeHTTP begins a connection with the ticket of the query, and returns when it has ended.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began, id := time.Now(), rand.Text()
	if err := h.Pages.Connect(r.Context(), id, r.URL.Query().Get("ticket")); err != nil {
		http.Error(w, "the connection is refused", http.StatusForbidden)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), lifetime)
	defer cancel()
	defer h.Pages.Disconnect(context.WithoutCancel(ctx), id)
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // of any page: it has a ticket
	if err != nil {
		return // Accept has answered
	}
	s := &socket{conn: conn, out: make(chan string, waiting), end: cancel}
	h.mu.Lock()
	if h.sockets == nil {
		h.sockets = map[string]*socket{}
	}
	h.sockets[id] = s
	h.mu.Unlock()
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.write(ctx)
	}()
	defer func() {
		h.mu.Lock()
		delete(h.sockets, id)
		h.mu.Unlock()
		cancel()
		<-written
		_ = conn.CloseNow()
	}()
	for {
		kind, text, err := s.read(ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			text = nil
		}
		h.Pages.Message(ctx, id, began, string(text))
	}
}

func (s *socket) read(ctx context.Context) (websocket.MessageType, []byte, error) {
	within, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	return s.conn.Read(within)
}

// write writes what is to be written until the connection ends, or does not take it.
func (s *socket) write(ctx context.Context) {
	defer s.end()
	for {
		select {
		case <-ctx.Done():
			return
		case text := <-s.out:
			within, cancel := context.WithTimeout(ctx, writeTimeout)
			err := context.Cause(within)
			if text != "" {
				err = s.conn.Write(within, websocket.MessageText, []byte(text))
			} else {
				_ = s.conn.Close(websocket.StatusNormalClosure, "")
			}
			cancel()
			if err != nil || text == "" {
				return
			}
		}
	}
}

// Post sends a text to a connection; one that does not read what it is sent is ended. It fails with live.ErrGone for one that has ended.
func (h *Hub) Post(_ context.Context, id, text string) error {
	h.mu.Lock()
	s := h.sockets[id]
	h.mu.Unlock()
	if s == nil {
		return live.ErrGone
	}
	select {
	case s.out <- text:
		return nil
	default:
		s.end()
		return live.ErrGone
	}
}

// Close ends a connection after what was sent to it. It fails with live.ErrGone for one that has ended.
func (h *Hub) Close(ctx context.Context, id string) error { return h.Post(ctx, id, "") }

// End ends all connections.
func (h *Hub) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sockets {
		s.end()
	}
}
