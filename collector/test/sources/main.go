// Scrapes real and hostile servers with the collector, and looks at what is stored, as TAP.
//
//	sources DIRECTORY [NAMES]      scratch files; NAMES: only the tests that this regular expression matches; the database is
//	                               that of the PG* environment, with the extension and nothing in it; COLLECTOR is the program
package main

import (
	"fmt"
	"os"
	"regexp"
)

var (
	tests     int
	directory string
)

func ok(good bool, name string, notes ...any) {
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
	for s := range running {
		s.stop()
	}
	os.Exit(1)
}

func main() {
	directory = os.Args[1]
	wanted := regexp.MustCompile("")
	if len(os.Args) > 2 {
		wanted = regexp.MustCompile(os.Args[2])
	}
	for _, one := range []struct {
		name string
		run  func()
	}{
		{"values", testValues},
		{"config", testConfig},
		{"relabel", testRelabel},
		{"discovery", testDiscovery},
		{"dns", testDNS},
		{"kubernetes", testKubernetes},
		{"operator", testOperator},
		{"pods", testPods},
		{"consul", testConsul},
		{"secure", testSecure},
		{"oauth", testOauth},
		{"limits", testLimits},
		{"pages", testPages},
		{"hostile", testHostile},
	} {
		if wanted.MatchString(one.name) {
			one.run()
		}
	}
	fmt.Printf("1..%d\n", tests)
}
