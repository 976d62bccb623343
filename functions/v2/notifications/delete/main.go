package main

import (
	"collabdata/shared/api"
	"collabdata/shared/app"
)

func main() { app.Serve(api.V2NotificationsDelete()) }
