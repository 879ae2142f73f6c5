// SPDX-License-Identifier: MIT
#include "trainer/nn/graph/group.h"

#include "base/buf.h"
#include "base/mem.h"
#include "trainer/nn/graph/graph.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

static const node *node_of(const graph *g, const parameter *p)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->node[i].parameters && p >= g->parameter + g->node[i].first &&
            p < g->parameter + g->node[i].first + g->node[i].parameters)
            return &g->node[i];
    return NULL;
}

static void name_of(const graph *g, const parameter *p, buf *out)
{
    buf_clear(out);
    buf_fmt(out, "%s/%s", node_of(g, p)->layer->name, p->as.name);
}

static bool names_layers(const param_group *group)
{
    return !strchr(group->weights, '/');
}

// A layer that is called several times has the name of its first call.
static bool names_layer(const param_group *group, const graph *g, const node *n)
{
    const layer_spec *l = g->node[n->owner].layer;
    return l && names_layers(group) && fnmatch(group->weights, l->name, 0) == 0;
}

static bool names(const param_group *group, const graph *g, const parameter *p)
{
    AUTO_BUF name = {0};
    if (names_layers(group))
        return names_layer(group, g, node_of(g, p));
    name_of(g, p, &name);
    return fnmatch(group->weights, buf_cstr(&name), 0) == 0;
}

int param_groups_check(const param_group *groups, size_t n, err *e)
{
    for (size_t i = 0; i < n; i++) {
        const param_group *p = &groups[i];
        if (!p->weights[0])
            return err_set(e, ERR_USAGE, "a group of weights has no name");
        if (!isnan(p->rate) && !(p->rate >= 0 && p->rate < (double)INFINITY))
            return err_set(e, ERR_USAGE,
                "the group \"%s\": learning_rate_multiplier must be at least 0, not %g", p->weights,
                p->rate);
        if (!isnan(p->decay) && !(p->decay >= 0 && p->decay < (double)INFINITY))
            return err_set(e, ERR_USAGE,
                "the group \"%s\": weight_decay must be at least 0, not %g", p->weights, p->decay);
    }
    return 0;
}

// What it names must be there: a misspelled name would train what should be frozen.
static int find(const graph *g, const param_group *group, err *e)
{
    AUTO_BUF all = {0}, name = {0};
    for (size_t i = 0; i < g->n; i++)
        if (names_layer(group, g, &g->node[i]) && g->node[i].parameters)
            return 0;
    for (size_t i = 0; i < g->parameters; i++) {
        if (names(group, g, &g->parameter[i]))
            return 0;
        name_of(g, &g->parameter[i], &name);
        buf_fmt(&all, "%s%s", i ? ", " : "", buf_cstr(&name));
    }
    return err_set(e, ERR_USAGE, "the group \"%s\" names no weight; the model has %s",
        group->weights, buf_cstr(&all));
}

static void freeze(graph *g, const param_group *group)
{
    for (size_t i = 0; group->trainable >= 0 && i < g->n; i++)
        if (names_layer(group, g, &g->node[i]))
            g->node[i].frozen = !group->trainable;
}

static void set(parameter *p, const param_group *group)
{
    p->rate = isnan(group->rate) ? p->rate : group->rate;
    p->decay = isnan(group->decay) ? p->decay : group->decay;
    p->frozen = group->trainable < 0 ? p->frozen : p->as.fixed || !group->trainable;
}

int param_groups_apply(graph *g, const param_group *groups, size_t n, err *e)
{
    for (size_t k = 0; k < n; k++)
        if (find(g, &groups[k], e) < 0)
            return -1;
    for (size_t i = 0; i < g->n; i++)
        g->node[i].frozen = g->node[i].layer && g->node[i].layer->frozen;
    for (size_t k = 0; k < n; k++)
        freeze(g, &groups[k]);
    for (size_t i = 0; i < g->parameters; i++) {
        parameter *p = &g->parameter[i];
        const node *owner = node_of(g, p);
        p->rate = 1;
        p->decay = NAN;
        p->frozen = p->as.fixed || (owner->layer && owner->layer->frozen);
        for (size_t k = 0; k < n; k++)
            if (names(&groups[k], g, p))
                set(p, &groups[k]);
    }
    return 0;
}

bool param_groups_differ(const graph *g)
{
    for (size_t i = 0; i < g->parameters; i++) {
        const parameter *p = &g->parameter[i];
        if (!p->as.fixed && (p->frozen || p->rate != 1 || !isnan(p->decay)))
            return true;
    }
    return false;
}

param_group *param_groups_copy(const param_group *groups, size_t n)
{
    param_group *copy = mem_array(n ? n : 1, sizeof *copy);
    for (size_t i = 0; i < n; i++) {
        copy[i] = groups[i];
        copy[i].weights = mem_strdup(groups[i].weights);
    }
    return copy;
}

void param_groups_free(param_group *groups, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free((char *)groups[i].weights);
    free(groups);
}
