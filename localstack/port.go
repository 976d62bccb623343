package localstack

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// Ports are below the range of outgoing connections, which starts at 32768 on Linux. So a free
// port, including one stored in a folder, stays free until a server listens on it.
const (
	firstPort = 20_000
	ports     = 12_000
)

func freePort() (int, error) {
	for {
		port := firstPort + rand.IntN(ports)
		if free, err := isFree(port); free || !errors.Is(err, syscall.EADDRINUSE) {
			return port, err
		}
	}
}

func isFree(port int) (bool, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false, err
	}
	return true, l.Close()
}
