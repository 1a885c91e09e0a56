// Scrapes real and hostile servers with the collector, and looks at what is stored, as TAP.
//
//	sources DIRECTORY [NAMES]      scratch files; NAMES: only the tests that this regular expression matches; the database is
//	                               that of the PG* environment, with the extension and nothing in it; COLLECTOR is the program
package main

import (
	"fmt"
	"os"
	"regexp"
	"sync"
)

var (
	tests     int
	directory string
	output    sync.Mutex
)

func ok(good bool, name string, notes ...any) {
	output.Lock()
	defer output.Unlock()
	tests++
	if good {
		fmt.Println("ok -", name)
		return
	}
	fmt.Println("not ok -", name)
	for _, note := range notes {
		fmt.Printf("# %.2000s\n", fmt.Sprint(note))
	}
}

func fatal(format string, arguments ...any) {
	fmt.Printf("not ok - "+format+"\n", arguments...)
	for _, s := range allRunning() {
		s.stop()
	}
	os.Exit(1)
}

type test struct {
	name string
	run  func()
}

func main() {
	directory = os.Args[1]
	wanted := regexp.MustCompile("")
	if len(os.Args) > 2 {
		wanted = regexp.MustCompile(os.Args[2])
	}
	run := func(group []test, together bool) {
		var all sync.WaitGroup
		for _, one := range group {
			if !wanted.MatchString(one.name) {
				continue
			}
			all.Add(1)
			go func(one test) {
				defer all.Done()
				one.run()
			}(one)
			if !together {
				all.Wait()
			}
		}
		all.Wait()
	}
	run([]test{{"values", testValues}, {"config", testConfig}, {"relabel", testRelabel}}, false)
	// they wait for most of their time
	run([]test{{"discovery", testDiscovery}, {"dns", testDNS}, {"kubernetes", testKubernetes}, {"account", testAccount}, {"operator", testOperator}, {"consul", testConsul}, {"secure", testSecure},
		{"oauth", testOauth}, {"pages", testPages}}, true)
	run([]test{{"faults", testFaults}, {"gone", testGone}, {"pods", testPods}, {"limits", testLimits}, {"slots", testSlots}, {"hanging", testHanging}, {"hostile", testHostile}}, false)
	fmt.Printf("1..%d\n", tests)
}
