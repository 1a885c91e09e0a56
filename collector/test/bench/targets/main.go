// Answers as any number of targets, and says how punctual the scrapes of them are.
//
//	targets INTERVAL       seconds from one scrape of a path to the next; prints the port, which all addresses of 127.0.0.0/8 share
//
// Every path has a profile of this process; one with seconds=N comes after so long. /begin starts to count, /end prints the
// requests since then, and those that came the interval after the one before them, within a second.
package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"
)

type asked struct {
	sync.Mutex
	interval         time.Duration
	last             map[string]time.Time
	requests, onTime int
}

func (a *asked) note(key string) {
	a.Lock()
	defer a.Unlock()
	now := time.Now()
	if last, known := a.last[key]; known && (now.Sub(last)-a.interval).Abs() < time.Second {
		a.onTime++
	}
	a.last[key] = now
	a.requests++
}

func main() {
	interval, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	scrapes := &asked{interval: time.Duration(interval) * time.Second, last: map[string]time.Time{}}
	var profile bytes.Buffer
	_ = pprof.Lookup("heap").WriteTo(&profile, 0)
	http.HandleFunc("/begin", func(http.ResponseWriter, *http.Request) {
		scrapes.Lock()
		defer scrapes.Unlock()
		scrapes.requests, scrapes.onTime = 0, 0
	})
	http.HandleFunc("/end", func(w http.ResponseWriter, _ *http.Request) {
		scrapes.Lock()
		defer scrapes.Unlock()
		fmt.Fprintln(w, scrapes.requests, scrapes.onTime)
	})
	http.HandleFunc("/debug/", func(w http.ResponseWriter, r *http.Request) {
		scrapes.note(r.Host + r.URL.Path)
		if seconds, err := strconv.Atoi(r.URL.Query().Get("seconds")); err == nil {
			time.Sleep(time.Duration(seconds) * time.Second)
		}
		_, _ = w.Write(profile.Bytes())
	})
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, nil))
}
