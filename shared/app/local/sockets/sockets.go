// Package sockets serves the connections of pages on one machine. It stands in for the WebSocket
// API of API Gateway.
package sockets

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"collabdata/shared/live"

	"github.com/coder/websocket"
)

// Limits of API Gateway for a connection.
const (
	lifetime = 2 * time.Hour
	idle     = 10 * time.Minute
)

const (
	waiting      = 64 // queued messages; a connection that reads more slowly is closed
	writeTimeout = 5 * time.Second
)

// Hub serves connections. It implements live.Gateway. Set Pages before the first connection.
type Hub struct {
	Pages *live.Pages

	mu      sync.Mutex
	sockets map[string]*socket
}

type socket struct {
	conn *websocket.Conn
	out  chan string        // texts to write in order; "" closes the connection
	end  context.CancelFunc // closes immediately
}

// ServeHTTP opens a connection with the ticket of the query. It returns after the connection ends.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()
	if err := h.Pages.Connect(r.Context(), id, r.URL.Query().Get("ticket")); err != nil {
		http.Error(w, "the connection is refused", http.StatusForbidden)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), lifetime)
	defer cancel()
	defer h.Pages.Disconnect(context.WithoutCancel(ctx), id)
	// any origin: the ticket authenticates
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has written the response
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
		if kind == websocket.MessageText && isPing(text) {
			_ = h.Post(ctx, id, pong)
		} else {
			h.Pages.Message(ctx, id)
		}
	}
}

const pong = `{"pong":true}`

// isPing reports whether the gateway answers a message itself, by the text of its value ping.
func isPing(text []byte) bool {
	var message map[string]any
	return json.Unmarshal(text, &message) == nil && fmt.Sprint(message["ping"]) == "true"
}

func (s *socket) read(ctx context.Context) (websocket.MessageType, []byte, error) {
	within, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	return s.conn.Read(within)
}

// write writes queued texts until the connection ends or a write fails.
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

// Post sends a text to a connection. It closes a connection that reads too slowly. It returns
// live.ErrGone if the connection has ended.
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

// Close ends a connection after its queued texts. It returns live.ErrGone if the connection has
// ended.
func (h *Hub) Close(ctx context.Context, id string) error { return h.Post(ctx, id, "") }

// End closes all connections.
func (h *Hub) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sockets {
		s.end()
	}
}
