"""Debug information that agents upload: Parca's protocol by gRPC's own client, Alloy's by Connect's own."""

import json
import os
import queue
import subprocess
import threading
import time

import grpc

import push
from harness import Receiver, eventually, number, ok, same, sql
from parca import recorded
from push import SCRATCH, call, message_field

SERVICE = "/parca.debuginfo.v1alpha1.DebuginfoService/"
ALLOY = "/debuginfo.v1alpha1.DebuginfoService/"
IN_PROGRESS = "A previous upload is still in-progress and not stale yet (only stale uploads can be retried)."  # agents compare it
EXISTS = "Debuginfo already exists and is not marked as invalid, therefore no new upload is needed."
OK, INVALID, LATER, EXISTING, MISSING = (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION,
                                         grpc.StatusCode.ALREADY_EXISTS, grpc.StatusCode.NOT_FOUND)
TOKENS = f"{SCRATCH}/upload-tokens"
GOOD, OTHER, NOBODY = ([("authorization", f"Bearer {token}")] for token in ("shop-secret", "toys-secret", "dull-secret"))


def number_field(field, value):
    out = bytearray([field << 3])
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def text_field(field, text):
    return message_field(field, text.encode())


def fields(message):
    """{number: value} of a flat protobuf message."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            value, at = message[at:at + value], at + value
        found[tag >> 3] = value
    return found


def should(receiver, build_id, token=GOOD, more=b""):
    """(wanted, reason), or the code of a failure."""
    code, _, answer = call(receiver, SERVICE + "ShouldInitiateUpload", text_field(1, build_id) + more, metadata=token)
    if code != OK:
        return code
    answer = fields(answer)
    return answer.get(1, 0) == 1, answer[2].decode()


def initiate(receiver, build_id, size, token=GOOD, hash="", force=False, more=b""):
    """The id of the upload, or the code of a failure."""
    request = text_field(1, build_id) + number_field(2, size) + (text_field(3, hash) if hash else b"")
    request += (number_field(4, 1) if force else b"") + more
    code, _, answer = call(receiver, SERVICE + "InitiateUpload", request, metadata=token)
    if code != OK:
        return code
    instructions = fields(fields(answer)[1])
    if (instructions[1].decode(), instructions[3]) != (build_id.lower(), 1):  # the build, and the strategy GRPC
        raise RuntimeError(f"instructions {instructions}")
    return instructions[2].decode()


def upload(receiver, build_id, upload_id, chunks, token=GOOD, compression=None, timeout=60):
    """(build ID, bytes) of the answer, or code and details of a failure. chunks: an iterable of bytes."""
    def messages():
        yield message_field(1, text_field(1, build_id) + text_field(2, upload_id))
        for chunk in chunks:
            yield message_field(2, chunk)

    with grpc.insecure_channel(receiver.address, options=[("grpc.max_send_message_length", 64 << 20)]) as channel:
        try:
            answer = fields(channel.stream_unary(SERVICE + "Upload")(messages(), timeout=timeout, metadata=token,
                                                                     compression=compression))
            return answer[1].decode(), answer[2]
        except grpc.RpcError as error:
            return error.code(), error.details()


def mark(receiver, build_id, upload_id, token=GOOD):
    return call(receiver, SERVICE + "MarkUploadFinished", text_field(1, build_id) + text_field(2, upload_id), metadata=token)[0]


def chunks_of(data, size):
    return [data[i:i + size] for i in range(0, len(data), size)]


def send(receiver, build_id, data, token=GOOD, hash="", chunk=8 << 20, **more):
    """Initiates and uploads."""
    upload_id = initiate(receiver, build_id, len(data), token, hash)
    if not isinstance(upload_id, str):
        return upload_id
    return upload(receiver, build_id, upload_id, chunks_of(data, chunk), token, **more)


def program(build_id, *flags, words=0):
    """The bytes of a program with debug information; words: bytes of incompressible data in it."""
    name = f"{SCRATCH}/upload_{build_id}"
    with open(name + ".c", "w") as source:
        source.write("#include <stdlib.h>\n__attribute__((noinline)) int work(int n)\n{\n\treturn n + rand();\n}\n"
                     "int main(void)\n{\n\treturn work(3);\n}\n")
    subprocess.run(["gcc", "-O1", *flags, f"-Wl,--build-id=0x{build_id}", "-o", name, name + ".c"], check=True)
    if words > 0:
        with open(name + ".bin", "wb") as more:
            more.write(os.urandom(words))
        subprocess.run(["objcopy", "--add-section", f".debug_more={name}.bin", name], check=True)
    with open(name, "rb") as file:
        return file.read()


def uploaded(build_id):
    return sql(f"SELECT state, tenant, has_lines, client_hash FROM profstore.debuginfo WHERE build_id = '{build_id}' ORDER BY id")


def stored_bytes(build_id, tenant="shop"):
    """The file as the database has it of a tenant."""
    import zstandard
    rows = sql("SELECT encode(c.payload, 'hex') FROM profstore.debuginfo_chunks AS c JOIN profstore.debuginfo AS d ON d.id = c.debuginfo"
               f" WHERE d.build_id = '{build_id}' AND d.tenant = '{tenant}' ORDER BY c.number")
    return b"".join(zstandard.ZstdDecompressor().decompress(bytes.fromhex(row[0])) for row in rows)


def start(*flags):
    with open(TOKENS, "w") as tokens:
        tokens.write("shop shop-secret upload\ntoys toys-secret upload\ndull dull-secret\n")
    receiver = Receiver(f"--tokens={TOKENS}", *flags)
    receiver.ready()
    return receiver


def metric(receiver, name):
    text = receiver.request("/metrics", None, {"Authorization": "Bearer shop-secret"})[2].decode()
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith(f"profstore_receive_{name} ")))


def slots_are_free(receiver):
    """Whether all four uploads of a tenant can be under way: none is left behind."""
    def probe():
        ids = [initiate(receiver, f"{i:02x}" * 8, 100) for i in range(0xf0, 0xf4)]
        good = all(isinstance(i, str) for i in ids)
        for i, upload_id in enumerate(ids):
            if isinstance(upload_id, str):
                upload(receiver, f"{0xf0 + i:02x}" * 8, upload_id, [])
        return good
    return eventually(probe)


def test_upload_parca():
    receiver = start()
    build_id = "a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4"
    data = program(build_id, "-g", words=3 << 20)
    same(should(receiver, build_id)[0], True, "the first agent is asked for a file")
    upload_id = initiate(receiver, build_id, len(data), hash="h1")
    same(should(receiver, build_id), (False, IN_PROGRESS), "others are put off meanwhile, in the words that agents know")
    same(initiate(receiver, build_id, len(data)), LATER, "and by the code that they know")
    same(mark(receiver, build_id, upload_id), LATER, "an upload without bytes is not finished")
    same(upload(receiver, build_id, upload_id, chunks_of(data, 1 << 20)), (build_id, len(data)), "it is received whole")
    same(mark(receiver, build_id, upload_id), OK, "and finished")
    same(uploaded(build_id), [["ready", "shop", "t", "h1"]], "it is stored for symbolize, with its tenant")
    ok(stored_bytes(build_id) == data, "byte for byte")
    same(should(receiver, build_id), (False, EXISTS), "the next agent is told that it is there")
    same(initiate(receiver, build_id, len(data)), EXISTING, "or learns it by the code")
    same(should(receiver, build_id, OTHER)[0], True, "another tenant's agent is asked for its own")
    same((send(receiver, build_id, data, OTHER), mark(receiver, build_id, "x", OTHER), should(receiver, build_id, OTHER)),
         ((build_id, len(data)), OK, (False, EXISTS)), "and delivers equal content that counts as its own")
    same(should(receiver, build_id.upper(), GOOD), (False, EXISTS), "a build ID in capitals is the same one")
    same(should(receiver, build_id, more=number_field(3, 1))[0], True, "who forces an upload may repeat it")
    upload_id = initiate(receiver, build_id, len(data), force=True)
    same(upload(receiver, build_id, upload_id, [data], compression=grpc.Compression.Gzip), (build_id, len(data)),
         "in one message, packed by gzip")
    same(len(uploaded(build_id)), 2, "equal content of a tenant is stored once")
    same((metric(receiver, "uploads_stored_total"), metric(receiver, "upload_bytes_total")), (3, 3 * len(data)), "uploads are counted")
    same(receiver.stop(), 0, "ends well", receiver.text())


def test_upload_recorded():
    """As Parca's own package sent it (pkg/debuginfo of its source, GrpcUploadClient with the generated client): all messages of an upload, in
    which only the id that the receiver has chosen is replaced."""
    receiver = start()
    build_id = "ab" * 20
    questions, initiations, parts, marks = (recorded(f"{name}Request") for name in ("ShouldInitiateUpload", "InitiateUpload", "Upload", "MarkUploadFinished"))
    recorded_id = fields(marks[0])[2]
    same((fields(questions[0])[1].decode(), len(parts)), (build_id, 2), "a recorded upload of one chunk")

    def ask(method, message):
        code, _, answer = call(receiver, SERVICE + method, message, metadata=GOOD)
        same(code, OK, f"{method} is answered")
        return fields(answer)

    same(ask("ShouldInitiateUpload", questions[0]).get(1), 1, "the file is wanted")
    upload_id = fields(ask("InitiateUpload", initiations[0])[1])[2]
    same(len(upload_id), len(recorded_id), "ids have one length")
    answer = ask("ShouldInitiateUpload", questions[1])
    same((answer.get(1, 0), answer[2].decode()), (0, IN_PROGRESS), "a question meanwhile is put off, by the reason after which agents ask again")
    with grpc.insecure_channel(receiver.address) as channel:
        answer = fields(channel.stream_unary(SERVICE + "Upload")((part.replace(recorded_id, upload_id) for part in parts), timeout=60, metadata=GOOD))
    data = fields(parts[1])[2]
    same((answer[1].decode(), answer[2]), (build_id, len(data)), "it is received whole")
    ask("MarkUploadFinished", marks[0].replace(recorded_id, upload_id))
    same(uploaded(build_id), [["ready", "shop", "t", "0123456789abcdef"]], "and stored for symbolize")
    ok(stored_bytes(build_id) == data, "byte for byte")
    same(ask("ShouldInitiateUpload", questions[1])[2].decode(), EXISTS, "the client's next question is answered by the reason that it knows")
    same(receiver.stop(), 0, "ends well", receiver.text())


def test_upload_symbolize():
    """A program's address is stored, its debug information comes from an agent, and its name appears."""
    receiver = start()
    build_id = "b1" * 20
    data = program(build_id, "-g")
    name = f"{SCRATCH}/upload_{build_id}"
    address = next(int(line.split()[0], 16) for line in
                   subprocess.run(["nm", name], capture_output=True, text=True, check=True).stdout.splitlines()
                   if line.endswith(" work"))
    location = number(f"SELECT (profstore.intern_locations(profstore.intern_mappings('{{{build_id}}}', '{{{name}}}'),"
                      f" '{{{address}}}', '{{0}}', '{{}}', '{{}}'))[1]")
    same(send(receiver, build_id, data), (build_id, len(data)), "an agent uploads a program")
    subprocess.run([os.environ["COLLECTOR"], "symbolize", "--once"], check=True, capture_output=True, timeout=60)
    same(sql(f"SELECT f.name, l.lines[1] FROM profstore.locations AS l, profstore.functions AS f"
             f" WHERE l.id = {location} AND f.id = l.function_ids[1]"),
         [["work", "3"]], "symbolize names its code by it")
    receiver.stop()


def test_upload_allowed():
    receiver = start()
    build_id = "c1" * 20
    same(should(receiver, build_id, NOBODY), (False, IN_PROGRESS), "a tenant without the right is put off, so that it may get it")
    same(initiate(receiver, build_id, 100, NOBODY), LATER, "its upload as well")
    upload_id = initiate(receiver, build_id, 100)
    same(upload(receiver, build_id, upload_id, [b"x"], NOBODY)[0], LATER, "it cannot go on with another tenant's upload")
    same(upload(receiver, build_id, upload_id, [b"x"], OTHER)[0], LATER, "nor can one with the right")
    same(upload(receiver, build_id, "0" * 32, [b"x"])[0], LATER, "nor anybody by another id")
    same(should(receiver, build_id, []), grpc.StatusCode.UNAUTHENTICATED, "no token: refused")
    with open(TOKENS, "a") as tokens:
        tokens.write("dull new-secret upload\n")
    os.kill(receiver.process.pid, 1)
    ok(eventually(lambda: should(receiver, build_id, [("authorization", "Bearer new-secret")]) != grpc.StatusCode.UNAUTHENTICATED),
       "tokens are read again")
    same(should(receiver, build_id, [("authorization", "Bearer new-secret")])[0], True, "and the right counts")
    ok(metric(receiver, "uploads_put_off_total") >= 2 and "file of tokens" in receiver.text(), "that is counted, and logged")
    receiver.stop()
    open_one = Receiver()
    open_one.ready()
    same(should(open_one, build_id, []), (False, IN_PROGRESS), "without a file of tokens nobody may upload")
    open_one.stop()


def test_upload_content():
    receiver = start("--max-upload=4MB")
    data = program("d1" * 20, "-g")
    same(send(receiver, "d2" * 20, data), (INVALID, "the file has another build ID"), "another build ID inside")
    same(send(receiver, "d3" * 20, os.urandom(5000)), (INVALID, "the file is not an ELF file"), "garbage")
    same(send(receiver, "d1" * 20, data[:len(data) // 2])[0], INVALID, "a truncated file")
    same(send(receiver, "d4" * 20, bytes(100000)), (INVALID, "the file is not an ELF file"), "zeros")
    upload_id = initiate(receiver, "d5" * 20, 10000)
    same(upload(receiver, "d5" * 20, upload_id, [bytes(6000), bytes(6000)]), (INVALID, "the upload is longer than was declared"),
         "more bytes than declared")
    upload_id = initiate(receiver, "d5" * 20, 10000)
    same(upload(receiver, "d5" * 20, upload_id, [bytes(6000)]), (INVALID, "the upload is empty or shorter than was declared"),
         "fewer bytes than declared")
    upload_id = initiate(receiver, "d5" * 20, 10000)
    same(upload(receiver, "d5" * 20, upload_id, [])[0], INVALID, "no bytes")
    same(initiate(receiver, "d5" * 20, 5 << 20), INVALID, "a size above the limit")
    same(initiate(receiver, "d5" * 20, (1 << 64) - 5), INVALID, "a negative size")
    for build_id in ("../../../etc/passwd", "/etc/passwd", "abcd", "", "d5" * 33, "d5" * 19 + "d", "zz" * 20, "d5" * 9 + "\0" + "d5" * 10):
        same((should(receiver, build_id)[0], initiate(receiver, build_id, 100)), (False, INVALID), f"build ID {build_id!r}: never")
    same((should(receiver, "d5" * 20, more=number_field(4, 2))[0], initiate(receiver, "d5" * 20, 9, more=number_field(5, 2))),
         (False, INVALID), "sources: never")
    same(should(receiver, "d5" * 8, more=number_field(5, 2))[0], False, "a hash in place of a build ID: never")
    stripped = program("d6" * 20, "-s")
    same(send(receiver, "d6" * 20, stripped, hash="h6"), (INVALID, "the file has neither symbols nor debug information"),
         "a file without names")
    same((initiate(receiver, "d6" * 20, len(stripped), hash="h6"), isinstance(initiate(receiver, "d6" * 20, 9, OTHER, "h6"), str)),
         (INVALID, True), "is not taken again of this tenant by the same hash")
    poor = program("d7" * 20)
    same(send(receiver, "d7" * 20, poor, hash="h7"), ("d7" * 20, len(poor)), "symbols alone are taken")
    same(should(receiver, "d7" * 20)[0], True, "but hide nothing: lines are wanted")
    same(initiate(receiver, "d7" * 20, len(poor), hash="h7"), EXISTING, "the same file is not")
    rich = program("d7" * 20, "-g")
    same(send(receiver, "d7" * 20, rich, hash="h8"), ("d7" * 20, len(rich)), "a better file is taken")
    same(should(receiver, "d7" * 20), (False, EXISTS), "and then it is enough")
    same([row[1] for row in sql(f"SELECT 1, bytes FROM profstore.find_debuginfo('{'d7' * 20}')")], [str(len(rich)), str(len(poor))],
         "symbolize reads the better one first")
    same(len(sql(f"SELECT 1 FROM profstore.debuginfo WHERE build_id IN ('{'d1' * 20}', '{'d2' * 20}', '{'d5' * 20}', '{'d6' * 20}')")), 0,
         "nothing of what was refused is stored")
    ok(metric(receiver, "uploads_refused_total") >= 20 and "another build ID" in receiver.text(), "all that is counted, and logged")
    ok(slots_are_free(receiver), "no refused upload holds a slot")
    same(receiver.stop(), 0, "ends well", receiver.text())


def slow(parts):
    """Chunks that come when they are put into a queue; None: the end."""
    while (part := parts.get()) is not None:
        yield part


def in_background(function):
    result = []
    thread = threading.Thread(target=lambda: result.append(function()), daemon=True)
    thread.start()
    return thread, result


def test_upload_limits():
    receiver = start("--max-upload=40MB", "--upload-space=40MB")
    ids = [initiate(receiver, f"{i:02x}" * 20, 1000) for i in range(0xa0, 0xa5)]
    same([isinstance(i, str) for i in ids], [True] * 4 + [False], "a tenant has four uploads at a time")
    same((ids[4], should(receiver, "a0" * 20)), (LATER, (False, IN_PROGRESS)), "further ones are put off")
    ok(isinstance(initiate(receiver, "a0" * 20, 1000, OTHER), str), "another tenant begins one of the same build")
    for i, upload_id in enumerate(ids[:4]):
        upload(receiver, f"{0xa0 + i:02x}" * 20, upload_id, [])
    parts = queue.Queue()
    big = initiate(receiver, "a6" * 20, 18 << 20)
    thread, result = in_background(lambda: upload(receiver, "a6" * 20, big, slow(parts)))
    for _ in range(18):
        parts.put(bytes(1 << 20))
    ok(eventually(lambda: metric(receiver, "upload_bytes_total") == 18 << 20), "a stream is received as it comes")
    same(initiate(receiver, "a7" * 20, 4 << 20), LATER, "a tenant has half of the space")
    ok(isinstance(initiate(receiver, "a7" * 20, 4 << 20, OTHER), str), "the other one has its own")
    parts.put(None)
    thread.join()
    same(result, [(INVALID, "the file is not an ELF file")], "it ends as its content demands")
    ok(isinstance(initiate(receiver, "a7" * 20, 4 << 20), str), "and its space is free again")
    receiver.stop()


def test_upload_broken_off():
    receiver = start("--max-memory=8MB")
    parts = queue.Queue()
    channel = grpc.insecure_channel(receiver.address)
    for i in range(6):  # more than a tenant may have
        upload_id = initiate(receiver, "b7" * 20, 10 << 20)
        ok(isinstance(upload_id, str), "a client begins", upload_id)

        def messages():
            yield message_field(1, text_field(1, "b7" * 20) + text_field(2, upload_id))
            yield message_field(2, bytes(1 << 20))
            yield from slow(parts)

        before = metric(receiver, "upload_bytes_total")
        stream = channel.stream_unary(SERVICE + "Upload").future(messages(), metadata=GOOD)
        ok(eventually(lambda: metric(receiver, "upload_bytes_total") == before + (1 << 20)), "sends a part")
        stream.cancel()
        parts.put(None)
        ok(eventually(lambda: should(receiver, "b7" * 20)[0]), "leaves, and the next one may begin at once")
    channel.close()
    data = program("ac" * 20, "-g", words=24 << 20)
    same(send(receiver, "ac" * 20, data, chunk=1 << 20), ("ac" * 20, len(data)), "a file three times the memory is received")
    ok(receiver.memory_kb("VmHWM") < 120_000, "without being held in it", receiver.memory_kb("VmHWM"))
    same(receiver.stop(), 0, "ends well", receiver.text())


def test_upload_endless():
    receiver = start("--max-upload=4MB")
    upload_id = initiate(receiver, "ad" * 20, 4 << 20)

    def endless():
        while True:
            yield bytes(1 << 20)

    same(upload(receiver, "ad" * 20, upload_id, endless())[0], INVALID, "a stream without end is ended")
    ok(metric(receiver, "upload_bytes_total") <= 4 << 20, "with no byte beyond what was declared")
    big = initiate(receiver, "ae" * 20, 1 << 20)
    packed = upload(receiver, "ae" * 20, big, [bytes(3 << 20)], compression=grpc.Compression.Gzip)
    same(packed, (INVALID, "the upload is longer than was declared"), "unpacked bytes count, not those that were sent")
    receiver.stop()


def test_upload_killed():
    spool = f"{SCRATCH}/upload-spool"
    os.makedirs(spool, exist_ok=True)
    receiver = start(f"--upload-directory={spool}")
    data = program("af" * 20, "-g", words=6 << 20)
    upload_id = initiate(receiver, "af" * 20, len(data))
    parts = queue.Queue()
    thread, result = in_background(lambda: upload(receiver, "af" * 20, upload_id, slow(parts)))
    parts.put(data[:1 << 20])
    ok(eventually(lambda: metric(receiver, "upload_bytes_total") == 1 << 20), "a part is there")
    receiver.kill()
    parts.put(None)
    thread.join()
    same(result[0][0], grpc.StatusCode.UNAVAILABLE, "the receiver is killed")
    same(os.listdir(spool), [], "and leaves no file")
    receiver = start()
    same(should(receiver, "af" * 20)[0], True, "the next one asks for the file")
    same(send(receiver, "af" * 20, data), ("af" * 20, len(data)), "and gets it")
    ok(stored_bytes("af" * 20) == data, "as it is")
    same(receiver.stop(), 0, "ends well", receiver.text())


ALLOY_CLIENT = f"{SCRATCH}/alloy-client/alloy"


def alloy(receiver, build_id, data, how="", token="shop-secret"):
    """What Pyroscope's own client makes of an upload."""
    path = f"{SCRATCH}/alloy-file"
    with open(path, "wb") as file:
        file.write(data)
    done = subprocess.run([ALLOY_CLIENT, receiver.address, token, build_id, path, how], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def test_upload_alloy():
    receiver = start("--max-upload=8MB", "--max-message=1MB")
    data = program("e1" * 20, "-g", words=5 << 20)
    end = alloy(receiver, "e1" * 20, data)
    same((end["Should"], end["Status"], end["Body"], end["Finished"]), (True, 200, "", "ok"), "Alloy's client uploads a file", end)
    ok(stored_bytes("e1" * 20) == data, "byte for byte")
    same(sql(f"SELECT tenant, client_hash, name FROM profstore.debuginfo WHERE build_id = '{'e1' * 20}'"), [["shop", "f1", "shop: worker"]],
         "with its name")
    end = alloy(receiver, "e1" * 20, data)
    same((end["Should"], end["Reason"]), (False, EXISTS), "the next one is told that it is there")
    data = program("e2" * 20, "-g", words=3 << 20)
    same(alloy(receiver, "E2" * 20, data, "chunked")["Status"], 200, "a file in chunks, of a build ID in capitals")
    ok(stored_bytes("e2" * 20) == data, "byte for byte")
    end = alloy(receiver, "e3" * 20, data, "half")
    ok(end["Status"] == 0 and end["Finished"] in ("not_found", "failed_precondition"), "one that breaks off is not there", end)
    ok(eventually(lambda: alloy(receiver, "e3" * 20, data)["Status"] == 400), "and may be tried again, to be refused for its content")
    end = alloy(receiver, "e4" * 20, b"garbage")
    same((end["Status"], json.loads(end["Body"]).get("code"), end["Finished"]), (400, "invalid_argument", "not_found"),
         "garbage is refused, in Connect's words")
    end = alloy(receiver, "e5" * 20, bytes(9 << 20), "chunked")
    ok(end["Status"] in (0, 400) and end["Finished"] == "not_found", "a file above the limit is refused", end)
    same(alloy(receiver, "e6" * 20, data, token="dull-secret"),
         {"Should": False, "Reason": IN_PROGRESS, "Status": 0, "Body": "", "Finished": "", "Failure": ""}, "no right: later")
    same(alloy(receiver, "e6" * 20, data, token="none")["Failure"], "unauthenticated", "no valid token: refused")
    header = {"Authorization": "Bearer shop-secret"}
    for path, status in (("e7" * 20, 412), ("../../etc/passwd", 400), ("", 400), ("%2e%2e", 400), ("e7" * 40, 400)):
        same(receiver.request(ALLOY + "Upload/" + path, b"x" * 10, header, method="POST")[0], status, f"no question before, {path!r}: {status}")
    same(receiver.request(ALLOY + "ShouldInitiateUpload", b"{}", {**header, "Content-Type": "application/json"})[0], 415, "no JSON")
    ok(slots_are_free(receiver), "no refused upload holds a slot")
    same(receiver.stop(), 0, "ends well", receiver.text())


def test_upload_together():
    """Many clients of two tenants at once: each gets its files stored, or is put off and comes again."""
    receiver = start()
    files = {f"{i:02x}" * 20: program(f"{i:02x}" * 20, "-g", words=1 << 20) for i in range(0x40, 0x4c)}

    def deliver(build_id, data, token):
        for _ in range(400):
            end = send(receiver, build_id, data, token, chunk=300_000)
            if end == (build_id, len(data)):
                return True
            if end != LATER:
                raise RuntimeError(str(end))
            time.sleep(0.05)
        return False

    work = [in_background(lambda build_id=build_id, data=data, token=token: deliver(build_id, data, token))
            for build_id, data in files.items() for token in (GOOD, OTHER)]
    for thread, _ in work:
        thread.join(120)
    same([result for _, result in work], [[True]] * 24, "each upload comes to its end")
    ok(all(stored_bytes(build_id, tenant) == data for build_id, data in files.items() for tenant in ("shop", "toys")),
       "what is stored is what was sent")
    profile = call(receiver, push.WRITE_RAW, push.write_raw_request({"__name__": "process_cpu", "service_name": "beside"}, b"garbage"),
                   metadata=GOOD)[0]
    same(profile, INVALID, "profiles are answered as ever")
    ok(slots_are_free(receiver), "no slot is left behind")
    same(receiver.stop(), 0, "ends well", receiver.text())
