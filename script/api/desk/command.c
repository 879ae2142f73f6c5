// SPDX-License-Identifier: MIT
// A person's own command on a row, from their config.yaml: it is asked for and recorded here, and
// started by the workbench, on its terminal. The words of the command have placeholders for what
// the row stands for; no shell reads them.
#include "base/mem.h"
#include "base/str.h"
#include "script/api/bindings.h"
#include "script/api/desk/desk.h"

#include <ctype.h>
#include <string.h>

enum { SHOWN = 120 }; // most bytes of a command in a question

struct place {
    const char *name, *value;
};
enum { PLACES = 6 };

static void places_of(const struct target *t, const cJSON *args, struct place out[PLACES])
{
    const char *container = json_str_or(args, "container", "");
    const struct place all[PLACES] = {{"NAME", t->name},
        {"NAMESPACE", t->resource->namespaced ? t->ns : ""},
        {"CONTEXT", client_config(t->client)->context}, {"KIND", t->resource->kind},
        {"RESOURCE", t->resource->plural}, {"CONTAINER", container}};
    memcpy(out, all, sizeof all);
}

// A placeholder is $NAME or ${NAME}; $$ is a dollar.
static int expand(const struct place *places, const char *word, buf *out, err *e)
{
    for (const char *at = word; *at;) {
        if (*at != '$') {
            buf_char(out, *at++);
            continue;
        }
        if (at[1] == '$') {
            buf_char(out, '$');
            at += 2;
            continue;
        }
        bool braces = at[1] == '{';
        const char *name = at + 1 + braces;
        size_t n = 0, i = 0;
        while (isupper((unsigned char)name[n]))
            n++;
        while (i < PLACES && !(strlen(places[i].name) == n && memcmp(places[i].name, name, n) == 0))
            i++;
        if (i == PLACES || (braces && name[n] != '}'))
            return err_set(e, ERR_USAGE,
                "\"%s\": there are $NAME, $NAMESPACE, $CONTEXT, $KIND, $RESOURCE and $CONTAINER; "
                "a dollar is written $$",
                word);
        buf_str(out, places[i].value ? places[i].value : "");
        at = name + n + braces;
    }
    return 0;
}

// The words of the command for this row; new.
static cJSON *words_of(const struct target *t, const cJSON *args, err *e)
{
    struct place places[PLACES];
    AUTO_JSON *words = cJSON_CreateArray();
    const cJSON *word;
    places_of(t, args, places);
    cJSON_ArrayForEach(word, json_get(args, "command"))
    {
        AUTO_BUF text = {0};
        if (!cJSON_IsString(word)) {
            err_set(e, ERR_USAGE, "a command is a list of words");
            return NULL;
        }
        if (expand(places, word->valuestring, &text, e) != 0)
            return NULL;
        cJSON_AddItemToArray(words, cJSON_CreateString(buf_cstr(&text)));
    }
    if (words->child && *words->child->valuestring)
        return STEAL(words);
    err_set(e, ERR_USAGE, "the command has no words");
    return NULL;
}

static int command(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    const struct call_cluster *chosen = call_cluster(c);
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    cJSON *words = words_of(&t, args, e);
    if (!words)
        return -1;
    *result = cJSON_CreateObject();
    json_set(*result, "command", words);
    json_set_str(*result, "kubeconfig", chosen ? chosen->kubeconfig : NULL);
    return 0;
}

// Asked with the words as they will be; a command that cannot be is refused before that.
static int check(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *words = words_of(&t, args, e);
    *result = words ? cJSON_CreateObject() : NULL;
    return words ? 0 : -1;
}

static void about_command(call *c, const cJSON *args, struct about *about)
{
    struct target t;
    AUTO_BUF text = {0};
    AUTO_JSON *words = k8s_target(c, args, true, &t, NULL) == 0 ? words_of(&t, args, NULL) : NULL;
    const cJSON *word, *shown = words ? words : json_get(args, "command");
    cJSON_ArrayForEach(word, shown)
    {
        buf_fmt(&text, "%s%s", text.len ? " " : "", cJSON_IsString(word) ? word->valuestring : "?");
    }
    AUTO_FREE char *verb = str_fmt("run `%s` for", str_short_line(buf_cstr(&text), SHOWN).text);
    k8s_about_call(c, args, verb, "", about);
}

const struct binding desk_command_bindings[] = {
    {.name = "k8s.command", .effect = EFFECT_CLUSTER, .start = command, .describe = about_command},
    {.name = "k8s.command_check", .effect = EFFECT_PURE, .start = check},
    {0},
};
