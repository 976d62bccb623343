package live

var (
	FromEnvironment = fromEnvironment
	Routes          = routes
	Taker           = taker
	Written         = written
)
