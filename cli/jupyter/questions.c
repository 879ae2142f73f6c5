// SPDX-License-Identifier: MIT
// Questions of cells, asked through Jupyter's stdin: one at a time, of the client whose request
// runs.
#include "base/mem.h"
#include "base/str.h"
#include "cli/jupyter/serve_private.h"

#include <string.h>
#include <strings.h>

static int64_t number_of(const cJSON *ask)
{
    return json_int_or(ask, "ask", 0);
}

static void answer(struct serve *s, const cJSON *ask, const char *field, const char *text)
{
    cJSON *message = message_new(MESSAGE_answer);
    json_set_int(message, "ask", number_of(ask));
    json_set_str(message, field, text);
    client_send(s->client, message);
}

// Where nobody can be asked. What an effect needs instead is said.
static void refuse(struct serve *s, const cJSON *ask)
{
    const char *class = json_str(json_get(ask, "effect"), "class");
    AUTO_FREE char *why =
        class ? str_fmt("nobody can be asked here: this client takes no questions (allow_stdin is "
                        "false). A kernel to which it is granted is made by `firesteel kernelspec "
                        "install --name firesteel-%s --allow %s`",
                    class, class)
              : mem_strdup(
                    "nobody can be asked here: this client takes no questions (allow_stdin is "
                    "false)");
    answer(s, ask, "refused", why);
}

static bool may_ask(const struct serve *s)
{
    return s->current && s->job.cell && json_bool_or(s->current->content, "allow_stdin", true);
}

// "create Job pi? (cluster, kind/default) [yes, always, no] "
static void ask_first(struct serve *s)
{
    const cJSON *ask = s->asks->child, *choice;
    if (!ask)
        return;
    if (!may_ask(s)) {
        refuse(s, ask);
        return;
    }
    AUTO_BUF prompt = {0};
    buf_str(&prompt, json_str_or(ask, "question", ""));
    cJSON_ArrayForEach(choice, json_get(ask, "choices"))
    {
        buf_fmt(&prompt, "%s%s", choice->prev->next ? ", " : " [", choice->valuestring);
    }
    if (json_get(ask, "choices"))
        buf_str(&prompt, "] ");
    const char *diff = json_str(json_get(ask, "effect"), "diff");
    if (diff) // what would change stands above the question
        shown_warn(s->shown, diff);
    peer_ask(s->peer, s->current, buf_cstr(&prompt), json_bool_or(ask, "secret", false));
}

// The choice that begins with what was typed; NULL: none, or several do.
static const char *choice_of(const cJSON *ask, const char *typed)
{
    const cJSON *choices = json_get(ask, "choices"), *choice;
    const char *found = NULL;
    AUTO_FREE char *word = str_trim(typed, strlen(typed));
    if (!choices)
        return typed;
    cJSON_ArrayForEach(choice, choices)
    {
        if (!*word || strncasecmp(choice->valuestring, word, strlen(word)) != 0)
            continue;
        if (found)
            return NULL;
        found = choice->valuestring;
    }
    return found;
}

void questions_answer(struct serve *s, const cJSON *content)
{
    const cJSON *ask = s->asks->child;
    const char *value = ask ? choice_of(ask, json_str_or(content, "value", "")) : NULL;
    if (value)
        answer(s, ask, "value", value);
    else
        ask_first(s); // it was no answer: once more
}

void questions_event(struct serve *s, message_type type, const cJSON *event)
{
    const cJSON *first = s->asks->child;
    if (type == MESSAGE_ask) {
        cJSON_AddItemToArray(s->asks, cJSON_Duplicate(event, true));
    } else {
        cJSON *ask;
        cJSON_ArrayForEach(ask, s->asks)
        {
            if (number_of(ask) == number_of(event))
                break;
        }
        cJSON_Delete(cJSON_DetachItemViaPointer(s->asks, ask));
    }
    if (s->asks->child != first)
        ask_first(s);
}
