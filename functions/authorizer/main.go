package main

import "collabdata/shared/app"

func main() { app.Authorize() }
