// SPDX-License-Identifier: MIT
// Shared by the files that serve Jupyter: life (serve.c), requests (requests.c), cells that run
// (cells.c).
#pragma once
#include "cli/jupyter/peer.h"
#include "cli/jupyter/serve.h"
#include "cli/jupyter/shown.h"
#include "script/protocol/client.h"

#include <sys/types.h>

// What an execute_request has become: its cell first, then each of its user_expressions, which are
// cells that nobody sees.
struct job {
    char *cell;              // that runs now; NULL: none
    int64_t count;           // of the execution, as Jupyter counts them
    int64_t retries;         // attempts that may still follow
    bool silent;             // nothing of it is shown
    bool stored;             // it is in the history
    bool hidden;             // the cell goes when it has run
    cJSON *error;            // of the cell: {ename, evalue, traceback}; NULL: none
    cJSON *values;           // of user_expressions so far
    const cJSON *expression; // of them, that runs: a member of the request; NULL: the cell itself
};

struct serve {
    struct cli *cli;
    const struct serve_options *options;
    loop *loop;
    peer *peer;
    client *client; // NULL: the session has ended
    pid_t guard, kernel;
    fold *fold;
    shown *shown; // NULL until the session has said who it is
    char *run, *spool_dir;
    struct request *queue;   // on shell, in order
    struct request *current; // that is being worked on; not in the queue
    struct job job;
    int64_t count;
    cJSON *history;  // [{line, input, output}, …]
    cJSON *speakers; // {language of another kernel: a cell of it that has run}
    cJSON *asks;     // questions that wait, in order; the first is asked now
    char *last;      // cell of the document that stays; NULL: none yet
    size_t cells;    // that were made for requests which name none
    loop_signal *signals[3];
    loop_timer *watch, *patience;
    pid_t parent; // the process that has started us; 0: its end is not ours
    bool ending;  // Jupyter has said so
    int code;
};

// requests.c: takes a request of Jupyter's. Then works on those that wait.
void requests_take(struct serve *s, struct request *r);
void requests_go_on(struct serve *s);
// Answers the current request, which is then over.
void requests_reply(struct serve *s, const char *type, cJSON *content);

// cells.c: begins to work on the current request, an execute_request.
void cells_begin(struct serve *s);
void cells_event(struct serve *s, message_type type, const cJSON *event);
// The session has ended: so have its cells.
void cells_lost(struct serve *s);
// A source as Jupyter sends it, with the options in its metadata, as the document has it; new. Its
// one cell has marker and source.
notebook *cells_read(const char *code, const cJSON *metadata);

// Code that begins with "%%python" and the like: a cell of the document that speaks the same
// language, borrowed; NULL: none has run, or it is Lua. *skipped: bytes of the line that says so.
const char *cells_speaker(const struct serve *s, const char *code, size_t *skipped);

// questions.c
void questions_event(struct serve *s, message_type type, const cJSON *event);
void questions_answer(struct serve *s, const cJSON *content); // of an input_reply

// serve.c: ends the session, and then us.
void serve_end(struct serve *s, int code);
