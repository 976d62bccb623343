package main

import "collabdata/shared/app"

func main() { app.Serve("/v1/notifications/add") }
