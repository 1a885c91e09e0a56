// Asks Pyroscope's querier with the client that is generated from the published protocol, as Grafana's data source does.
//
//	querier ADDRESS    for each line on stdin, {"method", "codec" ("proto" or "json"), "request", "authorization"}, a line on stdout:
//	                   {"code", "message", "answer"}, and of a profile its stacks, leaf last, joined by ";", with their values
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"
	profilev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

type question struct {
	Method        string
	Codec         string
	Request       json.RawMessage
	Authorization string
	TimeoutMs     int
}

type answer struct {
	Code    string           `json:"code"`
	Message string           `json:"message"`
	Answer  json.RawMessage  `json:"answer"`
	Stacks  map[string]int64 `json:"stacks,omitempty"`
}

type authorized struct{ authorization string }

func (a authorized) RoundTrip(request *http.Request) (*http.Response, error) {
	if a.authorization != "" {
		request.Header.Set("Authorization", a.authorization)
	}
	return http.DefaultTransport.RoundTrip(request)
}

// stacksOf resolves a profile's samples by its tables.
func stacksOf(profile *profilev1.Profile) map[string]int64 {
	functions := map[uint64]string{}
	for _, function := range profile.Function {
		functions[function.Id] = profile.StringTable[function.Name]
	}
	locations := map[uint64][]string{}
	for _, location := range profile.Location {
		for _, line := range location.Line {
			locations[location.Id] = append(locations[location.Id], functions[line.FunctionId])
		}
	}
	stacks := map[string]int64{}
	for _, sample := range profile.Sample {
		var frames []string
		for _, id := range sample.LocationId {
			frames = append(frames, locations[id]...)
		}
		for i, j := 0, len(frames)-1; i < j; i, j = i+1, j-1 {
			frames[i], frames[j] = frames[j], frames[i]
		}
		stacks[strings.Join(frames, ";")] += sample.Value[0]
	}
	return stacks
}

func ask[Q, A any](call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), given question) answer {
	ctx := context.Background()
	if given.TimeoutMs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(given.TimeoutMs)*time.Millisecond)
		defer cancel()
	}
	request := new(Q)
	if err := protojson.Unmarshal(given.Request, any(request).(proto.Message)); err != nil {
		panic(err)
	}
	response, err := call(ctx, connect.NewRequest(request))
	if err != nil {
		return answer{Code: connect.CodeOf(err).String(), Message: err.Error()}
	}
	message := any(response.Msg).(proto.Message)
	text, err := protojson.Marshal(message)
	if err != nil {
		panic(err)
	}
	result := answer{Code: "ok", Answer: text}
	if profile, ok := message.(*profilev1.Profile); ok {
		result.Stacks = stacksOf(profile)
	}
	if merged, ok := message.(*querierv1.SelectMergeStacktracesResponse); ok && merged.Pprof != nil {
		result.Stacks = stacksOf(merged.Pprof.Profile)
	}
	return result
}

func handle(address string, given question) answer {
	var options []connect.ClientOption
	if given.Codec == "json" {
		options = append(options, connect.WithProtoJSON())
	} else if given.Codec == "gzip" {
		options = append(options, connect.WithSendGzip())
	}
	client := querierv1connect.NewQuerierServiceClient(&http.Client{Transport: authorized{given.Authorization}}, "http://"+address, options...)
	switch given.Method {
	case "ProfileTypes":
		return ask[querierv1.ProfileTypesRequest](client.ProfileTypes, given)
	case "LabelNames":
		return ask[typesv1.LabelNamesRequest](client.LabelNames, given)
	case "LabelValues":
		return ask[typesv1.LabelValuesRequest](client.LabelValues, given)
	case "Series":
		return ask[querierv1.SeriesRequest](client.Series, given)
	case "SelectSeries":
		return ask[querierv1.SelectSeriesRequest](client.SelectSeries, given)
	case "SelectMergeStacktraces":
		return ask[querierv1.SelectMergeStacktracesRequest](client.SelectMergeStacktraces, given)
	case "SelectMergeSpanProfile":
		return ask[querierv1.SelectMergeSpanProfileRequest](client.SelectMergeSpanProfile, given)
	case "SelectMergeProfile":
		return ask[querierv1.SelectMergeProfileRequest](client.SelectMergeProfile, given)
	case "Diff":
		return ask[querierv1.DiffRequest](client.Diff, given)
	case "GetProfileStats":
		return ask[typesv1.GetProfileStatsRequest](client.GetProfileStats, given)
	case "AnalyzeQuery":
		return ask[querierv1.AnalyzeQueryRequest](client.AnalyzeQuery, given)
	case "SelectHeatmap":
		return ask[querierv1.SelectHeatmapRequest](client.SelectHeatmap, given)
	}
	panic("no such method: " + given.Method)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var given question
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			panic(err)
		}
		if err := out.Encode(handle(os.Args[1], given)); err != nil {
			panic(err)
		}
	}
}
