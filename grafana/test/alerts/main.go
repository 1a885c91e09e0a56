// Expands the annotations of alerts as Grafana does: with Prometheus' own package, and with Grafana's variables before the text. Reads JSON
// objects from standard input, and writes one line of JSON for each to standard output.
//
//	alerts EXTERNAL_URL      EXTERNAL_URL: root_url of Grafana's server, which ends with a slash
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/url"
	"os"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
)

type value struct {
	Labels map[string]string
	Value  float64
}

// An alert, which is one row of a rule's query. Values holds its number by the name of the query.
type alert struct {
	Text   string
	Labels map[string]string
	Values map[string]value
}

type expanded struct {
	Text  string `json:"text"`
	Error string `json:"error,omitempty"`
}

const variables = "{{- $labels := .Labels -}}{{- $values := .Values -}}"

func noQuery(context.Context, string, time.Time) (promql.Vector, error) {
	return nil, errors.New("Grafana has no query() in annotations")
}

func expand(externalURL *url.URL, a alert) expanded {
	expander := template.NewTemplateExpander(context.Background(), variables+a.Text, "alert", a, model.Now(), noQuery, externalURL,
		[]string{"missingkey=invalid"}) // "<no value>" stands for a label that the query does not give
	text, err := expander.Expand()
	if err != nil {
		return expanded{Error: err.Error()}
	}
	return expanded{Text: text}
}

func main() {
	externalURL, err := url.Parse(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var a alert
		if err := in.Decode(&a); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(expand(externalURL, a)); err != nil {
			log.Fatal(err)
		}
	}
}
