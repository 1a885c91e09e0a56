module corpus

go 1.19
