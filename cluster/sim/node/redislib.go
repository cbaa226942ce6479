package node

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// The version whose behaviour the node has.
const (
	redisVersion    = "7.0.15"
	redisVersionNum = 7<<16 | 0<<8 | 15
)

// redisLibrary is the table "redis".
func (m *machine) redisLibrary() *lua.LTable {
	t := m.l.NewTable()
	m.set(t, map[string]lua.LGFunction{
		"call":               func(l *lua.LState) int { return m.call(l, true) },
		"pcall":              func(l *lua.LState) int { return m.call(l, false) },
		"error_reply":        m.errorReply,
		"status_reply":       m.statusReply,
		"sha1hex":            m.sha1hex,
		"log":                m.log,
		"setresp":            m.setResp,
		"set_repl":           m.setRepl,
		"replicate_commands": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 },
	})
	for i, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		t.RawSetString(name, lua.LNumber(i))
	}
	for name, v := range map[string]int{"REPL_NONE": 0, "REPL_AOF": 1, "REPL_SLAVE": 2, "REPL_REPLICA": 2, "REPL_ALL": 3} {
		t.RawSetString(name, lua.LNumber(v))
	}
	t.RawSetString("REDIS_VERSION", lua.LString(redisVersion))
	t.RawSetString("REDIS_VERSION_NUM", lua.LNumber(redisVersionNum))
	return t
}

// mark notes the line of the script that is about to raise an error.
func (m *machine) mark(l *lua.LState) {
	m.line = strings.TrimSuffix(strings.TrimPrefix(l.Where(1), scriptName+":"), ":")
}

// raise raises an error as redis.call does: a table with the field err.
func (m *machine) raise(l *lua.LState, err Error) {
	m.mark(l)
	l.Error(m.single("err", string(err)), 1)
}

// call is redis.call, and redis.pcall where it raises nothing.
func (m *machine) call(l *lua.LState, raise bool) int {
	reply := m.command(l)
	if err, is := reply.(Error); is && raise {
		m.raise(l, err)
	}
	l.Push(m.toLua(reply))
	return 1
}

// command runs the command that is on the Lua stack.
func (m *machine) command(l *lua.LState) any {
	top := l.GetTop()
	if top == 0 {
		return Error("ERR Please specify at least one argument for this redis lib call")
	}
	m.argv = m.argv[:0]
	for i := 1; i <= top; i++ {
		switch v := l.Get(i).(type) {
		case lua.LString:
			m.argv = append(m.argv, string(v))
		case lua.LNumber:
			m.argv = append(m.argv, formatG(float64(v), doublePrecision))
		default:
			return Error("ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	return m.node.scriptCommand(m.argv)
}

// scriptCommand runs one command of a script.
func (n *Node) scriptCommand(argv []string) any {
	c := lookupCommand(argv[0])
	switch {
	case c == nil || len(c.sub) > 0 && c.subcommand(argv) == nil:
		return Error("ERR Unknown Redis command called from script")
	case !c.takes(len(argv)):
		return Error("ERR Wrong number of args calling Redis command from script")
	case c.noScript:
		return Error("ERR This Redis command is not allowed from script")
	case n.refuses(c):
		return errReadOnlyReplica
	}
	return c.run(n, argv)
}

// oneString returns the only argument, or pushes an error table.
func (m *machine) oneString(l *lua.LState) (string, bool) {
	if s, is := l.Get(1).(lua.LString); is && l.GetTop() == 1 {
		return string(s), true
	}
	l.Push(m.single("err", "ERR wrong number or type of arguments"))
	return "", false
}

// errorReply is redis.error_reply: a message without a code gets one.
func (m *machine) errorReply(l *lua.LState) int {
	s, fine := m.oneString(l)
	if !fine {
		return 1
	}
	s = strings.TrimPrefix(cString(s, len(s)), "-")
	code, msg, has := strings.Cut(s, " ")
	if !has {
		code, msg = "ERR", s
	}
	l.Push(m.single("err", code+" "+strings.Trim(msg, "\r\n")))
	return 1
}

func (m *machine) statusReply(l *lua.LState) int {
	if s, fine := m.oneString(l); fine {
		l.Push(m.single("ok", s))
	}
	return 1
}

func (m *machine) sha1hex(l *lua.LState) int {
	if l.GetTop() != 1 {
		m.raise(l, "ERR wrong number of arguments")
	}
	s := ""
	if v := l.Get(1); lua.LVCanConvToString(v) {
		s = luaString(v)
	}
	l.Push(lua.LString(sha1hex(s)))
	return 1
}

// log is redis.log: it checks its arguments and writes nothing.
func (m *machine) log(l *lua.LState) int {
	if l.GetTop() < 2 {
		m.raise(l, "ERR redis.log() requires two arguments or more.")
	}
	level, is := toNumber(l.Get(1))
	if !is {
		m.raise(l, "ERR First argument must be a number (log level).")
	}
	if level := truncate(level); level < 0 || level > 3 {
		m.raise(l, "ERR Invalid debug level.")
	}
	return 0
}

// setResp accepts RESP 2 only.
func (m *machine) setResp(l *lua.LState) int {
	if l.GetTop() != 1 {
		m.raise(l, "ERR redis.setresp() requires one argument.")
	}
	v, _ := toNumber(l.Get(1))
	switch truncate(v) {
	case 2:
	case 3:
		m.raise(l, "ERR RESP 3 is not supported by the simulated node")
	default:
		m.raise(l, "ERR RESP version must be 2 or 3.")
	}
	return 0
}

// setRepl checks its argument; effects are replicated all the same.
func (m *machine) setRepl(l *lua.LState) int {
	if l.GetTop() != 1 {
		m.raise(l, "ERR redis.set_repl() requires two arguments.")
	}
	v, _ := toNumber(l.Get(1))
	if truncate(v)&^3 != 0 {
		m.raise(l, "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
	return 0
}
