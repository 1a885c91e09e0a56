// Profiles of programs in other languages, made by what is used there; see programs/run.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
)

// Exit status of a program that cannot be made on this machine.
const skipStatus = 77

// Seconds that each may take; a busy machine, or a slow registry, is no fault of what is tested.
const makeSeconds = "300"

// Exit status of "timeout" then.
const lateStatus = 124

type language struct {
	name, short string
	files       []file
	skip        string // why there are none
	failure     string
	// of a first try, where there was a second one
	firstFailure string
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

func (l *language) make(cache string) {
	var messages bytes.Buffer
	out := filepath.Join(directory, l.short)
	command := exec.Command("timeout", makeSeconds, "programs/run", l.short, cache, out)
	command.Stderr = &messages
	err := command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == skipStatus {
		l.skip = lastLine(messages.Bytes())
		return
	}
	if exit != nil && exit.ExitCode() == lateStatus {
		l.skip = "not made in " + makeSeconds + " s"
		return
	}
	if err != nil {
		l.failure = fmt.Sprintf("%v: %s", err, messages.Bytes())
		return
	}
	paths, _ := filepath.Glob(filepath.Join(out, "*.pprof"))
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			fatal("%v", err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".pprof")
		l.files = append(l.files, file{l.short + "-" + name, content, filepath.Join("programs", l.short), strings.HasPrefix(name, "own-")})
	}
	// addresses without names first: names that another file of the same program has would become theirs
	sort.SliceStable(l.files, func(i, j int) bool { return l.files[i].plain && !l.files[j].plain })
	if len(paths) == 0 {
		l.failure = "no profile was made"
	}
}

// Begins to make them; the function that it returns waits for the end. Without a cache, for who wants Go's alone, there are none.
func startPrograms(cache string) func() []*language {
	if cache == "" {
		return func() []*language { return nil }
	}
	languages := []*language{{name: "C++", short: "cpp"}, {name: "Node", short: "node"}, {name: "Python", short: "python"},
		{name: "Java", short: "java"}, {name: "Rust", short: "rust"}}
	var group sync.WaitGroup
	group.Add(1)
	go func() {
		defer group.Done()
		for _, l := range languages {
			l.make(cache)
			if l.failure != "" {
				// profilers of others may fail once
				l.firstFailure, l.failure = l.failure, ""
				l.make(cache)
			}
		}
	}()
	return func() []*language {
		group.Wait()
		return languages
	}
}

func report(l *language) {
	if l.firstFailure != "" {
		fmt.Printf("# %s, first try: %s\n", l.name, strings.ReplaceAll(l.firstFailure, "\n", "\n# "))
	}
	switch {
	case l.skip != "":
		fmt.Printf("ok - profiles of %s # SKIP %s\n", l.name, l.skip)
	case l.failure != "":
		test("profiles of "+l.name, strings.Split(l.failure, "\n"))
	default:
		test("profiles of "+l.name, nil)
	}
}
