#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Texts are cut by base/str.h (str_short) and, in Lua, by core.short, as TAP. What cuts in another way leaves no mark, and the mask
(script/journal/mask/mask.h) cannot know the beginning of a secret that was cut.

Found are: a precision of %s that is a number or a limit (a slice, whose length is a variable or a difference, is none), snprintf of
a %s into a buffer, utf8_partial, which whoever cuts between characters needs, copies of at most so many bytes; in Lua sub up to a
limit, and a precision. Each place that is allowed is in ALLOWED, with the reason; an entry that allows nothing is an error, too."""
import os
import re
import sys

ROOT = sys.argv[1]
os.chdir(ROOT)
FOLDERS = ("base", "cli", "k8s", "script", "trainer")  # tui draws what is masked
ALLOWED = [
    # path, a part of the statement, why this cuts no text of others, or where its mark is
    ("base/os/git.c", "head->commit", "digits of a commit"),
    ("base/limits.c", "LIMITS_WORDS", "words of our own and numbers"),
    ("base/mem.c", "out of memory", "words of our own and numbers"),
    ("base/str.c", "size_t utf8_partial", "the function"),
    ("base/str.h", "size_t utf8_partial", "the function"),
    ("base/text/ansi.c", "utf8_partial(joined", "what is partial waits for more"),
    ("cli/cli.c", ".sock", "a file's name, and digits of a digest behind it"),
    ("cli/cli.c", "%s/%s-%.8s", "digits of a digest"),
    ("cli/run/conduct.c", "(int)n : 0", "a slice, or nothing"),
    ("cli/verbs/lineage.c", "object ? 60 : SHORT", "a key of the store: a uid or digits of a digest"),
    ("cli/verbs/lineage.c", "sha256:%.12s", "digits of a digest"),
    ("cli/verbs/lineage.c", "commit %.12s", "digits of a commit"),
    ("cli/verbs/lineage.c", '"%s\\n%.*s"', "digits of a digest"),
    ("cli/kernel/remoting.c", "utf8_partial(buf_cstr(carry)", "what is partial waits for more"),
    ("k8s/client/describe/describevolume.c", "n > 140", "as kubectl does; the mark is there"),
    ("k8s/client/watch/podrow.c", "Init:%s", "str_fit has cut it"),
    ("k8s/image/programs/draft.c", "d->created", "a time"),
    ("k8s/image/unpack.c", "digest.text", "digits of a digest"),
    ("k8s/net/websocket.c", "(int)(m->n - 2) : 13", "a slice, or the other text"),
    ("k8s/sandbox/api/logs.c", "s->since", "a time"),
    ("k8s/sandbox/api/openapi.c", "api", "names of groups and versions of the sandbox's own kinds"),
    ("k8s/sandbox/nodes/job.c", "%.57s-%s", "a name of Kubernetes, as its controller makes it"),
    ("k8s/sandbox/nodes/podlog.c", "%.19s.", "a time"),
    ("k8s/sandbox/spark/sparkapp.c", "%.8s-%.4s", "digits of a digest"),
    ("k8s/sandbox/store/event.c", "%.200s.%016llx", "a name of Kubernetes, as its recorder makes it"),
    ("k8s/sandbox/store/store.c", "%.58s%.5s", "a name of Kubernetes, as its server makes it"),
    ("script/api/image/fetch.c", "pulled %s %.19s", "digits of a digest"),
    ("script/api/engines/gang.c", "%s-%.8s", "digits of a digest"),
    ("script/api/image/image.c", "built %s %.19s", "digits of a digest"),
    ("script/api/image/dockerfile.c", "base-%.12s", "digits of a digest"),
    ("script/api/k8s/ledger.c", "NAME_STEM", "a name of Kubernetes, as its server makes it"),
    ("script/api/spark/k8s.c", "%s-%.8s-driver", "digits of a digest"),
    ("cli/jupyter/shown.c", "utf8_partial(bytes.data", "a piece, whose rest comes next"),
    ("script/jupyter/bridge.c", "utf8_partial(text", "a piece, whose rest comes next"),
    ("script/journal/fold/fold_events.c", "c->hash", "digits of a digest, of a journal: it is masked"),
    ("script/journal/fold/fold_events.c", "c->how", "a word of the journal"),
    ("script/journal/origin.c", "SHORT, commit", "digits of a commit"),
    ("script/journal/origin.c", "changed files", "digits of a digest"),
    ("script/journal/file/writer.c", "%.100s-%s-%s", "a run's name, which is part of a file's name"),
    ("k8s/sandbox/nodes/container.c", "4096", "a container's last words, as the kubelet keeps them"),
    ("script/journal/file/writer.c", "n > STAMP", "the end of a run's name"),
    ("trainer/dist/stall.c", "STALL_OPERATION", "names of our own"),
    ("script/kernel/cells/interp.c", "LUA_IDSIZE", "what Lua has cut is compared with it, and not shown"),
    ("script/kernel/cells/values/luajson.c", "luaL_typename", "a type's name"),
    ("script/kernel/cells/values/template.c", "lua_typename", "a type's name"),
    ("script/kernel/effects/call.c", "c->mark", "digits of a digest"),
    ("script/kernel/effects/effects.c", "fx->salt", "random digits"),
    ("script/kernel/effects/said.c", "HALF - utf8_partial", "the mark, of a cut in the middle, is there"),
    ("script/kernel/port/outputs.c", "utf8_partial(s->carry", "what is partial waits for more"),
    ("script/kernel/process/guard.c", "/proc/%.20s", "a process's number"),
    ("script/kernel/process/guard.c", "p->name", "a process's name, which the system keeps to 15 bytes"),
    ("script/kernel/process/guard.c", "shared->note", "a journal's path, which is opened and not shown"),
    ("script/api/pipeline/argorun.lua", "core.run:sub(1, 63)", "a label's value, of the run's name"),
    ("script/api/experiments/children.lua", "sha256:sub(1, 12)", "digits of a digest"),
    ("script/api/files/files.lua", "fs.sha256", "digits of a digest"),
    ("script/api/model/model.lua", "sub(1, 40)", "a name of Kubernetes"),
    ("script/report/junit.c", "timestamp", "a time"),
    ("script/worker/ranks/alike.c", "TEXT, first->text", "str_fit has cut it"),
    ("script/worker/ranks/collective.c", "doing.operation", "names of our own"),
    ("script/worker/model/layers.c", "spec->name", "a name whose length was checked"),
    ("script/worker/model/watches.c", "].name", "a name whose length was checked"),
    ("trainer/auc.c", "w->name", "a name whose length was checked"),
    ("trainer/confusion.c", "w->name", "a name whose length was checked"),
    ("trainer/data/idx.c", "SHA-256", "digits of a digest"),
    ("trainer/nn/model.c", "l[i].name", "a name whose length was checked"),
    ("k8s/image/treetar_read.c", "n > 0 ?", "a slice, or the other text"),
    ("trainer/nn/model.c", "snprintf(name", "a name whose length was checked"),
    ("trainer/serve/body.c", "d->great", "a number"),
    ("trainer/nn/model.c", "m->name", "a name whose length was checked"),
    ("trainer/files/naming.c", "out->base", "a slice of a name whose length was checked"),
    ("trainer/sums.c", "name, sizeof name", "a name whose length was checked"),
    ("trainer/topk.c", "w->name", "a name whose length was checked"),
]


def statements(text):
    """Each call of a function with a format, up to its closing bracket, and its line."""
    for match in re.finditer(r"\b(\w+)\s*\(", text):
        at, depth, quote = match.end(), 1, None
        while depth and at < len(text):
            c = text[at]
            if quote:
                at += c == "\\"
                quote = None if c == quote else quote
            elif c in "\"'":
                quote = c
            else:
                depth += (c == "(") - (c == ")")
            at += 1
        yield match.group(1), text[match.start():at], text.count("\n", 0, match.start()) + 1


def arguments(call):
    """The arguments of one call, split at its own commas."""
    found, depth, quote, at, start = [], 0, None, call.index("(") + 1, call.index("(") + 1
    while at < len(call) - 1:
        c = call[at]
        if quote:
            at += c == "\\"
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and not depth:
            found.append(call[start:at].strip())
            start = at + 1
        at += 1
    return found + [call[start:at].strip()]


LIMIT = re.compile(r"\?|(?<![\w.\[])\d\d|\b[A-Z][A-Z_]{2,}\b")
COPIED = re.compile(r"[<>]=? *(\d\d+|[A-Z][A-Z_]{2,})[^?]*\?")
SPECIFIER = re.compile(r"%(?:%|[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?(?:hh|h|ll|l|z|j|t|L)?([a-zA-Z]))")


def limits(given):
    """The precisions of %s in a call's format that are a limit."""
    for k, argument in enumerate(given):
        if not argument.startswith('"'):
            continue
        rest = iter(given[k + 1:])
        for width, precision, kind in SPECIFIER.findall(argument):
            if not kind:
                continue
            if width == "*":
                next(rest, "")
            how = next(rest, "") if precision == "*" else precision
            next(rest, "")
            if kind == "s" and precision and (precision != "*" or LIMIT.search(how)):
                yield how
        return


def cuts_of_c(text):
    text = re.sub(r"//[^\n]*", lambda m: " " * len(m.group()), text)
    for name, call, line in statements(text):
        given = arguments(call)
        if any(True for _ in limits(given)):
            yield line, call
        elif name in ("buf_add", "utf8_clean", "mem_strndup", "mem_dup") and COPIED.search(given[-1]):
            yield line, call
        elif name == "snprintf" and len(given) > 3 and any(kind == "s" for _, _, kind in SPECIFIER.findall(given[2])):
            yield line, call
    for match in re.finditer(r"\butf8_partial\(", text):
        end = text.index("\n", match.start())
        yield text.count("\n", 0, match.start()) + 1, text[text.rindex("\n", 0, match.start()):end]


def cuts_of_lua(text):
    for number, line in enumerate(text.split("\n"), 1):
        if re.search(r":sub\((1, *|-)(\d\d|[A-Z_]{2})|%\.\d+s|utf8\.offset", line) and not line.lstrip().startswith("--"):
            yield number, line


def sources():
    for folder in FOLDERS:
        for where, _, names in os.walk(folder):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".lua")):
                    yield os.path.join(where, name)


bad, used = [], set()
for path in sorted(sources()):
    with open(path, encoding="utf-8") as f:
        source = f.read()
    for line, call in (cuts_of_lua if path.endswith(".lua") else cuts_of_c)(source):
        call = " ".join(call.split())
        hits = [k for k, (where, part, _) in enumerate(ALLOWED) if where == path and part in call]
        used.update(hits)
        if not hits:
            bad.append(f"{path}:{line}: {call[:160]}")
print("1..2")
print("ok 1 - texts are made short by str_short and core.short" if not bad else "not ok 1 - texts are made short by str_short and core.short")
for text in bad:
    print("#", text)
stale = [f"{where}: {part}" for k, (where, part, _) in enumerate(ALLOWED) if k not in used]
print("ok 2 - each exception is of use" if not stale else "not ok 2 - each exception is of use")
for text in stale:
    print("#", text)
sys.exit(1 if bad or stale else 0)
