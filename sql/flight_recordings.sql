-- Recordings of Java Flight Recorder, built number by number. Overlapping parts, or many references to a long text, cost no extra time.
\i sql/fixtures/preamble.sql

-- numbers: little-endian base 128, padded to a minimum of bytes; the ninth byte has eight bits
CREATE FUNCTION jfr_number(value int8, bytes int4 DEFAULT 1) RETURNS bytea LANGUAGE plpgsql AS
$$
DECLARE
	written bytea := '';
BEGIN
	FOR i IN 1 .. 8 LOOP
		IF i >= bytes AND value BETWEEN 0 AND 127 THEN
			RETURN written || set_byte('\x00', 0, value::int4);
		END IF;
		written := written || set_byte('\x00', 0, (value & 127)::int4 | 128);
		value := (value >> 7) & ~(127::int8 << 57);
	END LOOP;
	RETURN written || set_byte('\x00', 0, value::int4);
END
$$;
CREATE FUNCTION joined(parts bytea[]) RETURNS bytea LANGUAGE sql
	RETURN (SELECT coalesce(string_agg(part, '' ORDER BY ord), '') FROM unnest(parts) WITH ORDINALITY AS u(part, ord));
CREATE FUNCTION jfr_numbers(VARIADIC numbers int8[]) RETURNS bytea LANGUAGE sql
	RETURN joined(ARRAY(SELECT jfr_number(n) FROM unnest(numbers) WITH ORDINALITY AS u(n, ord) ORDER BY ord));
CREATE FUNCTION jfr_text(value text) RETURNS bytea LANGUAGE sql RETURN '\x03'::bytea || jfr_number(length(value)) || convert_to(value, 'UTF8');
-- a record with its size in front; the size includes its own bytes
CREATE FUNCTION jfr_event(body bytea) RETURNS bytea LANGUAGE sql RETURN jfr_number(length(body) + 4, 4) || body;

-- metadata: a table of strings; elements with attributes and child elements
CREATE FUNCTION jfr_strings() RETURNS text[] LANGUAGE sql
	RETURN '{root,class,field,name,id,dimension,constantPool,true,1,long,java.lang.String,jdk.types.Symbol,java.lang.Class,jdk.types.Method,jdk.types.StackFrame,jdk.types.StackTrace,jdk.ExecutionSample,jdk.ActiveSetting,4,20,21,22,23,24,25,100,101,string,type,method,lineNumber,frames,startTime,stackTrace,value,tags}'::text[];
CREATE FUNCTION jfr_indexes(strings text[]) RETURNS bytea LANGUAGE sql
	RETURN joined(ARRAY(SELECT jfr_number(array_position(jfr_strings(), s) - 1) FROM unnest(strings) WITH ORDINALITY AS u(s, ord) ORDER BY ord));
CREATE FUNCTION jfr_element(kind text, attributes text[], children bytea[]) RETURNS bytea LANGUAGE sql
	RETURN jfr_indexes(ARRAY[kind]) || jfr_number(cardinality(attributes) / 2) || jfr_indexes(attributes) || jfr_number(cardinality(children)) || joined(children);
CREATE FUNCTION jfr_class(id text, name text, VARIADIC fields bytea[] DEFAULT '{}') RETURNS bytea LANGUAGE sql RETURN jfr_element('class', ARRAY['id', id, 'name', name], fields);
CREATE FUNCTION jfr_field(name text, class text, VARIADIC more text[] DEFAULT '{}') RETURNS bytea LANGUAGE sql RETURN jfr_element('field', ARRAY['name', name, 'class', class] || more, '{}');
CREATE FUNCTION jfr_metadata() RETURNS bytea LANGUAGE sql
	RETURN jfr_event(jfr_numbers(0, 0, 0, 0, cardinality(jfr_strings())) || joined(ARRAY(SELECT jfr_text(s) FROM unnest(jfr_strings()) WITH ORDINALITY AS u(s, ord) ORDER BY ord)) || jfr_element('root', '{}', ARRAY[
		jfr_class('4', 'long'),
		jfr_class('20', 'java.lang.String'),
		jfr_class('21', 'jdk.types.Symbol', jfr_field('string', '20')),
		jfr_class('22', 'java.lang.Class', jfr_field('name', '21', 'constantPool', 'true')),
		jfr_class('23', 'jdk.types.Method', jfr_field('type', '22', 'constantPool', 'true'), jfr_field('name', '21', 'constantPool', 'true')),
		jfr_class('24', 'jdk.types.StackFrame', jfr_field('method', '23', 'constantPool', 'true'), jfr_field('lineNumber', '4')),
		jfr_class('25', 'jdk.types.StackTrace', jfr_field('frames', '24', 'dimension', '1')),
		jfr_class('100', 'jdk.ExecutionSample', jfr_field('tags', '4', 'constantPool', 'true', 'dimension', '1'), jfr_field('startTime', '4'), jfr_field('stackTrace', '25', 'constantPool', 'true')),
		jfr_class('101', 'jdk.ActiveSetting', jfr_field('id', '4'), jfr_field('name', '20'), jfr_field('value', '20'))]));

-- constants of a class, each after its key
CREATE FUNCTION jfr_pool(class int8, VARIADIC constants bytea[]) RETURNS bytea LANGUAGE sql
	RETURN jfr_numbers(class, cardinality(constants)) || joined(ARRAY(SELECT jfr_number(ord) || c FROM unnest(constants) WITH ORDINALITY AS u(c, ord) ORDER BY ord));
CREATE FUNCTION jfr_pools(VARIADIC pools bytea[]) RETURNS bytea LANGUAGE sql RETURN jfr_event(jfr_numbers(1, 0, 0, 0, 1, cardinality(pools)) || joined(pools));
CREATE FUNCTION jfr_recording(events bytea, pools bytea, pools_from int4 DEFAULT 0) RETURNS bytea LANGUAGE sql
	RETURN '\x464c520000020000'::bytea || int8send(68 + length(events) + length(pools) + length(jfr_metadata())) || int8send(68 + length(events) + pools_from) || int8send(68 + length(events) + length(pools))
		|| int8send(1767261600000000000) || int8send(1000000000) || int8send(500) || int8send(1000) || int4send(1) || events || pools || jfr_metadata();
CREATE FUNCTION stored(recording bytea) RETURNS text LANGUAGE sql RETURN failure(format('SELECT profstore.import_pprof(%L)', recording));

-- two samples with a stack and one without, a clock of 1000 ticks a second; the setting of their period; strings in all encodings
\set symbols 'jfr_pool(21, jfr_text(''app/Main''), decode(''05046de4696e'', ''hex''), decode(''04'', ''hex'') || jfr_numbers(4, 119, 246, 114, 107))'
\set names 'jfr_pool(22, jfr_numbers(1)), jfr_pool(23, jfr_numbers(1, 2), jfr_numbers(1, 3))'
\set stack 'jfr_pool(25, jfr_numbers(2, 2, 7, 1, 3))'
SELECT stored(jfr_recording(jfr_event(jfr_numbers(101, 100) || jfr_text('period') || jfr_text('10 ms')) || jfr_event(jfr_numbers(100, 2, 8, 9, 500, 1)) || jfr_event(jfr_numbers(100, 0, 1500, 1)) || jfr_event(jfr_numbers(100, 0, 2500, 0)),
	jfr_pools(:symbols, :names, :stack)));
SELECT stack, value FROM profstore.folded('jfr:cpu:nanoseconds:::delta', '2026-01-01Z', '2026-01-02Z') ORDER BY stack;
SELECT time, value FROM profstore.samples JOIN profstore.series('jfr:samples:count:::delta') USING (series_id) ORDER BY time;

-- 2,000 events, each with 200,000 labels that are the bytes of the following events
SELECT stored(jfr_recording(joined(array_fill(jfr_numbers(5, 100, 200000), ARRAY[2000])) || jfr_event(jfr_numbers(9) || decode(repeat('00', 210000), 'hex')), jfr_pools(:symbols, :names, :stack)));
-- 2,000 constant pools, each with a string that covers the following ones, up to 200,000 empty pools
SELECT stored(jfr_recording('', jfr_event(jfr_numbers(9) || joined(ARRAY(
	SELECT jfr_numbers(0, 0, 0, 0) || jfr_number(CASE WHEN n > 1 THEN -24 ELSE 0 END, 9) || jfr_numbers(0, 200001, 20, 1, 0, 3) || jfr_number(24 * (2000 - n), 3) FROM generate_series(1, 2000) AS n))
	|| decode(repeat('00', 400000), 'hex')), 5 + 24 * 1999));
-- 2,000 methods, each with the same name of 200,000 letters
SELECT stored(jfr_recording(jfr_event(jfr_numbers(100, 0, 500, 1)), jfr_pools(jfr_pool(21, jfr_text(repeat('x', 200000))), jfr_pool(23, VARIADIC array_fill(jfr_numbers(0, 1), ARRAY[2000])),
	jfr_pool(25, jfr_number(2000) || joined(ARRAY(SELECT jfr_numbers(n, 0) FROM generate_series(1, 2000) AS n))))));
SELECT count(*) FROM profstore.series('jfr:samples:count:::delta');
