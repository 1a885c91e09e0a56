// The reports of "go tool pprof" -traces, -list and -diff_base against profstore's answers.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// --- -traces -------------------------------------------------------------------------------------------------------

type trace struct {
	labels []string // lines: key and values
	stack  string   // root first
	value  int64
}

const (
	traceSeparator = "-----------+-------------------------------------------------------"
	frameIndent    = "             "
)

var traceRx = regexp.MustCompile(`^ *(-?[0-9]+)[a-zA-Z]*   (\S.*)$`)

// Lines of a trace that are its frames; the line of the leaf has the value.
func frameLines(lines []string) (at int, value int64) {
	for at := range lines {
		m := traceRx.FindStringSubmatch(lines[at])
		if m == nil {
			continue
		}
		rest := lines[at+1:]
		for len(rest) > 0 && strings.HasPrefix(rest[0], frameIndent) {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			lines[at] = frameIndent + m[2]
			return at, integer(m[1])
		}
	}
	fatal("no frames in trace %q", lines)
	return 0, 0
}

func readTraces(arguments ...string) (traces []trace) {
	text := pprof_(append([]string{"-traces"}, arguments...)...)
	parts := strings.Split(text, traceSeparator+"\n")
	for _, part := range parts[1 : len(parts)-1] {
		lines := strings.Split(strings.TrimSuffix(part, "\n"), "\n")
		at, value := frameLines(lines)
		frames := lines[at:]
		path := make([]string, len(frames))
		for i, frame := range frames {
			frame = strings.TrimSuffix(strings.TrimPrefix(frame, frameIndent), " (inline)")
			path[len(frames)-1-i] = strings.ReplaceAll(frame, ";", ":")
		}
		traces = append(traces, trace{lines[:at], strings.Join(path, ";"), value})
	}
	return traces
}

// What stands for a function that is not known, as pprof has it.
var addressRx = regexp.MustCompile(`(^|;)(?:([^;\s]+) )?0x[0-9a-f]+(;|$)`)

func unknownFrames(stack string) string {
	for last := ""; last != stack; {
		last = stack
		stack = addressRx.ReplaceAllStringFunc(stack, func(match string) string {
			m := addressRx.FindStringSubmatch(match)
			name := "<unknown>"
			if m[2] != "" {
				name = "[" + m[2] + "]"
			}
			return m[1] + name + m[3]
		})
	}
	frames := strings.Split(stack, ";")
	for i := range frames {
		if frames[i] == unnamed {
			frames[i] = "<unknown>"
		} else if strings.HasPrefix(frames[i], "[[") && strings.HasSuffix(frames[i], "]]") {
			frames[i] = frames[i][1 : len(frames[i])-1] // a mapping whose name has brackets gets more of them there
		}
	}
	return strings.Join(frames, ";")
}

func sums(traces []trace) map[string][]int64 {
	result := map[string][]int64{}
	for _, t := range traces {
		key := strings.Join(t.labels, "\n") + "\n" + t.stack
		if result[key] == nil {
			result[key] = []int64{0}
		}
		result[key][0] += t.value
	}
	return withoutZeros(result)
}

// What the labels of a series were in the file: keys with their texts, and which keys had numbers.
func labelsOf(series string) (texts map[string][]string, numeric map[string]bool) {
	var labels map[string]string
	var kinds map[string]struct {
		Key  *string
		Unit *string
	}
	texts, numeric = map[string][]string{}, map[string]bool{}
	if json.Unmarshal([]byte(series), &labels) != nil || labels["__pprof__"] != "" && json.Unmarshal([]byte(labels["__pprof__"]), &kinds) != nil {
		fatal("labels of series: %s", series)
	}
	delete(labels, "__pprof__")
	for name, text := range labels {
		key := name
		if kinds[name].Key != nil {
			key = *kinds[name].Key
		}
		if kinds[name].Unit != nil {
			numeric[key] = true
		} else {
			texts[key] = append(texts[key], text)
		}
	}
	return texts, numeric
}

// Stack by stack, by the labels that are texts: numbers are printed in units of the report's own choice. The export, read by
// the same report, has all of them.
func checkTraces(name, path, unit, kind, selector, exported string) {
	want := readTraces("-sample_index="+kind, unit, path)
	again := readTraces(unit, exported)
	test(name+": -traces of the export", differences(sums(want), sums(again)))

	numeric := map[string]bool{}
	var got []trace
	var texts []map[string][]string
	for _, row := range query(`SELECT s.labels, f.stack, f.value
		FROM (SELECT p.series_id, profstore.merge_stacks(p.stack_id, p.value) AS sums
			FROM profstore.samples AS p JOIN profstore.matching_series(%[1]s) AS m USING (series_id) GROUP BY p.series_id) AS p
			JOIN profstore.matching_series(%[1]s) AS s USING (series_id), profstore.folded_of(p.sums) AS f
		WHERE f.stack <> '[empty stack]'`, selector) {
		t, n := labelsOf(row[0])
		for key := range n {
			numeric[key] = true
		}
		texts = append(texts, t)
		got = append(got, trace{nil, unknownFrames(row[1]), integer(row[2])})
	}
	for i := range got {
		for key, values := range texts[i] {
			if !numeric[key] {
				sort.Strings(values)
				got[i].labels = append(got[i].labels, strings.Split(fmt.Sprintf("%10s:  %s", key, strings.Join(values, " ")), "\n")...)
			}
		}
		sort.Strings(got[i].labels)
	}
	for i := range want {
		want[i].stack = unknownFrames(want[i].stack)
		var kept []string
		for _, line := range want[i].labels {
			if !numeric[strings.TrimLeft(strings.SplitN(line, ":  ", 2)[0], " ")] {
				kept = append(kept, line)
			}
		}
		sort.Strings(kept)
		want[i].labels = kept
	}
	test(name+": merge_stacks by series is -traces", differences(sums(want), sums(got)))
}

// --- -list ---------------------------------------------------------------------------------------------------------

var (
	routineRx = regexp.MustCompile(`^ROUTINE =+ (.*) in (.*)$`)
	listRx    = regexp.MustCompile(`^ *(\.|-?[0-9]+)[a-zA-Z]* +(\.|-?[0-9]+)[a-zA-Z]* +([0-9]+):`)
)

// Sources of made-up profiles, as long as they need to be.
func writeSources(raw *rawProfile) {
	last := map[string]int64{}
	for _, l := range raw.locations {
		for _, line := range l.lines {
			if strings.HasPrefix(line.file, made("")) && line.line > last[line.file] {
				last[line.file] = line.line
			}
		}
	}
	for path, count := range last {
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(strings.Repeat("line\n", int(count)+1)), 0o644); err != nil {
			fatal("%v", err)
		}
	}
}

// The name of a line with no more than the last part of its path: -list leaves out what it takes for the directory of sources.
func withoutDirectory(name string) string {
	if at := strings.LastIndex(name, "/"); at >= 0 {
		if function := strings.LastIndex(name[:at], " "); function >= 0 {
			return name[:function+1] + name[at+1:]
		}
	}
	return name
}

func withoutLine(name string) string { return name[:strings.LastIndex(name, ":")+1] }

// Every line that -list prints, of all functions whose source is here, but those that have a namesake in another file of the
// same name: a module's "<module>" in "__init__.py" is in many, and -list prints what is between the lines of each.
func checkList(name, path, unit, kind, selector, sources string) {
	want, got := map[string][]int64{}, map[string][]int64{}
	lines := map[string][]int64{}
	files := map[string]string{}
	ambiguous := map[string]bool{}
	for _, row := range query("SELECT function, self, total FROM profstore.top(%s, %s, 10000000, granularity => 'line')", selector, forever) {
		at := withoutDirectory(row[0])
		lines[at] = []int64{integer(row[1]), integer(row[2])}
		routine, file := withoutLine(at), withoutLine(row[0])
		ambiguous[routine] = ambiguous[routine] || files[routine] != "" && files[routine] != file
		files[routine] = file
	}
	routine, printed := "", 0
	text, err := tryPprof("-list=.", unit, "-sample_index="+kind, "-source_path="+sources, path)
	if err != nil && !strings.Contains(err.Error(), "no matches found") {
		fatal("%v", err)
	}
	scanner := bufio.NewScanner(strings.NewReader(text))
	scanner.Buffer(nil, 1<<26)
	for scanner.Scan() {
		if m := routineRx.FindStringSubmatch(scanner.Text()); m != nil {
			routine = m[1] + " " + m[2]
			continue
		}
		m := listRx.FindStringSubmatch(scanner.Text())
		if m == nil || routine == "" {
			continue
		}
		at := withoutDirectory(routine + ":" + m[3])
		if ambiguous[withoutLine(at)] {
			continue
		}
		printed++
		want[at] = []int64{integer(strings.Replace(m[1], ".", "0", 1)), integer(strings.Replace(m[2], ".", "0", 1))}
		if lines[at] != nil {
			got[at] = lines[at]
		}
	}
	problems := differences(withoutZeros(want), withoutZeros(got))
	test(fmt.Sprintf("%s: top by line is -list, %d lines", name, printed), problems)
}

// --- -diff_base ----------------------------------------------------------------------------------------------------

// Two parts of a file: what of it has not one function, and what has not another one.
func partsOf(path, kind string) (parts [2]string) {
	var names []string
	totals := reportTop("-sample_index="+kind, path)
	for name := range totals {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := totals[names[i]][1], totals[names[j]][1]
		return a > b || a == b && names[i] < names[j]
	})
	for i := range parts {
		parts[i] = fmt.Sprintf("%s.part%d", path, i)
		ignored := "^nothing is called so$"
		if len(names) > 0 {
			ignored = "^" + regexp.QuoteMeta(names[(len(names)-1)*(i+1)/3]) + "$"
		}
		pprof_("-proto", "-ignore="+ignored, "-output="+parts[i], path)
	}
	return parts
}

// The first file was imported in 2020, the second in 2021.
func checkDifference(name, base, other, kind, unit, selector string) {
	want := reportTop("-sample_index="+kind, unit, "-diff_base="+base, other)
	got := withoutZeros(table(query(`SELECT function, self_delta, total_delta FROM profstore.top_diff(%s, '2020-01-01', '2020-02-01',
		'2021-01-01', '2021-02-01', absolute => true, max_rows => 10000000)`, selector), 1))
	test(name+": top_diff is -diff_base", differences(withoutUnknown(want), withoutUnknown(got)))
}
