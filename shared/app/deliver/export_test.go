package deliver

// Exports for tests of this package, which use the local server's worker.
var NewHandler, FromEnvironment = newHandler, fromEnvironment
