// SPDX-License-Identifier: MIT
#include "script/kernel/effects/gate.h"

#include "base/mem.h"
#include "base/str.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
    PURE = 1 << EFFECT_PURE,
    LOCAL = 1 << EFFECT_LOCAL,
    CLUSTER = 1 << EFFECT_CLUSTER,
    DESTRUCTIVE = 1 << EFFECT_DESTRUCTIVE,
};

static const char *const names[] = {
#define X(name, text) text,
    EFFECTS(X)
#undef X
};

struct gate {
    unsigned allowed;
    bool headless, read_only;
    const char *const *allow_protected;
    pthread_mutex_t lock; // held while a person is asked: questions of branches come one after
                          // another
    char **scopes;        // "cluster CONTEXT/NAMESPACE": a person allowed all of it
    unsigned granted_in;  // the sitting (a time with clients) in which that was granted
    atomic_uint sitting;  // number of times that the last client has left
};

const char *effect_name(effect which)
{
    return names[which];
}

static unsigned effect_bit(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(names[i], name))
            return 1u << i;
    return 0;
}

gate *gate_new(const char *allow, bool headless, err *e)
{
    gate *g = mem_alloc(sizeof *g);
    g->headless = headless;
    pthread_mutex_init(&g->lock, NULL);
    g->allowed = PURE | LOCAL;
    char **words = strv_split(allow ? allow : "", ',');
    bool good = true;
    for (char **w = words; good && *w; w++) {
        AUTO_FREE char *word = str_trim(*w, strlen(*w));
        unsigned bit = effect_bit(word);
        g->allowed |= bit;
        if (*word && !bit) {
            err_set(e, ERR_USAGE, "--allow %s: no such effect (known: cluster, destructive)", word);
            good = false;
        }
    }
    strv_free(words);
    if (good)
        return g;
    gate_free(g);
    return NULL;
}

void gate_free(gate *g)
{
    if (!g)
        return;
    strv_free(g->scopes);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

void gate_restrict(gate *g, bool read_only, const char *const *allow_protected)
{
    g->read_only = read_only;
    g->allow_protected = allow_protected;
    if (read_only)
        g->allowed &= ~(CLUSTER | DESTRUCTIVE);
}

bool gate_is_read_only(const gate *g)
{
    return g->read_only;
}

// Locks this for a moment only: `lock` may be held by a question that waits for a person.
void gate_forget(gate *g)
{
    atomic_fetch_add(&g->sitting, 1);
}

bool gate_allows_protected(const gate *g, const char *context)
{
    for (const char *const *c = g->allow_protected; g->headless && c && *c; c++)
        if (str_eq(*c, context))
            return true;
    return false;
}

unsigned gate_declared(char *const *effects)
{
    if (!effects)
        return 0;
    unsigned bits = PURE;
    for (; *effects; effects++)
        bits |= effect_bit(*effects);
    return bits & (CLUSTER | DESTRUCTIVE) ? bits | LOCAL : bits;
}

int gate_check_notebook(const gate *g, const notebook *nb, size_t *first, err *e)
{
    if (!g->headless)
        return 0;
    unsigned missing = 0;
    AUTO_BUF cells = {0}, option = {0};
    for (size_t i = 0; i < notebook_count(nb); i++) {
        unsigned lacks = gate_declared(notebook_cell(nb, i)->options.effects) & ~g->allowed;
        if (!lacks)
            continue;
        if (!missing && first)
            *first = i;
        missing |= lacks;
        buf_str(&cells, cells.len ? ", " : "");
        notebook_cell_name(nb, i, &cells);
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if ((missing | g->allowed) & (CLUSTER | DESTRUCTIVE) & 1u << i)
            buf_fmt(&option, "%s%s", option.len ? "," : "", names[i]);
    if (!missing)
        return 0;
    if (g->read_only)
        return err_set(e, ERR_REFUSED,
            "the run is read-only, and effects elsewhere are declared by %s", buf_cstr(&cells));
    return err_set(e, ERR_REFUSED,
        "effects that are not granted are declared by %s; add --allow %s", buf_cstr(&cells),
        buf_cstr(&option));
}

static int refuse_undeclared(const struct gate_request *r, err *e)
{
    const turn *t = r->turn;
    AUTO_BUF effects = {0};
    for (size_t i = EFFECT_LOCAL; i < ARRAY_LEN(names); i++)
        if ((t->declared | 1u << r->effect) & 1u << i &&
            (i != EFFECT_LOCAL || r->effect == EFFECT_LOCAL))
            buf_fmt(&effects, "%s%s", effects.len ? "," : "", names[i]);
    return err_set(e, ERR_REFUSED,
        "%s: the effect is %s, which this cell does not declare; write effects=\"%s\" on its "
        "marker line",
        r->what, names[r->effect], buf_cstr(&effects));
}

static bool is_scope_granted(const gate *g, const char *scope)
{
    for (char **s = g->scopes; s && *s; s++)
        if (str_eq(*s, scope))
            return true;
    return false;
}

char *gate_question(effect which, const char *what, const char *where)
{
    return str_fmt("%s? (%s%s%s)", what, names[which], where ? ", " : "", where ? where : "");
}

// Drops what was granted in an earlier sitting.
static void begin_sitting(gate *g)
{
    unsigned now = atomic_load(&g->sitting);
    if (g->granted_in != now) {
        strv_free(STEAL(g->scopes));
        g->granted_in = now;
    }
}

static int ask(gate *g, const struct gate_request *r, err *e)
{
    AUTO_FREE char *scope = str_fmt("%s %s", names[r->effect], r->scope);
    begin_sitting(g);
    if (!r->guarded && is_scope_granted(g, scope))
        return 0;
    AUTO_FREE char *text = gate_question(r->effect, r->what, r->says_where ? NULL : r->scope);
    int answer = r->ask(r->arg, &(struct question){.text = text, .effect = r->details}, e);
    if (answer < 0)
        return -1;
    if (answer == 0)
        return err_set(e, ERR_REFUSED, "%s: you said no", r->what);
    begin_sitting(g); // the person who answered may have left, and another come
    if (answer == 2 && !r->guarded)
        g->scopes = strv_add(g->scopes, scope);
    return 0;
}

static int ask_alone(gate *g, const struct gate_request *r, err *e)
{
    pthread_mutex_lock(&g->lock);
    int passed = ask(g, r, e);
    pthread_mutex_unlock(&g->lock);
    return passed;
}

static int refuse(const gate *g, const char *what, effect which, err *e)
{
    if (g->read_only)
        return err_set(
            e, ERR_REFUSED, "%s: the effect is %s, and the run is read-only", what, names[which]);
    return err_set(e, ERR_REFUSED, "%s: the effect is %s, which is not granted; add --allow %s",
        what, names[which], names[which]);
}

// In a headless run, to which the effect is granted.
static int check_protected(const gate *g, const char *what, const char *guarded, err *e)
{
    if (!guarded || gate_allows_protected(g, guarded))
        return 0;
    return err_set(e, ERR_REFUSED, "%s: the context %s is protected; add --allow-protected %s",
        what, guarded, guarded);
}

int gate_pass(gate *g, const struct gate_request *r, err *e)
{
    unsigned bit = 1u << r->effect;
    if (r->turn && r->turn->declared && !(r->turn->declared & bit))
        return refuse_undeclared(r, e);
    bool may_ask = !g->headless && r->ask && !(g->read_only && bit & (CLUSTER | DESTRUCTIVE));
    if (g->allowed & bit && !(r->guarded && may_ask))
        return g->headless ? check_protected(g, r->what, r->guarded, e) : 0;
    if (may_ask)
        return ask_alone(g, r, e);
    return refuse(g, r->what, r->effect, e);
}

int gate_action(const gate *g, effect which, const char *what, const char *guarded, err *e)
{
    if (g->headless ? !(g->allowed & 1u << which) : g->read_only)
        return refuse(g, what, which, e);
    return g->headless ? check_protected(g, what, guarded, e) : 0;
}
