package localstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout = 3 * time.Minute // on a busy machine
	stopTimeout  = 10 * time.Second
	logsKept     = 24 * time.Hour
)

// Server is a stand-in that runs as a child process.
type Server struct {
	URL string // http://127.0.0.1:<port>
	Log string // path of the log file of its output

	cmd   *exec.Cmd
	alive io.Closer // closing it makes the supervisor stop the server
	done  chan struct{}
	stop  sync.Once
}

// Done returns a channel that is closed when the server has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Stop stops the server and its child processes. It returns an error if the server had already
// ended, or was killed after 10 s; the data on disk may then lack the latest writes. A second call
// does nothing.
func (s *Server) Stop() (err error) {
	s.stop.Do(func() {
		select {
		case <-s.done:
			err = fmt.Errorf("%s had already ended: see its log %s", s.URL, s.Log)
		default:
		}
		s.alive.Close()
		select {
		case <-s.done:
		case <-time.After(stopTimeout):
			err = fmt.Errorf("%s did not stop within %v and was killed", s.URL, stopTimeout)
			_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
			<-s.done
		}
	})
	return err
}

type program struct {
	name  string // of its log file
	args  func(port int) []string
	env   func(port int) []string
	ready func(port int) string // output when it listens
	probe string                // path that responds with 200
}

// start starts the program on a port, or on a free one if port is 0, and returns when it is ready.
// The context limits the start, not the server.
func (p program) start(ctx context.Context, local string, port int) (*Server, error) {
	if port != 0 {
		free, err := isFree(port)
		for end := time.Now().Add(time.Second); !free && ctx.Err() == nil && time.Now().Before(end); free, err = isFree(port) {
			time.Sleep(20 * time.Millisecond) // another process may be probing the port
		}
		if !free {
			return nil, fmt.Errorf("port %d is in use: stop the program that uses it, or choose another port (%w)", port, err)
		}
		return p.startOn(ctx, local, port)
	}
	for {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s, err := p.startOn(ctx, local, port)
		if err == nil || ctx.Err() != nil {
			return s, err
		}
		// Another process may have taken the port.
		if free, _ := isFree(port); free {
			return nil, err
		}
	}
}

// supervisor runs a command in a new process group, and sends SIGTERM to the group when its
// standard input ends. The starter holds the other end of that pipe, so the group ends with the
// starter on every Unix, even if the starter is killed. Finally, it removes the temporary files.
const supervisor = `
trap : TERM
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
{ read -r _ <&3; kill -s TERM -- "-$$"; } &
reader=$!
wait "$server"
while kill -s 0 "$server" 2>/dev/null; do wait "$server"; done
kill "$reader" 2>/dev/null
rm -rf "$TMPDIR"
`

func (p program) startOn(ctx context.Context, local string, port int) (*Server, error) {
	log, err := openLog(filepath.Join(local, "log"), p.name, port)
	if err != nil {
		return nil, err
	}
	defer log.Close()

	tmp := filepath.Join(local, "tmp", p.name+"-"+strconv.Itoa(port))
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", supervisor, p.name}, p.args(port)...)...)
	cmd.Dir = local
	cmd.Env = append(append(baseEnv(), "TMPDIR="+tmp), p.env(port)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	s := &Server{
		URL:   "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Log:   log.Name(),
		cmd:   cmd,
		alive: alive,
		done:  make(chan struct{}),
	}
	go func() {
		_ = cmd.Wait()
		os.RemoveAll(tmp) // unless the supervisor was killed, it is gone
		close(s.done)
	}()

	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no answer within %v", startTimeout))
	defer cancel()
	if err := s.await(ctx, p.ready(port), p.probe); err != nil {
		_ = s.Stop()
		printed, _ := os.ReadFile(s.Log)
		return nil, fmt.Errorf("%s did not start: %w: its log %s ends with:\n%s\n(make distclean, then the same command, reinstalls it)",
			p.name, err, s.Log, tail(string(printed), 10))
	}
	return s, nil
}

// await waits until the server listens and responds. It reads the log, because another process
// could respond on the port.
func (s *Server) await(ctx context.Context, ready, probe string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		printed, err := os.ReadFile(s.Log)
		if err != nil {
			return err
		}
		if strings.Contains(string(printed), ready) && Answers(ctx, s.URL+probe) {
			return nil
		}
		select {
		case <-s.done:
			return errors.New("it ended immediately")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// Answers reports whether a GET of the URL returns 200.
func Answers(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// baseEnv returns the environment without the variables that configure AWS SDKs or the servers.
func baseEnv() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "USER", "LANG", "LC_ALL"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// openLog creates a log file and removes old ones of the same name.
func openLog(dir, name string, port int) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	base := filepath.Base(os.Args[0]) + "-" + name + "-"
	old, err := filepath.Glob(filepath.Join(dir, base+"*.log"))
	if err != nil {
		return nil, err
	}
	for _, path := range old {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > logsKept {
			os.Remove(path)
		}
	}
	return os.Create(filepath.Join(dir, base+strconv.Itoa(port)+".log"))
}
