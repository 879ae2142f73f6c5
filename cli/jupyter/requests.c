// SPDX-License-Identifier: MIT
// What Jupyter asks for. Requests on shell are worked on in order; while a cell runs, those that
// need no cell are answered at once.
#include "base/mem.h"
#include "base/str.h"
#include "cli/jupyter/serve_private.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>

enum { SESSION = 1 }; // the number of ours in the history

static cJSON *ok_content(void)
{
    cJSON *content = cJSON_CreateObject();
    json_set_str(content, "status", "ok");
    return content;
}

// Without the session.

static cJSON *kernel_info(struct serve *s, const struct request *r)
{
    cJSON *content = ok_content(), *language = json_object_at(content, "language_info");
    json_set_str(language, "name", "lua");
    json_set_str(language, "version", "5.4");
    json_set_str(language, "mimetype", "text/x-lua");
    json_set_str(language, "file_extension", ".lua");
    json_set_str(language, "pygments_lexer", "lua");
    json_set_str(language, "codemirror_mode", "lua");
    json_set_str(language, "nbconvert_exporter", "script");
    json_set_str(content, "protocol_version", "5.4");
    json_set_str(content, "implementation", "firesteel");
    json_set_str(content, "implementation_version", FIRESTEEL_VERSION);
    json_set_str(content, "banner",
        "firesteel " FIRESTEEL_VERSION ": Lua 5.4 with the cluster; help() lists what there is");
    json_set_bool(content, "debugger", false);
    json_array_at(content, "help_links");
    json_array_at(content, "supported_features");
    return content;
}

static cJSON *comm_info(struct serve *s, const struct request *r)
{
    cJSON *content = ok_content();
    json_object_at(content, "comms");
    return content;
}

static bool in_range(const cJSON *entry, const cJSON *asked)
{
    int64_t line = json_int_or(entry, "line", 0), session = json_int_or(asked, "session", 0);
    return (session == 0 || session == SESSION) && line >= json_int_or(asked, "start", 0) &&
           line < json_int_or(asked, "stop", INT64_MAX);
}

static bool is_known(const cJSON *list, const char *input)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, list)
    {
        if (str_eq(json_str(entry, "input"), input))
            return true;
    }
    return false;
}

// The entries that are asked for, borrowed in a new array.
static cJSON *chosen(const struct serve *s, const cJSON *asked)
{
    const char *how = json_str_or(asked, "hist_access_type", "tail");
    bool unique = json_bool_or(asked, "unique", false);
    cJSON *list = cJSON_CreateArray(), *entry;
    cJSON_ArrayForEach(entry, s->history)
    {
        const char *input = json_str_or(entry, "input", "");
        bool fits = str_eq(how, "range") ? in_range(entry, asked)
                    : str_eq(how, "search")
                        ? fnmatch(json_str_or(asked, "pattern", "*"), input, 0) == 0
                        : true;
        if (fits && !(unique && is_known(list, input)))
            cJSON_AddItemReferenceToArray(list, entry);
    }
    int64_t most = str_eq(how, "range") ? INT64_MAX : json_int_or(asked, "n", INT64_MAX);
    while (cJSON_GetArraySize(list) > most)
        cJSON_DeleteItemFromArray(list, 0);
    return list;
}

static cJSON *history(struct serve *s, const struct request *r)
{
    cJSON *content = ok_content(), *all = json_array_at(content, "history");
    AUTO_JSON *list = chosen(s, r->content);
    const cJSON *entry;
    cJSON_ArrayForEach(entry, list)
    {
        cJSON *row = cJSON_CreateArray();
        cJSON *input = cJSON_CreateString(json_str_or(entry, "input", ""));
        cJSON_AddItemToArray(row, json_new_int(SESSION));
        cJSON_AddItemToArray(row, json_new_int(json_int_or(entry, "line", 0)));
        if (json_bool_or(r->content, "output", false)) {
            cJSON *pair = cJSON_CreateArray();
            const char *output = json_str(entry, "output");
            cJSON_AddItemToArray(pair, input);
            cJSON_AddItemToArray(pair, output ? cJSON_CreateString(output) : cJSON_CreateNull());
            input = pair;
        }
        cJSON_AddItemToArray(row, input);
        cJSON_AddItemToArray(all, row);
    }
    return content;
}

// There are no widgets here: the other side is told that nobody is there.
static cJSON *comm_open(struct serve *s, const struct request *r)
{
    cJSON *content = cJSON_CreateObject();
    json_set_str(content, "comm_id", json_str_or(r->content, "comm_id", ""));
    json_object_at(content, "data");
    peer_show(s->peer, r->header, "comm_close", content);
    return NULL;
}

static cJSON *interrupt(struct serve *s, const struct request *r)
{
    if (s->client)
        client_send(s->client, message_new(MESSAGE_interrupt));
    return ok_content();
}

static cJSON *shut_down(struct serve *s, const struct request *r)
{
    cJSON *content = ok_content();
    json_set_bool(content, "restart", json_bool_or(r->content, "restart", false));
    peer_show(s->peer, r->header, "shutdown_reply", cJSON_Duplicate(content, true));
    return content;
}

// Lookups. Jupyter counts characters, the session bytes.

static size_t bytes_of(const char *text, int64_t characters)
{
    size_t at = 0;
    while (characters-- > 0 && text[at])
        for (at++; (text[at] & 0xc0) == 0x80;)
            at++;
    return at;
}

static int64_t characters_of(const char *text, int64_t bytes)
{
    int64_t n = 0;
    for (int64_t i = 0; i < bytes && text[i]; i++)
        n += (text[i] & 0xc0) != 0x80;
    return n;
}

static cJSON *no_matches(const struct request *r)
{
    cJSON *content = ok_content();
    int64_t at = json_int_or(r->content, "cursor_pos", 0);
    json_array_at(content, "matches");
    json_set_int(content, "cursor_start", at);
    json_set_int(content, "cursor_end", at);
    json_object_at(content, "metadata");
    return content;
}

static cJSON *matches_of(const struct request *r, const cJSON *reply)
{
    if (!json_bool_or(reply, "ok", false))
        return no_matches(r);
    cJSON *content = ok_content();
    const char *code = json_str_or(r->content, "code", "");
    const cJSON *kind = json_get(reply, "kinds") ? json_get(reply, "kinds")->child : NULL, *match;
    int64_t skipped = (int64_t)r->skipped;
    int64_t from = characters_of(code, json_int_or(reply, "start", 0) + skipped),
            to = characters_of(code, json_int_or(reply, "end", 0) + skipped);
    cJSON *matches = json_array_at(content, "matches"),
          *metadata = json_object_at(content, "metadata");
    cJSON *types = json_array_at(metadata, "_jupyter_types_experimental");
    cJSON_ArrayForEach(match, json_get(reply, "matches"))
    {
        cJSON *one = cJSON_CreateObject();
        json_set_int(one, "start", from);
        json_set_int(one, "end", to);
        json_set_str(one, "text", match->valuestring);
        json_set_str(one, "type", cJSON_IsString(kind) ? kind->valuestring : "");
        cJSON_AddItemToArray(types, one);
        cJSON_AddItemToArray(matches, cJSON_CreateString(match->valuestring));
        kind = kind ? kind->next : NULL;
    }
    json_set_int(content, "cursor_start", from);
    json_set_int(content, "cursor_end", to);
    return content;
}

static cJSON *found_of(const struct request *r, const cJSON *reply)
{
    cJSON *content = ok_content();
    const cJSON *data = json_bool_or(reply, "ok", false) ? json_get(reply, "data") : NULL;
    json_set_bool(content, "found", data != NULL);
    json_set(content, "data", data ? cJSON_Duplicate(data, true) : cJSON_CreateObject());
    json_object_at(content, "metadata");
    return content;
}

static cJSON *completeness_of(const struct request *r, const cJSON *reply)
{
    cJSON *content = cJSON_CreateObject();
    const char *status = json_str_or(reply, "status", "unknown");
    json_set_str(content, "status", status);
    if (str_eq(status, "incomplete"))
        json_set_str(content, "indent", "  ");
    return content;
}

static const struct lookup {
    const char *type, *reply;
    message_type message;
    cJSON *(*content)(
        const struct request *r, const cJSON *reply); // reply NULL: the kernel failed to answer
} lookups[] = {
    {"complete_request", "complete_reply", MESSAGE_complete, matches_of},
    {"inspect_request", "inspect_reply", MESSAGE_inspect, found_of},
    {"is_complete_request", "is_complete_reply", MESSAGE_is_complete, completeness_of},
};

static const struct lookup *lookup_of(const char *type)
{
    for (size_t i = 0; i < ARRAY_LEN(lookups); i++)
        if (str_eq(lookups[i].type, type))
            return &lookups[i];
    return NULL;
}

static void on_looked_up(void *arg, const cJSON *reply)
{
    struct serve *s = arg;
    const struct lookup *l = s->peer ? lookup_of(s->current->type) : NULL;
    if (!l)
        return;
    requests_reply(s, l->reply, l->content(s->current, reply));
    requests_go_on(s);
}

static void look_up(struct serve *s, const struct lookup *l)
{
    const cJSON *asked = s->current->content;
    const char *code = json_str_or(asked, "code", "");
    cJSON *message = message_new(l->message);
    size_t skipped, cursor = bytes_of(code, json_int_or(asked, "cursor_pos", INT_MAX));
    const char *speaker = cells_speaker(s, code, &skipped);
    if (speaker && cursor >= skipped && l->message != MESSAGE_is_complete) {
        s->current->skipped = skipped;
        json_set_str(message, "cell", speaker);
    }
    json_set_str(message, "source", code + s->current->skipped);
    if (l->message != MESSAGE_is_complete)
        json_set_int(message, "cursor", (int64_t)(cursor - s->current->skipped));
    client_request(s->client, message, on_looked_up, s);
}

// Which is which.

static const struct simple {
    const char *type, *reply; // reply NULL: it gets none
    cJSON *(*content)(struct serve *s, const struct request *r);
} simples[] = {
    {"kernel_info_request", "kernel_info_reply", kernel_info},
    {"comm_info_request", "comm_info_reply", comm_info},
    {"history_request", "history_reply", history},
    {"interrupt_request", "interrupt_reply", interrupt},
    {"shutdown_request", "shutdown_reply", shut_down},
    {"comm_open", NULL, comm_open},
};

// Answers what needs no cell. A lookup that cannot be done now finds nothing.
static void answer_at_once(struct serve *s, const struct request *r)
{
    const struct lookup *l = lookup_of(r->type);
    const struct simple *found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(simples); i++)
        if (str_eq(simples[i].type, r->type))
            found = &simples[i];
    if (!found && !l)
        return;
    peer_status(s->peer, r->header, "busy");
    cJSON *content = found ? found->content(s, r) : l->content(r, NULL);
    if (l || found->reply)
        peer_reply(s->peer, r, l ? l->reply : found->reply, content);
    else
        cJSON_Delete(content);
    peer_status(s->peer, r->header, "idle");
    if (s->current) // who looks at the last status alone still sees that a cell runs
        peer_status(s->peer, s->current->header, "busy");
    if (found && found->content == shut_down)
        serve_end(s, 0);
}

static bool is_execution(const struct request *r)
{
    return str_eq(r->type, "execute_request");
}

void requests_reply(struct serve *s, const char *type, cJSON *content)
{
    struct request *r = STEAL(s->current);
    peer_reply(s->peer, r, type, content);
    peer_status(s->peer, r->header, "idle");
    request_free(r);
}

static void begin(struct serve *s)
{
    const struct lookup *l = lookup_of(s->current->type);
    peer_status(s->peer, s->current->header, "busy");
    if (l)
        look_up(s, l);
    else
        cells_begin(s);
}

// Returns the first request in the queue that can be answered now. While a cell runs, requests to
// execute wait; while the kernel looks up names, which takes a moment, all requests wait.
static struct request **next_one(struct serve *s)
{
    struct request **at = &s->queue;
    if (s->current && !is_execution(s->current))
        return NULL;
    while (s->current && *at && is_execution(*at))
        at = &(*at)->next;
    return *at ? at : NULL;
}

void requests_go_on(struct serve *s)
{
    for (struct request **at; s->shown && s->client && (at = next_one(s));) {
        struct request *r = *at;
        *at = r->next;
        r->next = NULL;
        if (!s->current && (is_execution(r) || lookup_of(r->type))) {
            s->current = r;
            begin(s);
        } else {
            answer_at_once(s, r); // what we do not know gets no answer, as from other kernels
            request_free(r);
        }
    }
}

void requests_take(struct serve *s, struct request *r)
{
    struct request **last = &s->queue;
    if (str_eq(r->channel, "stdin")) {
        questions_answer(s, r->content);
        request_free(r);
    } else if (!str_eq(r->channel, "shell")) {
        answer_at_once(s, r);
        request_free(r);
    } else {
        while (*last)
            last = &(*last)->next;
        *last = r;
        requests_go_on(s);
    }
}
