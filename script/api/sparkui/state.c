// SPDX-License-Identifier: MIT
#include "script/api/sparkui/state.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/text/cause.h"

#include <string.h>

enum { CAUSE_MAX = 300 };

const char *const spark_state_names[] = {
#define X(name, text) text,
    SPARK_STATES(X)
#undef X
};

static void stage_done(struct spark_stage *g)
{
    free(g->name);
    free(g->cause);
    free(g->measured);
}

static void job_done(struct spark_job *j)
{
    free(j->name);
    free(j->cause);
    free(j->stage_ids);
}

static void executor_done(struct spark_executor *x)
{
    free(x->id);
    free(x->host);
    free(x->why);
}

static void query_done(struct spark_query *q)
{
    free(q->what);
    free(q->cause);
}

void spark_state_done(struct spark_state *s)
{
    for (size_t i = 0; i < s->n_stages; i++)
        stage_done(&s->stages[i]);
    for (size_t i = 0; i < s->n_jobs; i++)
        job_done(&s->jobs[i]);
    for (size_t i = 0; i < s->n_executors; i++)
        executor_done(&s->executors[i]);
    for (size_t i = 0; i < s->n_queries; i++)
        query_done(&s->queries[i]);
    free(s->stages);
    free(s->jobs);
    free(s->executors);
    free(s->queries);
    free(s->app);
    free(s->name);
    free(s->version);
    *s = (struct spark_state){0};
}

// What an application asks for last is the youngest: lists are searched from their ends. A full
// list loses its oldest record.
#define MAKE_ROOM(s, list, n, drop)                                                                \
    do {                                                                                           \
        if ((s)->n == SPARK_KEPT) {                                                                \
            drop(&(s)->list[0]);                                                                   \
            memmove(&(s)->list[0], &(s)->list[1], --(s)->n * sizeof *(s)->list);                   \
            (s)->dropped++;                                                                        \
        }                                                                                          \
        (s)->list = mem_resize((s)->list, (s)->n + 1, sizeof *(s)->list);                          \
    } while (0)

struct spark_stage *spark_stage_at(struct spark_state *s, int64_t id, int64_t attempt)
{
    for (size_t i = s->n_stages; i-- > 0;)
        if (s->stages[i].id == id && s->stages[i].attempt == attempt)
            return &s->stages[i];
    MAKE_ROOM(s, stages, n_stages, stage_done);
    s->stages[s->n_stages] =
        (struct spark_stage){.id = id, .attempt = attempt, .spread.slowest_read = -1};
    return &s->stages[s->n_stages++];
}

struct spark_job *spark_job_at(struct spark_state *s, int64_t id)
{
    for (size_t i = s->n_jobs; i-- > 0;)
        if (s->jobs[i].id == id)
            return &s->jobs[i];
    MAKE_ROOM(s, jobs, n_jobs, job_done);
    s->jobs[s->n_jobs] = (struct spark_job){.id = id, .query = -1};
    return &s->jobs[s->n_jobs++];
}

struct spark_executor *spark_executor_at(struct spark_state *s, const char *id)
{
    for (size_t i = s->n_executors; i-- > 0;)
        if (str_eq(s->executors[i].id, id))
            return &s->executors[i];
    MAKE_ROOM(s, executors, n_executors, executor_done);
    s->executors[s->n_executors] = (struct spark_executor){.id = mem_strdup(id)};
    return &s->executors[s->n_executors++];
}

struct spark_query *spark_query_at(struct spark_state *s, int64_t id)
{
    for (size_t i = s->n_queries; i-- > 0;)
        if (s->queries[i].id == id)
            return &s->queries[i];
    MAKE_ROOM(s, queries, n_queries, query_done);
    s->queries[s->n_queries] = (struct spark_query){.id = id};
    return &s->queries[s->n_queries++];
}

void spark_text(char **text, const char *value)
{
    if (!value || !*value || str_eq(*text, value))
        return;
    free(*text);
    *text = mem_strdup(value);
}

// "Job aborted due to stage failure: … Lost task 0.3 in stage 1.0 (TID 7) (host executor 1): WORDS"
static const char *without_scheduler(const char *text)
{
    const char *lost = strstr(text, "Lost task "),
               *executor = lost ? strstr(lost, "executor ") : NULL;
    const char *words = executor ? strstr(executor, "): ") : NULL;
    return words && words - text < (ptrdiff_t)strcspn(text, "\n") ? words + strlen("): ") : text;
}

void spark_cause_of(char **cause, const char *text)
{
    AUTO_BUF line = {0};
    if (!text || !*text)
        return;
    text = without_scheduler(text);
    const char *end = strstr(text, "\n\nDriver stacktrace:");
    AUTO_FREE char *words = end ? mem_strndup(text, (size_t)(end - text)) : mem_strdup(text);
    spark_cause(words, &line);
    if (!line.len)
        buf_str(&line, str_short_line(text, CAUSE_MAX).text);
    spark_text(cause, str_short(buf_cstr(&line), CAUSE_MAX).text);
}

static enum spark_is over(enum spark_is is, enum spark_is instead)
{
    return is == SPARK_ACTIVE ? instead : is;
}

void spark_state_end(struct spark_state *s, int64_t wall_ms)
{
    s->ended = s->ended ? s->ended : wall_ms;
    for (size_t i = 0; i < s->n_stages; i++) {
        s->stages[i].is = over(s->stages[i].is, SPARK_FAILED);
        s->stages[i].active = 0;
    }
    for (size_t i = 0; i < s->n_jobs; i++) {
        s->jobs[i].is = over(s->jobs[i].is, SPARK_FAILED);
        s->jobs[i].active = 0;
    }
    for (size_t i = 0; i < s->n_queries; i++)
        s->queries[i].is = over(s->queries[i].is, SPARK_FAILED);
    for (size_t i = 0; i < s->n_executors; i++)
        s->executors[i].active = 0;
}
