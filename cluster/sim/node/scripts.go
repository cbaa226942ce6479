package node

import (
	"crypto/sha1" // names scripts as Redis does, protects nothing
	"encoding/hex"
	"strings"
)

// scriptCommands is a function, as a variable would refer to itself.
func scriptCommands() []*command {
	return []*command{
		{name: "eval", arity: -3, noScript: true, run: doEval},
		{name: "evalsha", arity: -3, noScript: true, run: doEvalSHA},
		{name: "script", arity: -2, noScript: true, sub: []*command{
			{name: "script|load", arity: 3, noScript: true, run: doScriptLoad},
			{name: "script|exists", arity: -3, noScript: true, run: doScriptExists},
			{name: "script|flush", arity: -2, noScript: true, run: doScriptFlush},
		}},
	}
}

func sha1hex(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// load puts a script into the node's cache.
func (n *Node) load(source string) (*script, any) {
	sha := sha1hex(source)
	if s := n.scripts[sha]; s != nil {
		return s, nil
	}
	s, err := compileScript(sha, source)
	if err != nil {
		return nil, oneLine("ERR Error compiling script (new function): " + err.Error())
	}
	if n.scripts == nil {
		n.scripts = map[string]*script{}
	}
	n.scripts[sha] = s
	return s, nil
}

func doEval(n *Node, argv []string) any {
	keys, failed := keyCount(argv)
	if failed != nil {
		return failed
	}
	s, failed := n.load(argv[1])
	if failed != nil {
		return failed
	}
	return n.runScript(s, argv[3:3+keys], argv[3+keys:])
}

func doEvalSHA(n *Node, argv []string) any {
	if len(argv[1]) != 2*sha1.Size {
		return errNoScript
	}
	keys, failed := keyCount(argv)
	if failed != nil {
		return failed
	}
	s := n.scripts[argv[1]]
	if s == nil {
		if s = n.scripts[strings.ToLower(argv[1])]; s == nil {
			return errNoScript
		}
	}
	return n.runScript(s, argv[3:3+keys], argv[3+keys:])
}

func keyCount(argv []string) (int, any) {
	keys, fine := integer(argv[2])
	switch {
	case !fine:
		return 0, errNotInteger
	case keys > int64(len(argv)-3):
		return 0, errManyKeys
	case keys < 0:
		return 0, errNegKeys
	}
	return int(keys), nil
}

func doScriptLoad(n *Node, argv []string) any {
	s, failed := n.load(argv[2])
	if failed != nil {
		return failed
	}
	return s.sha
}

func doScriptExists(n *Node, argv []string) any {
	out := make([]any, len(argv)-2)
	for i, sha := range argv[2:] {
		out[i] = int64(0)
		if n.scripts[strings.ToLower(sha)] != nil {
			out[i] = int64(1)
		}
	}
	return out
}

func doScriptFlush(n *Node, argv []string) any {
	if len(argv) > 3 || len(argv) == 3 && !strings.EqualFold(argv[2], "sync") && !strings.EqualFold(argv[2], "async") {
		return errScriptFlush
	}
	n.scripts = nil
	return ok
}
