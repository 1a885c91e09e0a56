#!/usr/bin/env python3
"""A stand-in for Kubernetes' API and for a kubelet, which cannot run here: the pods in a file of JSON, as it changes, to be listed and watched.

kube_api.py PODS PORT [CERTIFICATE]    writes the port that it listens on into the file PORT; by TLS where there is a certificate, with its key
                                       in the same file. The protocol is tried in test/sources
"""
import http.server
import json
import os
import ssl
import sys
import time
from urllib.parse import parse_qs, urlparse

PODS, PORT, *CERTIFICATE = sys.argv[1:]


def state():
    with open(PODS, encoding="utf-8") as file:
        return str(os.stat(PODS).st_mtime_ns), json.load(file)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *arguments):
        pass

    def chunk(self, value):
        line = json.dumps(value).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.flush()

    def watch(self, version):
        while True:
            current, pods = state()
            for pod in pods if current != version else []:
                pod["metadata"]["resourceVersion"] = current
                self.chunk({"type": "MODIFIED", "object": pod})
            version = current
            time.sleep(0.05)

    def do_GET(self):
        query = parse_qs(urlparse(self.path).query)
        is_kubelet = self.path == "/pods"
        if self.headers["Authorization"] != "Bearer account" or not (is_kubelet or query.get("fieldSelector") == ["spec.nodeName=labelled"]):
            self.send_error(403)
            return
        self.send_response(200)
        if "watch" in query:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.watch(query["resourceVersion"][0])
        version, pods = state()
        body = json.dumps({"metadata": {"resourceVersion": version}, "items": pods}).encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if CERTIFICATE:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE[0])
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(PORT + ".new", "w", encoding="utf-8") as file:
    file.write(str(server.server_port))
os.rename(PORT + ".new", PORT)
server.serve_forever()
