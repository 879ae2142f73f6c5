// SPDX-License-Identifier: MIT
// The k8s bindings that wait: for a condition, or for a state. FAILED ends the wait at once, with
// the cause.
#include "k8s/client/watch/wait.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/client/state/state.h"
#include "k8s/image/index.h"
#include "script/api/k8s/k8s.h"

#include <stdio.h>
#include <string.h>

static const int64_t look_every = 10 * CLOCK_SEC;
// A wait says what the object is after the first time, when that changes, and each second time.
static const int64_t says_after = 30 * CLOCK_SEC, says_again = 300 * CLOCK_SEC;

// Reports of a waiting call about its server: when it goes away, and when it is back.
struct waiting {
    call *call;
    const char *words; // for k8s.wait; NULL: a state
    const char *state;
    bool seen, ended;
    int64_t away_since, told;
    struct target *target;
    buf why;                // what was said last about why it takes so long
    int64_t since, said_at; // clock_mono(); said_at 0: nothing was said of its state
    char said[64];          // the state that was said last
    bool waits_for_pull;    // the time has passed, and a node pulls an image
    char *pulls;            // "pod a-0 pulls its image …", as `work` has it; NULL: none does
    struct work work;
};

static void say(call *c, const char *text)
{
    AUTO_FREE char *line = str_fmt("%s\n", text);
    call_output(c, "stderr", line, strlen(line));
}

static void on_away(void *arg, const err *reason)
{
    struct waiting *w = arg;
    int64_t now = clock_mono();
    AUTO_BUF text = {0};
    call_server_away(w->call, reason);
    if (reason->code == ERR_NONE) {
        buf_str(&text, "the server is back after ");
        duration_format(&text, now - w->away_since);
        w->away_since = w->told = 0;
        say(w->call, buf_cstr(&text));
        return;
    }
    if (!w->away_since)
        w->away_since = now;
    if (w->told && now - w->told < 10 * CLOCK_SEC)
        return;
    w->told = now;
    buf_fmt(&text, "%s; away for ", reason->text);
    duration_format(&text, now - w->away_since);
    buf_str(&text, ", waiting on");
    say(w->call, buf_cstr(&text));
}

static int judge_words(void *arg, const cJSON *object, err *e)
{
    struct waiting *w = arg;
    int is_so = wait_judge((char *)w->words, object, e);
    if (is_so == 0 && !object && w->target->uid) // another one of its name is not waited for
        return err_set(e, ERR_GONE, "it was deleted");
    w->ended = is_so == 0 && object && wait_is_in_vain(w->words, object);
    return w->ended ? err_set(e, ERR_FAILED, "it is over") : is_so;
}

// A state that never comes is refused; of one that nobody knows the person is told.
static int check_state(struct waiting *w, const cJSON *object, err *e)
{
    const char *kind = json_str_or(object, "kind", "?");
    if (state_exists(object, w->state))
        return 0;
    AUTO_FREE char *near = state_nearest(object, w->state);
    if (near)
        return err_set(
            e, ERR_USAGE, "a %s has no state %s; did you mean %s?", kind, w->state, near);
    AUTO_FREE char *names = state_names(object);
    if (!state_may_be_another(object))
        return err_set(e, ERR_USAGE, "a %s has no state %s; it has %s", kind, w->state, names);
    AUTO_FREE char *warning = str_fmt(
        "warning: %s is no known state of a %s; it is waited for all the same", w->state, kind);
    say(w->call, warning);
    return 0;
}

static int judge_state(void *arg, const cJSON *object, err *e)
{
    struct waiting *w = arg;
    if (!object)
        return w->seen ? err_set(e, ERR_GONE, "it was deleted")
                       : err_set(e, ERR_NOT_FOUND, "it is not there");
    if (!w->seen && check_state(w, object, e) != 0)
        return -1;
    w->seen = true;
    if (state_reached(object, w->state))
        return 1;
    w->ended = state_of(object).outcome != OUTCOME_OPEN;
    return w->ended ? err_set(e, ERR_FAILED, "it is over") : 0;
}

// The size of an image that is here, too; 0: it is not, or its name has no digest.
static int64_t size_here(call *c, const char *image)
{
    const char *digest = strrchr(image, '@'), *folder = call_paths(c)->images;
    oci_descriptor d;
    oci_manifest m;
    int64_t size = 0;
    if (!digest || !folder || !path_is_dir(folder))
        return 0;
    image_store *s = image_store_open(folder, NULL);
    if (s && image_store_find(s, digest + 1, &d, NULL) == 0 &&
        image_store_manifest(s, &d.digest, &m, NULL) == 0) {
        size = oci_manifest_bytes(&m);
        oci_manifest_done(&m);
    }
    image_store_free(s);
    return size;
}

// Below the cell stands which image a node pulls, how large it is, and since when.
static void show_pull(struct waiting *w, const struct why *why)
{
    if (!why->pulls || w->pulls)
        return;
    AUTO_BUF what = {0};
    int64_t size = size_here(w->call, buf_cstr(&why->image));
    buf_str(&what, buf_cstr(&why->what));
    if (size > 0) {
        buf_str(&what, " (");
        work_bytes_text(&what, size);
        buf_char(&what, ')');
    }
    w->pulls = buf_take(&what);
    work_begin(&w->work, w->pulls, WORK_ITEMS, NULL);
    if (why->pull_since)
        w->work.began -= clock_wall() - why->pull_since;
    call_work_shown(w->call, &w->work);
}

static void end_pull(struct waiting *w)
{
    if (w->pulls)
        call_work_end(w->call, &w->work);
    free(STEAL(w->pulls));
}

// Says why it takes so long, when that can be seen and was not said yet.
static void say_why(struct waiting *w, const cJSON *object)
{
    struct why why = {0};
    bool found = k8s_find_why(w->target, object, &why);
    if (!found || !why.pulls)
        end_pull(w);
    else
        show_pull(w, &why);
    if (found && !str_eq(buf_cstr(&why.what), buf_cstr(&w->why))) {
        AUTO_BUF text = {0};
        k8s_say_why(&why, &text);
        call_output(w->call, "stderr", text.data, text.len);
        buf_clear(&w->why);
        buf_str(&w->why, buf_cstr(&why.what));
    }
    why_done(&why);
}

// Says what the object is after some time, unless a live table shows it.
static void say_state(struct waiting *w, const cJSON *object)
{
    int64_t now = clock_mono();
    struct state s = state_of(object);
    bool same = str_eq(s.text, w->said) && w->said_at && now - w->said_at < says_again;
    if (now - w->since < says_after || same ||
        k8s_is_watched(w->call, json_path_str(object, "metadata.uid")))
        return;
    AUTO_BUF text = {0};
    buf_fmt(&text, "%s %s is %s after ", w->target->resource->singular, w->target->name,
        *s.text ? s.text : "without a state");
    duration_format(&text, (now - w->since) / CLOCK_SEC * CLOCK_SEC);
    say(w->call, buf_cstr(&text));
    w->said_at = now;
    str_fit(w->said, sizeof w->said, s.text);
}

static void look(void *arg)
{
    struct waiting *w = arg;
    struct target *t = w->target;
    struct patience quick = k8s_quick(t);
    AUTO_JSON *object = client_get(t->client, &quick, t->resource, t->ns, t->name, NULL);
    if (!object)
        return;
    say_why(w, object);
    say_state(w, object);
}

static int wait_with(struct target *t, struct waiting *w, cJSON **last, err *e)
{
    w->target = t;
    w->since = w->since ? w->since : clock_mono();
    return wait_for(t->client, &t->patience,
        &(struct wait_spec){.resource = t->resource,
            .ns = t->resource->namespaced ? t->ns : NULL,
            .name = t->name,
            .uid = t->uid,
            .judge = w->words ? judge_words : judge_state,
            .away = on_away,
            .look = look,
            .every = look_every,
            .arg = w},
        last, e);
}

// Adds to a time-out why the object has not come further.
static int late(struct waiting *w, const cJSON *last, err *e)
{
    ERR_GUARD(e);
    struct why why = {0};
    if (e->code != ERR_TIMEOUT || !last)
        return -1;
    AUTO_FREE char *before = mem_strdup(e->text);
    AUTO_BUF differs = {0};
    k8s_say_differs(w->call, &differs);
    call_output(w->call, "stderr", buf_cstr(&differs), differs.len);
    if (k8s_find_why(w->target, last, &why))
        err_set(e, ERR_TIMEOUT, "%s: %s (%s)%s%s", before, str_short(buf_cstr(&why.what), 500).text,
            str_short(buf_cstr(&why.seen), 200).text, why.next.len ? "; next: " : "",
            buf_cstr(&why.next));
    else
        err_set(e, ERR_TIMEOUT, "%s: no cause is known (looked at %s)", before,
            str_short(buf_cstr(&why.looked), 700).text);
    why_done(&why);
    return -1;
}

// It has ended in another state: the reason goes into the error, and what led to it into the
// output.
static int explain(struct waiting *w, const cJSON *object, err *e)
{
    AUTO_BUF reason = {0};
    struct target *t = w->target;
    k8s_explain(w->call, t, object, &reason);
    return err_set(e, ERR_FAILED, "%s %s is %s, and will not %s%s%s%s", t->resource->singular,
        t->name, state_of(object).text, w->words ? "come to " : "reach ",
        w->words ? w->words : w->state, reason.len ? ": " : "",
        str_short(buf_cstr(&reason), 700).text);
}

static int unreached(struct waiting *w, const cJSON *last, const err *why, err *e)
{
    struct target *t = w->target;
    if (w->ended && last)
        return explain(w, last, e);
    if (why->code == ERR_NOT_FOUND || why->code == ERR_GONE)
        return err_set(e, why->code, "%s %s%s%s: %s", t->resource->singular, t->name,
            t->resource->namespaced ? " in namespace " : "", t->resource->namespaced ? t->ns : "",
            why->text);
    err_set(e, why->code, "%s", why->text);
    return late(w, last, e);
}

// The time has passed, and a node still pulls an image: the wait goes on for a while.
static bool waits_on(struct waiting *w, struct target *t, const cJSON *last)
{
    static const int64_t step = 20 * CLOCK_SEC;
    int64_t now = clock_mono(), most = w->since + K8S_PULL_MOST, cell = call_deadline(w->call);
    struct why why = {0};
    if (!last || now >= most || (cell && now >= cell))
        return false;
    bool pulls = k8s_find_why(t, last, &why) && why.pulls;
    if (pulls && !w->waits_for_pull)
        say(w->call, "the time-out has passed; an image is being pulled, so the wait goes on");
    w->waits_for_pull |= pulls;
    t->patience.deadline = cell && cell < now + step ? cell : now + step;
    why_done(&why);
    return pulls;
}

// Finds the object that the arguments name, and waits; *last is the object as it was at the end.
static int wait_out(
    call *c, const cJSON *args, struct waiting *w, struct target *t, cJSON **last, err *e)
{
    if (k8s_target(c, args, true, t, e) != 0 || k8s_deadline(c, args, &t->patience, e) != 0)
        return -1;
    err why = {0};
    int status = wait_with(t, w, last, &why);
    while (status != 0 && why.code == ERR_TIMEOUT && waits_on(w, t, *last)) {
        err_clear(&why);
        cJSON_Delete(STEAL(*last));
        status = wait_with(t, w, last, &why);
    }
    end_pull(w);
    if (status != 0)
        status = unreached(w, *last, &why, e);
    else if (*last)
        k8s_note_images(c, t, *last);
    buf_done(&w->why);
    return status;
}

int k8s_wait(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    struct waiting w = {.call = c, .words = json_str(args, "for")};
    AUTO_JSON *last = NULL;
    if (!w.words)
        return err_set(e, ERR_USAGE, "wait needs for=, as \"condition=Ready\"");
    if (wait_out(c, args, &w, &t, &last, e) != 0)
        return -1;
    if (last)
        k8s_note_read(c, &t, last, NULL);
    *result = STEAL(last);
    if (t.uid && str_eq(w.words, "delete"))
        call_ledger_gone(c, t.uid); // what went by itself is not left over
    return 0;
}

int k8s_reach(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    struct waiting w = {.call = c, .state = json_str(args, "state")};
    AUTO_JSON *last = NULL;
    if (!w.state)
        return err_set(e, ERR_USAGE, "which state? For example \"COMPLETED\"");
    if (wait_out(c, args, &w, &t, &last, e) != 0)
        return -1;
    *result = cJSON_CreateObject();
    k8s_note_read(c, &t, last, state_of(last).text);
    json_set_str(*result, "state", state_of(last).text);
    return 0;
}
