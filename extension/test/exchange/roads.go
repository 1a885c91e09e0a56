// Two roads lead a file into the tables: the function import_pprof, and the collector, which decodes files itself. What comes to be
// there must be the same.
package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const roadTime = "2024-01-01 00:00Z"

// Rows, or notes, of a road: all but its name.
func ofRoad(name, what string) string {
	rows := fmt.Sprintf(`SELECT substr(s.profile_type, %d), s.labels, k.period, k.first_seen, k.last_seen, %%s
		FROM profstore.matching_series(NULL) s JOIN profstore.series k ON k.id = s.series_id %%s WHERE starts_with(s.profile_type, '%s:')`, len(name)+1, name)
	if what == "notes" {
		return fmt.Sprintf(rows, "n.default_type, n.comments, n.doc_url, n.drop_frames, n.keep_frames", "LEFT JOIN profstore.file_notes n ON n.series_id = k.id")
	}
	return fmt.Sprintf(rows, "p.time, p.stack_id, p.value", "LEFT JOIN profstore.samples p ON p.series_id = k.id")
}

func checkRoads(files []file) {
	roads := filepath.Join(directory, "roads")
	if err := os.MkdirAll(roads, 0o755); err != nil {
		fatal("%v", err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(roads, f.name), f.bytes, 0o644); err != nil {
			fatal("%v", err)
		}
		query(`SELECT profstore.import_pprof(decode('%s', 'base64'), jsonb_build_object('__name__', 'road_server', 'file', %s), '%s')`,
			base64.StdEncoding.EncodeToString(f.bytes), quote(f.name), roadTime)
	}
	output, err := exec.Command(os.Getenv("COLLECTOR"), "import", "--jobs", "2", "--at", roadTime, "--labels", "__name__=road_client", "--path-labels",
		"{file}", roads).CombinedOutput()
	if err != nil {
		fatal("profstore-collector import: %v: %s", err, output)
	}
	for _, what := range []string{"rows", "notes"} {
		server, client := ofRoad("road_server", what), ofRoad("road_client", what)
		rows := query(`SELECT (SELECT count(*) FROM (%s EXCEPT ALL %s) AS d), (SELECT count(*) FROM (%s EXCEPT ALL %s) AS d), (SELECT count(*) FROM (%s) AS r)`,
			server, client, client, server, server)
		var problems []string
		if rows[0][2] == "0" || rows[0][0] != "0" || rows[0][1] != "0" {
			problems = []string{fmt.Sprintf("of %s %s: %s by the server alone, %s by the collector alone", rows[0][2], what, rows[0][0], rows[0][1])}
		}
		compared += int(integer(rows[0][2]))
		test(fmt.Sprintf("%d files by both roads: %s are the same", len(files), what), problems)
	}
	query("TRUNCATE profstore.samples")
}
