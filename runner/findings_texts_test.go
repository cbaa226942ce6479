package runner

// explanations are in the order of checker.IDs, each double-grant with its causes.
var explanations = []explained{
	{
		kind: "double-grant", blame: []string{"lock service"},
		means: "The lock was promised to two hosts at once: the promises of two grants overlap. This is what a lock must never do. " +
			"The cause is a guess from the faults that acted meanwhile, as below. Without one nothing that was done to the servers explains it, and the lock or its client is to be looked at first.",
		file: "double-grant", hand: "two owners of a master under no fault at all have no known cause",
	},
	{
		kind: "double-grant/state-loss", blame: []string{"lock service"},
		means: "A server that had granted the lock forgot it: it was killed without its data on disk, lost power, evicted the key, or a replica became the master that had not heard of it. " +
			"The counter of the fencing tokens is usually lost with it, so a fence alone does not save the day.",
		scenario: "single/crash-no-persistence", guard: "none",
		real: "w1 got the lock at 112.4 ms, restart-node struck n1 at 127.2 ms; w2 got it at 256.2 ms while that was still promised (state-loss), so for 3.7 ms it was promised to both",
	},
	{
		kind: "double-grant/early-expiry", blame: []string{"lock service"},
		means:    "A server's clock jumped or ran fast, and the key was gone before the lease was over by the host's own count.",
		scenario: "single/clock-jump", guard: "none",
		real: "w1 got the lock at 67.7 ms, clock-jump struck n1 at 82.5 ms; w2 got it at 127 ms while that was still promised (early-expiry), so for 12 ms it was promised to both",
	},
	{
		kind: "double-grant/foreign-release", blame: []string{"library"},
		means:    "A host removed the lock of another (see foreign-release), and a third got it while the second still held it.",
		scenario: "single-bare-del/overrun", guard: "none",
		real: "w2 got the lock at 746.6 ms; w3 got it at 815.8 ms while that was still promised (foreign-release), so for 16.2 ms it was promised to both",
	},
	{
		kind: "double-grant/foreign-extend", blame: []string{"library"},
		means:    "A host prolonged the lock of another (see foreign-extend), and took that for its own lease.",
		scenario: "single-bare-expire/late-extend", guard: "none",
		real: "w1 got the lock at 17.2 ms; w2 got it at 1526.7 ms; w1 extended at 1529.1 ms (foreign-extend), so for 0.521 ms it was promised to both",
	},
	{
		kind: "double-grant/split", blame: []string{"lock service"},
		means:    "There were two masters for a while: one that was cut off with some of the hosts and went on granting, and one that the others had promoted.",
		scenario: "sentinel/split", guard: "none",
		real: "w1 got the lock at 2757.1 ms, failover struck n1 at 286.8 ms; w2 got it at 2776.7 ms while that was still promised (split), so for 4.5 ms it was promised to both",
	},
	{
		kind: "double-grant/stale-message", blame: []string{"lock service"},
		means: "A message that was late did something that its sender no longer wanted, such as a release of an earlier try. " +
			"Told so where messages were held or delayed and no other fault explains it; [a late release of redsync](redsync-late-release.md) is the case that this program found.",
		scenario: "redlock/stale-message", guard: "none",
		real: "w1 got the lock at 519.2 ms, hold struck w1>n3, w1>n4, w1>n5 at 140.7 ms; w2 got it at 522.8 ms while that was still promised (stale-message), so for 11 ms it was promised to both",
	},
	{
		kind: "stale-holder", blame: []string{"holder"},
		means: "A host still thought that it holds the lock when another had it. The lock had kept its promise: the lease was over. " +
			"No client library can prevent it, as the host may be stopped between its last look at the clock and what it does next; a check at the resource can make it harmless.",
		scenario: "single/pause-after-acquire", guard: "none",
		real: "w1 got the lock at 262.2 ms and was stopped at 268 ms, its lease ended at 560.3 ms; w3 got it at 571.7 ms, and both thought that they hold it until 584.8 ms, for 13.1 ms",
	},
	{
		kind: "stale-write", blame: []string{"resource"},
		means: "The resource accepted a write of a holder that had been superseded. It may have cost nothing; a lost-update says whether it did. " +
			"Under a fence it counts only where a newer token had come to the resource by then.",
		scenario: "single/delayed-write", guard: "none",
		real: "w1 got the lock at 118.8 ms, hold struck w1>resource at 126.7 ms, its lease ended at 417.8 ms; w2 got it at 421.5 ms; the write of 3 that w1 had sent at 126.7 ms arrived after that and was accepted",
	},
	{
		kind: "lost-update", blame: []string{"resource", "guard"},
		means: "An increment that a host was told is done is missing from the counter: the damage that the lock was there to prevent. " +
			"The sentence says which write undid which. It is the resource's fault without a guard, and the guard's with one.",
		scenario: "single/pause-after-acquire", guard: "none",
		real: "w1 got the lock at 262.2 ms and was stopped at 268 ms, its lease ended at 560.3 ms; w3 got it at 571.7 ms; w1 went on at 621 ms and its write of 4 was accepted, over 5: 2 increments undone; in all 2 increments are lost",
	},
	{
		kind: "token-regression", blame: []string{"lock service"},
		means:    "A later grant has a fencing token that is not greater than one before it, or two grants share one. A fence behind it can then let a stale holder in, or keep the rightful one out. See [fencing](fencing.md).",
		scenario: "redlock/token-naive", guard: "none",
		real: "partition struck w1>n4, w1>n5 at 132 ms: w1 got the lock at 297.4 ms with token 3; w3 got it at 347.2 ms with token 3, which is the same",
	},
	{
		kind: "foreign-release", blame: []string{"library"},
		means:    "A host released a lock that was another's, with success: it did not compare before it deleted.",
		scenario: "single-bare-del/overrun", guard: "none",
		real: "w1 got the lock at 70.5 ms, its lease ended at 558.4 ms; w2 got it at 573.1 ms; w1 released it at 603.9 ms with success: it was the lock of w2",
	},
	{
		kind: "foreign-extend", blame: []string{"library"},
		means:    "A host prolonged a lock that was another's, with success. An extend that compares first does not.",
		scenario: "single-bare-expire/late-extend", guard: "none",
		real: "w1 got the lock at 123.6 ms; w2 got it at 1635.4 ms; w1 prolonged it at 1658.4 ms with success: it was the lock of w2",
	},
	{
		kind: "silent-loss", blame: []string{"library", "lock service"},
		means: "The lock was gone before its time and the host went on without word of it; the sentence says how long. " +
			"Where another had got it (as in each double-grant), the library is blamed, which could have asked; where the host was told before its lease was over and nobody else is seen to have got it, the lock service is.",
		scenario: "single/crash-no-persistence", guard: "none",
		real: "w1 got the lock at 20.4 ms, restart-node struck n1 at 22.3 ms; w2 got it at 149.5 ms, and w1 noticed 5.3 ms later, at 154.7 ms",
	},
	{
		kind: "silent-reacquire", blame: []string{"library"},
		means:    "An extend took the lock back after another had held it, and the host was never told. What it had read may be out of date.",
		scenario: "redlock/setnx-on-extend", guard: "none",
		real: "w1 got the lock at 61 ms; w2 got it at 1559.8 ms; w1 extended at 1570.8 ms with success and was never told that another had held the lock",
	},
	{
		kind: "refused-holder", blame: []string{"lock service", "guard"},
		means:    "A fence refused the host to which the lock was promised. Nothing is lost, but the holder cannot work: the token is wrong (lock service), or the rule of the fence is (guard).",
		scenario: "single-mint-before/pause-between", guard: "fence",
		real: "w1 got the lock at 3077.8 ms with token 2 and still held it, and its write at 3085.4 ms was refused: the write of w2 at 3056.9 ms had shown the token 3 before",
	},
	{
		kind: "orphan", blame: []string{"library"},
		means:    "Nobody held the lock and nobody could get it for a while, after a host that died, a release that failed, or an acquire that nobody knows the end of. This is what the TTL is for.",
		scenario: "single/kill-holder", guard: "none",
		real: "w1 ended while it held the lock (181.6 ms); nobody held the lock and it was refused 48 times, until w2 got it at 485.7 ms, 304 ms later",
	},
	{
		kind: "wedge", blame: []string{"operator"},
		means: "An orphan that did not end: for more than two TTLs until the end of the run, nobody got the lock, though it was asked for three times at least. Time before an acquire of which nobody knows how it ended does not count: it may have left a key of its own, for a TTL. A key without an end is one way to it: then somebody has to delete that. " +
			"Another is that hosts split the votes of the nodes again and again: the keys expire, and none of them gets a majority. A run that its deadline has ended is not inconclusive for that where it ends in a wedge.",
		scenario: "single-set-then-expire/crash-between", guard: "none",
		real: "an acquire of w1 ended and nobody knows how (911.1 ms); nobody held the lock and it was refused 231 times, and for 1686.8 ms nobody got it any more",
	},
	{
		kind: "unavailable", blame: []string{"lock service"},
		means:    "Fewer acquires were answered or granted in a phase (before, during, after the faults) than the scenario demands.",
		scenario: "single/read-only", guard: "none",
		real: "phase during: 1 grant of 26 attempts, the scenario demands 5 grants",
	},
	{
		kind: "inconclusive", blame: []string{"harness"},
		means: "The run proves nothing, and this is why: a fault that was not seen to work, too little done around it, a history that is cut off, hosts whose claims cannot be, an oracle at its limits. " +
			"A violation that was seen stays one, unless it rests on claims that cannot be.",
		file: "inconclusive", hand: "a fault without proof",
	},
}
