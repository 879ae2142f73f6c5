// SPDX-License-Identifier: MIT
// What a flow forgets after forward and computes anew in backward (nn.remat): of the nodes that are
// marked, some keep what they have all the same, so that the others begin there and not at the
// input. Griewank and Walther 2000; Chen and others, arXiv 1604.06174.
//
//   forward    a ─► b ─► C ─► d ─► e ─► F ─► g        capitals: kept
//   backward   g │ d e anew from C │ F e d │ a b anew from the input │ C b a
//
// Which ones: after each stretch of so many numbers one is kept, for several lengths of stretches,
// and those count with which the arena is smallest. It follows from the graph and the batch alone.
#include "base/mem.h"
#include "trainer/nn/flow/flow_inside.h"

#include <string.h>

// Sums of all ranks are not asked for twice: each rank chooses for itself.
static bool is_marked(const flow *f, size_t i)
{
    const node *n = &f->g->node[i];
    return n->remat && f->node[i].input < 0 && !flow_is_output(f->g, i) &&
           !(n->layer && n->op->of_all_ranks && n->op->of_all_ranks(n->layer));
}

static size_t later_node(size_t a, size_t b) // NONE comes before all
{
    return a + 1 > b + 1 ? a : b;
}

// Those that are dropped are computed anew when they are needed first: backward goes from the last
// node to the first. What nobody needs then is not.
static void find_moments(flow *f, const bool *drop)
{
    const graph *g = f->g;
    f->forgets = false;
    for (size_t i = g->n; i-- > 0;) {
        struct running *r = &f->node[i];
        r->anew = NONE;
        if (!drop[i])
            continue;
        if (flow_goes_back(f, i) && (r->need.reads_y || r->need.kept))
            r->anew = i;
        for (size_t j = i + 1; j < g->n; j++)
            for (size_t k = 0; k < g->node[j].inputs; k++) {
                if (g->node[j].input[k] != i)
                    continue;
                r->anew = later_node(r->anew, f->node[j].anew);
                if (flow_goes_back(f, j) && f->node[j].need.reads_x)
                    r->anew = later_node(r->anew, j);
            }
        f->forgets |= r->anew != (size_t)NONE;
    }
}

// Does no node after i read one before it?
static void find_narrow(const graph *g, bool *narrow)
{
    size_t reach = 0; // the last reader of a node before i
    AUTO_FREE size_t *last = mem_array(g->n, sizeof *last);
    for (size_t j = 0; j < g->n; j++)
        for (size_t k = 0; k < g->node[j].inputs; k++)
            last[g->node[j].input[k]] = j;
    for (size_t i = 0; i < g->n; i++) {
        narrow[i] = reach <= i;
        reach = flow_later(reach, last[i]);
    }
}

static size_t floats_of(const flow *f, size_t i)
{
    return f->node[i].work.rows * f->node[i].work.ldy + f->node[i].need.kept;
}

// Drops those that are marked, but one after each stretch; `at`: those that may be kept.
static void drop_stretches(const flow *f, size_t stretch, const bool *at, bool *drop)
{
    size_t dropped = 0;
    for (size_t i = 0; i < f->g->n; i++) {
        drop[i] = is_marked(f, i);
        dropped = drop[i] ? dropped + floats_of(f, i) : 0;
        if (drop[i] && at[i] && dropped >= stretch) {
            drop[i] = false;
            dropped = 0;
        }
    }
}

static bool place(flow *f, size_t rows, const bool *drop)
{
    find_moments(f, drop);
    return flow_place(f, rows);
}

bool flow_choose_anew(flow *f, size_t rows)
{
    enum { LEAST = 64 }; // of the whole is the shortest stretch
    size_t n = f->g->n, whole = 0, best;
    AUTO_FREE bool *narrow = mem_array(n, sizeof *narrow), *all = mem_array(n, sizeof *all);
    AUTO_FREE bool *drop = mem_array(n, sizeof *drop), *chosen = mem_array(n, sizeof *chosen);
    if (!place(f, rows, chosen)) // nothing is dropped
        return false;
    for (size_t i = 0; f->trains && i < n; i++)
        whole += is_marked(f, i) ? floats_of(f, i) : 0;
    if (whole == 0)
        return true;
    best = f->arena_size;
    memset(all, true, n * sizeof *all);
    find_narrow(f->g, narrow);
    for (size_t stretch = whole; stretch > whole / LEAST; stretch -= (stretch + 3) / 4)
        for (int any = 0; any < 2; any++) {
            drop_stretches(f, stretch, any ? all : narrow, drop);
            if (place(f, rows, drop) && f->arena_size < best) {
                best = f->arena_size;
                memcpy(chosen, drop, n * sizeof *drop);
            }
        }
    return place(f, rows, chosen);
}
