// SPDX-License-Identifier: MIT
// The records of a journal: one JSON object a line, {"seq", "time", "mono", "type", …}. This table
// is the format, for the kernel that writes and the fold that reads; doc/journal.md explains it.
// seq counts from 1; time is RFC 3339 with microseconds; mono is ns of the writer's boot clock.
// `cell` is a cell's id everywhere.
#pragma once

enum { JOURNAL_FORMAT = 1 };

//  X(name, text, fields)   a ? marks a field that may be missing
#define RECORD_TYPES(X)                                                                            \
    /* The first record. cells: ids in order. host {name, user, pid, boot}; versions {firesteel,   \
       lua, …}; options {allow[], context?, namespace?, sandbox?, timeout?, cwd} */              \
    X(RUN, "run",                                                                                  \
        "format run notebook{name path text} cells[] parameters{} host{} versions{} options{}")    \
    /* A --resume: what follows was done by another kernel, on the same run. */                    \
    X(RESUME, "resume",                                                                            \
        "notebook{name path text} cells[] parameters{} host{} versions{} options{}")               \
    /* The document as a whole, after an edit. */                                                  \
    X(DOCUMENT, "document", "rev text cells[]")                                                    \
    /* state: queued running ok failed cancelled stale; count: execution count, with running;      \
       ended ones may have reason ("timeout", "interrupt", "refused") */                           \
    X(STATE, "state", "cell state count? reason?")                                                 \
    /* text, or a reference into a spool; name: stdout, stderr */                                  \
    X(STREAM, "stream", "cell name text? spool? from? to?")                                        \
    /* data: MIME bundle with text/plain; result: it is the value of the last expression */        \
    X(DISPLAY, "display", "cell id data{} live? result?")                                          \
    /* The whole of it (data), or rows by uid into its table's "rows"; closed: no longer live */   \
    X(UPDATE, "update", "id data{}? rows[]? closed?")                                              \
    X(CLEAR, "clear", "cell")                                                                      \
    X(ASK, "ask", "id cell? kind text options[]? secret?")                                         \
    X(ANSWER, "answer", "id value?") /* no value for a secret one */                               \
    /* line: in the cell's source */                                                               \
    X(ERROR, "error", "cell name message traceback[]? line?")                                      \
    /* step: intent, outcome, verified, failed, partial, undone. call: number of the effect call   \
       in this run; intent has binding, effect, what, source, ordinal, args; outcome has result or \
       error; target: cluster identity {uid, server, ca} */                                        \
    X(LEDGER, "ledger",                                                                            \
        "call step cell? binding? effect? what? source? ordinal? args? target? result? error?")    \
    /* A capture= took the output of the cell. */                                                  \
    X(CAPTURE, "capture", "cell variable")                                                         \
    /* Something to know that no cell said: lost connections, room left, a wedged kernel. */       \
    X(NOTICE, "notice", "level text")                                                              \
    /* The last record. state: ok failed cancelled timeout refused; exit: run's exit code */       \
    X(END, "end", "state exit reason?")

enum record_type {
#define X(name, text, fields) RECORD_##name,
    RECORD_TYPES(X)
#undef X
        RECORD_UNKNOWN, // of a later minor version: kept and passed on, not understood
};

enum record_type record_type(const char *text);
const char *record_type_name(enum record_type type);
