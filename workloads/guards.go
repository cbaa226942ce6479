package workloads

import (
	"fmt"
	"slices"

	"lockchaos/history"
)

// Guard describes a guard at the resource.
type Guard struct {
	Name  string
	About string
}

// Guards are all guards, in the order in which they are listed.
func Guards() []Guard {
	return []Guard{
		{history.GuardNone, "the resource accepts every write: the lock alone must keep order"},
		{history.GuardFence, "a write carries the fencing token; the resource refuses one below the highest it has seen on a write"},
		{history.GuardFenceRead, "the read carries the token too, so the fence is up before the first write"},
		{history.GuardFenceGreater, "a wrong rule: only a token above the highest is accepted, so a holder's own second write is refused"},
		{history.GuardFenceGreaterOrEqual, "a wrong rule: an equal token is accepted whoever shows it, so two owners can share one"},
		{history.GuardVersion, "compare-and-set: a write names the version that it read; no token needed"},
		{history.GuardAtomic, "one atomic increment at the resource: no lock is needed for a right count"},
	}
}

// known refuses a guard that is none of them: a resource would accept everything.
func known(guard string) error {
	if slices.ContainsFunc(Guards(), func(g Guard) bool { return g.Name == guard }) {
		return nil
	}
	return fmt.Errorf("resource: unknown guard %q", guard)
}

// The rule of fence and fence-read is exact: an attempt passes if its token is greater, or
// if it is equal, comes from the same owner, and is a later attempt. "Less is
// refused" alone would let two owners share a token, and "not greater is
// refused" would stop the holder's own second write: fence-greater-or-equal and
// fence-greater are these two, to be seen at work.
// See Kleppmann, "How to do distributed locking" (2016), for fencing tokens.

// guardSource is one atomic step at a Redis resource: guard, effect, ledger.
// KEYS: counter, fence, version, ledger.
// ARGV: guard, do, op, host, grant, owner, token, value, version.
// Returns {1 if it passed, the counter and the version afterwards}.
const guardSource = `
local guard, action, op, owner, token = ARGV[1], ARGV[2], ARGV[3], ARGV[6], ARGV[7]
local value, version = ARGV[8], ARGV[9]
local before = redis.call("GET", KEYS[1]) or "0"
local after, ok = before, true

-- Tokens stay strings: a Lua number has 53 bits, and nanoseconds need more.
local function greater(a, b)
  return string.sub(a, 1, 1) ~= "-" and (#a > #b or (#a == #b and a > b))
end

if guard == "fence-read" or (string.sub(guard, 1, 5) == "fence" and action == "write") then
  local high = redis.call("HMGET", KEYS[2], "token", "owner", "op")
  local top, last = high[1] or "0", tonumber(high[3] or "0")
  local same = token == top and token ~= "0"
  if guard == "fence-greater" then
    same = false
  elseif guard ~= "fence-greater-or-equal" then
    same = same and owner == high[2] and tonumber(op) > last
  end
  ok = greater(token, top) or same
  if ok then
    redis.call("HSET", KEYS[2], "token", token, "owner", owner, "op", op)
  end
elseif guard == "version" and action == "write" then
  ok = (redis.call("GET", KEYS[3]) or "0") == version
end

if ok and action == "write" then
  if guard == "atomic" then
    redis.call("INCR", KEYS[1])
  else
    redis.call("SET", KEYS[1], value)
  end
  after = redis.call("GET", KEYS[1])
  redis.call("INCR", KEYS[3])
end
redis.call("RPUSH", KEYS[4], string.format(
  '{"op":%s,"do":"%s","host":%s,"grant":%s,"token":%s,"ok":%s,"before":%s,"value":%s}',
  op, action, cjson.encode(ARGV[4]), ARGV[5], token, tostring(ok), before, after))
return {ok and 1 or 0, tonumber(after), tonumber(redis.call("GET", KEYS[3]) or "0")}`
