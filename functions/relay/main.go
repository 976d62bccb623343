package main

import "collabdata/shared/app/relay"

func main() { relay.Serve() }
