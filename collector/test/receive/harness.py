"""A running receiver, SQL by psql, and TAP."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

failures = 0
started = []  # receivers


def ok(good, name, *notes):
    global failures
    print("ok" if good else "not ok", "-", name, flush=True)
    if not good:
        failures += 1
        for note in notes:
            for line in str(note)[:3000].splitlines():
                print("#", line, flush=True)


def same(got, expected, name, *notes):
    ok(got == expected, name, f"got {got!r}, expected {expected!r}", *notes)


def sql(text, check=True):
    """Rows of a query, as lists of texts."""
    done = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-F", "\x1f", "-c", text],
                          capture_output=True, text=True)
    if done.returncode != 0 and check:
        raise RuntimeError(done.stderr)
    return [line.split("\x1f") for line in done.stdout.splitlines()]


def number(text):
    return int(sql(text)[0][0])


def eventually(condition, seconds=20):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())


class Receiver:
    """profstore-collector receive, on a port of its own; a subclass may run another command."""

    name = "receive"

    def __init__(self, *flags, port=0, listen="127.0.0.1", expect_start=True, db=None, open_files=None):
        self.log = tempfile.TemporaryFile("w+")
        command = [os.environ["COLLECTOR"], self.name, f"--listen={listen}:{port}", *flags]
        if db is not None:
            command.append(f"--db={db}")
        if open_files is not None:  # "soft:hard"
            command = ["prlimit", f"--nofile={open_files}", *command]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log)
        started.append(self.process)
        self.port = 0
        if expect_start:
            if not eventually(self.find_port, 20):
                raise RuntimeError(f"no {self.name}: " + self.text())
            self.address = f"127.0.0.1:{self.port}"

    def text(self):
        return os.pread(self.log.fileno(), 1 << 20, 0).decode()

    def find_port(self):
        found = re.search(r'msg=listening address="?[^ "]*:(\d+)"?\n', self.text())
        if found:
            self.port = int(found.group(1))
        return found is not None

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode

    def kill(self):
        self.process.kill()
        self.process.wait()

    def wait_for_end(self):
        """Of one that refuses to start: what it says."""
        self.process.wait(20)
        return self.text()

    def memory_kb(self, which="VmRSS"):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(rf"{which}:\s+(\d+)", status.read()).group(1))

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ready(self):
        return eventually(lambda: self.get("/-/ready")[0] == 200)

    def metric(self, name):
        text = self.get("/metrics")[2].decode()
        return int(re.search(rf"^profstore_{self.name}_{name} (\d+)$", text, re.M).group(1))

    def request(self, path, body, headers, timeout=20, method=None):
        """Status, headers, body."""
        request = urllib.request.Request(f"http://{self.address}{path}", data=body, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def get(self, path):
        return self.request(path, None, {})

    def post(self, path, body, content, **headers):
        return self.request(path, body, {"Content-Type": content, **{k.replace("_", "-"): v for k, v in headers.items()}})


def run(tests, wanted):
    for name, test in tests:
        if wanted and not any(name.startswith(w) for w in wanted):
            continue
        print("#", name, flush=True)
        try:
            test()
        except Exception as error:  # a test that cannot go on has failed
            ok(False, f"{name} went through", f"{type(error).__name__}: {error}")
    for process in started[1:]:
        if process.poll() is None:
            process.kill()
    return failures
