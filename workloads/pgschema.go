package workloads

// postgresSchema is the counter, its ledger, and one atomic step: guard, effect,
// ledger. Attempts come one after the other, as each locks the row first.
//
// The guards are what a program would write itself: a fence is an UPDATE with
// the token in its WHERE, a version check compares what was read.
const postgresSchema = `
CREATE TABLE counter (
	value bigint NOT NULL, version bigint NOT NULL,
	fence_token bigint NOT NULL, fence_owner bytea NOT NULL, fence_op bigint NOT NULL
);
INSERT INTO counter VALUES (0, 0, 0, '', 0);
CREATE TABLE ledger (
	number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	op bigint NOT NULL, do_what text NOT NULL, host text NOT NULL, grant_op bigint NOT NULL, token bigint NOT NULL,
	passed boolean NOT NULL, before bigint NOT NULL, value bigint NOT NULL
);
CREATE FUNCTION attempt(
	guard text, do_what text, op bigint, host text, grant_op bigint, owner bytea, token bigint, new_value bigint, seen_version bigint,
	OUT passed boolean, OUT after bigint, OUT stored bigint
) LANGUAGE plpgsql AS $$
DECLARE
	was counter;
BEGIN
	SELECT * INTO STRICT was FROM counter FOR UPDATE;
	passed := true;
	IF guard = 'fence-read' OR guard LIKE 'fence%' AND do_what = 'write' THEN
		UPDATE counter SET fence_token = token, fence_owner = owner, fence_op = op
		WHERE fence_token < token
			OR fence_token = token AND token <> 0 AND CASE guard
				WHEN 'fence-greater' THEN false
				WHEN 'fence-greater-or-equal' THEN true
				ELSE fence_owner = owner AND fence_op < op
			END;
		passed := FOUND;
	ELSIF guard = 'version' AND do_what = 'write' THEN
		passed := was.version = seen_version;
	END IF;
	IF passed AND do_what = 'write' THEN
		UPDATE counter SET version = version + 1,
			value = CASE guard WHEN 'atomic' THEN value + 1 ELSE new_value END;
	END IF;
	SELECT value, version INTO STRICT after, stored FROM counter;
	INSERT INTO ledger (op, do_what, host, grant_op, token, passed, before, value)
	VALUES (op, do_what, host, grant_op, token, passed, was.value, after);
END $$;
`
