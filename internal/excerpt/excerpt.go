// Package excerpt shows a line that cannot be read within an error about it.
package excerpt

import (
	"fmt"
	"strings"
)

// most is how much of a line is shown, in bytes of its quoted form.
const most = 120

// Of quotes the beginning of a line, in ASCII: it may be cut anywhere, and does
// nothing to a terminal.
func Of[T string | []byte](line T) string {
	head := line[:min(len(line), most+2)] // quoting makes it no shorter
	s := fmt.Sprintf("%+q", strings.TrimRight(string(head), "\n"))
	if len(s) > most || len(head) < len(line) {
		return s[:min(len(s), most)] + "…"
	}
	return s
}
