package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// object is a Kubernetes object as decoded from YAML.
type object map[string]any

func (o object) kind() string { return text(o, "kind") }
func (o object) name() string { return text(o, "metadata", "name") }
func (o object) id() string {
	return o.kind() + " " + text(o, "metadata", "namespace") + "/" + o.name()
}

// at returns the value at a path of keys, or nil.
func at(value any, path ...string) any {
	for _, key := range path {
		switch m := value.(type) {
		case object:
			value = m[key]
		case map[string]any:
			value = m[key]
		default:
			return nil
		}
	}
	return value
}

func text(value any, path ...string) string {
	s, _ := at(value, path...).(string)
	return s
}

func list(value any, path ...string) []any {
	l, _ := at(value, path...).([]any)
	return l
}

// renderFiles renders the chart as "helm template profstore --namespace profstore --values FILE" does, and returns the text of each
// template. Values that the schema refuses are an error.
func renderFiles(chartDirectory string, values []byte) (map[string]string, error) {
	chart, err := loader.Load(chartDirectory)
	if err != nil {
		return nil, err
	}
	given, err := chartutil.ReadValues(values)
	if err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: "profstore", Namespace: "profstore", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, given, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for path, content := range rendered {
		if strings.HasSuffix(path, ".yaml") && strings.TrimSpace(content) != "" {
			files[filepath.Base(path)] = strings.TrimLeft(content, "\n")
		}
	}
	return files, nil
}

// objects decodes documents of YAML. A key that occurs twice is an error.
func objects(documents string) ([]object, error) {
	var all []object
	for _, document := range strings.Split("\n"+documents, "\n---\n") {
		var one object
		if err := yaml.UnmarshalStrict([]byte(document+"\n"), &one); err != nil {
			return nil, fmt.Errorf("%w in:\n%s", err, document)
		}
		if one != nil {
			all = append(all, one)
		}
	}
	return all, nil
}

func renderChart(chartDirectory string, values []byte) ([]object, error) {
	files, err := renderFiles(chartDirectory, values)
	if err != nil {
		return nil, err
	}
	var all []object
	for name, content := range files {
		some, err := objects(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// buildKustomization builds what "kubectl kustomize DIRECTORY" builds.
func buildKustomization(directory string) ([]object, error) {
	result, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return nil, err
	}
	documents, err := result.AsYaml()
	if err != nil {
		return nil, err
	}
	return objects(string(documents))
}

// buildOverlay builds a kustomization with this text in a directory of its own.
func buildOverlay(directory, kustomization string) ([]object, error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(kustomization), 0o644); err != nil {
		return nil, err
	}
	return buildKustomization(directory)
}
