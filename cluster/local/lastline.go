package local

import (
	"io"
	"os"
	"strings"
	"unicode"
)

// mostQuoted is how many bytes of a log's last line are quoted.
const mostQuoted = 200

// lastLine is the last line of a log that is not blank, from an offset on: its
// first bytes, made harmless for a terminal.
func lastLine(path string, from int64) string {
	const most = 4 << 10 // a longer line is cut at its beginning
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from = max(from, info.Size()-most)
	b, err := io.ReadAll(io.NewSectionReader(f, from, most))
	if err != nil {
		return ""
	}
	text := strings.TrimSpace(string(b))
	line := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if len(line) > mostQuoted {
		line = line[:mostQuoted] + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(line, "?"))
}
