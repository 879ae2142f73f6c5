// SPDX-License-Identifier: MIT
#include "tests/support/fake.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tests/support/tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct server {
    pid_t pid;
    int keep; // its stdin: the fake ends when this is closed
    char *dir;
    int port;
} servers[2];

struct running {
    struct fake fake;
    pthread_t thread;
    loop_timer *stay;
    client *clients[8]; // closed with the fake, when the loop has ended
    int count;
};

static void start(struct server *s, bool legacy)
{
    err e = {0};
    s->dir = path_make_temp("/tmp", "firesteel-fake-", &e);
    CHECK_OK(s->dir, e);
    int in[2], out[2];
    CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    s->pid = fork();
    if (s->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execlp("python3", "python3", tap_source("tests/support/apifake.py"), s->dir,
            legacy ? "--legacy" : NULL, NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    s->keep = in[1];
    FILE *f = fdopen(out[0], "r");
    CHECK(fscanf(f, "ready %d", &s->port) == 1);
    fclose(f);
}

static void *run(void *l)
{
    loop_run(l);
    return NULL;
}

static void nothing(void *arg)
{
}

struct fake *fake_open(bool legacy)
{
    struct server *s = &servers[legacy];
    if (!s->pid)
        start(s, legacy);
    struct running *r = mem_alloc(sizeof *r);
    struct fake *f = &r->fake;
    f->dir = s->dir;
    f->port = s->port;
    CHECK_OK((f->loop = loop_new(&f->e)), f->e);
    CHECK_OK((f->http = http_new(f->loop, "firesteel-test", &f->e)), f->e);
    r->stay = loop_timer_new(f->loop, nothing, NULL);
    loop_timer_start(r->stay, 1000000, 1000000);
    CHECK_OK((f->client = fake_client(f, (struct client_options){0})), f->e);
    pthread_create(&r->thread, NULL, run, f->loop);
    return f;
}

client *fake_client(struct fake *f, struct client_options options)
{
    AUTO_FREE char *path = path_join(f->dir, "kubeconfig");
    if (!options.kubeconfig)
        options.kubeconfig = path;
    struct running *r = (struct running *)f;
    client *c = client_open(f->loop, f->http, &options, &f->e);
    CHECK(r->count < (int)ARRAY_LEN(r->clients));
    r->clients[r->count++] = c;
    return c;
}

static void stop(void *l)
{
    loop_stop(l);
}

void fake_close(struct fake *f)
{
    struct running *r = (struct running *)f;
    loop_post(f->loop, stop, f->loop);
    pthread_join(r->thread, NULL);
    for (int i = 0; i < r->count; i++)
        client_close(r->clients[i]);
    http_free(f->http);
    loop_timer_free(r->stay);
    loop_free(f->loop);
    free(r);
}

void fake_write(struct fake *f, const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(f->dir, name);
    CHECK_OK(path_write(path, text, strlen(text), 0700, &f->e) == 0, f->e);
}

char *fake_read(struct fake *f, const char *name)
{
    AUTO_FREE char *path = path_join(f->dir, name);
    AUTO_BUF text = {0};
    CHECK_OK(path_read(path, &text, 0, &f->e) == 0, f->e);
    return buf_take(&text);
}

void fake_end(void)
{
    for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
        if (!servers[i].pid)
            continue;
        close(servers[i].keep);
        waitpid(servers[i].pid, NULL, 0);
        path_remove(servers[i].dir, NULL);
        free(servers[i].dir);
    }
}
