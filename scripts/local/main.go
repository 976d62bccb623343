// Local serves the whole interface on this machine: the handlers of the functions, on stand-ins for
// AWS that package localstack starts, or on those in the SDK's variables (AWS_ENDPOINT_URL,
// AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL_SQS). PORT sets the port (default 8080; 0 means a
// free one). HOST adds addresses and names of the server: see parseHosts. Pages show the state of
// the server, the reference, and sent emails and webhooks.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"collabdata/localstack"
	"collabdata/shared/api/openapi"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
)

func main() {
	data := flag.String("data", "", "folder that keeps the data between runs (default .local/data of the repository)")
	form := flag.String("log", "", "format of the log: short, logfmt or json (default short on a terminal, else logfmt)")
	unused := flag.Bool("unused", false, "only fail while a server uses the data")
	flag.Parse()
	if *form == "" {
		*form = "logfmt"
		if isTerminal(os.Stdout) {
			*form = "short"
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program immediately
	do := func() error { return run(ctx, *data, *form, os.Stdout) }
	if *unused {
		do = func() error { return checkUnused(*data) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, data, form string, out io.Writer) (err error) {
	if errHeaders != nil {
		return errHeaders
	}
	log, err := newLog(form, out, isTerminal(os.Stdout))
	if err != nil {
		return err
	}
	names, addresses := parseHosts(os.Getenv("HOST"))
	listeners, err := listen(os.Getenv("PORT"), addresses)
	if err != nil {
		return err
	}
	for _, l := range listeners {
		defer l.Close()
	}
	_, port, err := net.SplitHostPort(listeners[0].Addr().String())
	if err != nil {
		return err
	}
	url := "http://127.0.0.1:" + port
	local, err := localstack.Dir()
	if err != nil {
		return err
	}
	data = cmp.Or(data, filepath.Join(local, "data"))
	unlock, err := lock(data)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()

	s, err := prepare(ctx, data, log, url, out)
	defer func() { err = errors.Join(err, s.clouds.stop()) }()
	if err != nil {
		return unlessStopped(ctx, err)
	}
	job, err := prepareExamples(ctx, s.service.Handler(), url)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	p := &pages{
		url: url, mails: s.clouds.sent, receiver: &receiver{webhooks: s.service.Hooks.Webhooks, now: time.Now}, demo: newDemo(url),
		openAPI:   func() ([]byte, error) { return description(filepath.Dir(local), job) },
		reference: s.reference, readme: filepath.Join(filepath.Dir(local), "README.md"),
		schema: filepath.Join(filepath.Dir(local), "shared", "api", "import-schema.json"),
		place: place{
			Data: data, Admin: adminCommand(local, s.environment),
			DynamoDB: s.clouds.dynamoDB.url("AWS_ENDPOINT_URL_DYNAMODB"), SQS: s.clouds.sqs.url("AWS_ENDPOINT_URL_SQS"),
		},
	}
	p.operator = s.operator()
	p.console = consoleOf(p.operator)
	handler, err := p.handler(s.service.Handler())
	if err != nil {
		return err
	}
	refusing := &rpc.Server{Now: time.Now, Random: rand.Reader, Log: log}
	handler = names.guard(s.connected.before(handler), refusing.Fail)

	working, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	workers.Go(func() { s.delivery.Run(working) })
	workers.Go(func() { s.connected.follow(working) })
	defer func() {
		stop()
		workers.Wait()
	}()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	served := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { served <- server.Serve(l) }()
	}
	welcome(out, p)

	select {
	case err := <-served:
		return err
	case <-s.clouds.dynamoDB.ended():
		return fmt.Errorf("the DynamoDB emulator has ended: see its log %s, and run this again", s.clouds.dynamoDB.server.Log)
	case <-s.clouds.sqs.ended():
		return fmt.Errorf("MiniStack has ended: see its log %s, and run this again", s.clouds.sqs.server.Log)
	case <-ctx.Done():
	}
	fmt.Fprintln(out, "Stopping ...")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return server.Shutdown(ctx)
}

// unlessStopped returns nil if the context's end caused the error.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// description returns the OpenAPI description with this server's address. job is the id in an
// example; "" for none.
func description(repository, job string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(repository, "shared", "api", "openapi.json"))
	if err != nil {
		return nil, err
	}
	key, token := headers.Names()
	text = []byte(strings.NewReplacer(credentials.KeyHeader, key, credentials.TokenHeader, token).Replace(string(text)))
	text = collab.JSON(text).Merge(collab.JSON(`{"servers": [{"url": "/"}]}`))
	if job != "" {
		text = bytes.ReplaceAll(text, []byte(openapi.StartJob), []byte(job))
	}
	return text, nil
}

// welcome prints the addresses to open.
func welcome(out io.Writer, p *pages) {
	fmt.Fprintf(out, `
Serving on %s. Open it in a browser, or try:

%s

Demo %[1]s/demo, reference %[1]s/docs, mails %[1]s/mail, webhooks %[1]s/webhooks, console %[1]s/console
The page of the README: %[1]s/page?as=ann for Ann, %[1]s/page?as=bob for Bob
An organization to look at: make seed
The operator's commands: %[3]s
The data is kept in %[4]s. Ctrl-C stops.

`, p.url, firstCurl(p.url), p.place.Admin, quote(p.place.Data))
}
