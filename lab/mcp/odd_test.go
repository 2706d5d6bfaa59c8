package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// oddServers are servers whose faults faultserver does not have, by name.
var oddServers = map[string]func(){
	"deaf": func() { // greets as a server does, and then reads nothing
		answerUntil("notifications/initialized", nil)
		time.Sleep(time.Minute)
	},
	"deaf at once": func() { time.Sleep(time.Minute) },
	"asks and is deaf": func() {
		answerUntil("notifications/initialized", nil)
		for i := range 900 {
			fmt.Printf(`{"jsonrpc":"2.0","id":"%s%d","method":"ping"}`+"\n", strings.Repeat("x", 200), i)
		}
		time.Sleep(time.Minute)
	},
	"pings": func() {
		answerUntil("tools/call", nil)
		for {
			if _, err := fmt.Println(`{"jsonrpc":"2.0","id":"p","method":"ping"}`); err != nil {
				return
			}
		}
	},
	"chatter": func() {
		answerUntil("tools/call", nil)
		for {
			if _, err := fmt.Println("[debug] " + strings.Repeat("still alive ", 100)); err != nil {
				return
			}
		}
	},
	"big batch": func() {
		answerUntil("tools/call", nil)
		fmt.Println("[" + strings.Repeat("1,", 400_000) + "1]")
		io.Copy(io.Discard, os.Stdin)
	},
	"dies at discover": func() {
		answerUntil("server/discover", nil)
		fmt.Fprintln(os.Stderr, "unknown method")
		os.Exit(2)
	},
	"nameless error": func() {
		answerUntil("tools/call", nil)
		fmt.Println(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"cannot read that"}}`)
		answerUntil("", nil)
	},
	"two in a line": func() {
		answerUntil("tools/call", nil)
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/x"} {"jsonrpc":"2.0","method":"notifications/y"}`)
		io.Copy(io.Discard, os.Stdin)
	},
	"environment": func() {
		answerUntil("", func(string) string {
			text, _ := json.Marshal(strings.Join(os.Environ(), "\n"))
			directory, _ := os.Getwd()
			place, _ := json.Marshal(directory)
			return `{"content":[{"type":"text","text":` + string(text) + `},{"type":"text","text":` + string(place) + `}]}`
		})
	},
	"millisecond": func() {
		answerUntil("", func(string) string {
			time.Sleep(time.Millisecond)
			return `{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}`
		})
	},
	// Takes three calls before it answers the first, and answers in the order of
	// their arguments; with "changes" its tools become others before the second.
	"three at once": func() {
		for {
			var ids []json.RawMessage
			var given []string
			for range 3 {
				id, arguments := nextCall()
				if id == nil {
					return
				}
				at, _ := slices.BinarySearch(given, arguments)
				given, ids = slices.Insert(given, at, arguments), slices.Insert(ids, at, id)
			}
			for i := range ids {
				if i == 1 && len(os.Args) > 3 {
					fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				}
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":%s}}`+"\n", ids[i], given[i])
			}
		}
	},
	"deaf for a while": func() {
		answerUntil("notifications/initialized", nil)
		for {
			if _, err := os.Stat(os.Args[3]); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		answerUntil("", func(string) string { return `{"content":[]}` })
	},
	"writes at its end": func() {
		answerUntil("", nil)
		os.WriteFile(os.Args[3], []byte("ended"), 0o666)
	},
}

// answerUntil is a server that works, until it is asked for something.
func answerUntil(method string, call func(arguments string) string) {
	answerOthers(method, call)
}

// nextCall is a server that works, until it is called: the id and the arguments.
func nextCall() (id json.RawMessage, arguments string) { return answerOthers("tools/call", nil) }

// input outlives each part of a server: it may hold more than one of them reads.
var input = bufio.NewReader(os.Stdin)

func answerOthers(method string, call func(arguments string) string) (id json.RawMessage, arguments string) {
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return nil, ""
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Arguments json.RawMessage `json:"arguments"`
			} `json:"params"`
		}
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		if m.Method == method {
			return m.ID, string(m.Params.Arguments)
		}
		result := ""
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			result = `{"content":[]}`
			if call != nil {
				result = call(string(m.Params.Arguments))
			}
		default:
			if m.ID != nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", m.ID)
			}
			continue
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}
