// SPDX-License-Identifier: MIT
#include "cli/serving.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "trainer/checkpoint.h"
#include "trainer/serve/serve.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { USAGE = 2, PORT = 8080, MODELS_MAX = 64 };
static const int64_t patience = 20 * CLOCK_SEC; // below Kubernetes' 30 s between TERM and KILL

static const char usage[] =
    "usage: firesteel-worker serve [--port N] [NAME=]MODEL...\n"
    "\n"
    "Answers predictions of models that model:save has written, by KServe's v2 REST protocol:\n"
    "GET /v2/health/ready, POST /v2/models/NAME/infer. NAME is the file's name without its end\n"
    "unless it is said. TERM and INT end it when the requests under way are answered.\n"
    "  --port N    8080 unless it is said; 0: any free one, which it prints\n";

static int fail(const char *what, const char *text)
{
    fprintf(stderr, "firesteel-worker: %s%s%s\n", what, *what ? ": " : "", text);
    return 1;
}

// A model that was saved before it was compiled: what it would be trained by makes no difference.
static int compile(model *m, err *e)
{
    compile_spec spec = {
        .optimizer = optimizer_default(OPTIMIZER_SGD), .loss = LOSS_MEAN_SQUARED_ERROR};
    for (size_t i = 0; i < HEADS_MAX - 1; i++)
        spec.more[i].loss = LOSS_MEAN_SQUARED_ERROR;
    return model_compiled(m) ? 0 : model_compile(m, &spec, e);
}

// "NAME=PATH" or "PATH". The caller owns the name.
static int load(const char *word, struct serve_model *m, err *e)
{
    const char *equals = strchr(word, '='), *slash = strchr(word, '/');
    bool named = equals && (!slash || equals < slash);
    const char *path = named ? equals + 1 : word;
    AUTO_FREE char *base = path_basename(path);
    char *end = strrchr(base, '.');
    if (end && end > base)
        *end = '\0';
    m->model = checkpoint_read(path, e);
    if (!m->model || compile(m->model, e) < 0)
        return err_wrap(e, "%s", path);
    m->name = named ? mem_strndup(word, (size_t)(equals - word)) : mem_strdup(base);
    return 0;
}

static int wait_for_end(server *s, atomic_bool *stop, const sigset_t *signals)
{
    int number;
    sigwait(signals, &number);
    printf("ending\n");
    fflush(stdout);
    pthread_sigmask(SIG_UNBLOCK, signals, NULL); // once more ends it at once
    serve_close(s, patience);
    return 0;
}

static int serve(uint16_t port, struct serve_model *models, size_t n)
{
    err e = {0};
    atomic_bool stop = false;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); // also of the server's thread
    struct serve_options o = {
        .port = port, .models = models, .n = n, .version = FIRESTEEL_VERSION, .stop = &stop};
    server *s = serve_open(&o, &e);
    if (!s)
        return fail("", e.text);
    for (size_t i = 0; i < n; i++)
        printf("serving %s on port %d\n", models[i].name, serve_port(s));
    fflush(stdout);
    return wait_for_end(s, &stop, &signals);
}

static int parse_port(const char *text, uint16_t *port)
{
    int64_t n;
    if (!text || !str_to_int(text, &n) || n < 0 || n > UINT16_MAX)
        return fail("--port", "it is a number from 0 to 65535"), -1;
    *port = (uint16_t)n;
    return 0;
}

static int load_all(int argc, char **argv, struct serve_model *models, size_t *n)
{
    err e = {0};
    for (int i = 0; i < argc; i++) {
        if (*n == MODELS_MAX)
            return fail("", "64 models are the most"), -1;
        if (load(argv[i], &models[*n], &e) < 0)
            return fail("", e.text), -1;
        ++*n;
    }
    return 0;
}

int serving(int argc, char **argv)
{
    struct serve_model models[MODELS_MAX] = {0};
    uint16_t port = PORT;
    size_t n = 0;
    int at = 0, code = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        const char *text = str_starts(argv[at], "--port=") ? argv[at] + strlen("--port=") : NULL;
        if (str_eq(argv[at], "--port") && at + 1 < argc)
            text = argv[++at];
        if (str_eq(argv[at], "--help"))
            return fputs(usage, stdout), 0;
        if (!text)
            return fprintf(stderr, "firesteel-worker: unknown option %s\n%s", argv[at], usage),
                   USAGE;
        if (parse_port(text, &port) < 0)
            return USAGE;
    }
    if (at == argc)
        return fprintf(stderr, "%s", usage), USAGE;
    if (load_all(argc - at, argv + at, models, &n) == 0)
        code = serve(port, models, n);
    for (size_t i = 0; i < n; i++) {
        model_free(models[i].model);
        free((char *)models[i].name);
    }
    return code;
}
