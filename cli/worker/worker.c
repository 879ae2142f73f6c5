// SPDX-License-Identifier: MIT
// firesteel-worker: runs a trainer file as the driver of its job; or is one of the job's ranks; or,
// as an executor, gives a pod's cores to a driver.
#include "script/worker/core/worker.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/os/entry.h"
#include "base/os/path.h"
#include "base/os/spawn.h"
#include "base/str.h"
#include "cli/places.h"
#include "cli/worker/packages.h"
#include "cli/worker/serving.h"
#include "trainer/dist/job/executor.h"
#include "trainer/dist/job/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] =
    "usage: firesteel-worker [--np N] SCRIPT.lua [ARGUMENT...]\n"
    "       firesteel-worker [--np N] --function FILE (what hvd.run of a cell has packed; -: from "
    "stdin)\n"
    "       firesteel-worker --executor HOST:PORT     (in a pod: lends its cores to that driver)\n"
    "       firesteel-worker --node HOST:PORT --function FILE  (in pods of one kind: node 0 is the "
    "driver, too)\n"
    "       firesteel-worker serve [--port N] MODEL…  (answers predictions over HTTP)\n"
    "       firesteel-worker package …, verify …      (a model with its examples: --help)\n"
    "\n"
    "Runs a trainer file in Lua 5.4 with the modules hvd, nn, data and args.\n"
    "  --np N      processes that hvd.run starts when it is not told (FIRESTEEL_NP; default 1)\n"
    "  --version\n"
    "\n"
    "FIRESTEEL_DATA names a folder with data sets (mnist/). Processes on several machines need MPI "
    "(libmpich12);\nconvolutions are quicker by oneDNN (libdnnl2, in Debian 13 libdnnl3.6), unless "
    "FIRESTEEL_DNN is 0.\n";

enum {
    EXIT_USAGE = 2,
    DEFAULT_PORT = 7337,
    DEFAULT_BUCKET = 4 << 20,
    DEFAULT_START_TIMEOUT = 600,
    DEFAULT_STALL_CHECK = 60, // Horovod's
    STOP_SECONDS = 5,
    SECRET_MOST = 4096,
    FUNCTION_MOST = 64 << 20
};

static atomic_bool stop;
static volatile sig_atomic_t stop_signal;
static worker *volatile running;

static const char *env(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static int fail(const char *text, int code)
{
    fflush(stdout);
    fprintf(stderr, "firesteel-worker: %s\n", text);
    return code;
}

// Code that ignores the stop (a loop in a coroutine, one long call) gets no time: the driver exits,
// and its ranks with it.
static void give_up(int number)
{
    _exit(128 + stop_signal);
}

// The first signal ends the training at the next batch; the second one ends the process.
static void on_stop(int number)
{
    atomic_store(&stop, true);
    stop_signal = number;
    alarm(STOP_SECONDS);
    if (running)
        worker_interrupt(running);
}

static sigset_t stop_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGALRM, give_up);
    // Processes that ranks leave behind become our children, so that we can end and reap them.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

// The path of this executable: the files that belong to it are found from there, in a build folder,
// in an image and after installation.
static char *program_path(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    return n > 0 ? mem_strndup(path, (size_t)n) : mem_strdup("firesteel-worker");
}

static char *first_existing(const char *const *folders, const char *name)
{
    for (; *folders; folders++) {
        AUTO_FREE char *path = path_join(*folders, name);
        if (access(path, X_OK) == 0 || (str_ends(name, ".so") && access(path, R_OK) == 0))
            return STEAL(path);
    }
    return NULL;
}

// `built`: the plug-in's path in a build folder.
static char *find_plugin(const char *folder, const char *built, const char *name)
{
    AUTO_FREE char *lib = path_join(folder, "lib");
    AUTO_FREE char *build = path_join(folder, built);
    AUTO_FREE char *installed = place_installed(LIBEXECDIR);
    const char *const folders[] = {lib, folder, build, installed, NULL};
    char *found = first_existing(folders, name);
    return found ? found : path_join(installed, name);
}

static char **data_folders(const char *folder)
{
    AUTO_FREE char *share = place_installed(DATADIR "/data");
    AUTO_FREE char *build = path_join(folder, "../../recipes/data");
    char **folders = strv_add(NULL, "data");
    if (env("FIRESTEEL_DATA"))
        folders = strv_add(folders, env("FIRESTEEL_DATA"));
    return strv_add(strv_add(folders, share), build);
}

static int core_count(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// Reads an integer from the environment or the command line; false, with a message, if it is not
// one.
static bool read_int(const char *what, const char *text, int least, int most, int *value)
{
    int64_t n;
    if (text && (!str_to_int(text, &n) || n < least || n > most)) {
        fprintf(stderr, "firesteel-worker: %s must be an integer from %d to %d, got \"%s\"\n", what,
            least, most, text);
        return false;
    }
    if (text)
        *value = (int)n;
    return true;
}

// "0.5,1": two numbers of seconds, the first not above the second.
static bool read_range(const char *what, const char *text, double range[2])
{
    int n = 0;
    if (text && (sscanf(text, "%lf,%lf%n", &range[0], &range[1], &n) != 2 || text[n] ||
                    !(range[0] >= 0 && range[1] >= range[0] && range[1] < 1e9))) {
        fprintf(
            stderr, "firesteel-worker: %s must be LEAST,MOST in seconds, got \"%s\"\n", what, text);
        return false;
    }
    return true;
}

// The origin that saved models name; NULL: unknown.
static cJSON *read_notes(void)
{
    const char *text = env("FIRESTEEL_NOTES");
    return text ? json_parse(text, strlen(text), NULL) : NULL;
}

// Writes events to a descriptor, or as marked lines to stdout, so that a pod's log has them.
static void write_event(void *ctx, const char *json, size_t n)
{
    int fd = *(const int *)ctx;
    AUTO_BUF line = {0};
    if (fd < 0)
        buf_str(&line, "@firesteel ");
    buf_add(&line, json, n);
    buf_char(&line, '\n');
    if (fd >= 0) {
        fd_write_all(fd, line.data, line.len, NULL);
        return;
    }
    fwrite(line.data, 1, line.len, stdout);
    fflush(stdout);
}

struct places {
    char *program, *folder, *plugin, *dnn, **data;
};

static struct places find_places(void)
{
    struct places p = {.program = program_path()};
    p.folder = path_dirname(p.program);
    const char *use = env("FIRESTEEL_DNN");
    p.plugin = find_plugin(p.folder, "../trainer/dist", "firesteel-mpi.so");
    if (!use || !str_eq(use, "0"))
        p.dnn = find_plugin(p.folder, "../trainer/dnn", "firesteel-dnn.so");
    p.data = data_folders(p.folder);
    return p;
}

static void free_places(struct places *p)
{
    char *all[] = {p->program, p->folder, p->plugin, p->dnn};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        free(all[i]);
    strv_free(p->data);
}

// The job's secret, from the environment of a pod, or from a descriptor that a launcher leaves
// open; NULL: none. It is erased at its source: no process that we start may inherit it.
static bool take_secret(char **secret)
{
    int fd = -1;
    char *value = getenv("FIRESTEEL_SECRET");
    if (!read_int("FIRESTEEL_SECRET_FD", env("FIRESTEEL_SECRET_FD"), 3, 1 << 20, &fd))
        return false;
    unsetenv("FIRESTEEL_SECRET_FD");
    if (value && *value)
        *secret = mem_strdup(value);
    if (value)
        explicit_bzero(value, strlen(value)); // also in /proc/PID/environ
    unsetenv("FIRESTEEL_SECRET");
    if (fd < 0)
        return true;
    char text[SECRET_MOST + 1];
    size_t n = 0;
    ssize_t got = 0;
    while (n < SECRET_MOST && (got = read(fd, text + n, SECRET_MOST - n)) > 0)
        n += (size_t)got;
    close(fd);
    if (got < 0 || n == 0) {
        fail("FIRESTEEL_SECRET_FD: there is no secret to read from that descriptor", 0);
        return false;
    }
    free(*secret);
    *secret = str_trim(text, n);
    explicit_bzero(text, sizeof text);
    return true;
}

static bool read_environment(struct worker_options *o, int *events_fd)
{
    int timeout = DEFAULT_START_TIMEOUT, stall = DEFAULT_STALL_CHECK, shutdown = 0, no_stall = 0;
    const char *events = env("FIRESTEEL_EVENTS");
    struct driver_options *d = &o->driver;
    const char *operations = env("HOROVOD_CPU_OPERATIONS"); // Horovod's name
    d->mpi = operations && strcasecmp(operations, "MPI") == 0;
    d->slots = 1;
    d->port = DEFAULT_PORT;
    d->bucket = DEFAULT_BUCKET;
    d->bind = env("FIRESTEEL_DRIVER_BIND") ? env("FIRESTEEL_DRIVER_BIND") : "0.0.0.0";
    if (!read_int("FIRESTEEL_NP", env("FIRESTEEL_NP"), 1, 4096, &o->np) ||
        !read_int("FIRESTEEL_MIN_NP", env("FIRESTEEL_MIN_NP"), 0, 4096, &o->min_np) ||
        !read_int("FIRESTEEL_MAX_NP", env("FIRESTEEL_MAX_NP"), 0, 4096, &o->max_np) ||
        !read_range(
            "FIRESTEEL_COOLDOWN_RANGE", env("FIRESTEEL_COOLDOWN_RANGE"), o->cooldown_range) ||
        !read_int("FIRESTEEL_EXECUTORS", env("FIRESTEEL_EXECUTORS"), 0, 4096, &d->executors) ||
        !read_int("FIRESTEEL_MAX_EXECUTORS", env("FIRESTEEL_MAX_EXECUTORS"), 0, 4096,
            &d->executors_most) ||
        !read_int(
            "FIRESTEEL_EXECUTOR_CORES", env("FIRESTEEL_EXECUTOR_CORES"), 1, 4096, &d->slots) ||
        !read_int("FIRESTEEL_DRIVER_PORT", env("FIRESTEEL_DRIVER_PORT"), 0, 65535, &d->port) ||
        !read_int("HOROVOD_SPARK_START_TIMEOUT", env("HOROVOD_SPARK_START_TIMEOUT"), 1, 1 << 30,
            &timeout) ||
        !read_int("HOROVOD_STALL_CHECK_TIME_SECONDS", env("HOROVOD_STALL_CHECK_TIME_SECONDS"), 1,
            1 << 30, &stall) ||
        !read_int("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", env("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"),
            0, 1 << 30, &shutdown) ||
        !read_int(
            "HOROVOD_FUSION_THRESHOLD", env("HOROVOD_FUSION_THRESHOLD"), 0, INT_MAX, &d->bucket) ||
        !read_int(
            "HOROVOD_STALL_CHECK_DISABLE", env("HOROVOD_STALL_CHECK_DISABLE"), 0, 1, &no_stall))
        return false;
    d->executors_most = d->executors_most > d->executors ? d->executors_most : d->executors;
    d->stall_check = no_stall ? 0 : clock_of_seconds((double)stall);
    d->stall_shutdown = no_stall ? 0 : clock_of_seconds((double)shutdown);
    o->start_timeout = clock_of_seconds((double)timeout);
    if (d->executors && !d->secret) {
        fail("FIRESTEEL_EXECUTORS needs FIRESTEEL_SECRET or FIRESTEEL_SECRET_FD, the same as the "
             "executors have",
            0);
        return false;
    }
    if (events && !str_eq(events, "stdout") &&
        !read_int("FIRESTEEL_EVENTS", events, 0, 1 << 20, events_fd))
        return false;
    if (*events_fd > STDERR_FILENO)
        fcntl(*events_fd, F_SETFD, FD_CLOEXEC); // children of os.execute must not write there
    if (events) {
        o->event = write_event;
        o->event_ctx = events_fd;
    }
    return true;
}

static int read_function(const char *path, buf *packed, err *e)
{
    if (!str_eq(path, "-"))
        return path_read(path, packed, FUNCTION_MOST, e);
    char piece[1 << 16];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, stdin)) > 0) {
        if (packed->len + n > FUNCTION_MOST)
            return err_set(e, ERR_LIMIT, "the function has more than %d MiB", FUNCTION_MOST >> 20);
        buf_add(packed, piece, n);
    }
    return 0;
}

// What the driver runs: a trainer file with its arguments, or a packed function.
struct program {
    const char *script, *function;
    char **args;
};

static int run_program(worker *w, const struct program *p)
{
    err e;
    AUTO_BUF failure = {0}, packed = {0};
    if (p->function && read_function(p->function, &packed, &e))
        return fail(e.text, EXIT_USAGE);
    running = w;
    int result = p->function ? worker_run_function(w, packed.data, packed.len, &failure, &e)
                             : worker_run(w, p->script, p->args, &failure, &e);
    running = NULL;
    if (stop_signal)
        return fail("interrupted", 128 + stop_signal);
    return result ? fail(buf_cstr(&failure), 1) : 0;
}

static int run_driver(const struct places *places, int np, const struct program *program)
{
    err e;
    AUTO_FREE char *secret = NULL;
    if (!take_secret(&secret))
        return EXIT_USAGE;
    sigset_t signals = stop_signals();
    int events_fd = -1;
    AUTO_JSON *notes = read_notes();
    struct worker_options options = {
        .plugin = places->plugin,
        .dnn = places->dnn,
        .timeline = env("HOROVOD_TIMELINE"),
        .data_folders = (const char *const *)places->data,
        .notes = notes,
        .driver = {.worker = places->program,
            .secret = secret,
            .cores = core_count(),
            .stop = &stop,
            .stop_signals = &signals},
        .exit = exit,
        .terminal = isatty(STDOUT_FILENO),
        .stop = &stop,
    };
    if (!read_environment(&options, &events_fd))
        return EXIT_USAGE;
    options.np = np ? np : options.np;
    worker *w = worker_new(&options, &e);
    if (!w)
        return fail(e.text, 1);
    int code = run_program(w, program);
    worker_free(w);
    return code;
}

// A rank's output, which is sent to the driver.
struct rank_stream {
    rank_link *link;
    message_kind kind;
};

static ssize_t write_rank_text(void *cookie, const char *bytes, size_t n)
{
    const struct rank_stream *s = cookie;
    const size_t most = 1 << 16;
    for (size_t sent = 0; sent < n; sent += most) {
        size_t piece = n - sent < most ? n - sent : most;
        if (rank_send(s->link, s->kind, bytes + sent, piece, NULL))
            return 0;
    }
    return (ssize_t)n;
}

static FILE *rank_stream_open(struct rank_stream *s)
{
    FILE *f = fopencookie(s, "w", (cookie_io_functions_t){.write = write_rank_text});
    if (!f)
        mem_out(0);
    setvbuf(f, NULL, _IOLBF, BUFSIZ);
    return f;
}

static int run_rank(const struct places *places)
{
    err e;
    rank_link *link = rank_open(LAUNCH_LINK_FD, &e);
    if (!link)
        return fail(e.text, EXIT_USAGE);
    static struct rank_stream out, error;
    out = (struct rank_stream){link, MESSAGE_STDOUT};
    error = (struct rank_stream){link, MESSAGE_STDERR};
    stdout = rank_stream_open(&out);
    stderr = rank_stream_open(&error);
    AUTO_JSON *notes = read_notes();
    struct worker_options options = {
        .plugin = places->plugin,
        .dnn = places->dnn,
        .timeline = env("HOROVOD_TIMELINE"),
        .data_folders = (const char *const *)places->data,
        .notes = notes,
        .exit = _exit,
        .stop = &stop,
    };
    worker *w = worker_new(&options, &e);
    if (w)
        worker_run_rank(w, link, &e);
    dprintf(STDERR_FILENO, "firesteel-worker: %s\n", e.text);
    return 1;
}

static int run_executor(const struct places *places, const char *address)
{
    err e;
    int timeout = DEFAULT_START_TIMEOUT;
    AUTO_FREE char *secret = NULL;
    if (!take_secret(&secret))
        return EXIT_USAGE;
    if (!secret)
        return fail("--executor needs FIRESTEEL_SECRET or FIRESTEEL_SECRET_FD, the same as the "
                    "driver has",
            EXIT_USAGE);
    if (!read_int("HOROVOD_SPARK_START_TIMEOUT", env("HOROVOD_SPARK_START_TIMEOUT"), 1, 1 << 30,
            &timeout))
        return EXIT_USAGE;
    struct executor_options options = {
        .driver = address,
        .secret = secret,
        .worker = places->program,
        .start_timeout = clock_of_seconds((double)timeout),
        .stop = &stop,
    };
    if (executor_run(&options, &e) == 0)
        return 0;
    return stop_signal ? 128 + stop_signal : fail(e.text, err_exit_code(e.code));
}

// Which pod of several alike this is, as Kubernetes or Kubeflow's Trainer tell it; -1: neither has.
static int node_number(void)
{
    int number = -1;
    const char *names[] = {"JOB_COMPLETION_INDEX", "PET_NODE_RANK"};
    for (size_t i = 0; number < 0 && i < ARRAY_LEN(names); i++)
        if (!read_int(names[i], env(names[i]), 0, 1 << 20, &number))
            return -1;
    return number;
}

// The executor beside the driver of node 0. It ends when the driver has no more for it.
static int start_own_executor(
    const struct places *places, const char *port, pid_t *executor, err *e)
{
    AUTO_FREE char *own = str_fmt("127.0.0.1:%s", port);
    const char *argv[] = {places->program, "--executor", own, NULL};
    const struct spawn_fd fds[] = {{STDOUT_FILENO, STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}};
    return spawn(&(struct spawn_spec){.argv = argv,
                     .fds = fds,
                     .fd_n = ARRAY_LEN(fds),
                     .place = SPAWN_GROUP,
                     .death_signal = SIGKILL},
        executor, e);
}

// Pods of one kind: each is an executor, and the first one also the driver.
static int run_node(const struct places *places, const char *address, const char *function)
{
    int number = node_number(), status;
    const char *port = strrchr(address, ':');
    if (number < 0 || !port)
        return fail(
            "--node needs HOST:PORT, and the number of this node in JOB_COMPLETION_INDEX or "
            "PET_NODE_RANK",
            EXIT_USAGE);
    if (number > 0)
        return run_executor(places, address);
    err e;
    pid_t executor;
    if (start_own_executor(places, port + 1, &executor, &e))
        return fail(e.text, 1);
    int code = run_driver(places, 0, &(struct program){.function = function});
    kill(executor, SIGTERM);
    while (waitpid(executor, &status, 0) < 0 && errno == EINTR)
        ;
    return code;
}

// Spark's operator and spark-submit start containers with "driver --properties-file FILE --class …"
// or "executor". An image with Spark has an entry point that understands this; ours has not.
static int refuse_spark(const char *role)
{
    fflush(stdout);
    fprintf(stderr,
        "firesteel-worker: Spark started this image as its %s, but the image has no Spark in it: "
        "build it on one that has, with image.build { from = \"apache/spark:3.5.7\", … }. (Without "
        "Spark, as here, it runs as plain Jobs.)\n",
        role);
    return EXIT_USAGE;
}

static bool is_spark_start(int argc, char **argv)
{
    return (argc > 2 && str_eq(argv[1], "driver") && str_starts(argv[2], "--")) ||
           (argc == 2 && str_eq(argv[1], "executor"));
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv, const char *dnn);
} verbs[] = {{"serve", serving}, {"package", packages_make}, {"verify", packages_verify}};

static int run(const struct places *places, int argc, char **argv)
{
    int at = 1, np = 0;
    if (is_spark_start(argc, argv) && access(argv[1], F_OK) != 0) // a script may be called so
        return refuse_spark(argv[1]);
    if (argc == 2 && str_eq(argv[1], "--rank"))
        return run_rank(places);
    bool is_script = argc > 1 && access(argv[1], F_OK) == 0;
    for (size_t i = 0; !is_script && argc > 1 && i < ARRAY_LEN(verbs); i++)
        if (str_eq(argv[1], verbs[i].name))
            return verbs[i].run(argc - 2, argv + 2, places->dnn);
    catch_signals();
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (argc == 3 && str_eq(argv[1], "--executor"))
        return run_executor(places, argv[2]);
    if (argc == 5 && str_eq(argv[1], "--node") && str_eq(argv[3], "--function"))
        return run_node(places, argv[2], argv[4]);
    for (; at < argc && argv[at][0] == '-'; at++) {
        const char *value = NULL;
        if (str_eq(argv[at], "--function") && at + 2 == argc)
            return run_driver(places, np, &(struct program){.function = argv[at + 1]});
        if (str_starts(argv[at], "--np="))
            value = argv[at] + strlen("--np=");
        else if (str_eq(argv[at], "--np") && at + 1 < argc)
            value = argv[++at];
        if (!value) {
            fprintf(stderr, "firesteel-worker: unknown option %s\n%s", argv[at], usage);
            return EXIT_USAGE;
        }
        if (!read_int("--np", value, 1, 4096, &np))
            return EXIT_USAGE;
    }
    if (at == argc) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    return run_driver(places, np, &(struct program){.script = argv[at], .args = argv + at + 1});
}

// A file over the limit makes its write fail, as a full disk does. A handler, unlike SIG_IGN, is
// not for what a trainer starts.
static void let_it_fail(int signum)
{
    (void)signum;
}

int main(int argc, char **argv)
{
    if (argc == 2 && (str_eq(argv[1], "--help") || str_eq(argv[1], "-h")))
        return fputs(usage, stdout) < 0;
    if (argc == 2 && str_eq(argv[1], "--version"))
        return puts("firesteel-worker " FIRESTEEL_VERSION) < 0;
    // Tensors in loops are short-lived: their memory is kept, since fresh pages cost more than the
    // computation.
    mallopt(M_MMAP_THRESHOLD, 16 << 20);
    mallopt(M_TRIM_THRESHOLD, 32 << 20);
    entry_join();
    signal(SIGXFSZ, let_it_fail);
    struct places places = find_places();
    int code = run(&places, argc, argv);
    free_places(&places);
    return code;
}
