// SPDX-License-Identifier: MIT
#include "script/kernel/effects/turn.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int exit;
} failures[] = {
#define X(name, text, exit) {text, exit},
    FAILURES(X)
#undef X
};

const char *failure_name(enum failure f)
{
    return failures[f].name;
}

int failure_exit(enum failure f)
{
    return failures[f].exit;
}

void turn_init(turn *t, const char *cell, int64_t deadline)
{
    *t = (turn){.cell = mem_strdup(cell), .deadline = deadline, .waits = canceller_new()};
    t->root = t;
    pthread_mutex_init(&t->tree, NULL);
}

void turn_branch(turn *t, turn *parent, const char *name, const char *key, int64_t deadline)
{
    turn *root = parent->root;
    *t = (turn){.cell = mem_strdup(parent->cell),
        .title = parent->title,
        .deadline = deadline,
        .waits = canceller_new(),
        .declared = parent->declared,
        .redo = parent->redo,
        .captured = parent->captured,
        .name = mem_strdup(name),
        .key = mem_strdup(key),
        .parent = parent,
        .root = root};
    memcpy(t->source, parent->source, sizeof t->source);
    pthread_mutex_lock(&root->tree);
    t->sibling = parent->branches;
    if (t->sibling)
        t->sibling->before = t;
    parent->branches = t;
    enum failure why = turn_stopped(parent);
    pthread_mutex_unlock(&root->tree);
    if (why != FAILURE_NONE)
        turn_stop(t, why);
}

static void leave_tree(turn *t)
{
    pthread_mutex_lock(&t->root->tree);
    *(t->before ? &t->before->sibling : &t->parent->branches) = t->sibling;
    if (t->sibling)
        t->sibling->before = t->before;
    pthread_mutex_unlock(&t->root->tree);
}

void turn_done(turn *t)
{
    if (t->parent)
        leave_tree(t);
    else if (t->root)
        pthread_mutex_destroy(&t->tree);
    canceller_free(t->waits);
    cJSON_Delete(t->foreign);
    cJSON_Delete(t->used);
    free(t->cell);
    free(t->name);
    free(t->key);
}

// With the tree's lock held.
static bool stop_below(turn *t, enum failure why)
{
    int none = FAILURE_NONE;
    if (!atomic_compare_exchange_strong(&t->stop, &none, (int)why))
        return false;
    t->stopped_at = clock_mono();
    canceller_cancel(t->waits);
    for (turn *b = t->branches; b; b = b->sibling)
        stop_below(b, why);
    return true;
}

bool turn_stop(turn *t, enum failure why)
{
    turn *root = t->root;
    pthread_mutex_lock(&root->tree);
    bool first = stop_below(t, why);
    if (first && root->on_stop)
        root->on_stop(root->on_stop_arg);
    pthread_mutex_unlock(&root->tree);
    return first;
}

void turn_go_on(turn *t, int64_t deadline)
{
    pthread_mutex_lock(&t->root->tree);
    int none = FAILURE_NONE, why = atomic_exchange(&t->stop, FAILURE_NONE);
    atomic_compare_exchange_strong(&t->earlier, &none, why);
    t->deadline = deadline;
    canceller_reset(t->waits);
    pthread_mutex_unlock(&t->root->tree);
}

enum failure turn_why(const turn *t)
{
    int earlier = atomic_load(&t->earlier);
    return earlier != FAILURE_NONE ? (enum failure)earlier : turn_stopped(t);
}

const char *turn_key(const turn *t)
{
    return t->key ? t->key : "";
}

bool turn_key_is_below(const char *key, const char *prefix)
{
    size_t n = strlen(prefix);
    return n == 0 || (strncmp(key, prefix, n) == 0 && (key[n] == '\0' || key[n] == '/'));
}

static bool is_verifying(const turn *t, const char *key)
{
    for (const turn *b = t->branches; b; b = b->sibling) {
        if (!turn_key_is_below(key, b->key))
            continue;
        return atomic_load(&b->resume) == RESUME_ON || is_verifying(b, key);
    }
    return false;
}

bool turn_is_verifying(turn *t, const char *key)
{
    if (!t->root) // belongs to no turn
        return false;
    pthread_mutex_lock(&t->root->tree);
    bool is = is_verifying(t, key);
    pthread_mutex_unlock(&t->root->tree);
    return is;
}

enum failure turn_stopped(const turn *t)
{
    return (enum failure)atomic_load(&t->stop);
}
