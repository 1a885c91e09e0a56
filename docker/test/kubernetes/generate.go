package main

import (
	"os"
	"path/filepath"
	"sort"
)

// The kustomization is the chart, rendered with these values. The base has the agent, as the default values do; each other template is
// a component.
const everything = "kustomize.yaml"

// generatedPath returns the path of the file that a template becomes.
func generatedPath(template string) string {
	if template == "agent.yaml" {
		return filepath.Join("base", template)
	}
	return filepath.Join("components", template[:len(template)-len(".yaml")], template)
}

// generated returns the generated files of docker/kubernetes by their paths.
func generated(directory string) (map[string]string, error) {
	values, err := os.ReadFile(filepath.Join(directory, everything))
	if err != nil {
		return nil, err
	}
	rendered, err := renderFiles(filepath.Join(directory, "chart"), values)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for template, content := range rendered {
		path := generatedPath(template)
		files[path] = "# Made from ../chart/templates/" + template + " by \"make kubernetes\".\n" + content
		if filepath.Dir(path) != "base" {
			files[path] = "# Made from ../../chart/templates/" + template + " by \"make kubernetes\".\n" + content
			files[filepath.Join(filepath.Dir(path), "kustomization.yaml")] =
				"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [" + template + "]\n"
		} else {
			files["base/kustomization.yaml"] = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [" + template + "]\n"
		}
	}
	return files, nil
}

// components returns the names of the kustomization's components.
func components(directory string) ([]string, error) {
	files, err := generated(directory)
	var names []string
	for path := range files {
		if filepath.Base(path) == "kustomization.yaml" && path != "base/kustomization.yaml" {
			names = append(names, filepath.Base(filepath.Dir(path)))
		}
	}
	sort.Strings(names)
	return names, err
}

// generatedOnDisk returns the paths of the files in the directories of generated files.
func generatedOnDisk(directory string) ([]string, error) {
	var paths []string
	for _, pattern := range []string{"base/*", "components/*/*"} {
		found, err := filepath.Glob(filepath.Join(directory, pattern))
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

func writeGenerated(directory string) error {
	files, err := generated(directory)
	if err != nil {
		return err
	}
	old, err := generatedOnDisk(directory)
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for path, content := range files {
		path = filepath.Join(directory, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
