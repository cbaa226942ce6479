package report

import (
	"fmt"
	"io"
	"strings"

	"lockchaos/checker"
)

// MaxMarkdown is how long a Markdown report is at most, in bytes: a CI step
// summary takes 1 MiB.
const MaxMarkdown = 900_000

// mostWords is how long a sentence from outside may be in a report.
const mostWords = 600

// Markdown writes a report for a pull-request comment or a CI step summary.
func Markdown(w io.Writer, d *Digest) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## Lock chaos: %s\n\n", md(d.Headline))
	parts := append([]string{markdownMatrix(d)}, markdownStories(d)...)
	for i, part := range parts {
		const room = 200 // for the line that says what is left out
		if b.Len()+len(part) > MaxMarkdown-room {
			fmt.Fprintf(&b, "\n*%s left out, as the report would be too long; the HTML report has them.*\n", count(len(parts)-i, "part"))
			break
		}
		b.WriteString(part)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownMatrix(d *Digest) string {
	var b strings.Builder
	b.WriteString("| lock system | guard |")
	for _, c := range d.Columns {
		b.WriteString(" " + md(c) + " |")
	}
	b.WriteString("\n| --- | --- |" + strings.Repeat(" --- |", len(d.Columns)) + "\n")
	for _, r := range d.Rows {
		fmt.Fprintf(&b, "| %s | %s |", md(r.System), md(r.Guard))
		for _, c := range r.Cells {
			switch {
			case c == nil:
				b.WriteString(" · |")
			case c.Mark == string(checker.Safe) && !c.Unexpected:
				b.WriteString(" " + md(c.Text) + " |")
			default:
				b.WriteString(" **" + md(c.Text) + "** |")
			}
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.String()
}

// markdownStories are one part for each question that has something to tell.
func markdownStories(d *Digest) []string {
	var parts []string
	for _, q := range d.Questions {
		var b strings.Builder
		for _, c := range q.Cells {
			if c.Mark != string(checker.Safe) || c.Unexpected || c.Shown.Story != "" {
				markdownCell(&b, c)
			}
		}
		if b.Len() == 0 {
			continue
		}
		head := fmt.Sprintf("### %s\n\n%s *Run %s.*\n\n", md(q.Scenario), md(q.Asked), md(q.World))
		tail := ""
		if q.Fence != "" {
			tail = "- **fence**: " + md(q.Fence) + "\n"
		}
		if q.Control != "" {
			tail += "- **control**, without the fault: " + md(q.Control) + "\n"
		}
		parts = append(parts, head+b.String()+tail+"\n")
	}
	return parts
}

func markdownCell(b *strings.Builder, c *Cell) {
	t := c.Shown
	fmt.Fprintf(b, "- **guard %s**: %s", md(c.Guard), md(c.Answer))
	if c.Unexpected {
		b.WriteString(" — **not as expected**")
	}
	fmt.Fprintf(b, " (%s)\n", md(c.Often))
	if t.Story != "" {
		fmt.Fprintf(b, "  <br>%s%s: %s\n", t.Held(), md(t.Kinds), md(t.Story))
	}
	for _, x := range Problems(t) {
		fmt.Fprintf(b, "  <br>%s\n", md(x))
	}
	if t.Repeat != "" {
		fmt.Fprintf(b, "  <br>repeat: %s\n", mdCode(t.Repeat))
	}
}

// Problems are what is wrong with a run beside what was found: an error, what
// is not as expected, why it proves nothing.
func Problems(t *Told) []string {
	var all []string
	if t.Error != "" {
		all = append(all, "error: "+t.Error)
	}
	for _, d := range t.Differences {
		all = append(all, "not as expected: "+d.Text)
	}
	if t.Verdict != nil {
		for _, r := range t.Verdict.Reasons {
			all = append(all, "proves nothing: "+r)
		}
	}
	return all
}

// md makes a text harmless in Markdown, within a table, too: nothing in it is
// markup, a link, or the name of somebody.
func md(s string) string {
	var b strings.Builder
	for _, r := range Short(s, mostWords) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@', r == '#', r == ':' && strings.HasSuffix(b.String(), "http"), r == ':' && strings.HasSuffix(b.String(), "https"):
			fmt.Fprintf(&b, "&#%d;", r)
		case strings.ContainsRune("\\`*_{}[]()!|~", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// mdCode shows a text as code. Within the tag, markup is still markup.
func mdCode(s string) string { return "<code>" + md(s) + "</code>" }
