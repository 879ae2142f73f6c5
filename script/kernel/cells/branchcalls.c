// SPDX-License-Identifier: MIT
#include "script/kernel/cells/branches_private.h"

#include "base/clock.h"
#include "base/mem.h"
#include "script/kernel/cells/values/luajson.h"
#include "script/kernel/effects/call.h"

#include <lauxlib.h>
#include <string.h>

static bool is_done(void *arg)
{
    return ((struct job *)arg)->done;
}

// Raises in->raised, after a wait.
static int raise_after(lua_State *L)
{
    const struct interp *in = interp_of(L);
    if (in->branch && turn_stopped(in->turn) != FAILURE_NONE)
        interrupt_told(L, in->branch->co);
    return interp_raise_call(L);
}

static int after_call(lua_State *L, int status, lua_KContext ctx)
{
    struct interp *in = interp_of(L);
    struct job *j = (struct job *)ctx;
    if (in->branch)
        in->branch->job = NULL;
    bool failed = j->failed;
    in->raised = j->error;
    cJSON *result = STEAL(j->result);
    branch_free_job(j);
    return failed ? raise_after(L) : interp_push_json(L, result);
}

static int after_ask(lua_State *L, int status, lua_KContext ctx)
{
    struct interp *in = interp_of(L);
    struct job *j = (struct job *)ctx;
    if (in->branch)
        in->branch->job = NULL;
    in->raised = j->error;
    char *answer = STEAL(j->answer);
    bool secret = j->secret;
    branch_free_job(j);
    if (!answer)
        return raise_after(L);
    if (secret)
        mask_add(port_mask(in->options->effects->spec.port), answer, strlen(answer));
    char **box = lua_touserdata(L, 1); // made before the question
    *box = answer;
    lua_pushstring(L, answer);
    return 1;
}

// Gives the job to a thread, and waits until it is done; takes the job.
static int do_job(lua_State *L, struct job *j, lua_KFunction after)
{
    struct interp *in = interp_of(L);
    branches *all = in->branches;
    j->all = all;
    j->branch = in->branch;
    j->turn = in->turn;
    if (workers_give(all->workers, j, &j->error) < 0) {
        j->failed = true;
        return after(L, LUA_OK, (lua_KContext)j);
    }
    all->jobs++;
    if (in->branch) {
        in->branch->job = j;
        return branches_park(L, (lua_KContext)j, after);
    }
    branches_pump(L, is_done, j, 0);
    return after(L, LUA_OK, (lua_KContext)j);
}

static void do_call(struct job *j)
{
    effects *fx = j->all->in->options->effects;
    j->failed =
        call_binding(fx, j->turn, STEAL(j->env), j->name, j->args, &j->result, &j->error) < 0;
}

int branches_call(lua_State *L, const char *name, cJSON *args)
{
    const struct interp *in = interp_of(L);
    struct job *j = mem_alloc(sizeof *j);
    j->work = do_call;
    j->name = mem_strdup(name);
    j->args = args;
    j->env = call_child_env(in->options->effects, in->turn);
    return do_job(L, j, after_call);
}

static void do_ask(struct job *j)
{
    struct question q = {.text = j->name, .cell = j->turn->cell, .secret = j->secret};
    j->answer = asks_person(j->all->in->options->effects->spec.asks, j->turn->waits, &q, &j->error);
}

int branches_ask(lua_State *L, const char *question, bool secret)
{
    lua_settop(L, 1); // the question's text
    luajson_box(L);
    lua_insert(L, 1);
    struct job *j = mem_alloc(sizeof *j);
    j->work = do_ask;
    j->name = mem_strdup(question);
    j->secret = secret;
    return do_job(L, j, after_ask);
}

int branch_raise_stopped(lua_State *L)
{
    struct interp *in = interp_of(L);
    in->raised = (err){0};
    err_set(&in->raised, ERR_CANCELLED, "interrupted");
    return raise_after(L);
}

static bool is_stopped(void *arg)
{
    return turn_stopped(arg) != FAILURE_NONE;
}

static int after_sleep(lua_State *L, int status, lua_KContext ctx)
{
    struct interp *in = interp_of(L);
    if (in->branch) {
        in->branch->asleep = 0;
        branch_set_timer(in->branch);
    }
    return turn_stopped(in->turn) != FAILURE_NONE ? branch_raise_stopped(L) : 0;
}

int branches_sleep(lua_State *L, int64_t ns)
{
    struct interp *in = interp_of(L);
    int64_t until = clock_add(clock_mono(), ns);
    if (!in->branch) {
        branches_pump(L, is_stopped, in->turn, until);
        return after_sleep(L, LUA_OK, 0);
    }
    if (turn_stopped(in->turn) != FAILURE_NONE)
        return branch_raise_stopped(L);
    in->branch->asleep = until;
    branch_set_timer(in->branch);
    return branches_park(L, 0, after_sleep);
}
