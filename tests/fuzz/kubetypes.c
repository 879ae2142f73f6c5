// SPDX-License-Identifier: MIT
// A kubeconfig that has all fields, of which some have values of another type or odd texts, as
// tools and people write them. What is accepted can be used: it has a server, lists of words have
// no holes, and headers have one line each. The input: pairs of bytes, a field and its new value.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/credentials.h"
#include "k8s/client/connect/kubeconfig.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char whole[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"a\",\"preferences\":{},"
    "\"clusters\":[{\"name\":\"one\",\"cluster\":{\"server\":\"https://h:6443/\","
    "\"certificate-authority-data\":\"\",\"insecure-skip-tls-verify\":false,"
    "\"tls-server-name\":\"h\",\"proxy-url\":\"http://p:1\",\"disable-compression\":true,"
    "\"extensions\":[{\"name\":\"firesteel/registry\",\"extension\":{\"host\":\"r:5000/x\","
    "\"insecure\":true,\"ca-data\":\"QQ==\"}}]}}],"
    "\"users\":[{\"name\":\"u\",\"user\":{\"token\":\"t\",\"username\":\"n\",\"password\":\"p\","
    "\"client-certificate-data\":\"\",\"client-key-data\":\"\",\"as\":\"x\",\"as-uid\":"
    "\"1\","
    "\"as-groups\":[\"g\",\"h\"],\"as-user-extra\":{\"k\":[\"v\",\"w\"]}}},"
    "{\"name\":\"e\",\"user\":{\"exec\":{\"apiVersion\":\"client.authentication.k8s.io/v1\","
    "\"command\":\"c\",\"args\":[\"a\",\"b\"],\"env\":[{\"name\":\"N\",\"value\":\"v\"}],"
    "\"installHint\":\"i\",\"provideClusterInfo\":true,\"interactiveMode\":\"Never\"}}}],"
    "\"contexts\":[{\"name\":\"a\",\"context\":{\"cluster\":\"one\",\"user\":\"u\",\"namespace\":"
    "\"s\"}},"
    "{\"name\":\"b\",\"context\":{\"cluster\":\"one\",\"user\":\"e\",\"extensions\":"
    "[{\"name\":\"firesteel/protected\",\"extension\":{\"protected\":true}}]}}]}";

static const char *const values[] = {"null", "true", "false", "0", "-1", "1.5",
    "99999999999999999999", "\"\"", "\"a\"", "\"b\"", "\"two\\nlines\"", "\"cr\\rlf\\n\"", "\"é\"",
    "\" \"", "\"true\"", "\"https://h\"", "\"h:1\"", "\"http://u:p@h:80/x/\"", "\"ftp://h\"",
    "\"https://\"", "\"../f\"", "\"!!!\"", "\"QUJD\"", "[]", "[null]", "[\"a\",5,\"b\"]",
    "[[\"a\"]]", "[{}]", "{}", "{\"k\":\"v\"}", "{\"k y:\\n\":[\"v\\n\"],\"\":[null]}",
    "{\"name\":\"a\",\"value\":[]}"};

// The number-th value in the tree, itself and what it contains counted; NULL: there are fewer.
static cJSON *nth(cJSON *v, size_t *number)
{
    for (cJSON *item = v->child; item; item = item->next) {
        if ((*number)-- == 0)
            return item;
        cJSON *found = nth(item, number);
        if (found)
            return found;
    }
    return NULL;
}

static cJSON *parent_of(cJSON *v, const cJSON *child)
{
    for (cJSON *item = v->child; item; item = item->next) {
        cJSON *found = item == child ? v : parent_of(item, child);
        if (found)
            return found;
    }
    return NULL;
}

static void change(cJSON *config, size_t number, cJSON *value)
{
    cJSON *old = nth(config, &number);
    if (!old) {
        cJSON_Delete(value);
        return;
    }
    value->string = old->string ? mem_strdup(old->string) : NULL;
    cJSON_ReplaceItemViaPointer(parent_of(config, old), old, value);
}

static void check_words(char *const *words)
{
    for (; words && *words; words++)
        if (strlen(*words) > sizeof whole)
            abort();
}

static void check_headers(void *arg, const struct access *access, const err *e)
{
    bool *answered = arg;
    *answered = true;
    if (!access && !*e->text)
        abort();
    for (char **h = access ? access->headers : NULL; h && *h; h++)
        if (strpbrk(*h, "\r\n") || !strchr(*h, ':') || **h == ':')
            abort();
}

static void check_credentials(const kubeconfig *k)
{
    err e;
    bool answered = false;
    const struct secret_sink nobody = {0};
    loop *l = loop_new(&e);
    http *h = http_new(l, "fuzz", &e);
    credentials *c = h ? credentials_new(l, h, k, NULL, &nobody) : NULL;
    struct access_wait wait = {.fn = check_headers, .arg = &answered};
    if (c)
        credentials_get(c, &wait);
    if (c && !answered)
        abort();
    credentials_free(c);
    http_free(h);
    loop_free(l);
}

static void use(cJSON *merged, const char *context)
{
    err e = {0};
    kubeconfig *k =
        kubeconfig_resolve(merged, "fuzz", &(struct client_options){.context = context}, &e);
    if (!k) {
        if (!*e.text)
            abort();
        return;
    }
    if (!k->server || !strstr(k->server, "://") || !k->context || !k->namespace_ || !*k->namespace_)
        abort();
    check_words(k->as_groups);
    if (k->exec) {
        check_words(k->exec->args);
        check_words(k->exec->env);
        if (!k->exec->command || !*k->exec->command)
            abort();
    } else {
        check_credentials(k);
    }
    kubeconfig_free(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err e = {0};
    AUTO_JSON *config = cJSON_Parse(whole);
    AUTO_BUF text = {0};
    struct choices c = {data, data + n};
    while (c.at < c.end) {
        size_t number = *c.at++;
        change(config, number, CHOOSE_JSON(&c, values));
    }
    json_print(&text, config);
    cJSON *parsed = kubeconfig_parse("/etc/fuzz/config", buf_cstr(&text), text.len, &e);
    if (!parsed && !*e.text)
        abort();
    if (!parsed)
        return 0;
    cJSON *merged = cJSON_CreateObject();
    kubeconfig_merge(merged, parsed);
    cJSON_Delete(parsed);
    free(kubeconfig_contexts(merged));
    use(merged, NULL);
    use(merged, "b");
    cJSON_Delete(merged);
    return 0;
}
