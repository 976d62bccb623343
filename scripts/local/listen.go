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

// defaultPort is the port where PORT names none. The README, the OpenAPI document and the clients' examples name it.
const defaultPort = "8080"

// listen listens on the port that PORT names, on 127.0.0.1 and, where this machine has it, on [::1]: programs differ in which of the two
// localhost is to them; or on the addresses, where there are any. The first listener is that of 127.0.0.1, or of the first address.
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
		if !errors.Is(err, syscall.EADDRINUSE) { // there is no IPv6 here
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

// taken says how to mend that something else listens on the port.
func taken(port string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %s is taken: stop what listens there, or choose another port, as in PORT=8081 make run", port)
	}
	return err
}

// lock makes the folder and keeps other servers out of it until unlock is called or the process ends.
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

// checkUnused fails while a server uses the data.
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
