package localstack_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	sesv2types "github.com/aws/aws-sdk-go-v2/service/sesv2/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"collabdata/localstack"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"
)

func dynamoDB(url string) *dynamodb.Client {
	return dynamodb.NewFromConfig(localstacktest.Config(url))
}

func TestDynamoDBKeepsItsData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	key := map[string]dynamodbtypes.AttributeValue{"pk": &dynamodbtypes.AttributeValueMemberS{Value: "kept"}}

	first := startDynamoDB(t, dir)
	db := dynamoDB(first.URL)
	_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String("kept"),
		BillingMode:          dynamodbtypes.BillingModePayPerRequest,
		AttributeDefinitions: []dynamodbtypes.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: "S"}},
		KeySchema:            []dynamodbtypes.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: "HASH"}},
	})
	must.Do(t, err)
	if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("kept"), Item: key}); err != nil {
		t.Fatal(err)
	}
	must.Do(t, first.Stop())
	if err := first.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}
	if err := gone(t.Context(), first.URL); err != nil {
		t.Error(err)
	}

	second := startDynamoDB(t, dir)
	got, err := dynamoDB(second.URL).GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("kept"), Key: key})
	if err != nil || len(got.Item) == 0 {
		t.Errorf("after the restart: item %v, error %v", got, err)
	}
}

func startDynamoDB(t *testing.T, dir string) *localstack.Server {
	t.Helper()
	server, err := localstack.StartDynamoDB(t.Context(), localstack.DynamoDBOptions{DataDir: dir})
	must.Do(t, err)
	t.Cleanup(func() { server.Stop() })
	return server
}

func TestMiniStackKeepsItsQueues(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	start := func() *localstack.Server {
		server, err := localstack.StartMiniStack(t.Context(), localstack.MiniStackOptions{DataDir: dir})
		must.Do(t, err)
		t.Cleanup(func() { server.Stop() })
		return server
	}
	queue := &sqs.CreateQueueInput{QueueName: aws.String("kept")}

	first := start()
	client := sqs.NewFromConfig(localstacktest.Config(first.URL))
	made, err := client.CreateQueue(t.Context(), queue)
	must.Do(t, err)
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: made.QueueUrl, MessageBody: aws.String("hello")}); err != nil {
		t.Fatal(err)
	}
	must.Do(t, first.Stop())

	second := start()
	if second.URL != first.URL {
		t.Fatalf("restarted on %s, want %s: its queues belong to their port", second.URL, first.URL)
	}
	client = sqs.NewFromConfig(localstacktest.Config(second.URL))
	if made, err = client.CreateQueue(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	got, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: made.QueueUrl})
	if err != nil || len(got.Messages) != 1 || aws.ToString(got.Messages[0].Body) != "hello" {
		t.Errorf("after the restart: received %+v, error %v; want the one message", got, err)
	}
}

func TestMiniStackShowsMail(t *testing.T) {
	server := localstacktest.MiniStack(t)
	domain := strings.ToLower(rand.Text()) + ".example"
	sender := "service@" + domain
	mail := sesv2.NewFromConfig(localstacktest.Config(server))
	send := func(body string) error {
		_, err := mail.SendEmail(t.Context(), &sesv2.SendEmailInput{
			FromEmailAddress: &sender,
			Destination:      &sesv2types.Destination{ToAddresses: []string{"user@example.com"}},
			Content: &sesv2types.EmailContent{Simple: &sesv2types.Message{
				Subject: &sesv2types.Content{Data: aws.String("subject")},
				Body:    &sesv2types.Body{Text: &sesv2types.Content{Data: &body}},
			}},
		})
		return err
	}
	if err := send("too early"); err == nil {
		t.Error("sent from an address whose identity was not made")
	}
	_, err := mail.CreateEmailIdentity(t.Context(), &sesv2.CreateEmailIdentityInput{EmailIdentity: &domain})
	must.Do(t, err)
	must.Do(t, send("hello"))
	mails, err := localstack.Emails(t.Context(), server, localstack.Account)
	must.Do(t, err)
	var got []localstack.Mail
	for _, m := range mails {
		if m.From == sender {
			if since := float64(time.Now().Unix()) - m.At; since < -2 || since > 60 {
				t.Errorf("the mail was accepted %v s ago", since)
			}
			m.At = 0
			got = append(got, m)
		}
	}
	want := []localstack.Mail{{From: sender, To: []string{"user@example.com"}, Subject: "subject", Text: "hello"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mails (-want +got):\n%s", diff)
	}
}

func TestSharedServers(t *testing.T) {
	if first, second := localstacktest.DynamoDB(t), localstacktest.DynamoDB(t); first != second {
		t.Errorf("two servers in one process: %s and %s", first, second)
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://all.example")
	if got := localstacktest.DynamoDB(t); got != "http://all.example" {
		t.Errorf("DynamoDB = %s, want AWS_ENDPOINT_URL", got)
	}
	if got := localstacktest.MiniStack(t); got != "http://all.example" {
		t.Errorf("MiniStack = %s, want AWS_ENDPOINT_URL", got)
	}
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://dynamodb.example")
	if got := localstacktest.DynamoDB(t); got != "http://dynamodb.example" {
		t.Errorf("DynamoDB = %s, want AWS_ENDPOINT_URL_DYNAMODB", got)
	}
}

func TestPortTaken(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	must.Do(t, err)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	_, err = localstack.StartDynamoDB(t.Context(), localstack.DynamoDBOptions{Port: port})
	if want := fmt.Sprintf("port %d is in use: stop the program that uses it", port); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestOnlyLoopback(t *testing.T) {
	cloud, err := localstack.StartMiniStack(t.Context(), localstack.MiniStackOptions{})
	must.Do(t, err)
	t.Cleanup(func() { cloud.Stop() })
	addresses, err := net.InterfaceAddrs()
	must.Do(t, err)
	for _, server := range []*localstack.Server{startDynamoDB(t, ""), cloud} {
		_, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
		must.Do(t, err)
		for _, address := range addresses {
			ip := address.(*net.IPNet).IP
			conn, err := net.DialTimeout("tcp", net.JoinHostPort(ip.String(), port), time.Second)
			if err == nil {
				conn.Close()
			}
			if reached := err == nil; reached != ip.Equal(net.IPv4(127, 0, 0, 1)) {
				t.Errorf("%s at %s: reached: %t", server.URL, ip, reached)
			}
		}
	}
}

// TestDiesWithItsStarter kills a process that started a server and checks that the server ends.
func TestDiesWithItsStarter(t *testing.T) {
	starter := exec.Command(os.Args[0], "-test.run=^TestStarter$", "-test.v")
	starter.Env = append(os.Environ(), "LOCALSTACK_STARTER=1")
	out, err := starter.StdoutPipe()
	must.Do(t, err)
	must.Do(t, starter.Start())
	var url string
	for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
		url, _ = strings.CutPrefix(lines.Text(), "started ")
		if !strings.HasPrefix(url, "http://") {
			url = ""
		}
	}
	must.Do(t, starter.Process.Kill())
	starter.Wait()
	if url == "" {
		t.Fatal("the starter started nothing")
	}
	if err := gone(t.Context(), url); err != nil {
		t.Error(err)
	}
}

// TestStarter is the process that TestDiesWithItsStarter kills.
func TestStarter(t *testing.T) {
	if os.Getenv("LOCALSTACK_STARTER") != "" {
		fmt.Println("started", startDynamoDB(t, "").URL)
		<-t.Context().Done()
	}
}

// gone waits until no server responds at url.
func gone(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		req.Close = true
		res, err := http.DefaultClient.Do(req)
		if ctx.Err() != nil {
			return fmt.Errorf("%s still answers", url)
		}
		if err != nil {
			return nil
		}
		res.Body.Close()
	}
}
