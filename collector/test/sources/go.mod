module profstore/sources

go 1.21
