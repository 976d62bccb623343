// Package quiet omits jsii's warnings about versions of Node.js. The CDK's packages take the
// variables for it when they are initialized, which is before main. Go initializes this package
// first, because its path sorts before theirs, and it imports less.
package quiet

import "os"

var _ = setVariables()

func setVariables() bool {
	for warning, value := range map[string]string{"DEPRECATED": "on", "UNTESTED": "on", "END_OF_LIFE": "18,20"} {
		os.Setenv("JSII_SILENCE_WARNING_"+warning+"_NODE_VERSION", value)
	}
	return true
}
