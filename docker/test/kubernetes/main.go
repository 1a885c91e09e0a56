// Renders the Helm chart with Helm's own packages, and the kustomization with kustomize's.
//
//	kubernetes generate TOP                       writes the files of the kustomization from the chart
//	kubernetes test TOP DIRECTORY COLLECTOR       tests both, as TAP; DIRECTORY gets what was rendered
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func ok(good bool, name string, notes ...any) {
	if good {
		fmt.Println("ok -", name)
		return
	}
	fmt.Println("not ok -", name)
	for _, note := range notes {
		fmt.Printf("# %.4000s\n", fmt.Sprint(note))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "kubernetes:", err)
	os.Exit(1)
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "generate" {
		if err := writeGenerated(filepath.Join(os.Args[2], "docker/kubernetes")); err != nil {
			fail(err)
		}
	} else if len(os.Args) == 5 && os.Args[1] == "test" {
		runTests(os.Args[2], os.Args[3], os.Args[4])
	} else {
		fail(fmt.Errorf("usage: kubernetes generate TOP | kubernetes test TOP DIRECTORY COLLECTOR"))
	}
}
