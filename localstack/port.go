package localstack

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// Ports from firstPort on, below those that outgoing connections get: on Linux these begin at 32768. So a port that is free stays free until
// a server listens on it, also one that a folder's state keeps.
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
