package node

import "fmt"

// expr is a random Lua expression. What differs by design, as the words of
// Lua's own errors or the order of a table's keys, does not occur in results.
func (g *generator) expr(depth int) string {
	if depth == 0 {
		return g.literal()
	}
	e := func() string { return g.expr(depth - 1) }
	switch g.IntN(12) {
	case 0, 1, 2:
		return g.redisCall()
	case 3:
		return fmt.Sprintf("{%s, %s, %s}", e(), e(), e())
	case 4:
		return g.table(e())
	case 5:
		return g.convert(e())
	case 6:
		return g.text(e())
	case 7:
		return g.caught(e())
	case 8:
		return g.json(depth)
	case 9:
		return g.arithmetic()
	case 10:
		return fmt.Sprintf("(%s %s %s)", e(), g.pick("and", "or", "==", "~="), e())
	}
	return g.literal()
}

func (g *generator) literal() string {
	if g.IntN(3) == 0 {
		return quote(g.value())
	}
	return g.pick("1", "-1", "2.5", "-2.9", "0.1", "1e14", "1e15", "123456789012345678", "1e300", "-1e300", "1/0", "0/0",
		"true", "false", "nil", "{}", "t", "KEYS", "ARGV", "KEYS[1]", "ARGV[1]", "#KEYS", "#ARGV", "0x1F", "1e-7", "1/3", "100000", "2^53")
}

// table is a table that Redis treats in a way of its own.
func (g *generator) table(e string) string {
	return g.pick(
		"{ok="+e+"}", "{err="+e+"}", "{double="+e+"}", "{big_number="+quote("12")+"}",
		`{map={a=`+e+`}}`, `{set={x=true}}`, `{verbatim_string={format="txt", string=`+e+`}}`,
		"{1, nil, "+e+"}", "{"+e+", false, true}", "{[1]="+e+", [2]=3, x=5}", "{{{"+e+"}}}",
		"redis.status_reply("+quote(g.value())+")", "redis.error_reply("+quote(g.value())+")",
		"redis.error_reply("+quote("MYERR "+g.value())+")", "redis.status_reply(1)", `{err="My error\r\nx"}`, `{ok="a\nb"}`)
}

func (g *generator) convert(e string) string {
	return g.pick(
		"tonumber("+e+")", "type("+e+")", "tonumber("+quote(g.pick("10", "0x10", " 12 ", "1e3", "", "abc", "ff", "1e", "z", "-7", "inf", "-nan", "+inf", "-Infinity", "0x", "1_0"))+")",
		"tonumber("+quote(g.pick("10", "ff", "FF", "zz", " 7 ", "-1", "8"))+", "+g.pick("2", "8", "10", "16", "36")+")",
		"select("+g.pick(`"#"`, "1", "2", "-1")+", "+e+", 7)", "#"+g.pick("t", "KEYS", quote(g.value())),
		"unpack({"+e+", 2, 3})", "(rawequal("+e+", 1))", "not "+e, "next({})", "rawget(t, 1)")
}

// text is an expression that prints: numbers must look as in C.
func (g *generator) text(e string) string {
	n := g.pick("1", "2.5", "-0.1", "1e14", "1e15", "1e100", "1/3", "123456789012", "100", "255", "65", "3.999", "1/0")
	s := quote(g.pick("hello", "a,b,c", "", "Héllo", "x=1, y=2", "%d"))
	switch g.IntN(8) {
	case 0:
		return "(" + n + ` .. "|" .. ` + n + ")"
	case 1:
		return fmt.Sprintf("string.format(%q, %s)", g.pick("%d", "%5d", "%-5d|", "%05d", "%x", "%X", "%o", "%g", "%.3g", "%e",
			"%.2f", "%8.3f", "%i", "%s", "%c", "%5s|", "%+d", "% d", "%u", "%.3d", "%q", "%G", "%#x", "%y"), n)
	case 2:
		return fmt.Sprintf("string.format(%q, %s, %s)", g.pick("%s-%s", "%q%.2s", "%10s|%-10s|", "%s%%%s", "%s%d"), s, g.pick(s, n))
	case 3:
		return g.pick("string.upper("+s+")", "string.lower("+s+")", "string.len("+s+")", s+":rep(3, 'x')", "string.reverse("+s+")",
			"{string.byte("+s+", 1, -1)}", "{string.byte("+s+", "+g.number2()+")}", "{string.byte("+s+", "+g.number2()+", "+g.number2()+")}", "{string.len("+n+")}", "string.char(72, 105)", "string.sub("+s+", "+g.number2()+", "+g.number2()+")")
	case 4:
		p := quote(g.pick("l+", "(%w+)=(%w+)", "^h", "[^,]+", "%d", "o$", "()l", ",", "%", "(", "[a", "%1", "(a)%1", "(.)%1", "%bl,", "%f[%w]%w+", "[%a,]+", "[^%s]*", "[a-l]", "x?", "l-o", "%", ".-b", "%a*"))
		return g.pick("{string.find("+s+", "+p+")}", "{string.match("+s+", "+p+")}", "{string.gsub("+s+", "+p+", 'X')}",
			"{string.gsub("+s+", "+p+", '<%0>', 2)}", "{string.gsub("+s+", "+p+", '%1')}",
			"{string.gsub("+s+", "+p+", {l='L'})}", "{string.gsub("+s+", "+p+", function(x) return x end)}",
			"(function() local r = {}; for x, y in string.gmatch("+s+", "+p+") do r[#r+1] = x end; return r end)()",
			"{string.match("+s+", "+p+", "+g.number2()+")}", "{string.find("+s+", "+p+", "+g.number2()+")}", "{string.find("+s+", "+p+", 2, true)}")
	case 5:
		return "table.concat({" + n + ", " + s + ", " + n + "}, " + g.pick("','", "''", "1.5") + ")"
	case 6:
		return "redis.sha1hex(" + g.pick(s, n) + ")"
	}
	return "tostring(" + g.pick(n, s, "nil", "true", "cjson.null", "tonumber("+n+")") + ")"
}

func (g *generator) number2() string { return g.pick("1", "2", "-1", "-3", "0", "99", "2.9") }

// caught is what pcall makes of errors: Redis' own keep their text.
func (g *generator) caught(e string) string {
	return g.pick(
		"{pcall("+g.callee()+")}", "{pcall(function() return "+e+" end)}",
		"(pcall(function() local x = nil; return x.y end))", `{pcall(error, {err="E x"})}`, "(pcall(error, {1}))",
		`{pcall(error, "text", 0)}`, `(pcall(error, "text"))`, "(pcall(function() undefined = 1 end))", "(pcall(function() return undefined end))",
		"(function() "+g.pick("KEYS = 1", "x = 1", "error('a')", "error({err='My e'})", "return nothing", "string.x = 1", "redis.x = 1", "assert(false)", "rawset(_G, 'x', 1)")+" end)()",
		"{pcall(assert, nil, 'msg')}", "type(redis.pcall("+quote(g.pick("INCR", "GET", "NOSUCH"))+", "+quote(g.key())+"))",
		"(select(2, xpcall(function() error('x', 0) end, function(m) return m .. '!' end)))")
}

func (g *generator) callee() string {
	return "redis.call, " + quote(g.pick("INCR", "HGET", "LLEN", "NOSUCH", "GET")) + ", " + quote(g.key())
}

// json has at most one key in an object, as their order is not defined.
func (g *generator) json(depth int) string {
	v := g.pick("1", "2.5", "1e15", "1e100", "0.1", "true", "false", "nil", "cjson.null", "{}", "{1,2,3}", "{1,nil,3}", "{a=1}",
		"{[5]=1}", "{[20]=1}", "{1,2,3,4,5,[12]=1}", "{1,2,3,4,[12]=1}", "{[2.5]=1}", "{[true]=1}", "{{}}", "{x={y={1}}}", quote(g.value()), "1/0", "print", "tostring", "KEYS", "ARGV", "1/3", "100000", "-0.5")
	if g.IntN(2) == 0 {
		return "cjson.encode(" + v + ")"
	}
	text := g.pick("[1,2,3]", `{"a":1}`, "1", "null", "[null,1]", "[]", "{}", `"x\u00e9\n\/"`, `[1,]`, "", "nul", "1 2", `{"a":[1,{"b":null}]}`,
		"[1.5e3,-2]", "true", `"\ud83d\ude00"`, `"\ud83d"`, "0x10", `{"a"}`, `["a\qb"]`, "[tru]", " [ 1 , 2 ] ", "-", "01", "{1:2}", "\"a\x01b\"")
	return g.pick("cjson.decode("+quote(text)+")", "cjson.encode(cjson.decode("+quote(text)+"))",
		"type(cjson.decode("+quote(text)+"))", "(pcall(cjson.decode, "+quote(text)+"))")
}

func (g *generator) arithmetic() string {
	n := func() string { return g.pick("1", "2", "-3", "2.5", `"10"`, `"0x10"`, "0", "7", `" 3 "`) }
	return g.pick("math.random(100)", "tostring("+g.pick("-3 % 1", "3 % 0", "-7 % 3", "5.5 % -2", "1e300 % 7", "-0.5 % 1")+")", "{math.random(), math.random(5), math.random(-3, 3)}", "math.floor(-2.5)", "math.max(1, 3, 2)",
		"math.pi", "math.huge", "-math.huge", "math.fmod(7, 3)", "math.abs(-3)",
		"tostring("+n()+g.pick("+", "-", "*", "/", "%", "^")+n()+")", "("+n()+g.pick("+", "-", "*", "/", "%", "^")+n()+")",
		"(-"+g.pick("1", "2.5", `"10"`)+")", "tostring("+g.pick("1 < 2", "'a' < 'b'", "'a' < 'B'", "'' < 'a'", "1 == '1'", "1 < '2'")+")",
		"(function() math.randomseed("+n()+"); return tostring(math.random()) end)()")
}
