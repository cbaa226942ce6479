package local

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// cmd is one request as both parsers report it.
type cmd struct {
	name       string
	start, end int // end is -1 while it is not complete
	named      bool
}

// reference parses a whole stream in the plainest way.
func reference(b []byte) (list []cmd) {
	line := func(at int) (string, int) { // up to \r, and the place after the byte behind it
		i := bytes.IndexByte(b[at:], '\r')
		if i < 0 || at+i+2 > len(b) {
			return "", -1
		}
		return string(b[at : at+i]), at + i + 2
	}
	for at := 0; at < len(b); {
		c := cmd{start: at, end: -1}
		if b[at] != '*' {
			i := bytes.IndexByte(b[at:], '\n')
			text := b[at:]
			if i >= 0 {
				text = b[at : at+i]
				c.end = at + i + 1
			}
			text, _, cut := bytes.Cut(text, []byte("\r"))
			word := bytes.TrimLeft(text, " \t")
			end := bytes.IndexAny(word, " \t")
			c.named = end >= 0 || cut || i >= 0
			if end >= 0 {
				word = word[:end]
			}
			if c.named = c.named || len(word) > maxName; c.named {
				c.name = short(word)
			}
		} else if end, ok := referenceArray(b, at, line, &c); !ok {
			return append(list, c) // no request: nothing follows
		} else {
			c.end = end
		}
		list = append(list, c)
		if c.end < 0 {
			break
		}
		at = c.end
	}
	return list
}

// referenceArray returns the end of an array of bulk strings, -1 if it is cut
// off; not ok if it is none.
func referenceArray(b []byte, at int, line func(int) (string, int), c *cmd) (int, bool) {
	number := func(at int, least, most int64) (int64, int, bool) {
		s, next := line(at)
		if next < 0 { // what is there may be wrong already
			s, _, _ = strings.Cut(string(b[at:]), "\r")
			digits := strings.TrimPrefix(s, "-")
			return 0, -1, len(digits) <= 18 && strings.Trim(digits, "0123456789") == "" &&
				(!bytes.ContainsRune(b[at:], '\r') || inRange(s, least, most))
		}
		n, _ := strconv.ParseInt(s, 10, 64)
		return n, next, inRange(s, least, most)
	}
	n, at, ok := number(at+1, -1<<62, 1<<31-1)
	if !ok || at < 0 {
		return -1, ok
	}
	for i := int64(0); i < n; i++ {
		if at == len(b) {
			return -1, true
		}
		if b[at] != '$' {
			return -1, false
		}
		var size int64
		if size, at, ok = number(at+1, 0, 512<<20); !ok || at < 0 {
			return -1, ok
		}
		have := b[at:min(len(b), at+int(size))]
		if i == 0 && (len(have) == int(size) || len(have) > maxName) {
			c.named, c.name = true, short(have)
		}
		if at += int(size) + 2; at > len(b) {
			return -1, true
		}
	}
	return at, true
}

func inRange(s string, least, most int64) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > 18 || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && n >= least && n <= most
}

func short(word []byte) string {
	if len(word) > maxName {
		return ""
	}
	return string(word)
}

// incremental feeds the parser in parts of random lengths.
func incremental(b []byte, r *rand.Rand) (list []cmd) {
	var p parser
	at := 0
	for len(b) > 0 {
		part := b[:1+r.IntN(len(b))]
		b = b[len(part):]
		for len(part) > 0 {
			if p.boundary() {
				list = append(list, cmd{start: at, end: -1})
			}
			c := &list[len(list)-1]
			n, ev := p.next(part)
			part, at = part[n:], at+n
			switch ev {
			case parsedName:
				c.named, c.name = true, string(p.name())
			case parsedEnd:
				c.end = at
			}
		}
	}
	return list
}

// compare leaves out what the parsers need not agree on: whether a request
// without a name has one.
func compare(t *testing.T, b []byte, seed uint64) {
	t.Helper()
	clean := func(list []cmd) []cmd {
		for i := range list {
			if list[i].name == "" {
				list[i].named = false
			}
		}
		return list
	}
	want := clean(reference(b))
	got := clean(incremental(b, rand.New(rand.NewPCG(seed, 0))))
	if !slices.Equal(got, want) {
		t.Errorf("%q:\ngot  %v\nwant %v", b, got, want)
	}
}

var streamsOfRequests = []string{
	request("SET", "a", "1") + request("ping"),
	"PING\r\n  set a b\nGET\tx\r\n\r\n\n*0\r\n*-1\r\n" + request("EVALSHA", "", "\r\n"),
	request(strings.Repeat("x", 40), "y") + strings.Repeat("y", 40) + " z\r\n" + request("PING"),
	"*2\r\n$3\r\nGET\r\n$-1\r\n" + request("PING"),
	"*x\r\n" + request("PING"),
	"*1\r\n:3\r\n" + request("PING"),
	"*1\r\n$0\r\n\r\n*1\r\n$600000000000\r\n",
	"*99999999999\r\n",
	" \r\n*1\r\n$4\r\nPI",
	"*--1\r\n",
}

func TestRESP(t *testing.T) {
	t.Parallel()
	for _, s := range streamsOfRequests {
		for seed := range uint64(50) {
			compare(t, []byte(s), seed)
		}
	}
	list := incremental([]byte(streamsOfRequests[0]), rand.New(rand.NewPCG(1, 1)))
	if got := fmt.Sprint(list); got != "[{SET 0 27 true} {ping 27 41 true}]" {
		t.Error(got)
	}
}

func FuzzRESP(f *testing.F) {
	for i, s := range streamsOfRequests {
		f.Add([]byte(s), uint64(i))
	}
	f.Fuzz(compare)
}

func TestParserAllocatesNothing(t *testing.T) {
	b := []byte(request("EVALSHA", strings.Repeat("f", 40), "1", "lock", strings.Repeat("v", 24)))
	var p parser
	if n := testing.AllocsPerRun(100, func() { p.skip(b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRESP(b *testing.B) {
	req := []byte(request("EVALSHA", strings.Repeat("f", 40), "1", "lock", strings.Repeat("v", 24)))
	b.SetBytes(int64(len(req)))
	var p parser
	for b.Loop() {
		p.skip(req)
	}
}
