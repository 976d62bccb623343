package main

import (
	"net/netip"
	"os"
	"time"

	"collabdata/shared/credentials"
)

const (
	name     = "collabdata" // of the table, and prefix of the queues
	mailFrom = "collabdata@localhost.example"

	// mailDelay is the delay of emails in the settings of accounts: long enough to see emails
	// combine, short enough to wait for.
	mailDelay = 10 * time.Second // the shortest setting
)

// private is the range of webhooks and permission providers on this machine.
var private = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// devAccounts are added at the first start.
var devAccounts = []struct{ id, key, token string }{
	{"dev", "dev-key", "dev-token"},
	{"dev-2", "dev-key-2", "dev-token-2"},
}

// headers are the headers of credentials, from API_KEY_HEADER and AUTH_TOKEN_HEADER.
var headers, errHeaders = credentials.ReadHeaders(os.Getenv)

// mailLink is the target of buttons in emails. Package collab fills in the ids.
const mailLink = "/opened?organization={organizationId}&document={documentId}&annotation={annotationId}"
