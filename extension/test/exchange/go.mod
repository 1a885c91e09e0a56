module profstore/exchange

go 1.19
