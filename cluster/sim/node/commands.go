package node

import "strings"

// command is one row of the command table.
type command struct {
	name     string // lower case; of a subcommand "script|load"
	arity    int    // as in Redis: with the name; negative for "at least"
	noScript bool   // refused in scripts
	write    bool   // refused by a replica; set in init
	run      func(n *Node, argv []string) any
	sub      []*command
}

// takes tells whether a command may have so many arguments, its name included.
func (c *command) takes(argc int) bool {
	if c.arity < 0 {
		return argc >= -c.arity
	}
	return argc == c.arity
}

// subcommand finds the subcommand that argv names, nil where there is none.
// The container itself stands in for a command that names none: its arity is
// then wrong.
func (c *command) subcommand(argv []string) *command {
	if len(argv) < 2 {
		return c
	}
	for _, s := range c.sub {
		if strings.EqualFold(s.name[len(c.name)+1:], argv[1]) {
			return s
		}
	}
	return nil
}

// commandTable has all commands. It is filled in init, as EVAL runs commands
// out of it.
var commandTable map[string]*command

func lookupCommand(name string) *command {
	if c := commandTable[name]; c != nil {
		return c
	}
	return commandTable[strings.ToLower(name)]
}

func init() {
	commandTable = map[string]*command{}
	for _, list := range [][]*command{stringCommands, expiryCommands, hashCommands, listCommands, serverCommands, scriptCommands()} {
		for _, c := range list {
			commandTable[c.name] = c
			commandTable[strings.ToUpper(c.name)] = c
		}
	}
	for _, name := range writes {
		commandTable[name].write = true
	}
}
