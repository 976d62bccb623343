package main

import "collabdata/shared/app/deliver"

func main() { deliver.Serve() }
