// SPDX-License-Identifier: MIT
#include "cli/worker/serving.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/worker/package/packaged.h"
#include "trainer/files/checkpoint.h"
#include "trainer/serve/serve.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

enum {
    USAGE = 2,
    PORT = 8080,
    MODELS_MAX = 64,
    BODY_BYTES = 8 << 20,
    BODY_LEAST = 1 << 10,
    BODY_MOST = 1 << 30,
    BODY_SECONDS = 60,
    HEAD_SECONDS = 30,
    ANSWER_SECONDS = 60,
    GRACE_SECONDS = 20, // below Kubernetes' 30 s between TERM and KILL
    SECONDS_MOST = 24 * 60 * 60,
    BATCH_ROWS = 64,
    ROWS_MOST = 1 << 20,
    LATENCY_MOST = 10000, // ms
    RECORD_MB = 64,
    RECORD_FILES = 8,
};

static const char usage[] =
    "usage: firesteel-worker serve [OPTION...] [NAME=]MODEL...\n"
    "\n"
    "Answers predictions of models that model:save has written, and of packages (folders), by "
    "KServe's v2 REST protocol:\n"
    "GET /v2/health/ready, POST /v2/models/NAME/infer. NAME is the file's name without its end\n"
    "unless it is said. TERM and INT end it when the requests under way are answered.\n"
    "  --port N    8080 unless it is said; 0: any free one, which it prints\n"
    "  --drain S   so many seconds it goes on answering after TERM, while it says that it is not "
    "ready; 0\n"
    "  --grace S   so many seconds they may take to be answered; then predictions are cancelled; "
    "20\n"
    "  --body-size N[k|m|g]  bytes of a request's body; 8m\n"
    "  --head S    so many seconds the head of a request may take, from the connection or the last "
    "answer on; 30\n"
    "  --body S    so many seconds its body may take; 60\n"
    "  --answer S  so many seconds its answer may take to be read; 60\n"
    "  --max-batch-size N  rows of requests that wait together and are predicted as one; 64, 1: "
    "none\n"
    "  --max-latency MS    so long the first of them waits for others; 0\n"
    "  --record FOLDER     requests and answers are written there, as JSON lines\n"
    "  --record-size MB    of a file; 64. --record-files N: so many are kept; 8\n";

struct settings {
    int64_t port, body_bytes, head, body, answer, drain, grace, batch, latency, record_mb,
        record_files;
    const char *record;
};

struct served {
    struct serve_model m;
    packaged *package; // owns the model; NULL: it is a file
};

static int fail(const char *what, const char *text)
{
    fprintf(stderr, "firesteel-worker: %s%s%s\n", what, *what ? ": " : "", text);
    return 1;
}

static int infer_packaged(
    void *ctx, const char *name, body *b, const atomic_bool *stop, buf *out, err *e)
{
    return packaged_infer(ctx, name, b, stop, out, e);
}

static void describe_packaged(const void *ctx, buf *out)
{
    packaged_describe(ctx, out);
}

// A package names its model, and may have a function around it.
static int load_package(const char *path, const char *dnn, struct served *s, err *e)
{
    s->package = packaged_open(path, dnn, e);
    if (!s->package)
        return -1;
    if (packaged_has_predict(s->package)) {
        s->m.infer = infer_packaged;
        s->m.describe = describe_packaged;
        s->m.ctx = s->package;
    }
    s->m.model = packaged_model(s->package);
    return 0;
}

// "NAME=PATH" or "PATH": a model or the folder of a package.
static int load(const char *word, const char *dnn, struct served *s, err *e)
{
    const char *equals = strchr(word, '='), *slash = strchr(word, '/');
    bool named = equals && (!slash || equals < slash);
    const char *path = named ? equals + 1 : word;
    AUTO_FREE char *base = path_basename(path);
    char *end = strrchr(base, '.');
    if (end && end > base)
        *end = '\0';
    if (path_is_dir(path)) {
        if (load_package(path, dnn, s, e) < 0)
            return -1;
    } else {
        s->m.model = checkpoint_read(path, e);
        if (!s->m.model || packaged_compile(s->m.model, e) < 0)
            return err_wrap(e, "%s", path);
        packaged_give_dnn(s->m.model, dnn);
    }
    s->m.name = named        ? mem_strndup(word, (size_t)(equals - word))
                : s->package ? mem_strdup(packaged_name(s->package))
                             : mem_strdup(base);
    return 0;
}

static void tell(const char *text)
{
    fail("", text);
}

static int wait_for_end(server *s, const struct settings *set, const sigset_t *signals)
{
    int number;
    sigwait(signals, &number);
    printf("ending\n");
    fflush(stdout);
    pthread_sigmask(SIG_UNBLOCK, signals, NULL); // a second signal ends it at once
    serve_close(s, set->drain * CLOCK_SEC, set->grace * CLOCK_SEC);
    return 0;
}

// Raises the limit of open files as far as possible: each connection is one.
static struct rlimit raise_files(void)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_NOFILE, &files);
    return files;
}

static int serve(const struct settings *set, const struct served *all, size_t n)
{
    struct serve_model models[MODELS_MAX];
    for (size_t i = 0; i < n; i++)
        models[i] = all[i].m;
    err e = {0};
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); // also of the server's thread
    struct serve_options o = {.port = (uint16_t)set->port,
        .models = models,
        .n = n,
        .version = FIRESTEEL_VERSION,
        .body_bytes = (size_t)set->body_bytes,
        .head_ns = set->head * CLOCK_SEC,
        .body_ns = set->body * CLOCK_SEC,
        .answer_ns = set->answer * CLOCK_SEC,
        .batch_rows = (size_t)set->batch,
        .batch_latency_ns = set->latency * CLOCK_MS,
        .record = set->record,
        .record_bytes = set->record_mb << 20,
        .record_files = (size_t)set->record_files,
        .trouble = tell};
    struct rlimit files = raise_files();
    server *s = serve_open(&o, &e);
    if (!s)
        return fail("", e.text);
    if (serve_connections(s) < SERVE_CONNECTIONS)
        fprintf(stderr,
            "firesteel-worker: %zu connections at a time, not %d: it may have %llu open files "
            "(ulimit -Hn)\n",
            serve_connections(s), SERVE_CONNECTIONS, (unsigned long long)files.rlim_cur);
    for (size_t i = 0; i < n; i++)
        printf("serving %s on port %d\n", models[i].name, serve_port(s));
    fflush(stdout);
    return wait_for_end(s, set, &signals);
}

// "8388608", "512k", "64m", "1g", also in Kubernetes' spelling: "64Mi".
static bool read_bytes(const char *text, int64_t *bytes)
{
    size_t digits = strspn(text, "0123456789");
    AUTO_FREE char *number = mem_strndup(text, digits);
    const char *unit = text + digits;
    static const struct {
        const char *name, *also;
        int shift;
    } units[] = {{"", "", 0}, {"k", "Ki", 10}, {"m", "Mi", 20}, {"g", "Gi", 30}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(unit, units[i].name) == 0 || str_eq(unit, units[i].also))
            return str_to_int(number, bytes) && *bytes <= BODY_MOST >> units[i].shift &&
                   (*bytes <<= units[i].shift) >= BODY_LEAST;
    return false;
}

// argv[*at] is "--NAME=N" or "--NAME", and then argv[*at + 1] is N; *at goes to the last word of
// it.
static int parse_option(int argc, char **argv, int *at, struct settings *set)
{
    const struct {
        const char *name;
        int64_t *value, least, most;
    } known[] = {{"--port", &set->port, 0, UINT16_MAX}, {"--drain", &set->drain, 0, SECONDS_MOST},
        {"--grace", &set->grace, 0, SECONDS_MOST}, {"--head", &set->head, 1, SECONDS_MOST},
        {"--body", &set->body, 1, SECONDS_MOST}, {"--answer", &set->answer, 1, SECONDS_MOST},
        {"--max-batch-size", &set->batch, 1, ROWS_MOST},
        {"--max-latency", &set->latency, 0, LATENCY_MOST},
        {"--record-size", &set->record_mb, 1, 1 << 20},
        {"--record-files", &set->record_files, 1, 1 << 20}};
    const char *word = argv[*at];
    size_t length = strcspn(word, "=");
    if (length == strlen("--record") && str_starts(word, "--record")) {
        set->record = word[length] ? word + length + 1 : *at + 1 < argc ? argv[++*at] : "";
        return *set->record ? 0 : (fail("--record", "it is a folder"), -1);
    }
    if (length == strlen("--body-size") && str_starts(word, "--body-size")) {
        const char *text = word[length] ? word + length + 1 : *at + 1 < argc ? argv[++*at] : "";
        return read_bytes(text, &set->body_bytes)
                   ? 0
                   : (fail("--body-size", "it is a number of bytes from 1k to 1g, as 512k or 64m"),
                         -1);
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) != length || memcmp(known[i].name, word, length) != 0)
            continue;
        const char *text = word[length] ? word + length + 1 : *at + 1 < argc ? argv[++*at] : "";
        if (str_to_int(text, known[i].value) && *known[i].value >= known[i].least &&
            *known[i].value <= known[i].most)
            return 0;
        AUTO_FREE char *says = str_fmt("it is a number from %lld to %lld",
            (long long)known[i].least, (long long)known[i].most);
        return fail(known[i].name, says), -1;
    }
    fprintf(stderr, "firesteel-worker: unknown option %s\n%s", word, usage);
    return -1;
}

static int load_all(int argc, char **argv, const char *dnn, struct served *models, size_t *n)
{
    err e = {0};
    for (int i = 0; i < argc; i++) {
        if (*n == MODELS_MAX)
            return fail("", "64 models are the most"), -1;
        if (load(argv[i], dnn, &models[*n], &e) < 0)
            return fail("", e.text), -1;
        const char *name = models[(*n)++].m.name;
        for (size_t k = 0; k + 1 < *n; k++)
            if (str_eq(models[k].m.name, name))
                return fail(name, "two models have this name: NAME=MODEL gives another"), -1;
    }
    return 0;
}

int serving(int argc, char **argv, const char *dnn)
{
    struct served models[MODELS_MAX] = {0};
    struct settings set = {.port = PORT,
        .body_bytes = BODY_BYTES,
        .head = HEAD_SECONDS,
        .body = BODY_SECONDS,
        .answer = ANSWER_SECONDS,
        .grace = GRACE_SECONDS,
        .batch = BATCH_ROWS,
        .record_mb = RECORD_MB,
        .record_files = RECORD_FILES};
    size_t n = 0;
    int at = 0, code = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (str_eq(argv[at], "--help"))
            return fputs(usage, stdout), 0;
        if (parse_option(argc, argv, &at, &set) < 0)
            return USAGE;
    }
    if (at == argc)
        return fprintf(stderr, "%s", usage), USAGE;
    if (load_all(argc - at, argv + at, dnn, models, &n) == 0)
        code = serve(&set, models, n);
    for (size_t i = 0; i < n; i++) {
        if (models[i].package)
            packaged_free(models[i].package);
        else
            model_free(models[i].m.model);
        free((char *)models[i].m.name);
    }
    return code;
}
