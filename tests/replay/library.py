#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What people would write by hand otherwise: json, yaml, csv, fs, time, template, retry, http."""
import base64
import datetime
import hashlib
import http.server
import json
import os
import ssl
import threading
import zoneinfo

from kernel import Kernel, cell
from tap import run, sh

FIRST_LINE = "\n"


def says(k, source):
    r = k.run(source)
    assert r.state == "ok", (source, r)
    return r.out


def fails(k, source):
    r = k.run(FIRST_LINE + source)
    assert r.error and r.error["line"] == 2, (source, r)
    return r.error["message"]


def test_json_keeps_what_it_reads(t):
    k = Kernel(t)
    text = '{"a":[1,2.5,null,[],{}],"b":"\\u00e9\\n","n":-9223372036854775808,"z":null}'
    assert json.loads(says(k, f"print(json.encode(json.decode([[{text}]], {{ nulls = true }})))")) == json.loads(text)
    assert says(k, "print(json.decode('18446744073709551616', { big = 'string' }))") == "18446744073709551616\n"
    assert "does not fit into 64 bits" in fails(k, "json.decode '[18446744073709551616]'")
    assert says(k, "print(json.encode({ b = 1, a = { x = 2 } }, { indent = 4 }))") == '{\n    "a": {\n        "x": 2\n    },\n    "b": 1\n}\n'
    assert "line 1, column 4" in fails(k, "json.decode '{\"a'") or "line 1" in fails(k, "json.decode '{\"a'")
    for text, column in (("01", 1), ("[1, -007]", 5), ("1.", 1), ("-.5", 1), ("[1e]", 2), ("0x10", 2), ("1-2", 1)):
        assert fails(k, f"json.decode '{text}'").startswith(f"not JSON: line 1, column {column}: "), text
    assert says(k, "print(json.decode '[0, -0, 0.5, 1E+2, 10]'[4])") == "100\n"
    assert "a function is not JSON" in fails(k, "json.encode { f = print }")
    assert fails(k, "json.decode(nil)") == "json.decode expects a text, not nil"
    assert fails(k, "json.encode({}, { prety = true })") == "json.encode has no option prety; did you mean pretty?"


def test_json_refuses_lists_with_holes_and_circles(t):
    k = Kernel(t)
    for call in ("json.encode { a = { 1, 2, nil, 4 } }", "yaml.encode { a = { 1, nil, 3 } }"):
        assert "a: it is a list with holes; write json.null" in fails(k, call), call
    assert says(k, "print(json.encode { 1, 2, json.null, 4 })") == "[1,2,null,4]\n"
    assert says(k, "print(json.encode { [5] = 1 }, json.encode { 1, a = 2 })") == '{"5":1}\t{"1":1,"a":2}\n'
    for call in "json.encode(json.array { a = 1, b = 2 })", "json.encode(json.array { 1, a = 2 })", "yaml.encode(json.array { [5] = 1 })":
        assert fails(k, call) == "the value: json.array marks it as a list, and it has other keys than 1, 2, …", call
    assert fails(k, "t = {} t.x = { t } json.encode(t)") == "x[1]: it contains itself"
    assert says(k, "u = { 1 } print(json.encode { u, u })") == "[[1],[1]]\n"


def test_yaml_is_read_as_kubectl_reads_it(t):
    k = Kernel(t)
    assert says(k, "v = yaml.decode [[{on: yes, m: 0777, s: '1', d: 2026-01-02}]]\nprint(v.on, v['true'], v.m, v.s, v.d)") \
        == "nil\ttrue\t511\t1\t2026-01-02\n"
    assert says(k, "a = yaml.decode_all 'a: 1\\n---\\n---\\nb: ~\\n'\nprint(#a, a[2].b, #yaml.decode_all '')") == "2\tnil\t0\n"
    assert says(k, "print(yaml.decode('b: ~', { nulls = true }).b == json.null, yaml.decode '')") == "true\tnil\n"
    assert says(k, "print(yaml.decode('a: 18446744073709551615', { big = 'string' }).a, yaml.decode_all('- 1', { big = 'string' })[1][1])") \
        == "18446744073709551615\t1\n"
    assert 'with big = "string"' in fails(k, "yaml.decode 'a: 18446744073709551615'")
    assert "has 2 documents" in fails(k, "yaml.decode 'a: 1\\n---\\nb: 2'")
    assert "line 2, column 1" in fails(k, "yaml.decode 'a: [1\\n'")
    assert says(k, "print(yaml.decode(yaml.encode { a = { 1, 'yes', 2.5 }, t = 'x\\ny\\n' }).t == 'x\\ny\\n')") == "true\n"
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "\n".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]" for i in range(9))
    assert k.run(f"yaml.decode [[\n{bomb}]]").error


def test_csv_goes_through(t):
    k = Kernel(t)
    with open(os.path.join(k.cwd, "in.csv"), "w", encoding="utf-8", newline="") as f:
        f.write('\ufeffname,loss,zip\r\n"a, ""b""",0.25,007\r\nc,,0x10\r\n')
    out = says(k, "rows = csv.decode(fs.read 'in.csv')\nfor _, r in ipairs(rows) do print(r.name, r.loss, r.zip, math.type(r.loss)) end\n"
                  "print(table.concat(rows.columns, '|'))\nio.write(csv.encode(rows))")
    assert out == 'a, "b"\t0.25\t007\tfloat\nc\t\t0x10\tnil\nname|loss|zip\nname,loss,zip\n"a, ""b""",0.25,007\nc,,0x10\n', out
    assert says(k, "r = csv.decode('1;2\\n3;x', { header = false, separator = ';' })\nprint(#r, r[1][2] + 1, r[2][2])") == "2\t3\tx\n"
    assert says(k, "r = csv.decode('b,a\\n1,x\\n') print(json.encode(r), yaml.encode(r), r.columns[1], #r)") == '[{"a":"x","b":1}]\t- a: x\n  b: 1\n\tb\t1\n'
    assert says(k, "e = csv.decode 'b,a\\n' print(json.encode(e), csv.encode(e), next(e))") == "[]\tb,a\n\tnil\n"
    assert says(k, "io.write(csv.encode({ { 0.1 + 0.2, 1 / 3, 0.1, 1.0, 1e300, 5e-324, 1 << 60, 1 / 0 } }))\n"
                   "print(csv.decode('x\\n' .. csv.encode { { 0.1 + 0.2 } })[1].x == 0.1 + 0.2)") == \
        "0.30000000000000004,0.3333333333333333,0.1,1.0,1e+300,4.9406564584125e-324,1152921504606846976,inf\ntrue\n"
    assert "row 2 has 3 fields, and the header 2" in fails(k, "csv.decode 'a,b\\n1,2,3'")
    assert "line 2: a quote is not closed" in fails(k, "csv.decode 'a\\n\"b'")
    assert "one character" in fails(k, "csv.decode('a', { separator = '||' })")
    assert says(k, "io.write(csv.encode({ { 1, nil, 'x' }, { { a = 1 } } }, { columns = { 'p', 'q', 'r' } }))") == \
        'p,q,r\n1,,x\n"{""a"":1}",,\n'


def test_files_are_written_as_a_whole_and_found(t):
    k = Kernel(t)
    assert says(k, "fs.write('deep/er/x.txt', 'one\\r\\ntwo')\nprint(#fs.lines 'deep/er/x.txt', fs.lines('deep/er/x.txt')[1])") == "2\tone\n"
    says(k, "fs.write('deep/er/x.txt', '\\nthree', { append = true })\nfs.write('bin', '\\0\\255' .. ('x'):rep(10))")
    with open(os.path.join(k.cwd, "bin"), "rb") as f:
        data = f.read()
    assert data == b"\0\xff" + b"x" * 10
    assert says(k, "print(fs.sha256 'bin', fs.read('bin', { limit = 2 }) == '\\0\\255')") == hashlib.sha256(data).hexdigest() + "\ttrue\n"
    assert says(k, "for _, limit in ipairs { 0, 5, 1 << 50, 1e13 } do print(#fs.read('bin', { limit = limit })) end") == "0\n5\n12\n12\n"
    assert says(k, "fs.write('long', ('x'):rep(3000000)) print(#fs.read('long', { limit = 2500000 }))") == "2500000\n"
    for call in "fs.read '.'", "fs.read('.', { limit = 9 })", "fs.lines '.'":
        assert fails(k, call) == "fs.read .: Is a directory", call
    for name in (".hidden", "a.py", "sub/b.py", "sub/.git/c.py", "sub/deep/d.py"):
        os.makedirs(os.path.dirname(os.path.join(k.cwd, "tree", name)), exist_ok=True)
        open(os.path.join(k.cwd, "tree", name), "w", encoding="utf-8").close()
    os.symlink("..", os.path.join(k.cwd, "tree", "sub", "loop"))
    assert says(k, "print(table.concat(fs.glob 'tree/**/*.py', ' '))") == "tree/a.py tree/sub/b.py tree/sub/deep/d.py\n"
    assert says(k, "print(table.concat(fs.glob 'tree/*', ' '), #fs.glob 'none/*', #fs.glob 'tree/a.p[xyz]')") == "tree/a.py tree/sub\t0\t1\n"
    assert says(k, "print(table.concat(fs.glob 'tree/.*', ' '))") == "tree/.hidden\n"
    whole = os.path.join(k.cwd, "tree", "s*")
    assert says(k, f"print(fs.glob('{whole}')[1])") == os.path.join(k.cwd, "tree/sub") + "\n"
    assert "is not empty (recursive = true" in fails(k, "fs.remove 'tree'")
    assert "needs a name" in fails(k, "fs.remove '..'") and "needs a name" in fails(k, "fs.remove('/', { recursive = true })")
    assert says(k, "print(fs.remove('tree/sub/loop'), fs.remove('tree', { recursive = true }), fs.exists 'tree', fs.remove 'tree')") \
        == "true\ttrue\tfalse\tfalse\n"
    assert os.path.exists(os.path.join(k.cwd, "bin"))
    folder = says(k, "io.write(fs.temp())")
    assert os.stat(folder).st_mode & 0o777 == 0o700
    k.end()
    k.process.wait()
    assert not os.path.exists(folder)


def test_a_cell_that_may_do_nothing_here_writes_no_file(t):
    k = Kernel(t, "")
    for source in ("fs.write('x', 'y')", "fs.write('x', '\\0')", "fs.mkdir 'x'", "fs.remove 'test.lua'", "fs.temp()"):
        r = k.run(source, 'effects="pure"')
        assert r.error and r.error["name"] == "refused", (source, r)
    assert not os.path.exists(os.path.join(k.cwd, "x")) and os.path.exists(k.path)


FILES = cell("io.open('old', 'a'):close()\nfs.mkdir 'out'\nfs.write('out/a', 'one')\nfs.remove 'old'", "Make") \
    + cell("assert(io.open 'go')", "Stop")


def test_a_resumed_run_does_nothing_again(t):
    k = Kernel(t, FILES, headless=True)
    assert k.finish() == 1
    at = os.path.join(k.cwd, "out", "a")
    os.utime(at, (1, 1))
    open(os.path.join(k.cwd, "go"), "w", encoding="utf-8").close()
    again = Kernel(t, FILES, "--resume", k.of("welcome")[0]["run"], headless=True, cwd=k.cwd)
    assert again.finish() == 0, again.of("error")
    assert os.stat(at).st_mtime == 1
    assert [e["phase"] for e in again.of("ledger") if e["phase"] in ("verified", "outcome")] == ["outcome"] * 3 + ["verified"] * 3, again.of("ledger")


def test_templates_and_times(t):
    k = Kernel(t)
    with open(os.path.join(k.cwd, "t.yaml"), "w", encoding="utf-8") as f:
        f.write("lr: ${lr}\nname: ${name:upper()}\nraw: $${x}\nlist: ${ {1, 2} }\n")
    assert says(k, "name = 'global'\nlr = 9\nio.write(template('t.yaml', { lr = 0.5 }))") == "lr: 0.5\nname: GLOBAL\nraw: ${x}\nlist: [1,2]\n"
    assert "t.yaml:1: ${lr} is nil" in k.run("lr = nil\ntemplate 't.yaml'").error["message"]
    assert "No such file" in fails(k, "template 'none.yaml'")
    assert "template: /tmp: Is a directory" in fails(k, "template '/tmp'")
    assert "template: the name of the file is empty" in fails(k, "template ''")
    assert says(k, "print(template('${a}${b}', { a = false, b = 1 }))") == "false1\n"
    assert says(k, "t0 = time.parse '2026-01-02T03:04:05.5+02:00'\nprint(time.iso(t0), time.format(t0), time.parse(time.iso(t0)) == t0)") \
        == "2026-01-02T01:04:05.500000Z\t2026-01-02 01:04:05\ttrue\n"
    for call, why in (("time.iso(1e300)", "time.iso: 1e+300 is no time from 1677 to 2262"), ("time.iso(0/0)", "time.iso: nan is no time"),
                      ("time.iso(-1e11)", "time.iso: -100000000000 is no time"), ("time.iso 'x'", "time.iso expects seconds since 1970, not a string"),
                      ("time.format(0/0)", "time.format: nan is no time from the year 1 to 9999"), ("time.format(1e300)", "time.format: 1e+300"),
                      ("time.format(0, '%Q')", "time.format: invalid conversion specifier '%Q'"), ("time.span(0/0)", "not nan")):
        said = fails(k, call)
        assert why in said and ".lua" not in said, (call, said)
    assert says(k, "print(time.iso(9223372036), time.iso(-9223372036), time.format(253402300799))") == \
        "2262-04-11T23:47:16Z\t1677-09-21T00:12:44Z\t9999-12-31 23:59:59\n"
    assert says(k, "print(select(2, pcall(template, 'a\\n${nope}', {})))") == "template:2: ${nope} is nil\n"
    assert says(k, "print(select(2, pcall(template, 'a ${nope', {})))") == "template:1: ${nope has no closing brace\n"
    for day in "2026-02-31", "2026-04-31", "2026-02-29", "2100-02-29", "2026-01-00":
        assert "not a time as RFC 3339 writes it" in fails(k, f"time.parse '{day}'"), day
    assert says(k, "print(time.format(time.parse '2024-02-29', '%F'), time.format(time.parse '2000-02-29', '%F'))") == "2024-02-29\t2000-02-29\n"
    assert fails(k, "time.parse 'soon'") and "duration" not in fails(k, "time.parse '2026-13-01'")


def test_time_zones(t):
    """As Python's zoneinfo has them, which reads the same database: before the first change, at changes, by the rule after the last."""
    k = Kernel(t)
    zones = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca", "America/Sao_Paulo", "Asia/Tehran"]
    times = [0, 482_000_000, 1_743_296_399, 1_743_296_400, 1_761_440_399, 1_761_440_400, 4_117_000_000, 4_102_444_800]
    r = k.run(f"""for _, zone in ipairs {{ {', '.join(map(repr, zones))} }} do
  for _, at in ipairs {{ {', '.join(map(str, times))} }} do print(time.format(at, "%Y-%m-%d %H:%M:%S %z %Z", {{ zone = zone }})) end
end""")
    want = [datetime.datetime.fromtimestamp(at, zoneinfo.ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M:%S %z %Z") for zone in zones for at in times]
    assert r.out.splitlines() == want, r
    assert says(k, "print(time.format(0, '100%% %Z', { zone = 'UTC' }))") == "100% UTC\n"
    for zone in ("Europe/Nowhere", "../../etc/passwd", "tzdata.zi", ""):
        assert "this machine knows no time zone" in fails(k, f"time.format(0, '%H', {{ zone = '{zone}' }})"), zone


def test_retry(t):
    k = Kernel(t)
    r = k.run("n = 0\nprint(retry({ times = 4, delay = 0 }, function(try) n = n + 1; assert(try == 3, 'no ' .. try) return 'a', 'b' end), n)")
    assert r.out == "a\tb\t3\n" or r.out == "a\t3\n", r
    assert "try 1 of 4 failed, the next one in" in r.err and "no 2" in r.err, r.err
    r = k.run("n = 0\nretry({ times = 2, delay = 0 }, function() n = n + 1; error('bad ' .. n, 0) end)")
    assert r.error["message"] == "bad 2", r
    assert says(k, "n = 0\nprint(pcall(retry, { 5, delay = 0, when = function(why) return why:find 'soon' end }, "
                   "function() n = n + 1; error(n < 3 and 'soon' or 'never', 0) end))\nprint(n)") == "false\tnever\n3\n"
    r = k.run("n = 0\nretry({ times = 5, delay = 0 }, function() n = n + 1; sh 'true' end)", 'effects="pure"')
    assert r.error["name"] == "refused" and says(k, "print(n)") == "1\n", r
    started = k.run("print(pcall(retry, { times = 3, delay = '50ms', backoff = 2 }, function() error 'x' end))").ms
    assert started >= 150, started
    assert fails(k, "retry({ times = 0 }, print)") == "retry: times is an integer from 1 on"
    assert fails(k, "retry(3)") == "retry expects what it shall do, a function, not nil"


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_any(self):
        n = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(n)
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        path = self.path.split("?")[0]
        if path == "/echo":
            self.answer(200, json.dumps({"path": self.path, "body": body.decode()}).encode())
        elif path == "/bytes":
            self.answer(200, bytes(range(256)) * 1000)
        elif path == "/moved":
            self.answer(302, Location="/echo")
        elif path == "/away":
            self.answer(302, Location=self.server.elsewhere + "/echo")
        elif path == "/loop":
            self.answer(302, Location="/loop")
        elif path == "/slow":
            threading.Event().wait(30)
        elif path == "/together":  # answers when as many have asked as the server's barrier waits for
            self.server.meeting.wait(30)
            self.answer(200, b"met")
        elif path == "/made":
            self.answer(200 if self.server.made else 404)
        elif path == "/lose":  # done, and nobody hears of it
            self.server.made = True
            self.close_connection = True
        elif path == "/broken":
            self.answer(500)
        elif path == "/make":
            self.server.made = True
            self.answer(201, b'{"id": 7}')
        else:
            self.answer(404, b"nothing here\nat all")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_any


def server(t, certificate=None, version="HTTP/1.1"):
    s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Speaking", (Answers,), {"protocol_version": version}))
    s.daemon_threads, s.seen, s.made, s.elsewhere = True, [], False, None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        s.socket = context.wrap_socket(s.socket, server_side=True)
    threading.Thread(target=s.serve_forever, daemon=True).start()
    t.after(s.shutdown)
    return s, f"{'https' if certificate else 'http'}://127.0.0.1:{s.server_address[1]}"


def test_http_reads_without_any_effect(t):
    s, at = server(t)
    other, s.elsewhere = server(t)
    k = Kernel(t, "")
    out = says(k, f"r = http.get('{at}/echo', {{ query = {{ q = 'a b&c', n = 1 }} }})\nprint(r.status, r:json().path, r.headers['content-length'])")
    assert out.startswith("200\t/echo?n=1&q=a%20b%26c\t"), out
    assert says(k, f"print(http.get('{at}/moved'):json().path)") == "/echo\n"
    assert says(k, f"print(http.head('{at}/echo').body == '')") == "true\n"
    says(k, f"http.get('{at}/away', {{ auth = {{ 'me', 'open sesame' }}, headers = {{ ['X-Api-Key'] = 'key-12345', Accept = 'x/y', ['Job-Token'] = 'j', Own = 'o' }} }})")
    first, second = s.seen[-1][2], other.seen[-1][2]
    assert first["Authorization"] == "Basic " + base64.b64encode(b"me:open sesame").decode() and first["X-Api-Key"] == "key-12345", first
    assert not {"Authorization", "X-Api-Key", "Job-Token", "Own"} & set(second) and second["Accept"] == "x/y", second
    assert says(k, f"http.get('{at}/echo', {{ headers = {{ ['X-Vault-Token'] = 'hvs.' .. 'verysecret' }} }})\nprint('hvs.' .. 'verysecret')") == "[secret]\n"
    assert "redirects more than 5 times" in fails(k, f"http.get '{at}/loop'")
    message = fails(k, f"http.get '{at}/none?token=t0psecret'")
    assert message == f"GET {at}/none?…: the server says 404: nothing here… (check = false allows that)", message
    assert says(k, f"print(http.get('{at}/none', {{ check = false }}).status)") == "404\n"
    assert "are no text; file =" in fails(k, f"http.get '{at}/bytes'")
    assert says(k, f"r = http.get('{at}/bytes', {{ file = 'got/b.bin' }})\nprint(r.size, r.file, fs.sha256 'got/b.bin')") == \
        "256000\tgot/b.bin\t" + hashlib.sha256(bytes(range(256)) * 1000).hexdigest() + "\n"
    assert os.listdir(os.path.join(k.cwd, "got")) == ["b.bin"]
    assert fails(k, f"http.get('{at}/slow', {{ timeout = '300ms' }})").startswith(f"GET {at}/slow: ")
    assert "begins with https" in fails(k, "http.get 'file:///etc/passwd'")
    assert "do not stand in the address" in fails(k, "http.get 'http://me:pw@127.0.0.1/'")
    assert fails(k, f"http.get '{at}/a b'") == f"GET {at}/a b: http: the address has a blank in it, which is written %20"
    assert "a control character in it (byte 9)" in fails(k, f"http.get '{at}/a\\tb'")
    assert not k.of("ledger")
    with open(k.journal(), encoding="utf-8") as f:
        text = f.read()
    assert "key-12345" not in text.replace("['X-Api-Key'] = 'key-12345'", "") and "bWU6" not in text


def test_http_waits_for_no_other_request_to_its_host(t):
    pair = os.path.join(t.dir(), "pair.pem")
    made = sh("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
              "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pair, "-out", pair + ".crt")
    assert made.code == 0, made
    with open(pair, "a", encoding="utf-8") as f, open(pair + ".crt", encoding="utf-8") as crt:
        f.write(crt.read())
    k = Kernel(t, "")
    for version, certificate in (("HTTP/1.0", None), ("HTTP/1.1", None), ("HTTP/1.1", pair)):
        s, at = server(t, certificate, version)
        s.meeting = threading.Barrier(3)
        out = says(k, f"got = parallel.map({{ 1, 2, 3 }}, function() return http.get('{at}/together', {{ insecure = true }}).body end)\n"
                      "print(table.concat(got, ' '))")
        assert out == "met met met\n", (version, out)


def test_http_sends_what_is_granted(t):
    s, at = server(t)
    k = Kernel(t, cell(f"http.post('{at}/make', {{ json = {{ a = 1 }} }})"), headless=True)
    assert k.finish() == 3 and not s.seen and f"POST {at}/make" in k.of("error")[0]["message"], k.of("error")
    notebook = cell(f"r = http.post('{at}/make', {{ json = {{ b = 1, a = 'x' }}, verify = '{at}/made' }})\nprint(r.status, r:json().id)", "Post") \
        + cell("assert(io.open 'go')", "Stop")
    k = Kernel(t, notebook, "--allow", "cluster", headless=True)
    assert k.finish() == 1 and k.text() == "201\t7\n", k.of("error")
    assert s.seen[0][3] == b'{"a":"x","b":1}' and s.seen[0][2]["Content-Type"] == "application/json", s.seen
    open(os.path.join(k.cwd, "go"), "w", encoding="utf-8").close()
    again = Kernel(t, notebook, "--resume", k.of("welcome")[0]["run"], "--allow", "cluster", headless=True, cwd=k.cwd)
    assert again.finish() == 0 and again.text() == "201\t7\n" * 2, again.of("error")
    assert [x[0] for x in s.seen] == ["POST", "GET"], s.seen
    form = Kernel(t, cell(f"http.put('{at}/echo', {{ form = {{ a = 'x y', b = {{ 1, 2 }} }} }})"), "--allow", "cluster", headless=True)
    assert form.finish() == 0 and s.seen[-1][3] == b"a=x%20y&b=1&b=2", s.seen[-1]


def test_a_request_whose_answer_was_lost_is_looked_for(t):
    s, at = server(t)
    notebook = cell(f"http.post('{at}/lose', {{ json = {{ n = 1 }}, verify = '{at}/made' }})", "Post")
    k = Kernel(t, notebook, "--allow", "cluster", headless=True)
    assert k.finish() == 1
    again = Kernel(t, notebook, "--resume", k.of("welcome")[0]["run"], "--allow", "cluster", headless=True, cwd=k.cwd)
    assert again.finish() == 0, again.of("error")
    assert [x[0] for x in s.seen] == ["POST", "GET"], s.seen
    notebook = cell(f"http.post('{at}/lose', {{ verify = '{at}/broken?sig=topsecret' }})", "Post")
    k = Kernel(t, notebook, "--allow", "cluster", headless=True)
    assert k.finish() == 1
    again = Kernel(t, notebook, "--resume", k.of("welcome")[0]["run"], "--allow", "cluster", headless=True, cwd=k.cwd)
    assert again.finish() != 0 and f"{at}/broken?… answers 500" in again.of("error")[-1]["message"], again.of("error")


def test_a_certificate_is_kept_once(t):
    k = Kernel(t)
    with open(os.path.join(k.cwd, "ca.pem"), "w", encoding="utf-8") as f:
        f.write("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    ask = "for _ = 1, %d do pcall(http.get, 'https://127.0.0.1:1/', { ca = 'ca.pem' }) end print(#fs.glob '/proc/self/fd/*')"
    few, many = int(says(k, ask % 5)), int(says(k, ask % 60))
    assert many < few + 20, (few, many)


def test_bytes_are_written_as_text_is(t):
    k = Kernel(t)
    assert says(k, r"fs.write('new/x.bin', '\xff\0') print(#fs.read 'new/x.bin')") == "2\n"
    assert os.listdir(os.path.join(k.cwd, "new")) == ["x.bin"]
    assert "random" not in k.of("state")[-1].get("used", {}), k.of("state")[-1]


def test_folders_are_made_by_many_branches(t):
    k = Kernel(t)
    made = "local l = {} for i = 1, 40 do l[i] = i end\nr = parallel.map(l, { at_once = 40 }, function() return fs.temp() end)"
    assert says(k, made + "\nlocal seen, n = {}, 0 for _, f in ipairs(r) do n, seen[f] = n + (seen[f] and 0 or 1), true end\nprint(n)") == "40\n"


def test_a_caught_refusal_is_over(t):
    k = Kernel(t, cell("pcall(http.post, 'http://127.0.0.1:1/x')\nsh('true', { quiet = true })\nerror 'plain'"), headless=True)
    assert k.finish() == 1 and k.of("error")[0]["name"] == "error", k.of("error")
    k = Kernel(t, cell("local _, why = pcall(http.post, 'http://127.0.0.1:1/x')\nsh('true', { quiet = true })\nerror(why, 0)"), headless=True)
    assert k.finish() == 3, k.of("error")  # raised again


def test_a_request_that_cannot_be_verified_is_not_sent_twice(t):
    s, at = server(t)
    notebook = cell(f"http.post('{at}/echo', {{ body = 'x' }})", "Post") + cell("assert(io.open 'go')", "Stop")
    k = Kernel(t, notebook, "--allow", "cluster", headless=True)
    assert k.finish() == 1
    again = Kernel(t, notebook, "--resume", k.of("welcome")[0]["run"], "--allow", "cluster", headless=True, cwd=k.cwd)
    assert again.finish() == 3 and len(s.seen) == 1 and "--redo" in again.of("error")[-1]["message"], again.of("error")


def test_http_trusts_no_stranger(t):
    folder = t.dir()
    both = os.path.join(folder, "both.pem")
    made = sh("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1", "-addext",
              "subjectAltName=IP:127.0.0.1", "-keyout", folder + "/key.pem", "-out", folder + "/cert.pem")
    assert made.code == 0, made
    with open(both, "w", encoding="utf-8") as f:
        f.write(open(folder + "/key.pem", encoding="utf-8").read() + open(folder + "/cert.pem", encoding="utf-8").read())
    s, at = server(t, both)
    k = Kernel(t, "")
    assert "certificate" in fails(k, f"http.get '{at}/echo'") and not s.seen
    assert says(k, f"print(http.get('{at}/echo', {{ ca = '{folder}/cert.pem' }}).status)") == "200\n"
    assert says(k, f"print(http.get('{at}/echo', {{ insecure = true }}).status)") == "200\n"


run(globals())
