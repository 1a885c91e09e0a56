-- Errors about missing objects say how to restore them, without a loss of the others.
SELECT profstore.import_folded('main;work 12', at => '2026-03-01Z') AS samples;
ALTER TABLE profstore.mappings RENAME TO moved;
SELECT * FROM profstore.folded('folded:samples:count:::delta', '2026-03-01Z', '2026-03-02Z');
ALTER TABLE profstore.moved RENAME TO mappings;
SELECT * FROM profstore.folded('folded:samples:count:::delta', '2026-03-01Z', '2026-03-02Z');
