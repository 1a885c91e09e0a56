module profstore/targets

go 1.21
