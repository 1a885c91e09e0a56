// What "go tool pprof" says of a file: its dump (-raw), read back, and its reports.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

type rawLine struct {
	name, systemName, file string
	line, startLine        int64
}

type rawLocation struct {
	address uint64
	mapping string // file and build ID
	lines   []rawLine
}

type rawSample struct {
	values    []int64
	locations []int
	labels    string // sorted
}

type rawProfile struct {
	types     []string
	samples   []rawSample
	locations map[int]rawLocation
	header    []string // period, time, duration
}

// The tool itself, where Go tells its place: starting it is most of a report's time.
var tool = func() []string {
	exec.Command("go", "tool", "pprof", "-h").Run() // newer versions build it when it is first used
	path, err := exec.Command("go", "tool", "-n", "pprof").Output()
	words := strings.Fields(string(path))
	if err == nil && len(words) == 1 {
		if _, err := os.Stat(words[0]); err == nil {
			return words
		}
	}
	return []string{"go", "tool", "pprof"}
}()

func tryPprof(arguments ...string) (string, error) {
	arguments = append(append(tool[1:len(tool):len(tool)], "-symbolize=none"), arguments...)
	command := exec.Command(tool[0], arguments...)
	output, err := command.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("pprof %v: %v: %s", arguments, err, exit.Stderr)
	}
	return string(output), err
}

func pprof_(arguments ...string) string {
	output, err := tryPprof(arguments...)
	if err != nil {
		fatal("%v", err)
	}
	return output
}

var (
	sampleRx   = regexp.MustCompile(`^ *(-?[0-9]+(?: +-?[0-9]+)*): ([0-9 ]*)$`)
	locationRx = regexp.MustCompile(`^ *([0-9]+): (0x[0-9a-f]+) (?:M=([0-9]+) )?(?:\[F\] )?(.*)$`)
	lineRx     = regexp.MustCompile(`^(.*) (\S*?):(-?[0-9]+)(?::[0-9]+)? s=([0-9]+)(?:\((.*)\))?$`)
	frozenRx   = regexp.MustCompile(`^(.*?) (<frozen [^<>]*>):(-?[0-9]+)(?::[0-9]+)? s=([0-9]+)(?:\((.*)\))?$`) // Python's own modules
	mappingRx  = regexp.MustCompile(`^([0-9]+): (0x[0-9a-f]+)/(0x[0-9a-f]+)/(0x[0-9a-f]+) (.*)$`)
)

func hex(text string) uint64 {
	value, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		fatal("%v", err)
	}
	return value
}

func integer(text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		fatal("%v", err)
	}
	return value
}

func parseLine(text string) (rawLine, bool) {
	m := frozenRx.FindStringSubmatch(text)
	if m == nil {
		m = lineRx.FindStringSubmatch(text)
	}
	if m == nil {
		return rawLine{}, false
	}
	l := rawLine{m[1], m[1], m[2], integer(m[3]), integer(m[4])}
	if m[5] != "" {
		l.systemName = m[5]
	}
	return l, true
}

// The address in the file, by the rule that the importer documents.
func fileAddress(address, start, limit, offset uint64) uint64 {
	if start < 1<<32 || start >= 1<<63 || address < start || address >= limit {
		return address
	}
	return address - start + offset
}

func readRaw(path string) *rawProfile {
	p := &rawProfile{locations: map[int]rawLocation{}}
	text := pprof_("-raw", path)
	part, ids, mappingOf := "", []int{}, map[int]int{}
	for _, line := range strings.Split(text, "\n") {
		switch {
		case line == "Samples:" || line == "Locations" || line == "Mappings":
			part = line
		case part == "" && strings.TrimSpace(line) != "":
			p.header = append(p.header, line)
		case part == "Samples:" && p.types == nil:
			for _, t := range strings.Fields(line) {
				p.types = append(p.types, strings.TrimSuffix(t, "[dflt]"))
			}
		case part == "Samples:":
			if m := sampleRx.FindStringSubmatch(line); m != nil {
				s := rawSample{}
				for _, v := range strings.Fields(m[1]) {
					s.values = append(s.values, integer(v))
				}
				for _, id := range strings.Fields(m[2]) {
					s.locations = append(s.locations, int(integer(id)))
				}
				p.samples = append(p.samples, s)
			} else if last := len(p.samples) - 1; last >= 0 {
				p.samples[last].labels += strings.TrimSpace(line) + "\n"
			}
		case part == "Locations":
			if m := locationRx.FindStringSubmatch(line); m != nil {
				id := int(integer(m[1]))
				l := rawLocation{address: hex(m[2])}
				if m[3] != "" {
					mappingOf[id] = int(integer(m[3]))
				}
				if one, ok := parseLine(m[4]); ok {
					l.lines = append(l.lines, one)
				}
				p.locations[id] = l
				ids = append(ids, id)
			} else if one, ok := parseLine(strings.TrimSpace(line)); ok {
				id := ids[len(ids)-1]
				l := p.locations[id]
				l.lines = append(l.lines, one)
				p.locations[id] = l
			}
		case part == "Mappings":
			if m := mappingRx.FindStringSubmatch(line); m != nil {
				for id, number := range mappingOf {
					if int64(number) == integer(m[1]) {
						l := p.locations[id]
						l.address = fileAddress(l.address, hex(m[2]), hex(m[3]), hex(m[4]))
						l.mapping = strings.TrimSpace(regexp.MustCompile(`\[(FN|FL|LN|IN)\]`).ReplaceAllString(m[5], ""))
						p.locations[id] = l
					}
				}
			}
		}
	}
	return p
}

// Frames of a sample, leaf first, inlined ones each for itself.
func (p *rawProfile) frames(s rawSample) (frames []rawLine) {
	for _, id := range s.locations {
		l := p.locations[id]
		frames = append(frames, l.lines...)
		if len(l.lines) == 0 {
			file := strings.Fields(l.mapping + " ")
			name := fmt.Sprintf("%#x", l.address)
			if len(file) == 0 && l.address == 0 {
				name = ""
			}
			if len(file) > 0 {
				name = file[0][strings.LastIndex(file[0], "/")+1:]
				if !strings.HasPrefix(name, "[") {
					name = "[" + name + "]"
				}
			}
			frames = append(frames, rawLine{name: name})
		}
	}
	return frames
}

// Everything that a file says of samples of one type, as sorted lines.
func (p *rawProfile) canonical(kind int) []string {
	sums := map[string]int64{}
	for _, s := range p.samples {
		var key strings.Builder
		for _, id := range s.locations {
			l := p.locations[id]
			fmt.Fprintf(&key, "%#x %s %q\n", l.address, l.mapping, fmt.Sprint(l.lines))
		}
		labels := strings.Split(s.labels, "\n")
		sort.Strings(labels)
		sums[key.String()+strings.Join(labels, "\n")] += s.values[kind]
	}
	var lines []string
	for key, value := range sums {
		if value != 0 {
			lines = append(lines, fmt.Sprintf("%d %q", value, key))
		}
	}
	sort.Strings(lines)
	return lines
}
