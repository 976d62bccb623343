package main

import "collabdata/shared/app/live"

func main() { live.Serve() }
