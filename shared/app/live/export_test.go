package live

var (
	FromEnvironment = fromEnvironment
	Routes          = routes
	Written         = written
)
