// SPDX-License-Identifier: MIT
#include "tui/bench/desk.h"

#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"
#include "tui/bench/command.h"
#include "tui/bench/views.h"

#include <ctype.h>
#include <string.h>

const char desk_help[] = "a live table of this kind: -A, -n NAMESPACE, -l SELECTOR, --context NAME";

// What people type for the kinds that most clusters have, each kind with its own name first. All
// others are known to the server.
static const struct {
    const char *name, *others; // with blanks between them
} usual[] = {{"pods", "pod po"}, {"deployments", "deployment deploy"},
    {"replicasets", "replicaset rs"}, {"statefulsets", "statefulset sts"},
    {"daemonsets", "daemonset ds"}, {"jobs", "job"}, {"cronjobs", "cronjob cj"},
    {"services", "service svc"}, {"ingresses", "ingress ing"}, {"configmaps", "configmap cm"},
    {"secrets", "secret"}, {"namespaces", "namespace ns"}, {"nodes", "node no"},
    {"events", "event ev"}, {"persistentvolumeclaims", "persistentvolumeclaim pvc"},
    {"persistentvolumes", "persistentvolume pv"}, {"serviceaccounts", "serviceaccount sa"},
    {"endpoints", "endpoint ep"}, {"horizontalpodautoscalers", "horizontalpodautoscaler hpa"},
    {"customresourcedefinitions", "customresourcedefinition crd crds"},
    {"resourcequotas", "resourcequota quota"}, {"storageclasses", "storageclass sc"},
    {"networkpolicies", "networkpolicy netpol"},
    {"poddisruptionbudgets", "poddisruptionbudget pdb"}, {"roles", "role"},
    {"rolebindings", "rolebinding"}, {"clusterroles", "clusterrole"},
    {"clusterrolebindings", "clusterrolebinding"},
    {"sparkapplications", "sparkapplication sparkapp"},
    {"scheduledsparkapplications", "scheduledsparkapplication scheduledsparkapp"},
    {"workflows", "workflow wf"}, {"cronworkflows", "cronworkflow cwf"}, {"mpijobs", "mpijob"}};

static size_t kind_length(const char *words)
{
    size_t n = 0;
    while (isalnum((unsigned char)words[n]) || (n && (words[n] == '.' || words[n] == '-')))
        n++;
    return isalpha((unsigned char)*words) && (!words[n] || words[n] == ' ') ? n : 0;
}

static bool same(const char *name, const char *words, size_t n)
{
    return name && strlen(name) == n && strncasecmp(name, words, n) == 0;
}

static bool has_word(const char *all, const char *word, size_t n)
{
    for (const char *at = all; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (length == n && strncasecmp(at, word, n) == 0)
            return true;
        at += length;
    }
    return false;
}

static bool is_usual(const char *words, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(usual); i++)
        if (same(usual[i].name, words, n) || has_word(usual[i].others, words, n))
            return true;
    return false;
}

static bool is_short_name(const cJSON *kind, const char *words, size_t n)
{
    const cJSON *name;
    cJSON_ArrayForEach(name, json_get(kind, "shortNames"))
    {
        if (cJSON_IsString(name) && same(name->valuestring, words, n))
            return true;
    }
    return false;
}

// Is it a name of a kind that the cluster has told?
static bool is_known(const bench *b, const char *words, size_t n)
{
    const cJSON *kind;
    cJSON_ArrayForEach(kind, b->desk.kinds)
    {
        if (same(json_str(kind, "name"), words, n) || same(json_str(kind, "kind"), words, n) ||
            is_short_name(kind, words, n))
            return true;
    }
    return false;
}

enum desk_line desk_line(const bench *b, const char *words)
{
    size_t n = kind_length(words);
    if (command_is_own(b, words))
        return DESK_SURE;
    if (n && (is_usual(words, n) || is_known(b, words, n)))
        return DESK_SURE;
    return n < 2 ? DESK_NO : words[n] || memchr(words, '.', n) ? DESK_SURE : DESK_MAYBE;
}

// The options of a line, as kubectl spells them; a word alone is a namespace, as in k9s.
static const struct {
    const char *brief, *name, *field;
} options[] = {
    {"-n", "--namespace", "namespace"},
    {"-l", "--selector", "selector"},
    {NULL, "--field-selector", "field_selector"},
    {NULL, "--context", "context"},
};

// Takes one option, with its value from the same word or the next one. Returns how many words it
// has, 0: it is none.
static size_t take_option(char *const *words, cJSON *with)
{
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        size_t n = strlen(options[i].name);
        if (str_starts(words[0], options[i].name) && words[0][n] == '=') {
            json_set_str(with, options[i].field, words[0] + n + 1);
            return 1;
        }
        if (!str_eq(words[0], options[i].name) && !str_eq(words[0], options[i].brief))
            continue;
        json_set_str(with, options[i].field, words[1]);
        return words[1] ? 2 : 0;
    }
    return 0;
}

static int parse(char *const *words, cJSON *with, err *e)
{
    json_set_str(with, "kind", words[0]);
    for (size_t i = 1, n; words[i]; i += n) {
        n = 1;
        if (str_eq(words[i], "-A") || str_eq(words[i], "--all-namespaces"))
            json_set_bool(with, "all_namespaces", true);
        else if (words[i][0] == '-' && !(n = take_option(words + i, with)))
            return err_set(e, ERR_USAGE,
                "%s: no such option, or its value is missing (-A, -n, -l, --field-selector, "
                "--context)",
                words[i]);
        else if (words[i][0] != '-')
            json_set_str(with, "namespace", words[i]);
    }
    return 0;
}

// What the line leaves open is where the desk looks.
static void complete(const bench *b, cJSON *with)
{
    bool elsewhere = json_get(with, "context") != NULL;
    if (!elsewhere)
        json_set_str(with, "context", b->desk.context);
    if (json_get(with, "namespace") || json_get(with, "all_namespaces") || elsewhere)
        return;
    json_set_str(with, "namespace", b->desk.ns);
    if (b->desk.all)
        json_set_bool(with, "all_namespaces", true);
}

static char **words_of(const char *line)
{
    char **all = strv_split(line, ' '), **words = mem_array(1, sizeof *words);
    for (size_t i = 0; all[i]; i++)
        if (*all[i])
            words = strv_add(words, all[i]);
    strv_free(all);
    return words;
}

// A table that was asked for.
struct opening {
    cJSON *with;
    const struct view_ops *from; // the view on top then
    bool replaces;
    bool turned;  // it is one that was looked at, in its place again
    bool guessed; // nobody knew that the word is a kind
};

enum { VISITED = 50 }; // tables to which one can go back

// Keeps what the table on top was asked for with. Those that one came back from are forgotten.
static void remember(bench *b, const struct opening *o)
{
    cJSON *all = b->desk.visited ? b->desk.visited : (b->desk.visited = cJSON_CreateArray());
    int n = cJSON_GetArraySize(all);
    if (o->turned)
        return;
    if (o->replaces && n) {
        cJSON_ReplaceItemInArray(all, b->desk.at, cJSON_Duplicate(o->with, true));
        return;
    }
    while (n > b->desk.at + 1)
        cJSON_DeleteItemFromArray(all, --n);
    if (n == VISITED)
        cJSON_DeleteItemFromArray(all, 0);
    cJSON_AddItemToArray(all, cJSON_Duplicate(o->with, true));
    b->desk.at = cJSON_GetArraySize(all) - 1;
}

static void show(bench *b, struct opening *o, int64_t display)
{
    bench_hush(b);
    if (json_get(o->with, "kind"))
        remember(b, o);
    if (o->turned && table_kind(b->top))
        view_pop(b->top); // with its filter and order: this is another table
    if (o->replaces)
        table_replace_peek(b->top, display, STEAL(o->with));
    else
        table_push_peek(b, display, STEAL(o->with));
}

static void on_opened(bench *b, void *arg, const cJSON *reply)
{
    struct opening *o = arg;
    int64_t display = json_int_or(reply, "display", 0);
    const char *why = json_str_or(json_get(reply, "error"), "message", "the kernel has gone");
    bool stays = b->top->ops == o->from;
    if (!json_bool_or(reply, "ok", false) || !display) {
        if (o->guessed)
            bench_complain(b, "no action %s; %s", json_str_or(o->with, "kind", ""), why);
        else
            bench_complain(b, "%s", why);
    } else if (!stays) {
        remote_drop(b, display);
    } else {
        show(b, o, display);
    }
    cJSON_Delete(o->with);
    free(o);
}

static void ask(bench *b, const char *action, struct opening what)
{
    struct opening *o = mem_alloc(sizeof *o);
    *o = what;
    o->from = b->top->ops;
    cJSON *m = message_new(MESSAGE_act);
    json_set_int(m, "display", 0);
    json_set_str(m, "action", action);
    json_set(m, "with", cJSON_Duplicate(what.with, true));
    bench_say(b, "%s …", json_str_or(what.with, "kind", action));
    remote_ask(b, m, on_opened, o);
}

void desk_open(bench *b, const char *words)
{
    err e = {0};
    AUTO_JSON *with = cJSON_CreateObject();
    if (!remote_ready(b, false))
        return;
    char **list = words_of(words);
    int parsed = parse(list, with, &e);
    strv_free(list);
    if (parsed < 0) {
        bench_complain(b, "%s", e.text);
        return;
    }
    complete(b, with);
    bool guessed = desk_line(b, words) == DESK_MAYBE;
    ask(b, "table", (struct opening){.with = STEAL(with), .guessed = guessed});
}

void desk_replace(bench *b, cJSON *with)
{
    if (remote_ready(b, false))
        ask(b, "table", (struct opening){.with = with, .replaces = b->top->ops == &table_view_ops});
    else
        cJSON_Delete(with);
}

void desk_turn(bench *b, bool forward)
{
    int turn = forward ? 1 : table_kind(b->top) ? -1 : 0;
    int at = b->desk.at + turn;
    const cJSON *with = at < 0 ? NULL : cJSON_GetArrayItem(b->desk.visited, at);
    if (!remote_ready(b, false))
        return;
    if (with)
        ask(b, "table", (struct opening){.with = cJSON_Duplicate(with, true), .turned = true});
    b->desk.at = with ? at : b->desk.at; // at once: the next key counts from there
    if (!with)
        bench_say(b, forward ? "no table comes after this one" : "no table was looked at before");
}

void desk_contexts(bench *b)
{
    if (remote_ready(b, false))
        ask(b, "contexts", (struct opening){.with = cJSON_CreateObject()});
}

void desk_gpus(bench *b)
{
    cJSON *with = cJSON_CreateObject();
    json_set_str(with, "context", b->desk.context);
    if (remote_ready(b, false))
        ask(b, "nodes", (struct opening){.with = with});
    else
        cJSON_Delete(with);
}

void desk_forwards(bench *b)
{
    if (remote_ready(b, false))
        ask(b, "forwards", (struct opening){.with = cJSON_CreateObject()});
}

static void set(char **field, const char *value)
{
    char *copy = mem_strdup(value && *value ? value : NULL);
    free(*field);
    *field = copy;
}

// The table on top shows the same kind at the new place.
static void follow(bench *b)
{
    const char *kind = table_kind(b->top);
    const char *ns = b->desk.all ? "all namespaces" : b->desk.ns;
    if (kind) {
        cJSON *with = cJSON_CreateObject();
        json_set_str(with, "kind", kind);
        complete(b, with);
        desk_replace(b, with);
        return;
    }
    bench_say(b, "tables are from %s%s%s now; cells stay where they are",
        ns ? ns : "the context's namespace", b->desk.context ? " of " : "",
        b->desk.context ? b->desk.context : "");
}

void desk_use_namespace(bench *b, const char *name)
{
    b->desk.all = str_eq(name, "-A") || str_eq(name, "all");
    set(&b->desk.ns, b->desk.all ? NULL : name);
    follow(b);
}

static void on_kinds(bench *b, void *arg, const cJSON *reply)
{
    const cJSON *kinds = json_get(reply, "result");
    if (!cJSON_IsArray(kinds) || b->desk.kinds || (uintptr_t)arg != b->desk.places)
        return; // the table itself will say why
    b->desk.kinds = cJSON_Duplicate(kinds, true);
}

// Asks once, and only what is asked anyway: typing alone makes no connection.
static void want_kinds(bench *b)
{
    if (b->desk.asked || b->replaying || !b->client || !b->cluster)
        return;
    b->desk.asked = true;
    cJSON *m = message_new(MESSAGE_act), *with = json_object_at(m, "with");
    json_set_int(m, "display", 0);
    json_set_str(m, "action", "kinds");
    json_set_str(with, "context", b->desk.context);
    remote_ask(b, m, on_kinds, (void *)b->desk.places);
}

static void forget_kinds(bench *b)
{
    cJSON_Delete(STEAL(b->desk.kinds));
    b->desk.asked = false;
    b->desk.places++;
}

bool desk_kinds_known(const bench *b)
{
    return b->desk.kinds != NULL;
}

static size_t usual_kinds(const char *typed, struct desk_kind *out, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(usual) && n < most; i++)
        if (strncasecmp(usual[i].name, typed, strlen(typed)) == 0)
            out[n++] = (struct desk_kind){usual[i].name, NULL};
    return n;
}

static bool has_name(const struct desk_kind *kinds, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(kinds[i].name, name))
            return true;
    return false;
}

size_t desk_kinds(bench *b, const char *typed, struct desk_kind *out, size_t most)
{
    size_t n = 0, length = strlen(typed);
    const cJSON *kind;
    if (length < 2 || kind_length(typed) != length)
        return 0;
    want_kinds(b);
    if (!b->desk.kinds)
        return usual_kinds(typed, out, most);
    cJSON_ArrayForEach(kind, b->desk.kinds)
    {
        const char *name = json_str_or(kind, "name", "");
        bool fits = strncasecmp(name, typed, length) == 0 || is_short_name(kind, typed, length);
        if (n < most && fits && !has_name(out, n, name)) // it may be in another group, too
            out[n++] = (struct desk_kind){name, kind};
    }
    return n;
}

void desk_use_context(bench *b, const char *name)
{
    forget_kinds(b);
    set(&b->desk.context, name);
    set(&b->desk.ns, NULL);
    b->desk.all = false;
    follow(b);
}

void desk_done(bench *b)
{
    forget_kinds(b);
    cJSON_Delete(b->desk.visited);
    free(b->desk.context);
    free(b->desk.ns);
}
