module profstore/parca

go 1.25.0

require (
	github.com/apache/arrow-go/v18 v18.5.2
	google.golang.org/grpc v1.81.1
)
