// Holds profstore's answers about profiles against those of "go tool pprof", as TAP.
//
//	exchange DIRECTORY      scratch files; the database is that of the PG* environment, with the extension and nothing in it
package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

var (
	tests, compared int
	directory       string
	emptyStacks     bool
)

func fatal(format string, arguments ...any) {
	fmt.Printf("not ok - "+format+"\n", arguments...)
	os.Exit(1)
}

func test(name string, problems []string) {
	tests++
	if len(problems) == 0 {
		fmt.Println("ok -", name)
		return
	}
	fmt.Println("not ok -", name)
	for i, problem := range problems {
		if i < 10 {
			fmt.Println("#  ", problem)
		}
	}
}

// Rows of a query; fields are separated by unit separators, rows by record separators.
func query(sql string, arguments ...any) (rows [][]string) {
	command := exec.Command("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-F", "\x1f", "-R", "\x1e", "-f", "-")
	command.Stdin = strings.NewReader(fmt.Sprintf(sql, arguments...))
	output, err := command.Output()
	if err != nil {
		if exit, ok := err.(*exec.ExitError); ok {
			err = fmt.Errorf("%v: %s", err, exit.Stderr)
		}
		fatal("%.200s: %v", sql, err)
	}
	text := strings.TrimSuffix(string(output), "\n")
	if text == "" {
		return nil
	}
	for _, row := range strings.Split(text, "\x1e") {
		rows = append(rows, strings.Split(row, "\x1f"))
	}
	return rows
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// What a function without a name is called.
const unnamed = "[unknown]"

const forever = "'-infinity', 'infinity'"

func importFile(content []byte, name, at string) {
	query("SET standard_conforming_strings = on; SELECT profstore.import_pprof(decode('%s', 'base64'), '{\"__name__\": \"%s\"}', %s)",
		base64.StdEncoding.EncodeToString(content), name, at)
}

// Differences of two tables of numbers.
func differences(want, got map[string][]int64) (problems []string) {
	for key, values := range want {
		compared++
		if fmt.Sprint(values) != fmt.Sprint(got[key]) {
			problems = append(problems, fmt.Sprintf("%q: want %v, got %v", key, values, got[key]))
		}
	}
	for key, values := range got {
		if _, found := want[key]; !found {
			problems = append(problems, fmt.Sprintf("%q: not wanted, got %v", key, values))
		}
	}
	sort.Strings(problems)
	return problems
}

func table(rows [][]string, keys int) map[string][]int64 {
	result := map[string][]int64{}
	for _, row := range rows {
		key := strings.Join(row[:keys], " ")
		for _, value := range row[keys:] {
			result[key] = append(result[key], integer(value))
		}
	}
	return result
}

var topRx = regexp.MustCompile(`^ *(-?[0-9]+)(?:ns|B)? +\S+ +\S+ +(-?[0-9]+)(?:ns|B)? +\S+  (.*)$`)

// The report -top of pprof: flat and cumulative value of each function.
func reportTop(arguments ...string) map[string][]int64 {
	result := map[string][]int64{}
	arguments = append([]string{"-top", "-cum", "-nodecount=10000000", "-nodefraction=0", "-edgefraction=0"}, arguments...)
	for _, line := range strings.Split(pprof_(arguments...), "\n") {
		if m := topRx.FindStringSubmatch(line); m != nil {
			name := regexp.MustCompile(` \((partial-)?inline\)$`).ReplaceAllString(m[3], "")
			flat, cum := integer(m[1]), integer(m[2])
			if name == "<unknown>" {
				name = unnamed
			}
			if flat != 0 || cum != 0 {
				result[name] = []int64{flat, cum}
			}
		}
	}
	return result
}

func unitFlag(kind string) string {
	if strings.HasSuffix(kind, "/bytes") {
		return "-unit=B"
	}
	return "-unit=ns"
}

func withoutZeros(values map[string][]int64) map[string][]int64 {
	for key, v := range values {
		if v[0] == 0 && v[len(v)-1] == 0 {
			delete(values, key)
		}
	}
	return values
}

func checkTop(name, path, kind, selector string) {
	got := withoutZeros(table(query("SELECT function, self, total FROM profstore.top(%s, %s, 10000000)", selector, forever), 1))
	test(name+": top is -top -cum", differences(reportTop("-sample_index="+kind, unitFlag("/"+kind), path), got))
}

const emptyStack = "[empty stack]"

// Whether this tool's dump has samples without frames: that of Go 1.19 leaves them out.
func dumpsEmptyStacks() bool {
	p := base()
	p.add(1, nil)
	path := filepath.Join(directory, "no-frames")
	if err := os.WriteFile(path, p.encode(), 0o644); err != nil {
		fatal("%v", err)
	}
	return len(readRaw(path).samples) == 1
}

// Stacks of names, and values of lines, as the dump has them.
func checkStacks(name string, raw *rawProfile, kind int, selector string) {
	stacks, lines := map[string][]int64{}, map[string][]int64{}
	for _, s := range raw.samples {
		frames := raw.frames(s)
		seen := map[string]bool{}
		path := make([]string, len(frames))
		for i, frame := range frames {
			if frame.name == "" {
				frame.name = unnamed
			}
			path[len(frames)-1-i] = strings.NewReplacer(";", ":", "\n", " ").Replace(frame.name)
			at := fmt.Sprintf("%s %d", frame.file, frame.line)
			if frame.file == "" {
				continue
			}
			if lines[at] == nil {
				lines[at] = []int64{0, 0}
			}
			if i == 0 {
				lines[at][0] += s.values[kind]
			}
			if !seen[at] {
				lines[at][1] += s.values[kind]
			}
			seen[at] = true
		}
		key := strings.Join(path, ";")
		if key == "" {
			key = emptyStack
		}
		if stacks[key] == nil {
			stacks[key] = []int64{0}
		}
		stacks[key][0] += s.values[kind]
	}
	folded := table(query("SELECT stack, value FROM profstore.folded(%s, %s)", selector, forever), 1)
	if !emptyStacks {
		delete(folded, emptyStack)
	}
	test(name+": folded is -raw", differences(withoutZeros(stacks), folded))
	if len(stacks) > 50000 {
		return
	}
	got := withoutZeros(table(query(`SELECT f.filename, coalesce(s.line, 0), s.self, s.total
		FROM (SELECT DISTINCT filename FROM profstore.functions WHERE filename <> '') AS f,
			profstore.source(%s, %s, f.filename) AS s`, selector, forever), 2))
	test(name+": source is -raw by line", differences(withoutZeros(lines), got))
}

func lists(want, got []string) (problems []string) {
	compared += len(want)
	in := map[string]int{}
	for _, line := range want {
		in[line]++
	}
	for _, line := range got {
		in[line]--
	}
	for line, count := range in {
		if count > 0 {
			problems = append(problems, "missing: "+line)
		} else if count < 0 {
			problems = append(problems, "too much: "+line)
		}
	}
	sort.Strings(problems)
	return problems
}

func export(selector, where string) string {
	path := filepath.Join(directory, "export.pb.gz")
	rows := query("SELECT translate(encode(profstore.pprof(%s, %s, sample_labels => true), 'base64'), E'\\n', '')", selector, where)
	content, err := base64.StdEncoding.DecodeString(rows[0][0])
	if err == nil {
		err = os.WriteFile(path, content, 0o644)
	}
	if err != nil {
		fatal("%v", err)
	}
	return path
}

// Out and in again.
func checkRoundTrip(name, profileName string, raw *rawProfile, kind int, selector, profileType string) {
	rows := query(`SELECT coalesce(min(time), '-infinity') FROM profstore.samples JOIN profstore.matching_series(%s) USING (series_id)`, selector)
	length := "30s"
	for _, line := range raw.header {
		if strings.HasPrefix(line, "Duration: ") {
			length = strings.TrimPrefix(line, "Duration: ")
		}
	}
	from := quote(rows[0][0])
	path := export(selector, fmt.Sprintf("%s, %s::timestamptz + '%s s'", from, from, strings.TrimSuffix(length, "s")))
	again := readRaw(path)
	test(name+": export is what was imported", lists(raw.canonical(kind), again.canonical(0)))

	if strings.HasPrefix(name, "go-threadcreate") {
		// its stacks name no binary, so the copy, which lists none, goes to another partition of the dictionary
		return
	}
	copied := "copy_" + profileName
	content, _ := os.ReadFile(path)
	importFile(content, copied, from)
	renamed := quote(copied + strings.TrimPrefix(profileType, profileName))
	rows = query(`SELECT count(*) FILTER (WHERE a IS NULL OR b IS NULL), count(*) FROM
		(SELECT s.labels, p.stack_id, p.value FROM profstore.samples p JOIN profstore.matching_series(%s) s USING (series_id) WHERE p.value <> 0) AS a(labels, stack, value)
		FULL JOIN (SELECT s.labels, p.stack_id, p.value FROM profstore.samples p JOIN profstore.matching_series(%s) s USING (series_id) WHERE p.value <> 0) AS b(labels, stack, value)
		USING (labels, stack, value)`, selector, renamed)
	var problems []string
	if rows[0][0] != "0" || rows[0][1] == "0" {
		problems = []string{fmt.Sprintf("%s of %s rows differ", rows[0][0], rows[0][1])}
	}
	compared += int(integer(rows[0][1]))
	test(name+": import of the export is the same rows", problems)
}

// The first file was imported in 2020, the second in 2021.
func checkDifference(base, other, kind, selector string) {
	want := reportTop("-sample_index="+kind, unitFlag("/"+kind), "-diff_base="+filepath.Join(directory, base), filepath.Join(directory, other))
	got := withoutZeros(table(query(`SELECT function, self_delta, total_delta FROM profstore.top_diff(%s, '2020-01-01', '2020-02-01',
		'2021-01-01', '2021-02-01', absolute => true, max_rows => 10000000)`, selector), 1))
	test(fmt.Sprintf("%s - %s, %s: top_diff is -diff_base", other, base, kind), differences(want, got))
}

var listRx = regexp.MustCompile(`^ *(\.|-?[0-9]+)(?:ns|B)? +(\.|-?[0-9]+)(?:ns|B)? +([0-9]+):`)

// Source lines as -list prints them, for a function of this program.
func checkList(path, selector string) {
	want := map[string][]int64{}
	for _, line := range strings.Split(pprof_("-list=main.fibonacci$", "-unit=ns", "-sample_index=cpu", path), "\n") {
		if m := listRx.FindStringSubmatch(line); m != nil && m[2] != "." {
			want[m[3]] = []int64{integer(strings.Replace(m[1], ".", "0", 1)), integer(m[2])}
		}
	}
	got := map[string][]int64{}
	for line, values := range table(query(`SELECT line, self, total FROM profstore.source(%s, %s, 'profiles.go')`, selector, forever), 1) {
		if _, found := want[line]; found {
			got[line] = values
		}
	}
	problems := differences(want, got)
	if len(want) == 0 {
		problems = []string{"-list printed no line"}
	}
	test("go-cpu: source is -list", problems)
}

// The compiler takes what was exported as the profile that it optimises by.
func checkBuild(selector string) {
	path := export(selector, forever)
	command := exec.Command("go", "build", "-pgo="+path, "-o", filepath.Join(directory, "optimised"), ".")
	output, err := command.CombinedOutput()
	if strings.Contains(string(output), "flag provided but not defined") {
		fmt.Println("ok - go build -pgo takes the export # SKIP this go is older than -pgo")
		return
	}
	var problems []string
	if err != nil {
		problems = strings.Split(string(output), "\n")
	}
	test("go build -pgo takes the export", problems)
}

func main() {
	directory = os.Args[1]
	emptyStacks = dumpsEmptyStacks()
	files := testSet()
	types := map[string]map[string]string{} // of files: kind to profile type
	for i, f := range files {
		profileName := fmt.Sprintf("f%d", i)
		path := filepath.Join(directory, f.name)
		if err := os.WriteFile(path, f.bytes, 0o644); err != nil {
			fatal("%v", err)
		}
		importFile(f.bytes, profileName, "NULL")
		raw := readRaw(path)
		types[f.name] = map[string]string{}
		for kind, typeAndUnit := range raw.types {
			name := f.name + " " + typeAndUnit
			short := strings.Split(typeAndUnit, "/")[0]
			rows := query("SELECT profile_type FROM profstore.profile_types() WHERE starts_with(profile_type, %s)",
				quote(profileName+":"+strings.ReplaceAll(typeAndUnit, "/", ":")))
			if len(rows) != 1 {
				fatal("%s: %d profile types", name, len(rows))
			}
			types[f.name][short] = rows[0][0]
			selector := quote(rows[0][0])
			if f.name != "positions" {
				checkTop(name, path, short, selector)
			}
			checkStacks(name, raw, kind, selector)
			if len(raw.samples) > 0 {
				checkRoundTrip(name, profileName, raw, kind, selector, rows[0][0])
			}
		}
	}
	byName := map[string]file{}
	for _, f := range files {
		byName[f.name] = f
	}
	for _, pair := range [][3]string{{"go-heap", "go-allocs", "alloc_space"}, {"recursion", "negative", "samples"},
		{"inlining", "recursion", "cpu"}, {"wide", "wide-100k", "samples"}, {"go-mutex", "go-block", "delay"}, {"empty", "one", "samples"}} {
		a, b := types[pair[0]][pair[2]], types[pair[1]][pair[2]]
		if rest := strings.SplitN(a, ":", 2)[1]; rest != strings.SplitN(b, ":", 2)[1] {
			fatal("%v do not compare: %s, %s", pair, a, b)
		}
		// both sides under one name: comparisons are of one profile type
		importFile(byName[pair[0]].bytes, "diff_"+pair[2], "'2020-01-01'")
		importFile(byName[pair[1]].bytes, "diff_"+pair[2], "'2021-01-01'")
		checkDifference(pair[0], pair[1], pair[2], quote("diff_"+pair[2]+":"+strings.SplitN(a, ":", 2)[1]))
		query("TRUNCATE profstore.samples")
	}
	for i, f := range files {
		if f.name == "go-cpu" {
			importFile(f.bytes, fmt.Sprintf("f%d", i), "NULL")
			checkList(filepath.Join(directory, f.name), quote(types[f.name]["cpu"]))
			checkBuild(quote(types[f.name]["cpu"]))
		}
	}
	fmt.Printf("# %d files, %d tests, %d values compared\n", len(files), tests, compared)
}
