// SPDX-License-Identifier: MIT
// Shows on the full screen how many cells have run.
#include "tui/bench/slots.h"
#include "tui/bench/views.h"

struct count_view {
    view head; // first
    size_t ran;
};

static void settle(view *view_, rect area)
{
    struct count_view *v = (struct count_view *)view_;
    v->ran = 0;
    for (size_t i = 0; i < slot_count(view_->bench); i++) {
        const struct run_cell *run = slot_run(view_->bench, i);
        v->ran += run && run->count > 0;
    }
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct count_view *v = (const struct count_view *)view_;
    grid_print(g, area, area.x + 1, area.y, LOOK_BOLD, "%zu cells have run", v->ran);
}

static bool act(view *v, enum action a)
{
    if (a != ACT_INTERRUPT)
        return false; // ACT_BACK, and all actions that work everywhere, are the bench's
    bench_say(v->bench, "nothing to interrupt here");
    return true;
}

void count_push(bench *b)
{
    view_push(b, &count_view_ops, sizeof(struct count_view));
}

static const struct binding bindings[] = {
    {MODE_VIEW, "C-c", ACT_INTERRUPT},
    {MODE_VIEW, "Esc", ACT_BACK},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops count_view_ops = {
    .name = "count", .keys = &keys, .settle = settle, .draw = draw, .act = act};
