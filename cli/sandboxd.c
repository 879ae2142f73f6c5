// SPDX-License-Identifier: MIT
// firesteel-sandbox: the sandbox as a program. It serves until it is told to stop; a private one
// until its starter is gone.
#include "base/mem.h"
#include "base/os/entry.h"
#include "base/os/folder.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/places.h"
#include "k8s/sandbox/api/openapi.h"
#include "k8s/sandbox/api/registry_route.h"
#include "k8s/sandbox/api/sandbox.h"
#include "k8s/sandbox/nodes/podinit.h"
#include "k8s/sandbox/pods.h"
#include "k8s/sandbox/registry/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

extern char **environ;

struct settings {
    const char *dir, *images;
    bool is_private, processes;
    int notify_fd; // -1: none
    int64_t port;
};

struct program {
    struct settings settings;
    loop *loop;
    sandbox *sandbox;
    image_store *images;
    registry *registry;
    pods *pods;
    char **bwrap; // the words that start it
    loop_signal *signals[3];
    loop_poll *parent;
    int lock;
};

static const char usage[] = "Usage: firesteel-sandbox --dir DIR --images DIR [--port PORT] "
                            "[--notify-fd N] [--private] [--processes]\n"
                            "  --dir DIR       where the kubeconfig and the pods' folders go\n"
                            "  --images DIR    the local image store\n"
                            "  --port PORT     listen there on 127.0.0.1 (default: any free port)\n"
                            "  --notify-fd N   write {\"kubeconfig\": PATH} there when ready\n"
                            "  --processes     run pods as plain processes, also those of images\n"
                            "  --openapi       print the schemas of its kinds, and end\n"
                            "  --private       end when the reader of that descriptor is gone\n";

static int fail(const char *what)
{
    fprintf(stderr, "firesteel-sandbox: %s\n", what);
    return -1;
}

static int parse_options(struct settings *s, int argc, char **argv)
{
    static const struct option options[] = {{"dir", required_argument, NULL, 'd'},
        {"images", required_argument, NULL, 'i'}, {"port", required_argument, NULL, 'p'},
        {"notify-fd", required_argument, NULL, 'n'}, {"private", no_argument, NULL, 'P'},
        {"processes", no_argument, NULL, 'o'}, {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'}, {0}};
    int64_t fd;
    *s = (struct settings){.notify_fd = -1};
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (c == 'd')
            s->dir = optarg;
        else if (c == 'i')
            s->images = optarg;
        else if (c == 'P')
            s->is_private = true;
        else if (c == 'o')
            s->processes = true;
        else if (c == 'n' && str_to_int(optarg, &fd) && fd >= 0 && fd < 65536)
            s->notify_fd = (int)fd;
        else if (c == 'p' && str_to_int(optarg, &s->port) && s->port >= 0 && s->port < 65536)
            ;
        else if (c == 'v' || c == 'h')
            return printf("%s", c == 'v' ? "firesteel-sandbox " FIRESTEEL_VERSION "\n" : usage), 1;
        else
            return fputs(usage, stderr), -1;
    }
    if (optind < argc || !s->dir || !s->images || (s->is_private && s->notify_fd < 0))
        return fputs(usage, stderr), -1;
    return 0;
}

// Only one sandbox may use a folder: while we live, we hold the lock on a file that has our process
// number.
static int take_lock(struct program *p, err *e)
{
    AUTO_FREE char *path = path_join(p->settings.dir, "pid");
    AUTO_FD dir = folder_open_path(p->settings.dir, 1, true, e);
    if (dir < 0)
        return -1;
    p->lock = folder_file(dir, "pid", O_RDWR | O_CREAT, 0600);
    if (p->lock < 0)
        return err_errno(e, errno, "cannot open %s", path);
    if (flock(p->lock, LOCK_EX | LOCK_NB) != 0)
        return err_set(e, ERR_EXISTS, "a sandbox is running in %s already", p->settings.dir);
    char text[24];
    int n = snprintf(text, sizeof text, "%d\n", (int)getpid());
    if (ftruncate(p->lock, 0) != 0)
        return err_errno(e, errno, "cannot write %s", path);
    return fd_write_all(p->lock, text, (size_t)n, e);
}

static void on_signal(void *arg, int signum)
{
    struct program *p = arg;
    loop_stop(p->loop);
}

static void on_parent(void *arg, int events)
{
    struct program *p = arg;
    loop_stop(p->loop);
}

// Nobody ever writes to this descriptor: if it becomes readable or has an error, the other end is
// gone.
static int follow_parent(struct program *p, err *e)
{
    if (!p->settings.is_private)
        return 0;
    p->parent = loop_poll_new(p->loop, p->settings.notify_fd, on_parent, p, e);
    if (!p->parent)
        return -1;
    loop_poll_set(p->parent, LOOP_READ);
    return 0;
}

static int open_pods(struct program *p, err *e)
{
    AUTO_FREE char *self = place_program("firesteel-sandbox");
    AUTO_FREE char *worker = place_program("firesteel-worker");
    p->bwrap = place_bwrap(getenv("PATH"));
    p->pods = pods_open(p->sandbox,
        &(struct pods_options){
            .images = p->settings.images,
            .program = self,
            .worker = worker,
            .processes = p->settings.processes,
            .bwrap = (const char *const *)p->bwrap,
            .env = (const char *const *)environ,
        },
        e);
    return p->pods ? 0 : -1;
}

static int open_all(struct program *p, err *e)
{
    static const int signums[] = {SIGINT, SIGTERM, SIGHUP};
    p->loop = loop_new(e);
    if (!p->loop || take_lock(p, e) != 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(signums); i++)
        if (!(p->signals[i] = loop_signal_new(p->loop, signums[i], on_signal, p, e)))
            return -1;
    p->sandbox = sandbox_open(p->loop,
        &(struct sandbox_options){
            p->settings.dir, FIRESTEEL_VERSION, (uint16_t)p->settings.port, p->settings.processes},
        e);
    p->images = p->sandbox ? image_store_open(p->settings.images, e) : NULL;
    if (!p->images)
        return -1;
    p->registry = registry_new(p->images);
    http_route(sandbox_http(p->sandbox), "/v2/", &registry_route, p->registry);
    if (open_pods(p, e) != 0 || sandbox_ready(p->sandbox, e) != 0)
        return -1;
    return follow_parent(p, e);
}

static void close_all(struct program *p)
{
    pods_close(p->pods);
    if (p->bwrap)
        strv_free(p->bwrap);
    sandbox_close(p->sandbox);
    registry_free(p->registry);
    image_store_free(p->images);
    loop_poll_free(p->parent);
    for (size_t i = 0; i < ARRAY_LEN(p->signals); i++)
        loop_signal_free(p->signals[i]);
    if (p->loop)
        loop_free(p->loop);
    if (p->lock >= 0)
        close(p->lock);
}

static int notify(struct program *p, err *e)
{
    if (p->settings.notify_fd < 0)
        return 0;
    AUTO_JSON *line = cJSON_CreateObject();
    AUTO_BUF b = {0};
    json_set_str(line, "kubeconfig", sandbox_kubeconfig(p->sandbox));
    json_print(&b, line);
    buf_char(&b, '\n');
    return fd_write_all(p->settings.notify_fd, b.data, b.len, e);
}

// The kinds that every sandbox has, for whoever checks manifests without a cluster.
static int print_openapi(void)
{
    kinds *all = kinds_new();
    AUTO_JSON *document = openapi_document(all, NULL, FIRESTEEL_VERSION);
    AUTO_FREE char *text = json_to_str(document);
    kinds_free(all);
    return puts(text) < 0 || fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
    err e = {0};
    if (argc == 2 && str_eq(argv[1], "--openapi"))
        return print_openapi();
    if (argc > 1 && str_eq(argv[1], "--pod")) {
        podinit_run(argv + 2, &e);
        fprintf(stderr, "firesteel-pod: %s\n", e.text);
        return PODINIT_FAILED;
    }
    struct program p = {.lock = -1};
    int usage_code = parse_options(&p.settings, argc, argv);
    if (usage_code)
        return usage_code < 0 ? 2 : 0;
    entry_serve(p.settings.notify_fd);
    signal(SIGPIPE, SIG_IGN);
    int code = open_all(&p, &e) == 0 && notify(&p, &e) == 0 ? 0 : 1;
    if (code == 0)
        loop_run(p.loop);
    else
        fail(e.text);
    close_all(&p);
    return code;
}
