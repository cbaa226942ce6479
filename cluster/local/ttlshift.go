package local

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"lockchaos/cluster"
)

// shiftScript shifts the TTL of the keys that it is given, or of every key whose name
// fits a pattern, as a jump of the clock would. A scan may show a key twice. Time goes on in a script, for TTLs. It
// returns how many keys it has shifted, and how many of these have expired thereby.
const shiftScript = `
local by, cursor, keys = tonumber(ARGV[1]), "0", {}
for _, key in ipairs(KEYS) do keys[key] = true end
if #KEYS == 0 then repeat
	local page = redis.call("SCAN", cursor, "MATCH", ARGV[2], "COUNT", 1000)
	cursor = page[1]
	for _, key in ipairs(page[2]) do keys[key] = true end
until cursor == "0" end
local shifted, gone = 0, 0
for key in pairs(keys) do
	local left = redis.call("PTTL", key)
	if left >= 0 then
		shifted = shifted + 1
		if left <= by then
			gone = gone + redis.call("DEL", key)
		else
			redis.call("PEXPIRE", key, left - by)
			local now = redis.call("PTTL", key)
			if now > left - by or by < 0 and now <= left then
				return redis.error_reply("the TTL of " .. key .. " was not shifted")
			end
		end
	end
end
return {tostring(shifted), tostring(gone)}`

var errNoTTL = errors.New("no key has a TTL: there was nothing to shift")

// ByShift is how a clock is set where no server's clock is: see ShiftTTLs.
const ByShift = byShift

// ShiftTTLs shifts the TTLs of keys, over a connection to the server that nobody else
// uses. Without a look at others: they may be many, and nobody is served during a script.
func ShiftTTLs(conn net.Conn, keys []string, by time.Duration) (proof string, err error) {
	if len(keys) == 0 {
		return "", errNoTTL
	}
	return shift(conn, keys, "", by)
}

// shift looks for the keys under a prefix where it is given none.
func shift(conn net.Conn, keys []string, prefix string, by time.Duration) (string, error) {
	command := append([]string{"EVAL", shiftScript, strconv.Itoa(len(keys))}, keys...)
	reply, err := exchange(conn, append(command, strconv.FormatInt(by.Milliseconds(), 10), cluster.Under(prefix)))
	switch {
	case err != nil:
		return "", fmt.Errorf("shift TTLs: %w", err)
	case len(reply) != 2:
		return "", fmt.Errorf("shift TTLs: unexpected reply %q", reply)
	case reply[0] == "0":
		return "", errNoTTL
	}
	return fmt.Sprintf("%s of %s: %s key(s), %s of them expired by it", byShift, by, reply[0], reply[1]), nil
}
