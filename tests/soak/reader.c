// SPDX-License-Identifier: MIT
// Prints what a watch or a followed log tells, line by line, until its standard input ends.
//
//   reader KUBECONFIG watch configmaps SELECTOR    "+ NAME VERSION", "~ NAME VERSION", "- NAME -",
//   "synced" reader KUBECONFIG logs SELECTOR                the lines with their pods' names: "NAME
//   | text"
#include "k8s/client/logs/tail.h"
#include "k8s/client/watch/watch.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <unistd.h>

struct reader {
    loop *loop;
    http *http;
    client *client;
    const char *resource, *labels;
    watch *watch;
    tail *tail;
    loop_poll *input;
};

static void on_event(void *arg, enum watch_change change, const cJSON *object)
{
    static const char signs[] = "+~-";
    printf("%c %s %s\n", signs[change], json_path_str(object, "metadata.name"),
        change == WATCH_DELETED ? "-" : json_path_str(object, "metadata.resourceVersion"));
    fflush(stdout);
}

static void on_synced(void *arg)
{
    puts("synced");
    fflush(stdout);
}

static const struct watch_ops watch_callbacks = {.event = on_event, .synced = on_synced};

static void on_line(void *arg, enum log_kind kind, const char *text, size_t n)
{
    fwrite(text, 1, n, stdout);
    putchar('\n');
    fflush(stdout);
}

static void on_done(void *arg, const err *e)
{
    struct reader *r = arg;
    r->tail = NULL;
    printf("done %s\n", e->code == ERR_NONE ? "" : e->text);
    fflush(stdout);
}

static const struct tail_ops tail_callbacks = {.line = on_line, .done = on_done};

static void begin_watch(struct reader *r)
{
    struct resource of = {.group = "",
        .version = "v1",
        .plural = r->resource,
        .singular = r->resource,
        .kind = "Object",
        .namespaced = true,
        .api_version = "v1"};
    r->watch = watch_open(r->client,
        &(struct watch_spec){.resource = &of, .ns = "default", .labels = r->labels},
        &watch_callbacks, r);
}

static void begin_logs(struct reader *r)
{
    r->tail = tail_open(r->client,
        &(struct tail_spec){
            .ns = "default", .labels = r->labels, .follow = true, .prefix = true, .tail = -1},
        &tail_callbacks, r, NULL);
}

static void on_input(void *arg, int events)
{
    struct reader *r = arg;
    char byte;
    if (read(STDIN_FILENO, &byte, 1) > 0)
        return;
    watch_close(STEAL(r->watch));
    tail_close(STEAL(r->tail));
    loop_poll_free(STEAL(r->input));
    loop_stop(r->loop);
}

int main(int argc, char **argv)
{
    err e = {0};
    bool watches = argc == 5 && str_eq(argv[2], "watch");
    if (!watches && !(argc == 4 && str_eq(argv[2], "logs"))) {
        fputs("usage: reader KUBECONFIG watch RESOURCE SELECTOR | KUBECONFIG logs SELECTOR\n",
            stderr);
        return 2;
    }
    struct reader r = {.resource = watches ? argv[3] : NULL, .labels = argv[argc - 1]};
    if (!(r.loop = loop_new(&e)) || !(r.http = http_new(r.loop, "firesteel-test", &e)) ||
        !(r.client =
                client_open(r.loop, r.http, &(struct client_options){.kubeconfig = argv[1]}, &e)) ||
        !(r.input = loop_poll_new(r.loop, STDIN_FILENO, on_input, &r, &e))) {
        fprintf(stderr, "reader: %s\n", e.text);
        return 1;
    }
    loop_poll_set(r.input, LOOP_READ);
    watches ? begin_watch(&r) : begin_logs(&r);
    loop_run(r.loop);
    client_close(r.client);
    http_free(r.http);
    loop_free(r.loop);
    return 0;
}
