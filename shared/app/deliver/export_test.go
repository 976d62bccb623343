package deliver

// What the tests of this package, which use the local server's worker, call.
var NewHandler, FromEnvironment = newHandler, fromEnvironment
