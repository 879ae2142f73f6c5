// SPDX-License-Identifier: MIT
// The kernels of Jupyter that a run has, and what is at them: a cell, or a question about names.
// The hub owns its sessions, a session its firesteel-jupyter; runs and questions stand on the
// stacks of their threads. All else is for the loop's thread.
//
//   jupyter.c  the bindings ──> cell.c  one cell, on its thread ──> session.c  lines to and from
//   names.c    questions                ▲  ▲                        firesteel-jupyter, life and end
//   variables.c    about names ──> asked.c │                                 │
//                                    ▲  │  └── calls.c  `import firesteel`   │
//                                    └──┴── message.c   what a kernel says <─┘
#pragma once
#include "base/loop/child.h"
#include "script/jupyter/spec.h"
#include "script/kernel/effects/binding.h"

#include <stdbool.h>

enum {
    CALLS_FD = 3, // of the socket for calls, in a kernel for Python
    NEAR_FD = 4,  // of the folder of the sockets, in one that takes only short paths
};
#define CELL_USED "cluster" // in the ledger: its programs have used the cluster

struct shown {
    char *name;
    display *display;
    struct session *session;
    struct shown *next;
};

struct session {
    char *path, *name, *language; // of its kernelspec
    bool is_python;
    loop *loop;
    child *child; // firesteel-jupyter; NULL: it is not there
    bool up;
    bool subshells; // it can answer while a cell runs (JEP 91)
    char *subshell; // who does; NULL: nobody was asked yet
    int hung;       // subshells that have not answered in time
    bool lost;      // it has ended by itself: its variables are gone
    char *words;    // why it has ended
    char *folder;   // of its sockets
    int owner;
    int64_t sent;      // requests so far
    bool unwatched;    // nobody can tell who opens its kubeconfig
    bool clears;       // before the next output
    char *told;        // the variables of the environment that cells have set, as JSON; NULL: none
    loop_timer *again; // repeats an interrupt; NULL: there was none yet
    buf lines, late;
    struct shown *shown;
    struct run *run;     // the cell at which it is; NULL: none
    struct asked *asked; // and what it is asked between two cells; NULL: nothing
    struct session *next;
};

struct hub {
    struct session *sessions;
    char *python; // the cell's thread: the kernel that the last cell in Python had; NULL: none
    bool used;    // a cell's programs have used the cluster
    bool clients; // and there may be a client, which needs no kubeconfig any more
    bool granted; // a person has let this notebook's programs use the cluster
};

// One cell, on the stack of its thread.
struct run {
    call *call;
    struct hub *hub;
    const struct spec *spec;
    const char *code;
    const cJSON *environment; // variables that cells have set; NULL: none
    const char *expression;   // of a silent one: its value is wanted; NULL: a cell
    cJSON *value;             // of it; NULL: none
    char **env;
    struct session *session;
    loop_pending *pending; // NULL: the thread does not wait
    char id[32];           // of its request; "": not yet sent
    bool idle, replied;
    char *kubeconfig;   // what its programs may use; NULL: none
    char *refusing;     // the path of the one that refuses
    bool opened, noted; // its programs have opened that one; the journal has it
    bool stops;         // it was interrupted: no call is done any more
    cJSON *wanted;      // the call that it waits for; NULL: none
    cJSON *served;      // the answer to it
    char *refusal;      // of a call that was not granted: its message; NULL: none
    char *question;     // it waits for an answer to this; NULL: to none
    bool secret;
    const char *answer;
    cJSON *error; // {name, message, traceback}
    cJSON *info;  // of a kernel that was started for it
    err failed;
};

// A question about names, on the stack of its thread.
struct asked {
    const struct hub *hub;
    const char *path; // of the kernelspec
    const char *type; // of the request
    cJSON *content;   // taken when it is sent
    // While a cell runs: another request, to a subshell, which is answered by a comm's message;
    // NULL and NULL: the same request.
    const char *meanwhile_type;
    cJSON *meanwhile;
    struct session *session;
    loop_pending *pending;
    char id[32];
    bool sent, to_subshell;
    cJSON *reply; // NULL: none
    err failed;
};

// As call_shared wants them.
void *hub_make(call *c, err *e);
void hub_drop(void *hub);

// The kernel of the kernelspec in this folder; NULL: no cell has needed it yet.
struct session *session_find(const struct hub *hub, const char *path);
// The same, made when it is new.
struct session *session_of(struct hub *hub, const struct run *r);
int session_start(struct session *s, struct run *r, err *e);
// It is not there any more: frees what only a living one has.
void session_clear(struct session *s);

// A line to firesteel-jupyter (bridge.h): "do" and more; takes it.
cJSON *session_order(const char *what);
void session_send(struct session *s, cJSON *line);
// A message to the kernel; takes the content.
void session_request(
    struct session *s, const char *channel, const char *type, const char *id, cJSON *content);
// The content of a request to execute.
cJSON *session_execute(const char *code, bool silent);
