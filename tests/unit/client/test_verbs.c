// SPDX-License-Identifier: MIT
// The verbs with a server that misbehaves: the results for callers, and the texts for people.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/service.h"
#include "k8s/client/connect/status.h"
#include "tests/support/fake.h"
#include "tests/support/tap.h"

#include <pthread.h>
#include <unistd.h>

static const struct resource *pods(struct fake *f)
{
    const struct resource *r = client_resource(f->client, &f->patience, "pods", &f->e);
    CHECK_OK(r, f->e);
    return r;
}

static err get_error(struct fake *f, const char *name)
{
    f->e = (err){0};
    cJSON *j = client_get(f->client, &f->patience, pods(f), "default", name, &f->e);
    cJSON_Delete(j);
    return f->e;
}

TEST(an_object_comes_as_the_server_wrote_it)
{
    struct fake *f = fake_open(false);
    AUTO_JSON *pod = client_get(f->client, &f->patience, pods(f), "default", "ok", &f->e);
    CHECK_OK(pod, f->e);
    CHECK_STR(json_path_str(pod, "metadata.uid"), "uid-ok");
    fake_close(f);
}

TEST(statuses_become_codes_with_reason_and_remedy)
{
    struct fake *f = fake_open(false);
    f->patience.retry_ns = -1;
    static const struct {
        const char *name;
        err_code code;
        const char *text;
    } cases[] = {
        {"e400", ERR_INVALID, "get pods e400 in namespace default: the fake says 400"},
        {"e401", ERR_UNAUTHORIZED, "user tester"},
        {"e403", ERR_FORBIDDEN, "ask for a role"},
        {"missing", ERR_NOT_FOUND, "pods \"missing\" not found"},
        {"e409", ERR_CONFLICT, "the fake says 409"},
        {"e410", ERR_GONE, "the fake says 410"},
        {"e422", ERR_INVALID, "the fake says 422"},
        {"e429", ERR_UNAVAILABLE, "the fake says 429"},
        {"e500", ERR_UNAVAILABLE, "the fake says 500"},
        {"html502", ERR_UNAVAILABLE, "HTTP 502: <html>"},
        {"cut", ERR_UNAVAILABLE, "the connection was lost"},
        {"truncated", ERR_INVALID, "the server's answer is no JSON"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err e = get_error(f, cases[i].name);
        CHECK_HAS(e.text, cases[i].text);
        CHECK_INT(e.code, cases[i].code);
        CHECK(!strstr(e.text, "good-token"));
    }
    fake_close(f);
}

static void count_away(void *arg, const err *why, int64_t since)
{
    ++*(int *)arg;
}

TEST(a_service_without_endpoints_is_waited_for)
{
    struct fake *f = fake_open(false);
    int away = 0;
    struct patience p = {.retry_ns = CLOCK_MS, .away = count_away, .arg = &away};
    struct service_request r = {
        .ns = "default", .service = "late", .port = 80, .path = "/", .repeatable = true};
    AUTO_BUF out = {0};
    // The patience with a server that is away is long over then, and this one is not away.
    CHECK_OK(client_service(f->client, &p, &r, &out, &f->e) == 0, f->e);
    CHECK_STR(buf_cstr(&out), "{\"answers\": \"late\"}");
    r.service = "new";
    CHECK_OK(client_service(f->client, &p, &r, &out, &f->e) == 0, f->e);
    r.service = "never";
    p.deadline = clock_mono() + 2 * CLOCK_SEC;
    CHECK(client_service(f->client, &p, &r, &out, &f->e) < 0);
    CHECK_HAS(f->e.text, "ask service never in namespace default: it has no endpoints");
    p.deadline = 0;
    p.retry_ns = -1; // who wants an answer now gets it
    int64_t begun = clock_mono();
    CHECK(client_service(f->client, &p, &r, &out, &f->e) < 0);
    r.service = "broken";
    CHECK(client_service(f->client, &p, &r, &out, &f->e) < 0);
    CHECK_HAS(f->e.text, "ask service broken in namespace default: the model is gone");
    CHECK(clock_mono() - begun < 10 * CLOCK_SEC);
    CHECK_INT(away, 0);
    fake_close(f);
}

TEST(reads_are_tried_again)
{
    struct fake *f = fake_open(false);
    CHECK_INT(get_error(f, "flaky-2-a").code, ERR_NONE);
    CHECK_INT(get_error(f, "cut-once-a").code, ERR_NONE);
    f->patience.retry_ns = 300 * CLOCK_MS;
    int64_t start = clock_mono();
    CHECK_INT(get_error(f, "e503").code, ERR_UNAVAILABLE);
    CHECK(clock_mono() - start < 5 * CLOCK_SEC);
    fake_close(f);
}

static void *pull(void *c)
{
    usleep(200000);
    canceller_cancel(c);
    return NULL;
}

TEST(a_stall_ends_at_the_deadline_or_when_interrupted)
{
    struct fake *f = fake_open(false);
    f->patience.deadline = clock_mono() + CLOCK_SEC;
    CHECK_INT(get_error(f, "stall").code, ERR_TIMEOUT);
    f->patience.deadline = 0;
    f->patience.canceller = canceller_new();
    pthread_t t;
    pods(f);
    pthread_create(&t, NULL, pull, f->patience.canceller);
    CHECK_INT(get_error(f, "stall").code, ERR_CANCELLED);
    pthread_join(t, NULL);
    canceller_free(f->patience.canceller);
    fake_close(f);
}

TEST(a_server_that_is_away_is_named)
{
    struct fake *f = fake_open(false);
    fake_write(f, "away",
        "{\"current-context\": \"x\", \"clusters\": [{\"name\": \"x\", \"cluster\": "
        "{\"server\": \"https://127.0.0.1:1\"}}], \"contexts\": [{\"name\": \"x\", "
        "\"context\": {\"cluster\": \"x\"}}]}");
    AUTO_FREE char *path = str_fmt("%s/away", f->dir);
    client *c = fake_client(f, (struct client_options){.kubeconfig = path});
    f->patience.retry_ns = -1;
    CHECK(!client_version(c, &f->patience, &f->e));
    CHECK_INT(f->e.code, ERR_UNAVAILABLE);
    CHECK_HAS(f->e.text, "127.0.0.1:1: cannot connect (Connection refused)");
    fake_close(f);
}

TEST(certificates_are_verified)
{
    struct fake *f = fake_open(false);
    AUTO_FREE char *text = str_fmt(
        "{\"current-context\": \"x\", \"clusters\": [{\"name\": \"x\", \"cluster\": {\"server\": "
        "\"https://127.0.0.1:%d\"}}], \"contexts\": [{\"name\": \"x\", \"context\": {\"cluster\": "
        "\"x\"}}]}",
        f->port);
    fake_write(f, "untrusted", text);
    AUTO_FREE char *path = str_fmt("%s/untrusted", f->dir);
    client *c = fake_client(f, (struct client_options){.kubeconfig = path});
    CHECK(!client_version(c, &f->patience, &f->e));
    CHECK_INT(f->e.code, ERR_FAILED);
    CHECK_HAS(f->e.text, "its certificate is not to be trusted");
    fake_close(f);
}

TEST(kinds_are_found_as_kubectl_finds_them)
{
    for (int legacy = 0; legacy < 2; legacy++) {
        struct fake *f = fake_open(legacy);
        static const struct {
            const char *word, *path;
        } cases[] = {
            {"pods", "/api/v1/namespaces/n/pods"},
            {"po", "/api/v1/namespaces/n/pods"},
            {"Pod", "/api/v1/namespaces/n/pods"},
            {"ns", "/api/v1/namespaces"},
            {"deploy.apps", "/apis/apps/v1/namespaces/n/deployments"},
            {"deployments.v1.apps", "/apis/apps/v1/namespaces/n/deployments"},
            {"sparkapp", "/apis/sparkoperator.k8s.io/v1beta2/namespaces/n/sparkapplications"},
            {"events", "/api/v1/namespaces/n/events"},
            {"events.events.k8s.io", "/apis/events.k8s.io/v1/namespaces/n/events"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            const struct resource *r =
                client_resource(f->client, &f->patience, cases[i].word, &f->e);
            CHECK_OK(r, f->e);
            AUTO_FREE char *path = resource_path(r, "n", NULL, NULL);
            CHECK_STR(path, cases[i].path);
        }
        CHECK(!client_resource(f->client, &f->patience, "sparkaps", &f->e));
        CHECK_INT(f->e.code, ERR_NOT_FOUND);
        CHECK(!client_resource(f->client, &f->patience, "pds", &f->e));
        CHECK_HAS(f->e.text, "; did you mean pods?");
        CHECK(!client_resource(f->client, &f->patience, "foo", &f->e));
        CHECK_HAS(f->e.text, "the server has no kind \"foo\"");
        CHECK(!legacy == !strstr(f->e.text, "some it does not: refused.example/v1: "));
        CHECK(!legacy == !strstr(f->e.text, "; html.example/v1: "));
        CHECK(!legacy == !strstr(f->e.text, "; away.example/v1: "));
        CHECK(!client_resource_of(f->client, &f->patience, "apps/v1beta1", "Deployment", &f->e));
        CHECK_HAS(f->e.text, "no Deployment of apiVersion apps/v1beta1; it has it in apps/v1");
        fake_close(f);
    }
}

TEST(lists_are_read_to_their_end)
{
    struct fake *f = fake_open(false);
    AUTO_JSON *list = client_list(f->client, &f->patience, pods(f), "paged", NULL, &f->e);
    CHECK_OK(list, f->e);
    const cJSON *items = json_get(list, "items");
    CHECK_INT(cJSON_GetArraySize(items), 5);
    CHECK_STR(json_path_str(items->child->prev, "metadata.name"), "p4");
    fake_close(f);
}

// The second page is cut in the middle, or the server has forgotten the list: no row is missing,
// none is there twice.
TEST(rows_alone_are_read_to_their_end)
{
    static const char *const namespaces[] = {"t-paged", "t-gone"};
    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
        struct fake *f = fake_open(false);
        struct list_query q = {.cells = true};
        AUTO_JSON *list = client_list(f->client, &f->patience, pods(f), namespaces[i], &q, &f->e);
        CHECK_OK(list, f->e);
        CHECK_STR(json_str(list, "kind"), "Table");
        AUTO_FREE char *rows = json_to_str(json_get(list, "rows"));
        CHECK_STR(rows, "[[\"p0\",\"v10\"],[\"p1\",\"v10\"],[\"p2\",\"v10\"],[\"p3\",\"v10\"],"
                        "[\"p4\",\"v10\"],[\"p5\",\"v10\"],[\"p6\",\"v10\"]]");
        CHECK(!json_path(list, "metadata.remainingItemCount"));
        fake_close(f);
    }
}

// Its first page has 70 MiB, so four of them would be more than a list may have.
TEST(what_a_forgotten_list_had_does_not_count)
{
    struct fake *f = fake_open(false);
    AUTO_JSON *list = client_list(f->client, &f->patience, pods(f), "large", NULL, &f->e);
    CHECK_OK(list, f->e);
    CHECK_INT(cJSON_GetArraySize(json_get(list, "items")), 2);
    fake_close(f);
}

// What is beyond `most` is counted: by the server where it says it, else by us.
TEST(rows_beyond_the_most_are_counted)
{
    static const int most[] = {2, 3, 5, 6};
    for (size_t i = 0; i < ARRAY_LEN(most); i++) {
        struct fake *f = fake_open(false);
        struct list_query q = {.cells = true, .most = (size_t)most[i]};
        AUTO_JSON *list = client_list(f->client, &f->patience, pods(f), "t-paged", &q, &f->e);
        CHECK_OK(list, f->e);
        CHECK_INT(cJSON_GetArraySize(json_get(list, "rows")), most[i]);
        CHECK_INT(json_int_or(json_get(list, "metadata"), "remainingItemCount", 0), 7 - most[i]);
        fake_close(f);
    }
}

// What only notes something does not want to know why it could not.
TEST(a_page_that_is_refused_to_who_wants_no_error)
{
    struct fake *f = fake_open(false);
    struct list_query q = {.limit = 5};
    CHECK(!client_page(f->client, &f->patience, pods(f), "forbidden", &q, NULL, NULL));
    CHECK(!client_list(f->client, &f->patience, pods(f), "forbidden", &q, NULL));
    CHECK(!client_list(f->client, &f->patience, pods(f), "forbidden", &q, &f->e));
    CHECK_INT(f->e.code, ERR_FORBIDDEN);
    fake_close(f);
}

static cJSON *pod_named(const char *name)
{
    AUTO_FREE char *text =
        str_fmt("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\"}}", name);
    return json_parse(text, strlen(text), NULL);
}

TEST(create_says_exists_and_invalid)
{
    struct fake *f = fake_open(false);
    AUTO_JSON *fresh = pod_named("fresh"), *taken = pod_named("taken"), *bad = pod_named("invalid");
    AUTO_JSON *made = client_create(f->client, &f->patience, pods(f), fresh, false, &f->e);
    CHECK_OK(made, f->e);
    CHECK_STR(json_path_str(made, "metadata.namespace"), "default");
    CHECK(!client_create(f->client, &f->patience, pods(f), taken, false, &f->e));
    CHECK_INT(f->e.code, ERR_EXISTS);
    CHECK_HAS(f->e.text, "use k8s.apply");
    CHECK(!client_create(f->client, &f->patience, pods(f), bad, false, &f->e));
    CHECK_HAS(f->e.text, "spec.containers: Required value");
    fake_close(f);
}

// How often the fake has seen something, by its own count.
static int64_t seen(struct fake *f, const char *what)
{
    AUTO_BUF text = {0};
    CHECK_OK(client_text(f->client, &f->patience, "/_counts", &text, &f->e) == 0, f->e);
    AUTO_JSON *counts = json_parse(text.data, text.len, NULL);
    return json_int_or(counts, what, 0);
}

// The request may have arrived: if it were sent again, a generated name would make another object.
TEST(a_create_whose_answer_was_lost_is_sent_once)
{
    static const char text[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":"
                               "{\"generateName\":\"post-cut\"}}";
    struct fake *f = fake_open(false);
    AUTO_JSON *pod = json_parse(text, strlen(text), NULL);
    int64_t before = seen(f, "post post-cut"); // and leaves a connection to be used again
    CHECK(!client_create(f->client, &f->patience, pods(f), pod, false, &f->e));
    CHECK_INT(f->e.code, ERR_UNAVAILABLE);
    CHECK_INT(seen(f, "post post-cut") - before, 1);
    fake_close(f);
}

TEST(a_list_that_does_not_end_is_ended)
{
    static const char *const namespaces[] = {"again", "empty"};
    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
        struct fake *f = fake_open(false);
        CHECK(!client_list(f->client, &f->patience, pods(f), namespaces[i], NULL, &f->e));
        CHECK_INT(f->e.code, ERR_UNAVAILABLE);
        CHECK_HAS(f->e.text, "goes on with its list for ever");
        CHECK_HAS(f->e.text, "127.0.0.1");
        AUTO_FREE char *what = str_fmt("list %s", namespaces[i]);
        CHECK(seen(f, what) < 10);
        fake_close(f);
    }
}

TEST(a_webhook_that_is_away_is_told_of_with_what_helps)
{
    err e = {0};
    AUTO_JSON *status = tap_yaml("{kind: Status, code: 500, message: 'Internal error occurred: "
                                 "failed calling webhook \"w\": failed to call webhook'}");
    status_object_error(status, "create pods", "", &e);
    CHECK_HAS(e.text, "create pods: Internal error occurred: failed calling webhook \"w\"");
    CHECK_HAS(e.text, ": an admission webhook does not answer");
}

TEST(a_server_that_asks_for_a_long_pause_is_not_waited_for)
{
    struct fake *f = fake_open(false);
    int64_t start = clock_mono();
    err e = get_error(f, "later");
    CHECK_INT(e.code, ERR_UNAVAILABLE);
    CHECK_HAS(e.text, "asks us to wait 9223372036 s");
    CHECK(clock_mono() - start < 10 * CLOCK_SEC);
    fake_close(f);
}

TEST(apply_names_the_other_manager)
{
    struct fake *f = fake_open(false);
    AUTO_JSON *owned = pod_named("owned");
    CHECK(!client_apply(f->client, &f->patience, pods(f), owned, false, false, &f->e));
    CHECK_INT(f->e.code, ERR_CONFLICT);
    CHECK_HAS(f->e.text, ".spec.replicas (conflict with \"kubectl\"): force=true");
    fake_close(f);
}

TEST(delete_minds_the_uid)
{
    struct fake *f = fake_open(false);
    struct delete_options o = {.uid = "another", .grace_seconds = -1};
    CHECK(client_delete(f->client, &f->patience, pods(f), "default", "d", &o, &f->e) != 0);
    CHECK_INT(f->e.code, ERR_CONFLICT);
    o.uid = "uid-d";
    CHECK_OK(client_delete(f->client, &f->patience, pods(f), "default", "d", &o, &f->e) == 0, f->e);
    CHECK_INT(
        client_can_i(f->client, &f->patience, "delete", pods(f), "d", NULL, NULL, NULL, &f->e), 0);
    CHECK_INT(
        client_can_i(f->client, &f->patience, "get", pods(f), "d", NULL, NULL, NULL, &f->e), 1);
    CHECK_STR(json_str(client_identity(f->client, &f->patience, &f->e), "uid"), "the-cluster");
    fake_close(f);
}

// A client whose token comes from a plug-in. The plug-in prints the file plugin-answer of the
// fake's folder, and appends an x to plugin-runs.
static client *plugin_client(struct fake *f)
{
    AUTO_FREE char *plugin =
        str_fmt("#!/bin/sh\necho x >>%s/plugin-runs\ncat %s/plugin-answer\n", f->dir, f->dir);
    fake_write(f, "plugin", plugin);
    fake_write(f, "plugin-runs", "");
    AUTO_FREE char *config = fake_read(f, "kubeconfig");
    AUTO_JSON *tree = json_parse(config, strlen(config), NULL);
    cJSON *user = (cJSON *)json_path(tree, "users[0]");
    AUTO_FREE char *exec = str_fmt("{\"exec\":{\"apiVersion\":\"client.authentication.k8s.io/v1\","
                                   "\"command\":\"./plugin\",\"interactiveMode\":\"Never\"}}");
    json_set(user, "user", json_parse(exec, strlen(exec), NULL));
    AUTO_FREE char *text = json_to_str(tree);
    fake_write(f, "exec.yaml", text);
    AUTO_FREE char *path = str_fmt("%s/exec.yaml", f->dir);
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    client *c = fake_client(f, (struct client_options){.kubeconfig = path, .env = env});
    CHECK_OK(c, f->e);
    return c;
}

// expires: seconds from now; 0: not given.
static void plugin_says(struct fake *f, const char *token, int expires)
{
    AUTO_BUF end = {0};
    clock_rfc3339(&end, clock_wall() + expires * CLOCK_SEC, CLOCK_SECONDS);
    AUTO_FREE char *until =
        expires ? str_fmt(",\"expirationTimestamp\":\"%s\"", end.data) : mem_strdup("");
    AUTO_FREE char *answer =
        str_fmt("{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
                "\"status\":{\"token\":\"%s\"%s}}",
            token, until);
    fake_write(f, "plugin-answer", answer);
}

static void ask_version(struct fake *f, client *c)
{
    AUTO_JSON *version = client_version(c, &f->patience, &f->e);
    CHECK_OK(version, f->e);
}

static size_t plugin_runs(struct fake *f)
{
    AUTO_FREE char *runs = fake_read(f, "plugin-runs");
    return strlen(runs) / 2;
}

TEST(an_exec_plugin_is_run_once_and_again_when_its_token_is_refused)
{
    struct fake *f = fake_open(false);
    client *c = plugin_client(f);
    plugin_says(f, "good-token", 0);
    ask_version(f, c);
    ask_version(f, c);
    CHECK_INT(plugin_runs(f), 1);
    fake_write(f, "accept-token", "newer-token");
    plugin_says(f, "newer-token", 0);
    ask_version(f, c);
    CHECK_INT(plugin_runs(f), 2);
    fake_write(f, "accept-token", "good-token");
    fake_close(f);
}

TEST(a_token_of_a_plugin_is_not_used_to_its_end)
{
    struct fake *f = fake_open(false);
    client *c = plugin_client(f);
    plugin_says(f, "good-token", 2); // it may end on the way
    ask_version(f, c);
    plugin_says(f, "good-token", 3600);
    ask_version(f, c);
    CHECK_INT(plugin_runs(f), 2);
    ask_version(f, c);
    CHECK_INT(plugin_runs(f), 2);
    fake_close(f);
}

int main(void)
{
    int result = tap_run();
    fake_end();
    return result;
}
