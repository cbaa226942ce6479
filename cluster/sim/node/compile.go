package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// script is a compiled script. It does not change: all nodes share it.
type script struct {
	sha   string
	proto *lua.FunctionProto
	// assigns tells that it assigns to a global, which must fail.
	assigns bool
}

// scriptName is what Redis calls a script in error messages.
const scriptName = "user_script"

// mostCached is how many compiled scripts the process keeps. Real programs
// have a handful; random tests make any number of them.
const mostCached = 1 << 10

var compiled struct {
	sync.Mutex
	bySHA map[string]*script
}

// compileScript compiles a script, once in the life of the process.
func compileScript(sha, source string) (*script, error) {
	compiled.Lock()
	defer compiled.Unlock()
	if s := compiled.bySHA[sha]; s != nil {
		return s, nil
	}
	proto, err := compile(source, scriptName)
	if err != nil {
		return nil, err
	}
	if compiled.bySHA == nil || len(compiled.bySHA) >= mostCached {
		compiled.bySHA = map[string]*script{}
	}
	s := &script{sha, proto, assigns(proto)}
	compiled.bySHA[sha] = s
	return s, nil
}

// assigns tells whether a function, or one in it, assigns to a global.
func assigns(proto *lua.FunctionProto) bool {
	const opcode = 26 // where it begins in an instruction
	for _, code := range proto.Code {
		if int(code>>opcode) == lua.OP_SETGLOBAL {
			return true
		}
	}
	return slices.ContainsFunc(proto.FunctionPrototypes, assigns)
}

func compile(source, name string) (proto *lua.FunctionProto, err error) {
	defer func() {
		if r := recover(); r != nil { // the parser and the compiler may give up so
			proto, err = nil, fmt.Errorf("%s:1: %v", name, r)
		}
	}()
	if strings.HasPrefix(source, "#!") {
		return nil, errors.New("a script with a shebang is not supported by the simulated node")
	}
	chunk, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, err
	}
	var r rewriter
	r.stmts(chunk)
	if proto, err = lua.Compile(chunk, name); err != nil {
		return nil, err
	}
	proto.IsVarArg &^= lua.VarArgNeedsArg // a chunk has no table "arg", which would cost 0.4 µs a call
	return proto, nil
}

// Globals that do what gopher-lua does otherwise than Lua. No script can name them.
const (
	toStringName = "\x00tostring" // of an operand of ".."
	moduloName   = "\x00modulo"   // the operator "%"
)

// deepest is how deep a script may be nested.
const deepest = 2000

// rewriter changes a .. b into tostring(a) .. tostring(b) where an operand may
// be a number, as gopher-lua prints numbers otherwise than Lua does, and a % b
// into modulo(a, b).
type rewriter struct{ depth int }

func (r *rewriter) stmts(list []ast.Stmt) {
	if r.depth++; r.depth > deepest {
		panic("chunk has too many syntax levels")
	}
	for _, s := range list {
		r.stmt(s)
	}
	r.depth--
}

func (r *rewriter) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		r.exprs(s.Lhs)
		r.exprs(s.Rhs)
	case *ast.LocalAssignStmt:
		r.exprs(s.Exprs)
	case *ast.FuncCallStmt:
		r.expr(&s.Expr)
	case *ast.DoBlockStmt:
		r.stmts(s.Stmts)
	case *ast.WhileStmt:
		r.expr(&s.Condition)
		r.stmts(s.Stmts)
	case *ast.RepeatStmt:
		r.expr(&s.Condition)
		r.stmts(s.Stmts)
	case *ast.IfStmt:
		r.expr(&s.Condition)
		r.stmts(s.Then)
		r.stmts(s.Else)
	case *ast.NumberForStmt:
		r.expr(&s.Init)
		r.expr(&s.Limit)
		r.expr(&s.Step)
		r.stmts(s.Stmts)
	case *ast.GenericForStmt:
		r.exprs(s.Exprs)
		r.stmts(s.Stmts)
	case *ast.FuncDefStmt:
		r.stmts(s.Func.Stmts)
	case *ast.ReturnStmt:
		r.exprs(s.Exprs)
	}
}

func (r *rewriter) exprs(list []ast.Expr) {
	for i := range list {
		r.expr(&list[i])
	}
}

func (r *rewriter) expr(at *ast.Expr) {
	if r.depth++; r.depth > deepest {
		panic("chunk has too many syntax levels")
	}
	switch e := (*at).(type) {
	case *ast.AttrGetExpr:
		r.expr(&e.Object)
		r.expr(&e.Key)
	case *ast.TableExpr:
		for _, f := range e.Fields {
			r.expr(&f.Key)
			r.expr(&f.Value)
		}
	case *ast.FuncCallExpr:
		r.expr(&e.Func)
		r.expr(&e.Receiver)
		r.exprs(e.Args)
	case *ast.LogicalOpExpr:
		r.both(&e.Lhs, &e.Rhs)
	case *ast.RelationalOpExpr:
		r.both(&e.Lhs, &e.Rhs)
	case *ast.ArithmeticOpExpr:
		r.both(&e.Lhs, &e.Rhs)
		if e.Operator == "%" {
			*at = helper(moduloName, e, e.Lhs, e.Rhs)
		}
	case *ast.StringConcatOpExpr:
		r.both(&e.Lhs, &e.Rhs)
		operand(&e.Lhs)
		operand(&e.Rhs)
	case *ast.UnaryMinusOpExpr:
		r.expr(&e.Expr)
	case *ast.UnaryNotOpExpr:
		r.expr(&e.Expr)
	case *ast.UnaryLenOpExpr:
		r.expr(&e.Expr)
	case *ast.FunctionExpr:
		r.stmts(e.Stmts)
	}
	r.depth--
}

func (r *rewriter) both(a, b *ast.Expr) {
	r.expr(a)
	r.expr(b)
}

// operand wraps an operand of ".." into a call, unless it is surely a string.
func operand(at *ast.Expr) {
	switch (*at).(type) {
	case *ast.StringExpr, *ast.StringConcatOpExpr:
		return
	}
	*at = helper(toStringName, *at, *at)
}

// helper is a call of one of the globals above, at the place of at.
func helper(name string, at ast.Expr, args ...ast.Expr) ast.Expr {
	f := &ast.IdentExpr{Value: name}
	call := &ast.FuncCallExpr{Func: f, Args: args, AdjustRet: true}
	for _, n := range []ast.Expr{f, call} {
		n.SetLine(at.Line())
		n.SetLastLine(at.LastLine())
	}
	return call
}
