package queue_test

import (
	"log/slog"
	"os"
	"sync"
	"testing"

	"collabdata/shared/queue"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/logging"
)

func TestExp(t *testing.T) {
	cfg := config(t)
	cfg.ClientLogMode = aws.LogRetries
	cfg.Logger = logging.NewStandardLogger(os.Stderr)
	q := queue.New(cfg, create(t, cfg)[table.EventsQueue], slog.Default())
	stop := make(chan bool)
	for range 6 {
		go func() {
			x := 0
			for {
				select {
				case <-stop:
					return
				default:
					for i := range 100000 {
						x += i
					}
				}
			}
		}()
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				q.Send(t.Context(), refs(10)...)
				m, err := q.Receive(t.Context(), 10, 0)
				if err != nil {
					t.Error(err)
				}
				if err := q.Delete(t.Context(), m...); err != nil {
					t.Log(err)
				}
			}
		})
	}
	wg.Wait()
	close(stop)
}
