"""A debuginfod server that does what a server must not do. One path component says what: http://127.0.0.1:PORT/WHAT."""
import http.server
import sys
import time

OTHER = open(sys.argv[1], "rb").read()


class Liar(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        what = self.path.split("/")[1]
        print(what, flush=True)
        if what == "other":
            self.answer(200, OTHER)
        elif what == "garbage":
            self.answer(200, b"\x7fELF garbage")
        elif what == "half":
            self.answer(200, OTHER[: len(OTHER) // 2])
        elif what == "broken":
            self.answer(500, b"broken")
        elif what == "absent":
            self.answer(404, b"not found")
        elif what == "file":
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
        elif what == "endless":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b"\0" * 65536)
        elif what == "slow":
            self.send_response(200)
            self.send_header("Content-Length", str(len(OTHER)))
            self.end_headers()
            for byte in OTHER:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(0.1)
        elif what == "silent":
            time.sleep(600)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
