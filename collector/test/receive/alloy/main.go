// Uploads debug information as Alloy does, with Pyroscope's own client: a question, the file as it is, the end.
//
//	alloy ADDRESS TOKEN BUILD_ID FILE [chunked|half]   what came of it as JSON on stdout; chunked: without a length; half: the file's
//	                                                   first half, and then nothing more
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"

	"connectrpc.com/connect"
	debuginfo "github.com/grafana/pyroscope/api/gen/proto/go/debuginfo/v1alpha1"
	"github.com/grafana/pyroscope/api/gen/proto/go/debuginfo/v1alpha1/debuginfov1alpha1connect"
)

type end struct {
	Should   bool
	Reason   string
	Status   int
	Body     string
	Finished string // "ok", or the code
	Failure  string // of the question
}

type withToken struct{ token string }

func (w withToken) RoundTrip(request *http.Request) (*http.Response, error) {
	request.Header.Set("Authorization", "Bearer "+w.token)
	return http.DefaultTransport.RoundTrip(request)
}

func codeOf(err error) string {
	if err == nil {
		return "ok"
	}
	return connect.CodeOf(err).String()
}

func post(client *http.Client, url string, content []byte, how string) (int, string) {
	var body io.Reader = bytes.NewReader(content)
	if how == "chunked" {
		body = io.MultiReader(body) // whose length net/http does not know
	} else if how == "half" {
		body = io.MultiReader(bytes.NewReader(content[:len(content)/2]), failing{})
	}
	request, err := http.NewRequest(http.MethodPost, url, body)
	if err != nil {
		panic(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the client leaves") }

func main() {
	address, token, buildID, path := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	how := append(os.Args, "")[5]
	content, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	client := &http.Client{Transport: withToken{token}}
	service := debuginfov1alpha1connect.NewDebuginfoServiceClient(client, "http://"+address)
	var result end
	answer, err := service.ShouldInitiateUpload(context.Background(), connect.NewRequest(&debuginfo.ShouldInitiateUploadRequest{
		File: &debuginfo.FileMetadata{GnuBuildId: buildID, OtelFileId: "f1", Name: "worker", Type: debuginfo.FileMetadata_TYPE_EXECUTABLE_NO_TEXT}}))
	if err != nil {
		result.Failure = codeOf(err)
	} else {
		result.Should, result.Reason = answer.Msg.ShouldInitiateUpload, answer.Msg.Reason
	}
	if result.Should {
		result.Status, result.Body = post(client, "http://"+address+"/debuginfo.v1alpha1.DebuginfoService/Upload/"+buildID, content, how)
		_, err = service.UploadFinished(context.Background(), connect.NewRequest(&debuginfo.UploadFinishedRequest{GnuBuildId: buildID}))
		result.Finished = codeOf(err)
	}
	json.NewEncoder(os.Stdout).Encode(result)
}
