// SPDX-License-Identifier: MIT
// k8s.port_forward: ports of this machine that lead into a pod while the run lives. The kernel's
// list of them belongs to the loop's thread. Below the cell stands a line for each call, until it
// is closed.
#include "k8s/client/connect/forward.h"

#include "base/clock.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/api/pods/pod.h"
#include "script/kernel/effects/binding.h"

#include <string.h>

enum { PORT_MOST = 65535, PORTS_MOST = 64 };

struct port {
    int wanted, remote; // wanted 0: any
    bool guessed;       // nobody asked for this port here: another one does as well
    forward *forward;
};

// What one call has opened.
struct opened {
    struct opened *next, **at;
    int id;
    client *client;
    display *display;
    char *pod, *ns, *address, *context;
    char *why;     // why a connection could not be carried last; NULL: none has failed
    int64_t since; // wall ns
    size_t n;
    struct port ports[PORTS_MOST];
};

struct list {
    struct opened *first;
    struct shown *shown;
    int last_id;
};

// A table of them that somebody looks at.
struct shown {
    struct shown *next, **at;
    struct list *list;
    display *display;
    loop_timer *timer;
    char *last; // its rows as they were sent
};

static void *make_list(call *c, err *e)
{
    return mem_alloc(sizeof(struct list));
}

static cJSON *line_of(const struct opened *o, const char *end)
{
    AUTO_BUF text = {0};
    for (size_t i = 0; i < o->n; i++)
        buf_fmt(&text, "%s%s:%d → %d", i ? ", " : "", o->address, o->ports[i].wanted,
            o->ports[i].remote);
    buf_fmt(&text, " of pod %s in namespace %s%s\n", o->pod, o->ns, end);
    cJSON *data = cJSON_CreateObject();
    json_set_str(data, "text/plain", buf_cstr(&text));
    return data;
}

static void opened_free(struct opened *o)
{
    if (o->at) {
        *o->at = o->next;
        if (o->next)
            o->next->at = o->at;
    }
    for (size_t i = 0; i < o->n; i++)
        forward_close(o->ports[i].forward);
    if (o->display)
        display_close(o->display, line_of(o, " (closed)"));
    free(o->pod);
    free(o->ns);
    free(o->address);
    free(o->context);
    free(o->why);
    free(o);
}

static void shown_free(struct shown *s)
{
    *s->at = s->next;
    if (s->next)
        s->next->at = s->at;
    loop_timer_free(s->timer);
    free(s->last);
    free(s);
}

static void drop_list(void *arg)
{
    struct list *l = arg;
    while (l->first)
        opened_free(l->first);
    while (l->shown)
        shown_free(l->shown);
    free(l);
}

static struct list *list_of(call *c, err *e)
{
    return call_shared(c, "forwards", make_list, drop_list, e);
}

static void on_run_end(void *arg)
{
    struct opened *o = arg;
    opened_free(o);
}

static void on_failed(void *arg, const char *why)
{
    struct opened *o = arg;
    AUTO_FREE char *line = str_fmt("%s\n", why);
    free(o->why);
    o->why = mem_strdup(why);
    if (o->display)
        display_text(o->display, line, strlen(line));
}

// A number, or the name of a port of the pod's containers; -1: there is no such name.
static int port_of_pod(const cJSON *pod, const char *word)
{
    int64_t number;
    if (str_to_int(word, &number))
        return number > 0 && number <= PORT_MOST ? (int)number : -1;
    const cJSON *container, *port;
    cJSON_ArrayForEach(container, json_path(pod, "spec.containers"))
    {
        cJSON_ArrayForEach(port, json_get(container, "ports"))
        {
            if (str_eq(json_str(port, "name"), word))
                return (int)json_int_or(port, "containerPort", -1);
        }
    }
    return -1;
}

static bool is_port_of_service(const cJSON *port, const char *word)
{
    int64_t number;
    return str_to_int(word, &number) ? number == json_int_or(port, "port", -1)
                                     : str_eq(json_str(port, "name"), word);
}

// Where a Service's port leads to in its pods. Without an address of its own it has no ports of its
// own, either.
static int port_of_service(const cJSON *service, const cJSON *pod, const char *word)
{
    const cJSON *port;
    cJSON_ArrayForEach(port, json_path(service, "spec.ports"))
    {
        if (!is_port_of_service(port, word))
            continue;
        const cJSON *target = json_get(port, "targetPort");
        bool headless = str_eq(json_path_str(service, "spec.clusterIP"), "None");
        if (cJSON_IsString(target))
            return port_of_pod(pod, target->valuestring);
        return (int)(target && !headless ? target->valueint : json_int_or(port, "port", -1));
    }
    return -1;
}

static int parse_local(const char *word, size_t n, int *port)
{
    AUTO_FREE char *text = mem_strndup(word, n);
    int64_t number = 0;
    if (*text && (!str_to_int(text, &number) || number < 0 || number > PORT_MOST))
        return -1;
    *port = (int)number;
    return 0;
}

int k8s_pod_port(const struct pod_choice *p, const char *word, int *here, int *remote, err *e)
{
    const char *colon = strchr(word, ':'), *there = colon ? colon + 1 : word;
    bool is_service = str_eq(json_str(p->object, "kind"), "Service");
    *remote = is_service ? port_of_service(p->object, p->pod, there) : port_of_pod(p->pod, there);
    if (*remote < 0)
        return err_set(e, ERR_USAGE, "\"%s\" is no port of %s %s", there,
            p->target.resource->singular, p->target.name);
    if (!colon) {
        int64_t same;
        *here = str_to_int(word, &same) ? (int)same : *remote;
        return 0;
    }
    if (parse_local(word, (size_t)(colon - word), here) < 0)
        return err_set(
            e, ERR_USAGE, "\"%s\" is no port: it is written 8080:80, or :80 for a free one", word);
    return 0;
}

static int parse_ports(const struct pod_choice *p, const cJSON *words, struct opened *o, err *e)
{
    const cJSON *word;
    cJSON_ArrayForEach(word, words)
    {
        if (!cJSON_IsString(word) || o->n == PORTS_MOST)
            return err_set(
                e, ERR_USAGE, "k8s.port_forward takes up to %d ports, as \"8080:80\"", PORTS_MOST);
        struct port *port = &o->ports[o->n];
        if (k8s_pod_port(p, word->valuestring, &port->wanted, &port->remote, e) != 0)
            return err_wrap(e, "k8s.port_forward");
        o->n++;
    }
    return o->n ? 0
                : err_set(e, ERR_USAGE, "which port? As in \"8080:80\"; %s %s declares none",
                      p->target.resource->singular, p->target.name);
}

struct opening {
    struct opened *opened;
    struct list *list;
    err error;
    int done;
};

static int listen_all(struct opened *o, err *e)
{
    ERR_GUARD(e);
    for (size_t i = 0; i < o->n; i++) {
        struct port *p = &o->ports[i];
        p->forward = forward_open(o->client,
            &(struct forward_spec){.ns = o->ns,
                .pod = o->pod,
                .remote_port = p->remote,
                .address = o->address,
                .port = p->wanted},
            on_failed, o, e);
        if (!p->forward && p->guessed && p->wanted) {
            p->wanted = 0;
            *e = (err){0};
            i--; // a free one
            continue;
        }
        if (!p->forward)
            return -1;
        p->wanted = forward_port(p->forward);
    }
    return 0;
}

static void start_opening(loop_pending *pending, void *arg)
{
    struct opening *x = arg;
    struct opened *o = x->opened;
    x->done = listen_all(o, &x->error);
    if (x->done == 0) {
        o->id = ++x->list->last_id;
        o->at = &x->list->first;
        o->next = x->list->first;
        if (o->next)
            o->next->at = &o->next;
        x->list->first = o;
    } else {
        opened_free(o);
    }
    loop_call_finish(pending);
}

static cJSON *row_of(const struct opened *o)
{
    cJSON *row = cJSON_CreateObject(), *ports = json_array_at(row, "ports");
    size_t connections = 0;
    json_set_int(row, "id", o->id);
    json_set_str(row, "address", o->address);
    json_set_str(row, "pod", o->pod);
    json_set_str(row, "namespace", o->ns);
    for (size_t i = 0; i < o->n; i++) {
        cJSON *port = cJSON_CreateObject();
        json_set_int(port, "port", o->ports[i].wanted);
        json_set_int(port, "remote", o->ports[i].remote);
        cJSON_AddItemToArray(ports, port);
        connections += o->ports[i].forward ? forward_connections(o->ports[i].forward) : 0;
    }
    json_set_int(row, "connections", (int64_t)connections);
    return row;
}

// The line below the cell; from then on the run's end closes it.
struct showing {
    struct opened *opened;
    call *call;
    cJSON *row;
};

static void start_showing(loop_pending *pending, void *arg)
{
    struct showing *s = arg;
    s->row = row_of(s->opened);
    if (call_is_action(s->call)) { // it belongs to no cell; the table of forwards has it
        AUTO_JSON *line = line_of(s->opened, "");
        const char *text = json_str(line, "text/plain");
        AUTO_FREE char *said = str_trim(text, strlen(text));
        json_set_str(s->row, "said", said);
        loop_call_finish(pending);
        return;
    }
    s->opened->display = call_display(s->call, line_of(s->opened, ""), true);
    display_on_drain(s->opened->display, on_run_end, s->opened, false);
    display_keeps_kernel(s->opened->display);
    display_on_end(s->opened->display, on_run_end, NULL, s->opened);
    loop_call_finish(pending);
}

static const struct loop_call_ops opening_ops = {.start = start_opening};
static const struct loop_call_ops showing_ops = {.start = start_showing};

// A port below 1024 is not ours to open here.
static void add_declared(cJSON *words, int64_t port)
{
    enum { FIRST_FREE = 1024 };
    AUTO_FREE char *word = str_fmt(port < FIRST_FREE ? ":%lld" : "%lld", (long long)port);
    if (port > 0)
        cJSON_AddItemToArray(words, cJSON_CreateString(word));
}

static int open_all(call *c, struct opened *o, cJSON **result, err *e)
{
    struct opening x = {.opened = o, .list = list_of(c, e)};
    struct showing s = {.opened = o, .call = c};
    if (!x.list) {
        opened_free(o);
        return -1;
    }
    loop_call(call_loop(c), NULL, &opening_ops, &x, 0, NULL);
    if (x.done != 0)
        return err_set(e, x.error.code, "k8s.port_forward: %s", x.error.text);
    loop_call(call_loop(c), NULL, &showing_ops, &s, 0, NULL);
    *result = s.row;
    return 0;
}

// What a person has typed, "8080:80 9090": words; "" or nothing: all ports that the pod or Service
// declares. New.
static cJSON *typed_ports(const struct pod_choice *p, const char *typed)
{
    cJSON *words = cJSON_CreateArray();
    char **all = strv_split(typed ? typed : "", ' ');
    for (size_t i = 0; all[i]; i++)
        if (*all[i] && !str_starts(all[i], "--address="))
            cJSON_AddItemToArray(words, cJSON_CreateString(all[i]));
    strv_free(all);
    if (words->child)
        return words;
    bool service = str_eq(json_str(p->object, "kind"), "Service");
    const cJSON *container, *port;
    cJSON_ArrayForEach(container, json_path(p->pod, "spec.containers"))
    {
        cJSON_ArrayForEach(port, json_get(container, "ports"))
        {
            if (!service && str_eq(json_str_or(port, "protocol", "TCP"), "TCP"))
                add_declared(words, json_int_or(port, "containerPort", 0));
        }
    }
    const cJSON *ports = service ? json_path(p->object, "spec.ports") : NULL;
    cJSON_ArrayForEach(port, ports)
    {
        if (str_eq(json_str_or(port, "protocol", "TCP"), "TCP"))
            add_declared(words, json_int_or(port, "port", 0));
    }
    return words;
}

// "--address=0.0.0.0" among the words; new; NULL: it is not said.
static char *typed_address(const char *typed)
{
    const char *at = typed ? strstr(typed, "--address=") : NULL;
    at = at ? at + strlen("--address=") : NULL;
    return at ? mem_strndup(at, strcspn(at, " ")) : NULL;
}

static int port_forward(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct pod_choice p;
    if (k8s_pod_of(c, args, &p, e) != 0)
        return -1;
    bool typed = call_is_action(c);
    const char *line = json_str(args, "ports");
    AUTO_FREE char *where = typed ? typed_address(line) : NULL;
    const char *address = where ? where : json_str_or(args, "address", "127.0.0.1");
    struct opened *o = mem_alloc(sizeof *o);
    *o = (struct opened){.client = p.target.client,
        .pod = mem_strdup(p.name),
        .ns = mem_strdup(p.ns),
        .context = mem_strdup(client_config(p.target.client)->context),
        .since = clock_wall(),
        .address = mem_strdup(str_eq(address, "localhost") ? "127.0.0.1" : address)};
    AUTO_JSON *words = typed ? typed_ports(&p, line) : NULL;
    int done = parse_ports(&p, words ? words : json_get(args, "ports"), o, e);
    for (size_t i = 0; i < o->n; i++)
        o->ports[i].guessed = typed && !(line && strpbrk(line, "0123456789"));
    k8s_pod_done(&p);
    if (done == 0)
        return open_all(c, o, result, e);
    opened_free(o);
    return -1;
}

// The ports as they were asked for, with those of this machine as they were taken; new.
static cJSON *same_ports(const cJSON *asked, const cJSON *taken)
{
    cJSON *words = cJSON_CreateArray();
    const cJSON *word = asked ? asked->child : NULL, *port = taken ? taken->child : NULL;
    for (; word && port; word = word->next, port = port->next) {
        const char *there = cJSON_GetStringValue(word), *colon = there ? strchr(there, ':') : NULL;
        AUTO_FREE char *same = str_fmt("%lld:%s", (long long)json_int_or(port, "port", 0),
            colon   ? colon + 1
            : there ? there
                    : "");
        cJSON_AddItemToArray(words, cJSON_CreateString(same));
    }
    return words;
}

// What an earlier kernel has opened ended with it: the same is opened again, at the same ports of
// this machine, so that the recorded handle leads there again. It changes nothing in the cluster.
static int verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    AUTO_JSON *again = cJSON_Duplicate(args, true);
    const cJSON *taken = json_get(recorded, "ports");
    if (taken)
        json_set(again, "ports", same_ports(json_get(args, "ports"), taken));
    return port_forward(c, again, result, NULL) == 0 ? VERDICT_YES : VERDICT_NO;
}

static void about_forward(call *c, const cJSON *args, struct about *about)
{
    AUTO_BUF ports = {0};
    const cJSON *word, *asked = json_get(args, "ports");
    if (call_is_action(c)) {
        const char *typed = json_str_or(args, "ports", "");
        AUTO_FREE char *words = str_trim(typed, strlen(typed));
        AUTO_FREE char *verb = *words ? str_fmt("forward %s of this machine to", words)
                                      : mem_strdup("forward ports of this machine to");
        k8s_about_call(c, args, verb, "", about);
        return;
    }
    cJSON_ArrayForEach(word, asked)
    {
        buf_fmt(
            &ports, "%s%s", ports.len ? ", " : "", cJSON_IsString(word) ? word->valuestring : "?");
    }
    AUTO_FREE char *verb = str_fmt("open %s of this machine to %s of",
        ports.len && strchr(ports.data, ',') ? "ports" : "a port", buf_cstr(&ports));
    k8s_about_call(c, args, verb, "", about);
}

// Before a person is asked: can the server do it, and to which pod does it lead?
static int check(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    struct pod_choice p;
    if (k8s_target(c, args, true, &t, e) != 0 || k8s_pods_can(&t, "portforward", e) != 0 ||
        k8s_pod_of(c, args, &p, e) != 0)
        return -1;
    AUTO_JSON *words = typed_ports(&p, json_str(args, "ports"));
    struct opened none = {0};
    int done = parse_ports(&p, words, &none, e);
    k8s_pod_done(&p);
    *result = done == 0 ? cJSON_CreateObject() : NULL;
    return done;
}

static void add_shown_row(cJSON *rows, const struct opened *o, size_t i)
{
    const struct port *p = &o->ports[i];
    AUTO_FREE char *uid = str_fmt("forward-%d-%zu", o->id, i),
                   *local = str_fmt("%s:%d", o->address, p->wanted),
                   *remote = str_fmt("%d", p->remote),
                   *connections = str_fmt("%zu", forward_connections(p->forward));
    AUTO_BUF since = {0};
    cJSON *row = cJSON_CreateObject(), *cells = json_array_at(row, "cells"),
          *about = cJSON_CreateObject();
    json_set_int(about, "close", o->id);
    json_set_int(about, "port", p->wanted);
    json_set_str(row, "uid", uid);
    json_set_str(row, "name", local);
    json_set(row, "about", about);
    clock_rfc3339(&since, o->since, CLOCK_SECONDS);
    const char *before[] = {local, remote, o->pod, o->ns, o->context, connections};
    for (size_t k = 0; k < ARRAY_LEN(before); k++)
        cJSON_AddItemToArray(cells, cJSON_CreateString(before[k] ? before[k] : ""));
    cJSON_AddItemToArray(cells, tabletext_age(NULL, buf_cstr(&since), NULL));
    cJSON_AddItemToArray(cells, cJSON_CreateString(o->why ? o->why : ""));
    cJSON_AddItemToArray(rows, row);
}

// The oldest first.
static cJSON *shown_rows(const struct list *l)
{
    AUTO_JSON *newest_first = cJSON_CreateArray();
    for (const struct opened *o = l->first; o; o = o->next)
        for (size_t i = o->n; i-- > 0;)
            if (o->ports[i].forward)
                add_shown_row(newest_first, o, i);
    cJSON *rows = cJSON_CreateArray();
    for (int n; (n = cJSON_GetArraySize(newest_first)) > 0;)
        cJSON_AddItemToArray(rows, cJSON_DetachItemFromArray(newest_first, n - 1));
    return rows;
}

static cJSON *shown_bundle(const struct list *l)
{
    static const char *const columns[] = {
        "LOCAL", "PORT", "POD", "NAMESPACE", "CONTEXT", "CONNECTIONS", "AGE", "NOTE"};
    static const char *const keep[] = {"LOCAL", "PORT", "POD"}, *const actions[] = {"stop-forward"};
    AUTO_BUF text = {0};
    cJSON *table = cJSON_CreateObject(), *data = cJSON_CreateObject();
    json_set(table, "columns", cJSON_CreateStringArray(columns, ARRAY_LEN(columns)));
    json_set(table, "keep", cJSON_CreateStringArray(keep, ARRAY_LEN(keep)));
    json_set(table, "actions", cJSON_CreateStringArray(actions, ARRAY_LEN(actions)));
    json_set(table, "rows", shown_rows(l));
    json_set_str(table, "title", "forwarded ports");
    tabletext_print(table, clock_wall(), &text);
    json_set_str(data, "text/plain", buf_cstr(&text));
    json_set(data, "application/vnd.firesteel.table+json", table);
    return data;
}

static void on_shown_timer(void *arg)
{
    struct shown *s = arg;
    AUTO_JSON *rows = shown_rows(s->list);
    AUTO_FREE char *now = json_to_str(rows);
    if (str_eq(now, s->last))
        return;
    free(s->last);
    s->last = STEAL(now);
    display_replace(s->display, shown_bundle(s->list));
}

static void on_shown_end(void *arg)
{
    struct shown *s = arg;
    display_close(s->display, NULL);
    shown_free(s);
}

static cJSON *shown_now(void *arg)
{
    const struct shown *s = arg;
    return shown_bundle(s->list);
}

struct looking {
    struct list *list;
    call *call;
    int64_t display;
};

static void start_looking(loop_pending *pending, void *arg)
{
    enum { EVERY_MS = 1000 };
    struct looking *x = arg;
    struct shown *s = mem_alloc(sizeof *s);
    *s = (struct shown){.list = x->list, .at = &x->list->shown, .next = x->list->shown};
    if (s->next)
        s->next->at = &s->next;
    x->list->shown = s;
    s->display = call_display(x->call, shown_bundle(x->list), true);
    s->timer = loop_timer_new(call_loop(x->call), on_shown_timer, s);
    x->display = display_id(s->display);
    loop_timer_start(s->timer, EVERY_MS, EVERY_MS);
    display_on_end(s->display, on_shown_end, shown_now, s);
    loop_call_finish(pending);
}

static const struct loop_call_ops looking_ops = {.start = start_looking};

// A live table of them, for a person.
static int forwards_table(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct looking x = {.list = list_of(c, e), .call = c};
    if (!x.list)
        return -1;
    loop_call(call_loop(c), NULL, &looking_ops, &x, 0, NULL);
    *result = cJSON_CreateObject();
    json_set_int(*result, "display", x.display);
    return 0;
}

struct query {
    struct list *list;
    int id;   // to close; 0: only tell
    int port; // of this one; 0: all of it
    cJSON *rows;
};

// Closes one port of a call that opened several, or all of it.
static void close_one(struct opened *o, int port)
{
    size_t left = 0;
    for (size_t i = 0; i < o->n; i++) {
        if (o->ports[i].wanted == port)
            forward_close(STEAL(o->ports[i].forward));
        left += o->ports[i].forward != NULL;
    }
    if (!port || !left)
        opened_free(o);
}

static void start_query(loop_pending *pending, void *arg)
{
    struct query *q = arg;
    for (struct opened *o = q->list->first, *next; o; o = next) {
        next = o->next;
        cJSON_InsertItemInArray(q->rows, 0, row_of(o));
        if (o->id == q->id)
            close_one(o, q->port);
    }
    for (struct shown *s = q->list->shown; s; s = s->next)
        on_shown_timer(s);
    loop_call_finish(pending);
}

static const struct loop_call_ops query_ops = {.start = start_query};

// {"close": id}, or nothing: the list, oldest first.
static int forwards(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct query q = {.list = list_of(c, e),
        .id = (int)json_int_or(args, "close", 0),
        .port = (int)json_int_or(args, "port", 0),
        .rows = cJSON_CreateArray()};
    if (q.list)
        loop_call(call_loop(c), NULL, &query_ops, &q, 0, NULL);
    *result = q.rows;
    return q.list ? 0 : -1;
}

const struct binding k8s_forward_bindings[] = {
    {.name = "k8s.port_forward",
        .effect = EFFECT_CLUSTER,
        .start = port_forward,
        .verify = verify,
        .describe = about_forward},
    {.name = "k8s.forwards", .effect = EFFECT_PURE, .start = forwards},
    {.name = "k8s.forwards_table", .effect = EFFECT_PURE, .start = forwards_table},
    {.name = "k8s.forward_check", .effect = EFFECT_PURE, .start = check},
    {0},
};
