"""A partner for trials: answers every request with 200 and prints it.

python3 examples/listen.py 9000
"""

import http.server
import sys


class Partner(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        print(self.command, self.path, self.headers.get("Idempotency-Key"), body, flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


port = int(sys.argv[1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Partner)
print(f"listening on 127.0.0.1:{port}", flush=True)
server.serve_forever()
