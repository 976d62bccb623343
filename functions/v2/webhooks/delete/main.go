package main

import "collabdata/shared/app"

func main() { app.Serve("/v2/webhooks/delete") }
