// Command api is the function of every endpoint: the handler property of a function names its
// endpoint.
package main

import "collabdata/shared/app"

func main() { app.Serve() }
