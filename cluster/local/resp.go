package local

import "bytes"

// maxName is longer than any name of a Redis command; a longer word matches none.
const maxName = 32

// parser follows the requests of a Redis client through a stream of bytes that
// is cut anywhere: arrays of bulk strings, and inline commands. It keeps no
// bytes but the command's name and allocates nothing, so that it can run along
// with a stream that no rule looks at and be in step when one comes.
//
// After bytes that are no request it gives up and reports nothing any more; a
// Redis server closes such a connection.
type parser struct {
	state  parseState
	args   int64 // bulk strings of the array still to come, this one included
	left   int64 // bytes of the body still to come
	number int64
	digits int
	minus  bool
	first  bool // in the first bulk string: the name
	word   [maxName]byte
	length int // of word; over maxName: too long to be a name
}

type parseState uint8

const (
	atStart parseState = iota
	inCount
	afterCount
	atBulk
	inLength
	afterLength
	inBody
	afterBody
	afterBodyCR
	inInline
	inInlineArgs
	lostTrack
)

// parseEvent is what next has come upon.
type parseEvent uint8

const (
	parsedAll    parseEvent = iota // all bytes are used up
	parsedName                     // the name of the request is known now
	parsedEnd                      // the request ends here; another may begin
	parsedLosing                   // no request: the parser has given up
)

// boundary reports whether the next byte begins a request.
func (p *parser) boundary() bool { return p.state == atStart }

// name is the command of the request, as sent; empty if it has none.
func (p *parser) name() []byte {
	if p.length > maxName {
		return nil
	}
	return p.word[:p.length]
}

// skip follows bytes that nobody asks about.
func (p *parser) skip(b []byte) {
	for len(b) > 0 {
		n, _ := p.next(b)
		b = b[n:]
	}
}

// next follows b up to the next event and returns how many bytes that took.
func (p *parser) next(b []byte) (int, parseEvent) {
	for i := 0; i < len(b); {
		switch p.state {
		case inBody:
			n := int(min(int64(len(b)-i), p.left))
			if p.first {
				p.keep(b[i : i+n])
			}
			p.left -= int64(n)
			i += n
			if p.left == 0 && p.endBody() {
				return i, parsedName
			}
			if p.first && p.length > maxName { // nothing to wait for
				p.first = false
				return i, parsedName
			}
		case inInlineArgs:
			end := bytes.IndexByte(b[i:], '\n')
			if end < 0 {
				return len(b), parsedAll
			}
			p.state = atStart
			return i + end + 1, parsedEnd
		case inInline:
			// The byte itself is left for inInlineArgs.
			if p.length > maxName || p.endsWord(b[i]) {
				p.state = inInlineArgs
				return i, parsedName
			}
			i++
		case lostTrack:
			return len(b), parsedAll
		default:
			ev := p.step(b[i])
			i++
			if ev != parsedAll {
				return i, ev
			}
		}
	}
	return len(b), parsedAll
}

// step takes one byte of the framing.
func (p *parser) step(c byte) parseEvent {
	switch p.state {
	case atStart:
		return p.begin(c)
	case inCount:
		if c != '\r' {
			return p.digit(c)
		}
		p.args = p.value()
		return p.goOn(afterCount, p.digits > 0 && p.args <= 1<<31-1)
	case afterCount: // the server does not look at this byte either
		if p.args <= 0 {
			p.state = atStart
			return parsedEnd
		}
		p.state = atBulk
	case atBulk:
		p.clearNumber()
		return p.goOn(inLength, c == '$')
	case inLength:
		if c != '\r' {
			return p.digit(c)
		}
		p.left = p.value()
		return p.goOn(afterLength, p.digits > 0 && p.left >= 0 && p.left <= 512<<20)
	case afterLength:
		p.state = inBody
		if p.left == 0 && p.endBody() {
			return parsedName
		}
	case afterBody:
		p.state = afterBodyCR
	case afterBodyCR:
		p.args--
		if p.args == 0 {
			p.state = atStart
			return parsedEnd
		}
		p.state = atBulk
	}
	return parsedAll
}

func (p *parser) begin(c byte) parseEvent {
	p.length, p.first = 0, true
	p.clearNumber()
	switch c {
	case '*':
		p.state = inCount
	case '\n': // an empty inline command, which the server passes over
		return parsedEnd
	default:
		p.state = inInline
		if p.endsWord(c) {
			p.state = inInlineArgs
		}
	}
	return parsedAll
}

// endsWord takes a byte of an inline command's first word, and reports whether
// the word is complete before it.
func (p *parser) endsWord(c byte) bool {
	switch c {
	case '\n', '\r':
		return true
	case ' ', '\t':
		return p.length > 0
	}
	p.keep([]byte{c})
	return false
}

func (p *parser) keep(b []byte) {
	n := 0
	if p.length < maxName {
		n = copy(p.word[p.length:], b)
	}
	p.length += n
	if n < len(b) {
		p.length = maxName + 1
	}
}

// endBody ends a bulk string and reports whether it was the name.
func (p *parser) endBody() bool {
	p.state = afterBody
	was := p.first
	p.first = false
	return was
}

func (p *parser) clearNumber() { p.number, p.digits, p.minus = 0, 0, false }

func (p *parser) value() int64 {
	if p.minus {
		return -p.number
	}
	return p.number
}

func (p *parser) digit(c byte) parseEvent {
	switch {
	case c == '-' && p.digits == 0 && !p.minus:
		p.minus = true
	case c >= '0' && c <= '9' && p.digits < 18:
		p.number = p.number*10 + int64(c-'0')
		p.digits++
	default:
		return p.goOn(p.state, false)
	}
	return parsedAll
}

func (p *parser) goOn(to parseState, ok bool) parseEvent {
	if !ok {
		p.state = lostTrack
		return parsedLosing
	}
	p.state = to
	return parsedAll
}
