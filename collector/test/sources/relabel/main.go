// Holds the collector's relabelling against Prometheus' own package, as TAP.
//
//	relabel PROGRAM SEED      PROGRAM: relabel_cases; SEED: of the cases that are drawn
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
)

type rule struct {
	action, sources, separator, regex string
	modulus                           uint64
	target, replacement               string
}

type kase struct {
	rules  []rule
	labels map[string]string
}

// "-" is a default, as in relabel_cases.
func orDefault(text, other string) string {
	if text == "-" {
		return other
	}
	return text[1:]
}

func (r rule) config() (config *relabel.Config, err error) {
	config = &relabel.Config{
		Action: relabel.Action(strings.ToLower(r.action)), Separator: orDefault(r.separator, ";"), Modulus: r.modulus,
		TargetLabel: orDefault(r.target, ""), Replacement: orDefault(r.replacement, "$1"),
	}
	for _, name := range strings.Split(r.sources, ",") {
		if name != "" {
			config.SourceLabels = append(config.SourceLabels, model.LabelName(name))
		}
	}
	config.Regex = relabel.DefaultRelabelConfig.Regex
	if r.regex != "-" {
		if config.Regex, err = relabel.NewRegexp(orDefault(r.regex, "")); err != nil {
			return nil, err
		}
	}
	return config, config.Validate()
}

// What Prometheus makes of a case, in the form of relabel_cases.
func expected(k kase) []string {
	var configs []*relabel.Config
	for _, r := range k.rules {
		config, err := r.config()
		if err != nil {
			return []string{"error"}
		}
		configs = append(configs, config)
	}
	builder := labels.NewBuilder(labels.FromMap(k.labels))
	if !relabel.ProcessBuilder(builder, configs...) {
		return []string{"dropped"}
	}
	var names []string
	after := map[string]string{}
	builder.Labels().Range(func(l labels.Label) {
		names = append(names, l.Name)
		after[l.Name] = l.Value
	})
	sort.Strings(names)
	result := []string{"kept", strconv.Itoa(len(names))}
	for _, name := range names {
		result = append(result, name, after[name])
	}
	return result
}

func (k kase) fields() (fields []string) {
	fields = append(fields, strconv.Itoa(len(k.rules)))
	for _, r := range k.rules {
		fields = append(fields, r.action, r.sources, r.separator, r.regex, strconv.FormatUint(r.modulus, 10), r.target, r.replacement)
	}
	fields = append(fields, strconv.Itoa(len(k.labels)))
	for name, value := range k.labels {
		fields = append(fields, name, value)
	}
	return fields
}

var (
	names   = []string{"a", "b", "c", "__address__", "__meta_x", "long_name", "job"}
	values  = []string{"", "x", "foo", "foo-bar", "FOO", "10.0.0.1:80", "a;b", "ünï", "ÀÉ", "line\nbreak", "tail\n", "{2}", "a.b", "日本", "ſK", "xxxxx", "1", "__meta_x"}
	regexes = []string{
		"-", "=", "=.*", "=.+", "=foo", "=(foo)-(bar)", "=(.*)-(.*)", "=(?P<n>[a-z]+).*", "=([^:]+):(\\d+)", "=a|b|foo", "=(a|ab)(c|bcd)?", "=x{2,5}", "=x{2}x*?",
		"=(?i)foo", "=(?i:F)oo", "=[[:alpha:]]+", "=[^[:digit:]]*", "=\\p{Lu}+", "=\\pL+", "=[\\p{Greek}\\d]*", "=\\w+", "=\\W*\\w*", "=\\s", "=.*\\s", "=\\S+",
		"=(?s).*", "=(?-s).*", "=(?m)^.*$", "=tail", "=tail\\n", "=\\Qa.b\\E", "=a\\.b", "=a.b", "=\\x61", "=\\x{65e5}.*", "=\\141", "=[a-f]*", "=[]a]*", "=[^]a]*", "=[a\\]]*",
		"=__meta_(.+)", "=(.)(.).*", "=((a)|(b))*.*", "=(x+)+", "=\\d+\\.\\d+\\.\\d+\\.\\d+:80", "={2}", "=\\{2\\}", "=a{,2}", "=日本", "=.{2}", "=[日本]+", "=\\bfoo\\b.*", "=\\Bo*", "=\\Afoo\\z",
		"=(?U)(x*)(x*)", "=(x*?)(x*)", "=()x", "=|x", "=(?:foo|FOO)(-)?.*", "=[[:^lower:]]*", "=[\\w-]+", "=[a-c-f]*", "=(?<n>f).*", "=[\\x00-\\x{10FFFF}]*", "=\\D*", "=[\\D]*", "=[\\S]*", "=\\a|\\f|\\v|x", "=(?i)ſ?k.*", "=[.]*", "=a.?b", "=\\_|x", "=-",
		// what neither takes
		"=(", "=)", "=[", "=\\", "=*", "=a**", "=a*+", "=(?=x)", "=(?!x)", "=(?<=x)y", "=(?>x)", "=\\1", "=(x)\\1", "=\\8", "=a{1001}", "=(a{100}){100}", "=a{2}{2}", "=[b-a]", "=[[:foo:]]", "=\\pQ", "=\\p{Foo}", "=(?z)", "=(?i-)", "=\\Z", "=\\h", "=\\R", "=\\C", "=(*COMMIT)x", "=(?#x)", "=(?P=n)", "=(?P>n)", "=(?R)", "=\\x6", "=\\x{110000}", "=\\K", "=\\G", "=[a-\\d]", "=[\\Qa\\E]", "=x{3,2}",
	}
	replacements = []string{"-", "=", "=x", "=$1", "=${1}", "=$1x", "=${1}x", "=$2-$1", "=$$", "=$", "=a$", "=${n}", "=$n", "=$9", "=${", "=$0", "=$01", "=${1}_${2}", "=new_$1", "=日$1", "=$-"}
	targets      = []string{"-", "=", "=t", "=a", "=b", "=$1", "=new_${1}", "=__address__", "=1x", "=a.b", "=ü", "=${1}"}
	actions      = []string{"replace", "keep", "drop", "keepequal", "dropequal", "hashmod", "labelmap", "labeldrop", "labelkeep", "lowercase", "uppercase", "Replace", "KEEP"}
	separators   = []string{"-", "=;", "=", "=,", "=::"}
)

func pick(random *rand.Rand, from []string) string { return from[random.Intn(len(from))] }

func drawRule(random *rand.Rand, action string) rule {
	r := rule{action: action, separator: "-", regex: "-", target: "-", replacement: "-"}
	for i := random.Intn(3); i > 0; i-- {
		r.sources += pick(random, names) + ","
	}
	if random.Intn(4) > 0 {
		r.target = pick(random, targets)
	}
	if random.Intn(3) == 0 {
		r.separator = pick(random, separators)
	}
	if random.Intn(5) > 0 {
		r.regex = pick(random, regexes)
	}
	if random.Intn(2) == 0 {
		r.replacement = pick(random, replacements)
	}
	if action == "hashmod" || random.Intn(20) == 0 {
		r.modulus = uint64(random.Intn(100))
	}
	// most rules shall be such as their actions take
	switch lower := strings.ToLower(action); {
	case random.Intn(10) == 0:
	case lower == "labeldrop" || lower == "labelkeep":
		r = rule{action: action, regex: r.regex, separator: "-", target: "-", replacement: "-"}
	case lower == "keepequal" || lower == "dropequal":
		r = rule{action: action, sources: r.sources, regex: "-", separator: "-", target: "=" + pick(random, names), replacement: "-"}
	case lower == "lowercase" || lower == "uppercase":
		r.replacement = "-"
	}
	return r
}

func drawLabels(random *rand.Rand) map[string]string {
	result := map[string]string{}
	for i := random.Intn(6); i > 0; i-- {
		if value := pick(random, values); value != "" {
			result[pick(random, names)] = value
		}
	}
	return result
}

func cases(random *rand.Rand) (all []kase) {
	// each expression over each value, with the groups shown
	for _, regex := range regexes {
		for _, value := range values {
			one := map[string]string{}
			if value != "" {
				one["a"] = value
			}
			all = append(all, kase{[]rule{{"replace", "a,", "-", regex, 0, "=t", "=<$0|$1|$2|${n}>"}}, one})
		}
	}
	for i := 0; i < 20000; i++ {
		var rules []rule
		for j := 1 + random.Intn(3); j > 0; j-- {
			rules = append(rules, drawRule(random, pick(random, actions)))
		}
		all = append(all, kase{rules, drawLabels(random)})
	}
	return all
}

func main() {
	model.NameValidationScheme = model.UTF8Validation
	seed, _ := strconv.ParseInt(os.Args[2], 10, 64)
	all := cases(rand.New(rand.NewSource(seed)))
	var input bytes.Buffer
	for _, k := range all {
		for _, field := range k.fields() {
			input.WriteString(field)
			input.WriteByte(0)
		}
	}
	command := exec.Command(os.Args[1])
	command.Stdin = &input
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		fmt.Println("not ok - relabel_cases:", err)
		os.Exit(1)
	}
	reader := bufio.NewReader(bytes.NewReader(output))
	next := func() string {
		field, _ := reader.ReadString(0)
		return strings.TrimSuffix(field, "\x00")
	}
	differ, kept := 0, 0
	for _, k := range all {
		got := []string{next()}
		if got[0] == "kept" {
			kept++
			got = append(got, next())
			count, _ := strconv.Atoi(got[1])
			for i := 0; i < 2*count; i++ {
				got = append(got, next())
			}
		}
		if want := expected(k); strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			if differ++; differ <= 20 {
				fmt.Printf("# %+v: want %q, got %q\n", k, want, got)
			}
		}
	}
	name := fmt.Sprintf("relabelling: %d cases (%d kept, seed %d) as Prometheus' own package has them", len(all), kept, seed)
	if differ > 0 || kept == 0 {
		fmt.Printf("not ok - %s: %d differ\n", name, differ)
		return
	}
	fmt.Println("ok -", name)
}
