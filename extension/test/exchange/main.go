// Holds profstore's answers about profiles against those of "go tool pprof", as TAP.
//
//	exchange DIRECTORY CACHE [NAMES]      scratch files, and what programs in other languages need; NAMES: only the files that this
//	                                      regular expression matches, and no pairs; the database is that of the PG* environment, with the extension and nothing in it
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

var topRx = regexp.MustCompile(`^ *(-?[0-9]+)[a-zA-Z]* +\S+ +\S+ +(-?[0-9]+)[a-zA-Z]* +\S+  (.*)$`)

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

// Has the report print whole numbers of the sample type's own unit.
func unitFlag(typeAndUnit string) string {
	short := map[string]string{"bytes": "B", "nanoseconds": "ns", "microseconds": "us", "milliseconds": "ms"}
	if unit, found := short[typeAndUnit[strings.LastIndex(typeAndUnit, "/")+1:]]; found {
		return "-unit=" + unit
	}
	return "-unit=minimum"
}

func withoutZeros(values map[string][]int64) map[string][]int64 {
	for key, v := range values {
		if v[0] == 0 && v[len(v)-1] == 0 {
			delete(values, key)
		}
	}
	return values
}

var unknownRx = regexp.MustCompile(`^(\[.*\]|(\S+ )?0x[0-9a-f]+)$`)

// Code without a function has more brackets there if its mapping has some, and an address here if it has no mapping.
func withoutUnknown(values map[string][]int64) map[string][]int64 {
	for key := range values {
		if unknownRx.MatchString(key) {
			delete(values, key)
		}
	}
	return values
}

func checkTop(name, path, unit, kind, selector string) {
	got := withoutZeros(table(query("SELECT function, self, total FROM profstore.top(%s, %s, 10000000)", selector, forever), 1))
	test(name+": top is -top -cum", differences(withoutUnknown(reportTop("-sample_index="+kind, unit, path)), withoutUnknown(got)))
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
	files, quoted := map[string]bool{}, []string{}
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
			if !files[frame.file] {
				files[frame.file] = true
				quoted = append(quoted, quote(frame.file))
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
	got := withoutZeros(table(query(`SELECT f.name, coalesce(s.line, 0), s.self, s.total
		FROM unnest(ARRAY[%s]::text[]) AS f(name),
			profstore.source(%s, %s, f.name) AS s`, strings.Join(quoted, ","), selector, forever), 2))
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

// The selection of one import, written by profstore.
func exportAll(raw *rawProfile, selector string) (path, from string) {
	rows := query(`SELECT coalesce(min(time), '-infinity') FROM profstore.samples JOIN profstore.matching_series(%s) USING (series_id)`, selector)
	from = quote(rows[0][0])
	return export(selector, fmt.Sprintf("%s, %s::timestamptz + '%s s'", from, from, durationOf(raw))), from
}

// Seconds, as the dump has them; 30 where it has none.
func durationOf(raw *rawProfile) string {
	for _, line := range raw.header {
		if strings.HasPrefix(line, "Duration: ") {
			return strings.TrimSuffix(strings.TrimPrefix(line, "Duration: "), "s")
		}
	}
	return "30"
}

// What a file says beside its samples, as the dump and the list of comments have it.
func notesOf(path, kind string) (lines []string) {
	for _, line := range strings.Split(pprof_("-raw", path), "\n") {
		// marks the default type
		if strings.Contains(line, "[dflt]") {
			for _, t := range strings.Fields(line) {
				if strings.HasPrefix(t, kind+"/") && strings.HasSuffix(t, "[dflt]") {
					lines = append(lines, t)
				}
			}
		} else if strings.HasPrefix(line, "Doc: ") || strings.HasPrefix(line, "Comment: ") {
			lines = append(lines, line)
		}
	}
	return append(lines, strings.Split(pprof_("-comments", path), "\n")...)
}

// Out and in again.
func checkRoundTrip(name, profileName, path, from string, raw *rawProfile, kind int, selector, profileType string) {
	again := readRaw(path)
	test(name+": export is what was imported", lists(raw.canonical(kind), again.canonical(0)))
	short := strings.Split(raw.types[kind], "/")[0]
	test(name+": notes of the export are those of the file", lists(notesOf(filepath.Join(directory, strings.Fields(name)[0]), short), notesOf(path, short)))

	if strings.HasPrefix(name, "go-threadcreate") {
		// its stacks name no binary, so the copy, which lists none, goes to another partition of the dictionary
		return
	}
	copied := "copy_" + profileName
	content, _ := os.ReadFile(path)
	importFile(content, copied, from)
	renamed := quote(copied + strings.TrimPrefix(profileType, profileName))
	rows := query(`SELECT count(*) FILTER (WHERE a IS NULL OR b IS NULL), count(*) FROM
		(SELECT s.labels, p.stack_id, p.value FROM profstore.samples p JOIN profstore.matching_series(%s) s USING (series_id) WHERE p.value <> 0) AS a(labels, stack, value)
		FULL JOIN (SELECT s.labels, p.stack_id, p.value FROM profstore.samples p JOIN profstore.matching_series(%s) s USING (series_id) WHERE p.value <> 0) AS b(labels, stack, value)
		USING (labels, stack, value)`, selector, renamed)
	var problems []string
	if rows[0][0] != "0" {
		problems = []string{fmt.Sprintf("%s of %s rows differ", rows[0][0], rows[0][1])}
	}
	compared += int(integer(rows[0][1]))
	test(name+": import of the export is the same rows", problems)
}

// The tool sees the length of the range that was asked for, whatever is in it.
func checkDuration(name, selector string) {
	exported := readRaw(export(selector, "'2020-01-01 00:00Z', '2020-01-01 00:00:42Z'"))
	test(name+": duration of the export is the range's", lists([]string{"42"}, []string{durationOf(exported)}))
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

// The profile type that a sample type of a file became.
func profileTypeOf(profileName, typeAndUnit string) string {
	rows := query("SELECT profile_type FROM profstore.profile_types() WHERE starts_with(profile_type, %s)",
		quote(profileName+":"+strings.ReplaceAll(typeAndUnit, "/", ":")))
	if len(rows) != 1 {
		fatal("%s of %s: %d profile types", typeAndUnit, profileName, len(rows))
	}
	return rows[0][0]
}

// Whether a sample type has other values than 0.
func (p *rawProfile) hasValues(kind int) bool {
	for _, s := range p.samples {
		if s.values[kind] != 0 {
			return true
		}
	}
	return false
}

// All checks of one file, which alone is in the table of samples.
func checkFile(number int, f file) {
	profileName := fmt.Sprintf("f%d", number)
	path := filepath.Join(directory, f.name)
	if err := os.WriteFile(path, f.bytes, 0o644); err != nil {
		fatal("%v", err)
	}
	importFile(f.bytes, profileName, "NULL")
	raw := readRaw(path)
	writeSources(raw)
	var parts [2]string
	for kind, typeAndUnit := range raw.types {
		name := f.name + " " + typeAndUnit
		short, unit := strings.Split(typeAndUnit, "/")[0], unitFlag(typeAndUnit)
		if len(raw.types) > 4 && !raw.hasValues(kind) {
			continue
		}
		profileType := profileTypeOf(profileName, typeAndUnit)
		selector := quote(profileType)
		checkTop(name, path, unit, short, selector)
		checkStacks(name, raw, kind, selector)
		exported, from := exportAll(raw, selector)
		if f.plain {
			test(name+": export is what was imported", lists(raw.canonical(kind), readRaw(exported).canonical(0)))
			continue
		}
		checkTraces(name, path, unit, short, selector, exported)
		checkList(name, path, unit, short, selector, f.sources)
		if len(raw.samples) > 0 {
			checkRoundTrip(name, profileName, exported, from, raw, kind, selector, profileType)
		}
		if f.name == "recursion" {
			checkDuration(name, selector)
		}
		if f.name == "go-cpu" && short == "cpu" {
			checkBuild(selector)
		}
		if parts[0] == "" {
			// both sides under one name: comparisons are of one profile type
			parts = partsOf(path, short)
			for i, part := range parts {
				content, _ := os.ReadFile(part)
				importFile(content, "parts_"+profileName, quote(fmt.Sprintf("202%d-01-01", i)))
			}
		}
		checkDifference(name, parts[0], parts[1], short, unit, quote("parts_"+profileName+strings.TrimPrefix(profileType, profileName)))
	}
	query("TRUNCATE profstore.samples")
}

// Two files of the set against each other.
func checkPairs(byName map[string]file) {
	for _, pair := range [][3]string{{"go-heap", "go-allocs", "alloc_space/bytes"}, {"recursion", "negative", "samples/count"},
		{"inlining", "recursion", "cpu/nanoseconds"}, {"wide", "wide-100k", "samples/count"}, {"go-mutex", "go-block", "delay/nanoseconds"},
		{"empty", "one", "samples/count"}} {
		pairName := "pair_" + pair[0]
		short := strings.Split(pair[2], "/")[0]
		importFile(byName[pair[0]].bytes, pairName, "'2020-01-01'")
		importFile(byName[pair[1]].bytes, pairName, "'2021-01-01'")
		checkDifference(fmt.Sprintf("%s - %s, %s", pair[1], pair[0], short), filepath.Join(directory, pair[0]), filepath.Join(directory, pair[1]),
			short, unitFlag(pair[2]), quote(profileTypeOf(pairName, pair[2])))
		query("TRUNCATE profstore.samples")
	}
}

func main() {
	directory = os.Args[1]
	emptyStacks = dumpsEmptyStacks()
	wanted := regexp.MustCompile(strings.Join(os.Args[3:], "|"))
	programs := startPrograms(os.Args[2])
	files := 0
	var checked []file
	check := func(f file) {
		if wanted.MatchString(f.name) {
			checkFile(files, f)
			files++
			checked = append(checked, f)
		}
	}
	byName := map[string]file{}
	for _, f := range testSet() {
		check(f)
		byName[f.name] = f
	}
	if len(os.Args) == 3 {
		checkPairs(byName)
	}
	if wanted.MatchString("go-text") {
		checkGoTexts()
	}
	for _, l := range programs() {
		report(l)
		for _, f := range l.files {
			check(f)
		}
	}
	if wanted.MatchString("recordings") {
		checked = append(checked, checkRecordings(os.Args[2])...)
	}
	checkRoads(checked)
	fmt.Printf("# %d files, %d tests, %d values compared\n", files, tests, compared)
}
