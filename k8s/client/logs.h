// SPDX-License-Identifier: MIT
// The log of one container, read once or followed through cuts, restarts and rotation: no line
// twice, and a mark where lines may be missing. Lives on the loop's thread, belongs to its opener.
#pragma once
#include "k8s/client/client.h"

struct logs_spec {
    const char *ns, *pod;
    const char *container; // NULL: the pod's only one, or its annotation's default
    bool follow, previous;
    int64_t tail;    // lines from the end to begin with; <0: all
    int64_t since_s; // not older than so many seconds; 0: all
};

enum log_kind {
    LOG_LINE,    // what the container wrote
    LOG_GAP,     // lines may be missing here: text tells how long a time
    LOG_RESTART, // the container was started again
    LOG_AWAY,    // the server cannot be read: text tells why. Not part of the log
};
struct log_line {
    enum log_kind kind;
    int64_t stamp; // wall ns
    const char *text;
    size_t n;
};
struct logs_ops {
    // The log may be closed from here.
    void (*line)(void *arg, const struct log_line *line);
    // At the end: all was read, or, when it is followed, the container will not write any more, or
    // its pod is gone. e->code ERR_NONE: in order. The log is gone after it.
    void (*done)(void *arg, const err *e);
};
typedef struct logs logs;
logs *logs_open(client *c, const struct logs_spec *spec, const struct logs_ops *ops, void *arg);
void logs_pause(logs *l, bool paused);
void logs_close(logs *l); // NULL is fine

// Takes "2026-01-02T03:04:05.000000006Z text" apart: the stamp, and where the text begins; false:
// there is no stamp (the stamp is left alone, the text is all of it).
bool log_stamp(const char *line, size_t n, int64_t *stamp, size_t *text);
