# Arguments that functions have in common. The Makefile puts these texts in place of their names in all rooms' scripts.
#
# A new filter goes into FILTERS, PASSED_FILTERS and FILTER_VALUES. C reads all of them by name (base/arguments.h).

s/@SELECTION@/selector text, from_ts timestamptz DEFAULT now() - interval '1 hour', to_ts timestamptz DEFAULT now()/g
s/@COMPARISON@/selector text, base_from timestamptz DEFAULT now() - interval '2 hours', base_to timestamptz DEFAULT now() - interval '1 hour', from_ts timestamptz DEFAULT now() - interval '1 hour', to_ts timestamptz DEFAULT now(), base_selector text DEFAULT NULL, absolute bool DEFAULT false/g

# filters of views that show no frames, of views that do, and both as arguments of a call
s/@FRAME_FILTERS@/@FILTERS@, granularity text DEFAULT 'function'/g
s/@FILTERS@/focus text DEFAULT NULL, ignore text DEFAULT NULL, show text DEFAULT NULL, hide text DEFAULT NULL/g
s/@PASSED_FRAME_FILTERS@/@PASSED_FILTERS@, granularity => granularity/g
s/@PASSED_FILTERS@/focus => focus, ignore => ignore, show => show, hide => hide/g
s/@FILTER_VALUES@/('focus', focus), ('ignore', ignore), ('show', show), ('hide', hide)/g

s/@TRACE@/trace uuid DEFAULT NULL, span text DEFAULT NULL, query_id int8 DEFAULT NULL/g
s/@BASE_TRACE@/base_trace uuid DEFAULT NULL, base_span text DEFAULT NULL, base_query_id int8 DEFAULT NULL/g
s/@PASSED_TRACE@/trace => trace, span => span, query_id => query_id/g
