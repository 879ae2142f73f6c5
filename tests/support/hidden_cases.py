# SPDX-License-Identifier: MIT
"""Random secrets, the ways in which cells tell them, and the search for parts of them."""
import os
import random

PART = 12  # bytes of a secret that nothing may show
# A text is cut after so many bytes or characters somewhere: secrets begin shortly before these places.
LIMITS = [0, 40, 60, 64, 100, 120, 150, 200, 300, 400, 600, 700, 1000]
# Each tells T, a text with a secret in it; S is the secret alone.
TELLS = [
    "print(T)", "io.stderr:write(T, '\\n')", "io.write(T:sub(1, 9), T:sub(10), '\\n')", "T", "S, T", "{ T, [S] = { deep = S } }",
    "display.table { { v = T } }", "display.table { { [S] = { deep = { T } } } }", "display.table({ { T } }, { columns = { S } })",
    "display.markdown(T)", "display.json { [S] = T }", "display.html('<p>' .. T .. '</p>')",
    "display.html((T:gsub('[<>&]', { ['<'] = '&lt;', ['>'] = '&#x3e;', ['&'] = '&amp;' })))",
    "display.progress(3, T):close()", "print(display.inspect { { T } })",
    "print(select(2, pcall(function() expect(T):equals 'x' end)))", "print(select(2, pcall(function() expect { a = T }:contains 'x' end)))",
    "print(select(2, pcall(function() expect(error):raises(T) end)))", "print(select(2, pcall(function() expect(function() error(T) end):raises 'no' end)))",
    "print(select(2, pcall(image.pull, T)))", "print(select(2, pcall(image.pull, S)))", "print(select(2, pcall(image.resolve, 'localhost:1/' .. S)))",
    "print(select(2, pcall(fs.read, T)))", "print(select(2, pcall(fs.write, '/proc/none/' .. S, 'x')))", "print(select(2, pcall(http.get, T)))",
    "print(select(2, pcall(http.get, 'http://127.0.0.1:1/' .. S)))", "print(select(2, pcall(http.get, 'http://me:' .. S .. '@127.0.0.1:1/')))",
    "print(select(2, pcall(yaml.decode, '? [' .. T)))", "print(select(2, pcall(yaml.decode, 'a: 1\\n' .. 'a: !' .. S)))",
    "print(select(2, pcall(json.decode, T)))", "print(load('x = ' .. ('%q'):format(S) .. ' y'))",
    "print(select(2, pcall(firesteel.sleep, T)))", "sh { 'printf', '%s\\n', T }", "sh({ 'printf', '%s', T }, { quiet = true }).output",
    "print(select(2, pcall(sh, { 'sh', '-c', 'printf %s \"$0\" >&2; exit 3', T })))", "print(select(2, pcall(sh, { T })))",
    "sh('true ' .. \"'\" .. T:gsub(\"'\", \"'\\\\''\") .. \"'\")", "sh { 'true', cwd = T }",
    "run.param('p%d', T)", "run.tag('t%d', T)", "run.tag(S, 't')", "print(select(2, pcall(run.metric, 'm', T)))",
    "parallel.map({ T, S }, function(x) print(x) end)", "print(select(2, pcall(parallel.map, { T }, function(x) error(x) end)))",
    "print(select(2, pcall(k8s.create, { text = T })))", "print(select(2, pcall(k8s.get, 'pods', S)))", "print(select(2, pcall(k8s.apply, T)))",
    "print(select(2, pcall(spark.submit, { app = T })))", "print(select(2, pcall(secret, T)))",
    "print(select(2, pcall(retry, { times = 2, wait = 0 }, function() error(T) end)))", "print(tostring(setmetatable({}, { __tostring = function() return T end })))",
    "print(select(2, pcall(error, { why = T })))", "deeds and print(T)",
]
FAILS = ["error(T)", "error { why = T }", "error(setmetatable({}, { __tostring = function() return T end }))", "expect(T):equals 'x'", "image.pull(T)",
         "sh { 'sh', '-c', 'printf %s \"$0\"; exit 3', T }", "parallel.map({ T }, function(x) error(x) end)", "local t = nil; t[T].x = 1"]


def secret(rng):
    """Its bytes, without NUL. Shapes: a token, what stands in shells and HTML, a key in lines, words, bytes that are no UTF-8."""
    n = rng.choice([8, rng.randint(9, 40), rng.randint(41, 300), rng.randint(301, 4000), 4000])
    shape = rng.randrange(5)
    token = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    if shape == 0:
        return "".join(rng.choice(token + "-_") for _ in range(n)).encode()
    if shape == 1:
        return "".join(rng.choice(token + "<>&\"'\\%{}$ ;=:/?#+") for _ in range(n)).encode().strip() or b"x" * 8
    if shape == 2:
        body = "".join(rng.choice(token + "+/") for _ in range(n))
        lines = [body[i:i + 64] for i in range(0, n, 64)]
        return "\n".join(["-----BEGIN KEY-----", *lines, "-----END KEY-----"]).encode()
    if shape == 3:
        return "".join(rng.choice(token + "äöüßéèñøłžπλд字🔑 ") for _ in range(max(8, n // 2))).strip().encode()
    return bytes(rng.choice(token.encode() + bytes([0xE4, 0xF6, 0xFC, 0xE9, 0xFF])) for _ in range(n))


def lua(data):
    """A string of Lua."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:03d}" for b in data) + '"'


class Search:
    def __init__(self, secrets):
        self.parts = set()
        for data in secrets:
            for line in {data, *data.split(b"\n")}:
                if not line.startswith(b"-----"):
                    self.parts.update(line[i:i + PART] for i in range(max(1, len(line) - PART + 1)) if len(line) >= PART)
        self.short = [s for s in secrets if 6 <= len(s) < PART]

    def found(self, text):
        """The first part of a secret in these bytes, with what is around it; None: there is none."""
        text = text.encode(errors="surrogateescape") if isinstance(text, str) else text
        for data in self.short:
            if data in text:
                at = text.index(data)
                return text[max(0, at - 60):at + 40]
        for at in range(len(text) - PART + 1):
            if text[at:at + PART] in self.parts:
                return text[max(0, at - 60):at + 40]
        return None


def seed():
    given = os.environ.get("FIRESTEEL_SEED")
    return int(given) if given else random.SystemRandom().randrange(1 << 32)


def told(rng, secrets, source, number):
    """A cell that tells one of the secrets, by the number of its variable."""
    which, before = rng.randrange(len(secrets)), max(0, rng.choice(LIMITS) - rng.randrange(14))
    text = "".join(rng.choice("xyz uvw") for _ in range(before)).strip()
    return f"local S = os.getenv 'X{which}_TOKEN'\nlocal T = {lua(text.encode())} .. S .. {lua(rng.choice([b'', b' then more', b'.']))}\n" \
        + source.replace("%d", str(number))


def notebook(rng, secrets, tells, marker='tags=["raises-exception"]'):
    cells = [f"-- %% cell {i} {marker}\n{told(rng, secrets, source, i)}\n" for i, source in enumerate(tells)]
    return "\n".join(cells)


def variables(secrets):
    return {f"X{i}_TOKEN": os.fsdecode(data) for i, data in enumerate(secrets)}
