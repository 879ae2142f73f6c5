// SPDX-License-Identifier: MIT
#include "k8s/client/state/state.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/state/container.h"
#include "k8s/client/state/rollout.h"

#include <string.h>
#include <strings.h>

// Of a kind that is not known: conditions and words that most operators use.
static const struct known usual = {.words = "status.phase, status.state",
    .bad = "Failed, FAILED",
    .good = "Complete, Completed, Succeeded, COMPLETED, SUCCEEDED",
    .open = "Suspended, Restarting, Running, Available, Ready, Created",
    .way = "Created, Running, Complete, Succeeded",
    .message = "status.message, status.reason"};

static bool is_pod(const cJSON *object)
{
    return known_is(object, "", "Pod");
}

// A row may tell of its kind's pods alone.
static bool tells_states(const struct known *row)
{
    return row && (row->words || row->good || row->bad || row->open || row->also);
}

static const struct known *row_of(const cJSON *object)
{
    const struct known *row = known_of(object);
    return tells_states(row) ? row : &usual;
}

// ---- one word of a row (k8s/client/kinds/known.h)

static const cJSON *condition_of(
    const cJSON *object, const char *type, size_t n, const char *reason, bool is_true)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(object, "status.conditions"))
    {
        const char *is = json_str_or(c, "type", "");
        if (strlen(is) == n && memcmp(is, type, n) == 0 &&
            str_eq(json_str(c, "status"), is_true ? "True" : "False") &&
            (!reason || str_eq(json_str(c, "reason"), reason)))
            return c;
    }
    return NULL;
}

static bool is_positive(const cJSON *value)
{
    return cJSON_IsNumber(value) && value->valuedouble > 0;
}

// Is a number at the path positive, or, with "[]" in it, one of them?
static bool any_positive(const cJSON *object, const char *path)
{
    const char *each = strstr(path, "[]");
    const cJSON *item;
    if (!each)
        return is_positive(json_path(object, path));
    AUTO_FREE char *before = mem_strndup(path, (size_t)(each - path));
    const char *rest = each + strlen("[]") + (each[2] == '.');
    cJSON_ArrayForEach(item, json_path(object, before))
    {
        if (*rest ? any_positive(item, rest) : is_positive(item))
            return true;
    }
    return false;
}

static bool has_word(const cJSON *object, const struct known *row, const char *word)
{
    const char *at = row->words, *part;
    for (size_t n; (n = known_part(&at, &part));) {
        AUTO_FREE char *path = mem_strndup(part, n);
        if (str_eq(json_path_str(object, path), word))
            return true;
    }
    return false;
}

// *condition is the one that says so; NULL: something else does.
static bool holds(
    const cJSON *object, const struct known *row, const char *test, const cJSON **condition)
{
    size_t n = strlen(test);
    const char *also = strchr(test, '&');
    *condition = NULL;
    if (also) {
        AUTO_FREE char *one = mem_strndup(test, (size_t)(also - test));
        return holds(object, row, one, condition) && holds(object, row, also + 1, condition);
    }
    if (n > 2 && str_eq(test + n - 2, ">0")) {
        AUTO_FREE char *path = mem_strndup(test, n - 2);
        return any_positive(object, path);
    }
    if (*test != '!' && has_word(object, row, test))
        return true;
    const char *type = test + (*test == '!'), *slash = strchr(type, '/');
    *condition = condition_of(object, type, slash ? (size_t)(slash - type) : strlen(type),
        slash ? slash + 1 : NULL, *test != '!');
    return *condition != NULL;
}

struct match {
    char name[64]; // "": none holds
    const cJSON *condition;
};

// The first part of a list that holds.
static struct match first(const cJSON *object, const struct known *row, const char *list)
{
    struct match m = {0};
    const char *part;
    for (size_t n; (n = known_part(&list, &part));) {
        AUTO_FREE char *one = mem_strndup(part, n);
        char *equals = strchr(one, '=');
        if (!holds(object, row, equals ? equals + 1 : one, &m.condition))
            continue;
        one[equals ? (size_t)(equals - one) : strcspn(one, "/")] = '\0';
        str_fit(m.name, sizeof m.name, one + (*one == '!'));
        return m;
    }
    return m;
}

static const char *first_text(const cJSON *object, const char *paths)
{
    const char *part;
    for (size_t n; (n = known_part(&paths, &part));) {
        AUTO_FREE char *path = mem_strndup(part, n);
        const char *each = strstr(path, "[]"); // the first element's
        AUTO_FREE char *there =
            each ? str_fmt("%.*s[0]%s", (int)(each - path), path, each + 2) : NULL;
        const char *text = json_path_str(object, there ? there : path);
        if (text && *text)
            return text;
    }
    return NULL;
}

static bool ended_badly(const cJSON *status)
{
    return json_int_or(json_path(status, "state.terminated"), "exitCode", 0) != 0;
}

// The cause from the first container that ended badly: the pod's own status.message is usually
// empty.
static const char *pod_cause(const cJSON *pod)
{
    const cJSON *ended = json_path(container_first(pod, ended_badly), "state.terminated");
    const char *message = json_str(ended, "message");
    return message && *message ? message : json_str(ended, "reason");
}

// "Available" once its newest spec is rolled out, "Progressing" until then.
static struct state from_rollout(const cJSON *object, enum rollout rollout)
{
    struct state s = {0};
    str_fit(s.text, sizeof s.text, rollout == ROLLOUT_DONE ? "Available" : "Progressing");
    if (rollout == ROLLOUT_STUCK) {
        s.outcome = OUTCOME_BAD;
        s.cause = rollout_cause(object);
    }
    return s;
}

// The word before `ended`, which tells how it ended: the newest of the states by number that is
// good or bad.
static struct match last_end(const cJSON *object, const struct known *row, bool *good)
{
    struct match m = {0};
    const cJSON *one;
    int64_t newest = -1, number;
    const char *dot = row->words ? strrchr(row->words, '.') : NULL;
    const cJSON *history = json_path(object, row->history);
    cJSON_ArrayForEach(one, history)
    {
        const char *word = json_str_or(one, dot ? dot + 1 : "", "");
        bool is_good = known_has(row->good, word);
        if ((is_good || known_has(row->bad, word)) && one->string &&
            str_to_int(one->string, &number) && number > newest) {
            newest = number;
            *good = is_good;
            str_fit(m.name, sizeof m.name, word);
        }
    }
    return m;
}

static bool is_tried_again(const cJSON *object, const struct known *row)
{
    const char *policy = row->restarts ? json_path_str(object, row->restarts) : NULL;
    return policy && *policy && !str_eq(policy, "Never");
}

static struct state end_of(
    const cJSON *object, const struct known *row, struct match m, enum outcome outcome)
{
    struct state s = {.outcome = outcome};
    str_fit(s.text, sizeof s.text, m.name);
    if (outcome != OUTCOME_BAD)
        return s;
    s.cause = json_str(m.condition, "message");
    s.cause = s.cause && *s.cause ? s.cause : first_text(object, row->message);
    s.cause = s.cause || !is_pod(object) ? s.cause : pod_cause(object);
    return s;
}

static struct state from_row(const cJSON *object, const struct known *row)
{
    bool good = false;
    struct match m = first(object, row, row->again);
    if (*m.name)
        return end_of(object, row, m, OUTCOME_OPEN);
    if (row->history && *first(object, row, row->ended).name) {
        m = last_end(object, row, &good);
        if (*m.name)
            return end_of(object, row, m, good ? OUTCOME_GOOD : OUTCOME_BAD);
    }
    m = first(object, row, row->bad);
    if (*m.name)
        return end_of(object, row, m, is_tried_again(object, row) ? OUTCOME_OPEN : OUTCOME_BAD);
    m = first(object, row, row->good);
    if (*m.name)
        return end_of(object, row, m, OUTCOME_GOOD);
    m = first(object, row, row->open);
    if (!*m.name) {
        const char *word = first_text(object, row->words);
        str_fit(m.name, sizeof m.name, word ? word : "");
    }
    if (!*m.name && row == &usual && any_positive(object, "status.active"))
        str_fit(m.name, sizeof m.name, "Running");
    return end_of(object, row, m, OUTCOME_OPEN);
}

struct state state_of(const cJSON *object)
{
    enum rollout rollout = rollout_of(object, NULL);
    if (rollout)
        return from_rollout(object, rollout);
    struct state s = from_row(object, row_of(object));
    if (is_pod(object) && s.outcome == OUTCOME_OPEN) {
        struct pod_row row;
        pod_row(object, &row);
        str_fit(s.text, sizeof s.text, row.status);
    }
    return s;
}

// A word as it is written, or, unless the row has it written so, in any case.
static bool is_word(const char *word, const char *wanted, bool exact)
{
    return exact ? str_eq(word, wanted) : strcasecmp(word, wanted) == 0;
}

// Which of the way's words `word` is; -1: none.
static int place(const struct known *row, const char *word, bool exact)
{
    const char *way = row->way, *part;
    int i = 0;
    for (size_t n; (n = known_part(&way, &part)); i++) {
        AUTO_FREE char *one = mem_strndup(part, n);
        if (is_word(one, word, exact))
            return i;
    }
    return -1;
}

// The farthest place on the way that the object's words have.
static int come_to(const cJSON *object, const struct known *row, const struct state *s)
{
    int farthest = place(row, s->text, true);
    const char *at = row->words, *part;
    for (size_t n; (n = known_part(&at, &part));) {
        AUTO_FREE char *path = mem_strndup(part, n);
        const char *word = json_path_str(object, path);
        int is = word ? place(row, word, true) : -1;
        farthest = is > farthest ? is : farthest;
    }
    return farthest;
}

static bool has_condition(const cJSON *object, const char *type)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(object, "status.conditions"))
    {
        if (str_eq(json_str(c, "status"), "True") &&
            strcasecmp(json_str_or(c, "type", ""), type) == 0)
            return true;
    }
    return false;
}

static bool is_now(const cJSON *object, const struct known *row, const char *state, bool exact)
{
    const char *at = row->words, *part;
    for (size_t n; (n = known_part(&at, &part));) {
        AUTO_FREE char *path = mem_strndup(part, n);
        const char *word = json_path_str(object, path);
        if (word && is_word(word, state, exact))
            return true;
    }
    const char *phase = json_path_str(object, "status.phase");
    return (phase && is_word(phase, state, exact)) || has_condition(object, state);
}

// Of a pod that is over, the state is its phase: here the word that kubectl shows, "Completed".
static bool is_shown_as(const cJSON *object, const char *state)
{
    if (!is_pod(object))
        return false;
    struct pod_row row;
    pod_row(object, &row);
    return strcasecmp(row.status, state) == 0;
}

// Has the row a word in two spellings, and this is one of them?
static bool is_exact(const struct known *row, const char *state)
{
    return known_has(row->way, state) || known_has(row->good, state) || known_has(row->bad, state);
}

bool state_reached(const cJSON *object, const char *state)
{
    const struct known *row = row_of(object);
    struct state s = state_of(object);
    bool exact = is_exact(row, state) && row != &usual;
    if (rollout_of(object, NULL) && strcasecmp(state, "Available") == 0)
        return strcasecmp(s.text, state) == 0; // the condition is also that of an older spec
    if (is_word(s.text, state, exact) || is_now(object, row, state, exact) ||
        is_shown_as(object, state))
        return true;
    int wanted = place(row, state, exact), is = come_to(object, row, &s);
    return wanted >= 0 && (is > wanted || s.outcome == OUTCOME_GOOD);
}

// ---- names

// "Init:0/2", "Signal:9" and the like of pods.
static const char *const pod_state_starts[] = {"Init:", "Signal:", "ExitCode:", "OutOf"};

static char **add_names(char **names, const char *list)
{
    const char *part;
    for (size_t n; (n = known_part(&list, &part));) {
        AUTO_FREE char *one = mem_strndup(part, n);
        one[strcspn(one, "=/")] = '\0';
        bool there = *one == '!';
        for (char **w = names; *w && !there; w++)
            there = str_eq(*w, one);
        names = there ? names : strv_add(names, one);
    }
    return names;
}

// All words of the row; empty: it has none.
static char **names_of(const cJSON *object)
{
    const struct known *row = known_of(object);
    char **names = strv_dup((const char *const[]){NULL});
    if (!tells_states(row))
        return names;
    const char *const lists[] = {row->way, row->open, row->good, row->bad, row->again, row->also};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        names = add_names(names, lists[i]);
    return names;
}

bool state_is_known(const cJSON *object)
{
    return tells_states(known_of(object));
}

char *state_names(const cJSON *object)
{
    AUTO_BUF all = {0};
    char **names = names_of(object);
    for (char **w = names; *w; w++)
        buf_fmt(&all, "%s%s", all.len ? ", " : "", *w);
    strv_free(names);
    return all.len ? buf_take(&all) : NULL;
}

bool state_may_be_another(const cJSON *object)
{
    return is_pod(object) || !state_is_known(object);
}

static bool starts_as_of_a_pod(const char *state)
{
    for (size_t i = 0; i < ARRAY_LEN(pod_state_starts); i++)
        if (strncasecmp(state, pod_state_starts[i], strlen(pod_state_starts[i])) == 0)
            return true;
    return false;
}

bool state_exists(const cJSON *object, const char *state)
{
    bool found = !state_is_known(object) || state_reached(object, state) ||
                 (is_pod(object) && starts_as_of_a_pod(state));
    const cJSON *condition;
    cJSON_ArrayForEach(condition, json_path(object, "status.conditions"))
    {
        found = found || strcasecmp(json_str_or(condition, "type", ""), state) == 0;
    }
    char **names = names_of(object);
    for (char **w = names; *w && !found; w++)
        found = strcasecmp(*w, state) == 0;
    strv_free(names);
    return found;
}

char *state_nearest(const cJSON *object, const char *state)
{
    char **names = names_of(object);
    char *near = mem_strdup(str_nearest(state, (const char *const *)names));
    strv_free(names);
    return near;
}
