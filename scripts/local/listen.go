package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"collabdata/localstack"
)

// defaultPort is the port if PORT is not set. The README, the OpenAPI document and the clients'
// examples contain it.
const defaultPort = "8080"

// listen listens on a port on 127.0.0.1 and, if available, on [::1], because programs resolve
// localhost to either; or on the addresses, if there are any. The first listener is that of
// 127.0.0.1 or of the first address.
func listen(port string, addresses []string) ([]net.Listener, error) {
	port = cmp.Or(port, defaultPort)
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("PORT is %q, which is no port: use a number from 1 to 65535", port)
	}
	if n > 0 && n < 1024 && os.Getuid() != 0 {
		return nil, fmt.Errorf("PORT is %d, which only root may use: use a number from 1024 to 65535", n)
	}
	if len(addresses) > 0 {
		return listenOn(addresses, port)
	}
	for {
		four, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			return nil, taken(port, err)
		}
		_, same, err := net.SplitHostPort(four.Addr().String())
		if err != nil {
			return nil, err
		}
		six, err := net.Listen("tcp6", net.JoinHostPort("::1", same))
		if err == nil {
			return []net.Listener{four, six}, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) { // IPv6 is unavailable
			return []net.Listener{four}, nil
		}
		four.Close()
		if n != 0 {
			return nil, taken(port, err)
		}
	}
}

// listenOn listens on a port of each address.
func listenOn(addresses []string, port string) (list []net.Listener, err error) {
	for _, address := range addresses {
		l, err := net.Listen("tcp", net.JoinHostPort(address, port))
		if err != nil {
			return nil, taken(port, err)
		}
		if list = append(list, l); port == "0" {
			_, port, err = net.SplitHostPort(l.Addr().String())
			if err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// taken explains how to fix a port that is in use.
func taken(port string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %s is in use: stop the program that uses it, or choose another port, as in PORT=8081 make run", port)
	}
	return err
}

// lock creates the folder and locks it until unlock is called or the process ends.
func lock(data string) (unlock func() error, err error) {
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, err
	}
	unlock, err = localstack.TryLock(filepath.Join(data, "lock"))
	if err == nil && unlock == nil {
		err = fmt.Errorf("another server uses the data in %s: stop it first", data)
	}
	return unlock, err
}

// checkUnused returns an error if a server uses the data.
func checkUnused(data string) error {
	local, err := localstack.Dir()
	if err != nil {
		return err
	}
	unlock, err := lock(cmp.Or(data, filepath.Join(local, "data")))
	if err != nil {
		return err
	}
	return unlock()
}
