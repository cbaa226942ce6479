// Package luascript names Lua scripts as Redis does.
package luascript

import (
	"crypto/sha1" // names a script to Redis, protects nothing
	"encoding/hex"

	"github.com/go-redsync/redsync/v4/redis"
)

// New makes a script of so many keys. redsync's own NewScript wants to be told
// the name under which the server will know it.
func New(keys int, source string) *redis.Script {
	sum := sha1.Sum([]byte(source))
	return redis.NewScript(keys, source, hex.EncodeToString(sum[:]))
}
