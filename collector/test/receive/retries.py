"""What is stored when receiver, database or client go away between a request and its answer."""

import base64
import glob
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time

import grpc
from google.protobuf import json_format

import otlp_requests
import push
from harness import Receiver, eventually, number, ok, same, sql
from push import EXPORT, WRITE_RAW, call, now_ns, pprof, stored, write_raw_request


class Held:
    """Holds up every transaction of writers just before it stores, by a lock on the receipts; or on the table of what has none."""

    def __init__(self, table="receipts"):
        self.table = table

    def __enter__(self):
        self.session = subprocess.Popen(["psql", "-XAtq"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.session.stdin.write(f"BEGIN; LOCK TABLE profstore.{self.table} IN EXCLUSIVE MODE; SELECT 'held';\n")
        self.session.stdin.flush()
        self.session.stdout.readline()
        return self

    def __exit__(self, *_):
        self.session.stdin.close()
        self.session.wait()

    @staticmethod
    def waits():
        return eventually(lambda: number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") > 0)


def in_background(function):
    result = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    return thread, result


def test_not_before_commit():
    body = otlp_requests.request_of("times", "commit", now_ns()).SerializeToString()
    receiver = Receiver("--answer-timeout=30s")
    receiver.ready()
    with Held() as held:
        thread, result = in_background(lambda: call(receiver, EXPORT, body))
        ok(held.waits(), "the transaction waits")
        time.sleep(0.5)
        same(result, [], "no answer before the commit")
    thread.join()
    same((result[0][0], stored("commit")), (grpc.StatusCode.OK, 5), "the answer comes with it")
    same(receiver.stop(), 0, "ends well")


def test_answer_timeout():
    body = otlp_requests.request_of("times", "late", now_ns()).SerializeToString()
    receiver = Receiver("--answer-timeout=1s")
    receiver.ready()
    with Held() as held:
        code, details, trailers = call(receiver, EXPORT, body)
        same(code, grpc.StatusCode.UNAVAILABLE, "who waits too long is told to come again", details)
        ok(b"google.rpc.RetryInfo" in trailers.get("grpc-status-details-bin", b""), "with RetryInfo", trailers)
        status, headers, _ = receiver.post("/v1/profiles", body, push.PROTOBUF)
        same((status, headers["Retry-After"]), (503, "1"), "the same request over HTTP, meanwhile: 503 and Retry-After")
    ok(eventually(lambda: stored("late") == 5), "the first is stored all the same")
    same(call(receiver, EXPORT, body)[0], grpc.StatusCode.OK, "its repetition is told that it is")
    same(stored("late"), 5, "and is not stored beside it")
    same(receiver.stop(), 0, "ends well")


def test_untimed_repeats():
    """A profile without a time has no receipt: this receiver knows it, until its client was told."""
    body = otlp_requests.request_of("values", "untimed", 0).SerializeToString()
    receiver = Receiver("--answer-timeout=1s")
    receiver.ready()
    with Held("samples"):
        same(call(receiver, EXPORT, body)[0], grpc.StatusCode.UNAVAILABLE, "a profile without a time waits too long")
        code, details, _ = call(receiver, EXPORT, body)
        same((code, "being stored" in details), (grpc.StatusCode.UNAVAILABLE, True), "sent again meanwhile: it is known", details)
    ok(eventually(lambda: stored("untimed") == 500), "it is stored")
    ok(eventually(lambda: call(receiver, EXPORT, body)[0] == grpc.StatusCode.OK), "its repetition is told so")
    same(stored("untimed"), 500, "and not stored beside it")
    same(call(receiver, EXPORT, body)[0], grpc.StatusCode.OK, "one more, of a client that was told")
    same(stored("untimed"), 1000, "is another profile")
    same(receiver.stop(), 0, "ends well")


def test_untimed_hung_up():
    """The client of one was gone before it was stored: after some time the same bytes are another profile."""
    body = otlp_requests.request_of("values", "hungup", 0).SerializeToString()
    receiver = Receiver()
    receiver.ready()
    connection = socket.create_connection(("127.0.0.1", receiver.port))
    with Held("samples") as held:
        connection.sendall(b"POST /v1/profiles HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" %
                           (push.PROTOBUF.encode(), len(body)) + body)
        ok(held.waits(), "a profile without a time waits for the database")
        connection.close()
        ok(eventually(lambda: receiver.metric("requests_cancelled_total") == 1), "its client hangs up")
    ok(eventually(lambda: stored("hungup") == 500), "it is stored")
    same((receiver.post("/v1/profiles", body, push.PROTOBUF)[0], stored("hungup")), (200, 500), "a client that comes again at once is told so")
    same((receiver.post("/v1/profiles", body, push.PROTOBUF)[0], stored("hungup")), (200, 1000), "and the next profile is stored")
    with Held("samples") as held:
        connection = socket.create_connection(("127.0.0.1", receiver.port))
        connection.sendall(b"POST /v1/profiles HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" %
                           (push.PROTOBUF.encode(), len(body)) + body)
        held.waits()
        connection.close()
        eventually(lambda: receiver.metric("requests_cancelled_total") == 2)
    ok(eventually(lambda: stored("hungup") == 1500), "one more whose client hangs up")
    time.sleep(5)
    same((receiver.post("/v1/profiles", body, push.PROTOBUF)[0], stored("hungup")), (200, 2000), "what comes 5 s later is stored")
    same(receiver.stop(), 0, "ends well")


def test_kill_receiver():
    """Killed in the middle: whatever the client was not told it sends again, to another receiver."""
    for round_, service in enumerate(("killed0", "killed1", "killed2")):
        receiver = Receiver()
        receiver.ready()
        requests = []

        def send():
            """Both roads in turn, until one is not told."""
            told = True
            while told:
                if len(requests) % 2 == 0:
                    requests.append((EXPORT, otlp_requests.request_of("times", service, now_ns()).SerializeToString()))
                else:
                    requests.append((WRITE_RAW, write_raw_request({"__name__": "process_cpu", "service_name": service}, pprof("work", 5, now_ns()))))
                told = call(receiver, *requests[-1])[0] == grpc.StatusCode.OK

        thread, _ = in_background(send)
        eventually(lambda: len(requests) > 10 + 20 * round_, 60)
        receiver.kill()
        thread.join()
        ok(len(requests) > 10, f"killed after {len(requests) - 1} requests were told")
        before = stored(service)
        ok(before >= 5 * (len(requests) - 1), "what was told is there", before)
        other = Receiver()
        other.ready()
        answers = {call(other, *request)[0] for request in requests}
        same((answers, stored(service)), ({grpc.StatusCode.OK}, 5 * len(requests)),
             "all sent again to another receiver: each is there once")
        other.stop()


def test_acknowledged_by_spool():
    """Told that it is safe, it is: receivers that are killed while no database is there lose nothing, and nothing is stored twice."""
    refusing = Receiver("--acknowledge=spool", expect_start=False)
    said = refusing.wait_for_end()
    same((refusing.process.returncode, "needs a spool directory" in said), (3, True), "without a directory that is refused")
    with tempfile.TemporaryDirectory() as directory:
        spool = f"{directory}/spool"
        flags = (f"--spool-directory={spool}", "--acknowledge=spool")
        requests = [(EXPORT, otlp_requests.request_of("times", "spooled", now_ns() + i).SerializeToString()) for i in range(6)]
        requests += [(WRITE_RAW, write_raw_request({"__name__": "process_cpu", "service_name": "spooled"}, pprof("work", 5, now_ns() + i)))
                     for i in range(6)]
        for part in (requests[:6], requests[6:]):
            receiver = Receiver(*flags, db="host=/nonexistent")
            same({call(receiver, *request)[0] for request in part}, {grpc.StatusCode.OK}, "without a database requests are answered")
            receiver.kill()
        same(len(glob.glob(f"{spool}/*.batch")), 12, "they are on disk")
        unspooled = Receiver(f"--spool-directory={spool}", "--answer-timeout=1s", db="host=/nonexistent")
        body = otlp_requests.request_of("times", "unspooled", now_ns()).SerializeToString()
        same(call(unspooled, EXPORT, body)[0], grpc.StatusCode.UNAVAILABLE, "unless told so a receiver does not take disk for an answer")
        ok("by another process" in Receiver(*flags, expect_start=False).wait_for_end(), "nobody else uses its directory")
        unspooled.kill()
        same(stored("spooled"), 0, "nothing is stored yet")
        receiver = Receiver(*flags)
        ok(eventually(lambda: stored("spooled") == 60), "the next one with a database stores them", stored("spooled"))
        same({call(receiver, *request)[0] for request in requests}, {grpc.StatusCode.OK}, "a client that sends them again is told so")
        ok(eventually(lambda: receiver.metric("spooled_batches") == 0), "the directory is empty")
        same((stored("spooled"), stored("unspooled")), (60, 0), "each is there once")
        same(receiver.stop(), 0, "ends well")


def answers():
    return subprocess.run(["psql", "-Xqc", "SELECT 1"], capture_output=True).returncode == 0


def restart_database():
    """kill -9 of a backend: the server ends all others and recovers, as after a crash. It has when this returns."""
    with subprocess.Popen(["psql", "-XAtq"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as witness:
        witness.stdin.write("SELECT 'here';\nSELECT pg_sleep(120);\n")
        witness.stdin.flush()
        witness.stdout.readline()
        backend = sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
                      " AND application_name LIKE '%profstore%' OR backend_type = 'walwriter' LIMIT 1")[0][0]
        os.kill(int(backend), signal.SIGKILL)
        witness.wait(60)  # until the server has seen it, new sessions are let in, and ended then
    eventually(answers, 60)


def test_kill_database():
    receiver = Receiver()
    receiver.ready()
    told = []
    is_away = threading.Event()

    def send():
        """Each until it is told; twenty more after the receiver has seen its database go."""
        end = time.time() + 120
        more = 20
        while more > 0 and time.time() < end:
            body = otlp_requests.request_of("times", "crashed", now_ns()).SerializeToString()
            while call(receiver, EXPORT, body)[0] != grpc.StatusCode.OK and time.time() < end:
                time.sleep(0.2)
            told.append(body)
            if "database is not available; batches" in receiver.text():
                is_away.set()
            more -= is_away.is_set()

    thread, _ = in_background(send)
    eventually(lambda: len(told) > 10)
    restart_database()
    thread.join()
    ok(is_away.is_set(), "the log says that it was away", receiver.text())
    same(stored("crashed"), 5 * len(told), f"kill -9 of the database: the client tries again, all {len(told)} are there once")
    same(receiver.stop(), 0, "ends well")


# --- each road, killed before its commit and in it ---


def over_http(path, content):
    def send(receiver, body):
        try:
            return receiver.post(path, body, content, timeout=60)[0] == 200
        except OSError:  # cut off
            return False
    return send


def over_grpc(method):
    return lambda receiver, body: call(receiver, method, body, timeout=60)[0] == grpc.StatusCode.OK


def otlp(service):
    return otlp_requests.request_of("times", service, now_ns()).SerializeToString()


def otlp_json(service):
    return json_format.MessageToJson(otlp_requests.request_of("times", service, now_ns())).encode()


def raw(service):
    return write_raw_request({"__name__": "process_cpu", "service_name": service}, pprof("work", 5, now_ns()))


def raw_json(service):
    profile = base64.b64encode(pprof("work", 5, now_ns())).decode()
    labels = [{"name": "__name__", "value": "process_cpu"}, {"name": "service_name", "value": service}]
    return json.dumps({"series": [{"labels": {"labels": labels}, "samples": [{"rawProfile": profile}]}]}).encode()


ROADS = {"OTLP": (otlp, over_grpc(EXPORT)), "OTLP over HTTP": (otlp, over_http("/v1/profiles", push.PROTOBUF)),
         "OTLP in JSON": (otlp_json, over_http("/v1development/profiles", "application/json")),
         "WriteRaw": (raw, over_grpc(WRITE_RAW)), "WriteRaw over HTTP": (raw, over_http("/api/profiles/writeraw", push.PROTOBUF)),
         "WriteRaw in JSON": (raw_json, over_http("/api/profiles/writeraw", "application/json"))}


class InCommit:
    """Holds up COMMITs when they are on disk, by a standby that is not there: nobody is told, and nobody sees them, yet."""

    def set(self, change):
        for statement in (f"ALTER SYSTEM {change}", "SELECT pg_reload_conf()"):
            sql(statement)

    def __enter__(self):
        self.set("SET synchronous_standby_names = 'nobody'")
        self.probes = []
        eventually(self.probe_waits)
        return self

    def __exit__(self, *_):
        self.set("RESET synchronous_standby_names")
        for probe in self.probes:
            probe.wait()

    def probe_waits(self):
        """The server knows of its standby somewhat later than it says."""
        self.probes.append(subprocess.Popen(["psql", "-Xqc", "SELECT pg_logical_emit_message(true, 'probe', '')"],
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        try:
            self.probes[-1].wait(0.5)
        except subprocess.TimeoutExpired:
            return self.wait_of("psql")
        return False

    @staticmethod
    def wait_of(client):
        return number(f"SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = '{client}'"
                      " AND query ~ 'pg_logical_emit_message|; COMMIT$'") > 0

    def waits(self):
        return eventually(lambda: self.wait_of("profstore-collector"))


def until_told(send, receivers, body):
    """A client that sends the same again until it is told that it is stored; how often it was not."""
    def run():
        end, failed = time.time() + 90, 0
        while not send(receivers[-1], body):
            failed += 1
            if time.time() > end:
                return -1
            time.sleep(0.1)
        return failed
    return run


def kill_receiver(receivers):
    receivers[-1].kill()
    other = Receiver("--answer-timeout=60s")
    other.ready()
    receivers.append(other)


VICTIMS = {"receiver": kill_receiver, "database": lambda _: restart_database()}


def test_killed_before_commit():
    """All roads at once: their requests have come, none has its commit."""
    for victim, kill in VICTIMS.items():
        receivers = [Receiver("--answer-timeout=60s")]
        receivers[0].ready()
        with Held() as held:
            sent = {name: in_background(until_told(send, receivers, make(f"{victim} {name}"))) for name, (make, send) in ROADS.items()}
            ok(held.waits() and eventually(lambda: receivers[0].metric("requests_total") >= len(ROADS)), f"{victim}: all requests have come, one waits for its commit")
            same([name for name, (_, result) in sent.items() if result], [], f"{victim}: nobody is told")
            kill(receivers)
        for name, (thread, result) in sent.items():
            thread.join()
            ok(result[0] >= (victim == "receiver"), f"{name}, {victim} killed before the commit: sent until it is told", result)
            same(stored(f"{victim} {name}"), 5, f"{name}: it is there once")
        same(receivers[-1].stop(), 0, "ends well")


def test_killed_in_commit():
    """On disk, but not told: sent again while that is so."""
    for victim, kill in VICTIMS.items():
        receivers = [Receiver("--answer-timeout=60s")]
        receivers[0].ready()
        for name, (make, send) in ROADS.items():
            if victim == "database" and name not in ("OTLP", "WriteRaw"):
                continue  # a recovery takes its time, and from its batch on each road is the same
            service = f"committed {victim} {name}"
            ok(send(receivers[-1], make(service)), f"{name}: a first request makes all names known")
            with InCommit() as committing:
                thread, result = in_background(until_told(send, receivers, make(service)))
                ok(committing.waits(), f"{name}: the second is being committed")
                same((result, stored(service)), ([], 5), f"{name}: it is not told, nor seen")
                kill(receivers)
            thread.join()
            ok(result[0] >= (victim == "receiver"), f"{name}, {victim} killed in its commit: sent until it is told", result)
            same(stored(service), 10, f"{name}: it is there once")
        same(receivers[-1].stop(), 0, "ends well")


def test_database_away():
    receiver = Receiver(db="host=/nowhere dbname=x")
    eventually(lambda: "away" in receiver.text() or receiver.process.poll() is not None)
    code, _, trailers = call(receiver, EXPORT, otlp_requests.request_of("times", "away", now_ns()).SerializeToString())
    same(code, grpc.StatusCode.UNAVAILABLE, "without a database: UNAVAILABLE")
    ok(b"RetryInfo" in trailers.get("grpc-status-details-bin", b""), "with RetryInfo")
    same(receiver.get("/-/ready")[0], 503, "not ready")
    same(call(receiver, "/grpc.health.v1.Health/Check", b"")[2], b"\x08\x02", "gRPC's health: NOT_SERVING")
    same(receiver.get("/-/healthy")[0], 200, "but alive")
    same(receiver.stop(), 0, "ends well")


def test_stop_answers():
    """SIGTERM with a request under way: it is stored and told."""
    receiver = Receiver("--answer-timeout=30s")
    receiver.ready()
    with Held() as held:
        thread, result = in_background(
            lambda: call(receiver, EXPORT, otlp_requests.request_of("times", "stopped", now_ns()).SerializeToString()))
        held.waits()
        receiver.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
    thread.join()
    same((result[0][0], stored("stopped")), (grpc.StatusCode.OK, 5), "stopped: what is under way is stored and told")
    receiver.process.wait(20)
    same(receiver.process.returncode, 0, "and it ends with 0", receiver.text())


def test_merged_repeats():
    """Requests that are stored together, one of them a repetition."""
    again = otlp_requests.request_of("times", "merged", now_ns()).SerializeToString()
    call(push.main, EXPORT, again)
    receiver = Receiver("--answer-timeout=30s")
    receiver.ready()
    bodies = [otlp_requests.request_of("times", "merged", now_ns() + i).SerializeToString() for i in range(1, 6)]
    with Held() as held:
        threads = [in_background(lambda body=body: call(receiver, EXPORT, body)[0]) for body in [bodies[0], again, *bodies[1:]]]
        held.waits()
        time.sleep(1)
    for thread, _ in threads:
        thread.join()
    same(({result[0] for _, result in threads}, stored("merged")), ({grpc.StatusCode.OK}, 30),
         "six requests together, one of them stored before: each is there once")
    ok(receiver.metric("receipts_met_total") == 1, "the repetition is counted")
    same(receiver.stop(), 0, "ends well")
