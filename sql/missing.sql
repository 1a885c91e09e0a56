-- What is missing is told, with a way to get it back and none to lose the rest.
SELECT profstore.import_folded('main;work 12', at => '2026-03-01Z') AS samples;
ALTER TABLE profstore.mappings RENAME TO moved;
SELECT * FROM profstore.folded('folded:samples:count:::delta', '2026-03-01Z', '2026-03-02Z');
ALTER TABLE profstore.moved RENAME TO mappings;
SELECT * FROM profstore.folded('folded:samples:count:::delta', '2026-03-01Z', '2026-03-02Z');
