package localstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// CloudSettings returns arguments of cdk for LocalStack. They disable features that LocalStack only
// has in paid plans, and let webhooks call this machine.
func CloudSettings() []string {
	return []string{"-c", "stage=local", "-c", "arch=" + Arch(), "-c", "firewall=off", "-c", "live=off", "-c", "allowedPrivateCidrs=127.0.0.0/8"}
}

// Arch returns the setting arch for functions that run on this machine.
func Arch() string {
	if runtime.GOARCH == "arm64" {
		return "arm64"
	}
	return "x86_64"
}

// StartLocalStack starts LocalStack on a port of 127.0.0.1, and returns when it is ready. It
// installs LocalStack if needed. LocalStack outlives this process until StopLocalStack, and then
// loses its state. progress may be nil.
func StartLocalStack(ctx context.Context, port string, progress io.Writer) error {
	tools, err := cloudTools.install(ctx, progress)
	if err != nil {
		return err
	}
	local, err := Dir()
	if err != nil {
		return err
	}
	tmp := cloudFolder(local, port)
	if err := errors.Join(os.RemoveAll(tmp), os.MkdirAll(tmp, 0o755), os.MkdirAll(filepath.Join(local, "log"), 0o755)); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(local, "log", "localstack-"+port+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(tools, cloudTools.program), filepath.Join(filepath.Dir(local), "localstack", "start.py"),
		port, filepath.Join(tools, "dynamodb"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = local, log, log
	cmd.Env = append(baseEnv(), "TMPDIR="+tmp, "PYTHONUNBUFFERED=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, "pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("LocalStack did not answer within %v: its log is %s", startTimeout, log.Name()))
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !Answers(ctx, "http://127.0.0.1:"+port+"/_localstack/health") {
		select {
		case err := <-ended:
			printed, _ := os.ReadFile(log.Name())
			return fmt.Errorf("LocalStack did not start: %w: its log %s ends with:\n%s", err, log.Name(), tail(string(printed), 10))
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM))
		case <-tick.C:
		}
	}
	return nil
}

// StopLocalStack stops the LocalStack of StartLocalStack on the port, and waits for its end. It
// does nothing if none is running.
func StopLocalStack(ctx context.Context, port string) error {
	local, err := Dir()
	if err != nil {
		return err
	}
	tmp := cloudFolder(local, port)
	text, err := os.ReadFile(filepath.Join(tmp, "pid"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	pid, wrong := strconv.Atoi(string(text))
	if err = errors.Join(err, wrong); err != nil {
		return err
	}
	health := "http://127.0.0.1:" + port + "/_localstack/health"
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for Answers(ctx, health) { // otherwise its id may belong to another process
		if err := syscall.Kill(-pid, syscall.SIGTERM); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return os.RemoveAll(tmp)
}

// cloudFolder returns the folder of the temporary files and process group id of a LocalStack.
func cloudFolder(local, port string) string { return filepath.Join(local, "localstack", port) }
