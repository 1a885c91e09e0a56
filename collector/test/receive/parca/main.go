// Makes records as Parca's agents make them, with Arrow's own library, and sends them with gRPC's own.
//
//	parca ADDRESS         a request as JSON on stdin; its end as JSON on stdout
//	parca -records NAME   the records alone, into files NAME.samples and NAME.stacks
//	parca -value          a message with a record on stdin; what its samples add up to on stdout
//
// Agents from 0.48 on call WriteArrow with samples that have their stacks in them. Those from 0.32 on open a stream by Write, send
// samples with ids of stacks, are asked for some of them, send those, and wait for the end without having said that theirs is over.
package main

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
)

const service = "/parca.profilestore.v1alpha1.ProfileStoreService/"

type frame struct {
	Type, File, BuildID, Function, Source string
	Address, Line                         uint64
}

type sample struct {
	Labels map[string]string
	Stack  int
	Value  int64
	TimeNs int64
	Kind   string // cpu, wall or heap
}

type request struct {
	Method      string // WriteArrow or Write
	Compression string // of buffers: lz4, zstd or none
	GRPC        string // of messages: gzip or none
	Stacks      [][]frame
	Batches     [][]sample // record batches of one stream
	Labels      map[string]string
	Evicted     []int // stacks that the agent does not have any more
	Token       string
	TimeoutMs   int
	Hold        bool // ask on stdout, and wait on stdin, before stacks are sent
	HalfClose   bool // say at once that nothing more comes
	Third       bool // a message too many
	OtherStacks bool // send stacks that nobody asked for

	byID map[string]int // stacks
}

type answer struct {
	Code, Message string
	Asked         []string // ids that it was asked for
}

// Bytes in, bytes out: messages have one field of bytes.
type codec struct{}

func (codec) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (codec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (codec) Name() string                       { return "proto" }

func message(content []byte) *[]byte {
	out := binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(content)))
	out = append(out, content...)
	return &out
}

func content(message []byte) ([]byte, error) {
	if len(message) == 0 {
		return nil, nil
	}
	length, n := binary.Uvarint(message[1:])
	if message[0] != 1<<3|2 || n <= 0 || uint64(len(message)-1-n) != length {
		return nil, fmt.Errorf("the answer is no record: %x", message)
	}
	return message[1+n:], nil
}

func writeArrow(ctx context.Context, connection *grpc.ClientConn, r *request) error {
	var reply []byte
	return connection.Invoke(ctx, service+"WriteArrow", message(stream(r, samplesV2)), &reply)
}

func write(ctx context.Context, connection *grpc.ClientConn, r *request, a *answer) error {
	call, err := connection.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, service+"Write")
	if err != nil {
		return err
	}
	defer call.CloseSend()
	if err := call.SendMsg(message(stream(r, samplesV1))); err != nil && !errors.Is(err, io.EOF) {
		return err // what ended the stream is received
	}
	if r.HalfClose {
		_ = call.CloseSend()
	}
	var reply []byte
	if err := call.RecvMsg(&reply); err != nil {
		return ended(err)
	}
	record, err := content(reply)
	if err != nil || len(record) == 0 {
		return err
	}
	ids, err := readIDs(record)
	if err != nil {
		return err
	}
	for _, id := range ids {
		a.Asked = append(a.Asked, hex.EncodeToString(id))
	}
	if r.Hold {
		fmt.Println("asked")
		_, _ = io.ReadFull(os.Stdin, make([]byte, 1))
	}
	if r.OtherStacks {
		ids = [][]byte{make([]byte, 16)}
	}
	for i := 0; i < 1 || (r.Third && i < 2); i++ {
		if err := call.SendMsg(message(stacksV1(r, ids))); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	for {
		if err := call.RecvMsg(&reply); err != nil {
			return ended(err)
		}
	}
}

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

type token string

func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(t)}, nil
}
func (token) RequireTransportSecurity() bool { return false }

func send(address string, r *request) (a answer, err error) {
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{}), grpc.MaxCallSendMsgSize(1<<27), grpc.MaxCallRecvMsgSize(1<<27)),
	}
	if r.GRPC != "" {
		options = append(options, grpc.WithDefaultCallOptions(grpc.UseCompressor(r.GRPC)))
	}
	if r.Token != "" {
		options = append(options, grpc.WithPerRPCCredentials(token(r.Token)))
	}
	connection, err := grpc.NewClient("passthrough:///"+address, options...)
	if err != nil {
		return a, err
	}
	defer connection.Close()
	if r.TimeoutMs == 0 {
		r.TimeoutMs = 60000
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.TimeoutMs)*time.Millisecond)
	defer cancel()
	if r.Method == "Write" {
		return a, write(ctx, connection, r, &a)
	}
	return a, writeArrow(ctx, connection, r)
}

// Of a request as somebody else has recorded it.
func tell(in io.Reader) error {
	bytes, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	record, err := content(bytes)
	if err != nil {
		return err
	}
	sum, err := sumOf(record)
	fmt.Println(sum)
	return err
}

func main() {
	if os.Args[1] == "-value" {
		must(tell(os.Stdin))
		return
	}
	var r request
	if err := json.NewDecoder(newLine(os.Stdin)).Decode(&r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if os.Args[1] == "-records" {
		makeFiles(os.Args[2], &r)
		return
	}
	a, err := send(os.Args[1], &r)
	if a.Asked == nil {
		a.Asked = []string{}
	}
	a.Code, a.Message = status.Code(err).String(), status.Convert(err).Message()
	text, _ := json.Marshal(a)
	fmt.Println(string(text))
}

// The first line: what follows is for later.
func newLine(in io.Reader) io.Reader {
	pipe, out := io.Pipe()
	go func() {
		one := make([]byte, 1)
		for {
			if n, err := in.Read(one); n == 0 || err != nil || one[0] == '\n' {
				out.Close()
				return
			}
			_, _ = out.Write(one)
		}
	}()
	return pipe
}

func makeFiles(name string, r *request) {
	samples, ids := samplesV2, [][]byte(nil)
	if r.Method == "Write" {
		samples = samplesV1
		for i := range r.Stacks {
			ids = append(ids, stackID(r, i))
		}
		must(os.WriteFile(name+".stacks", stacksV1(r, ids), 0o644))
	}
	must(os.WriteFile(name+".samples", stream(r, samples), 0o644))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
