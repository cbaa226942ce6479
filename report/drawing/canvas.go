// Package drawing turns what a judge hands out into SVG text: the timeline of a
// run, and how long its operations took. The same input gives the same text. It
// needs the style sheet CSS beside it, no script, and nothing from elsewhere.
package drawing

import (
	_ "embed"
	"fmt"
	"html"
	"strings"

	"lockchaos/report"
)

// CSS is the style sheet of the pictures, for light and dark.
//
//go:embed drawing.css
var CSS string

// canvas collects SVG.
type canvas struct {
	strings.Builder
}

// tag writes an element without content; attrs are names and values by turns.
func (c *canvas) tag(name string, attrs ...any) {
	c.open(name, attrs...)
	c.WriteString("/>\n")
}

func (c *canvas) open(name string, attrs ...any) {
	c.WriteString("<" + name)
	for i := 0; i < len(attrs); i += 2 {
		v := ""
		switch x := attrs[i+1].(type) {
		case float64:
			v = px(x)
		default:
			v = html.EscapeString(fmt.Sprint(x))
		}
		if v != "" {
			fmt.Fprintf(c, ` %s="%s"`, attrs[i], v)
		}
	}
}

// titled writes an element with a tooltip.
func (c *canvas) titled(title, name string, attrs ...any) {
	c.open(name, attrs...)
	fmt.Fprintf(c, "><title>%s</title></%s>\n", safe(title, 300), name)
}

// mostLetters is how long a text in a picture may be.
const mostLetters = 60

func (c *canvas) text(x, y float64, class, words string) {
	fmt.Fprintf(c, "<text x=\"%s\" y=\"%s\" class=\"%s\">%s</text>\n", px(x), px(y), class, safe(words, mostLetters))
}

// fits writes a text in the middle of a box if it is wide enough for it.
func (c *canvas) fits(x, w, y float64, class, words string) bool {
	if textWidth(words) > w-4 {
		return false
	}
	c.text(x+w/2, y, class+" mid", words)
	return true
}

// textWidth is about how wide a text is.
func textWidth(s string) float64 { return 6.4 * float64(len([]rune(s))) }

// safe makes words from outside harmless within SVG, and short.
func safe(words string, most int) string { return html.EscapeString(report.Short(words, most)) }
