// SPDX-License-Identifier: MIT
#include "base/data/quantity.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/nodes/podenv.h"
#include "tests/support/tap.h"

#include <stdlib.h>

static cJSON *parse(const char *text)
{
    err e = {0};
    cJSON *j = json_parse(text, strlen(text), &e);
    if (!j)
        tap_fail(__FILE__, __LINE__, "%s", e.text);
    return j;
}

// A namespace with the ConfigMap "settings" and the Secret "login" ("pass": "hunter2").
static const cJSON *look_up(void *arg, const char *kind, const char *name)
{
    const cJSON *world = arg;
    return json_get(json_get(world, kind), name);
}

static cJSON *new_world(void)
{
    return parse("{\"ConfigMap\": {\"settings\": {\"data\": {\"A\": \"1\", \"B\": \"2\"}}},"
                 " \"Secret\": {\"login\": {\"data\": {\"pass\": \"aHVudGVyMg==\"}}}}");
}

static char **build(const char *container, const char *const *image_env, err *e)
{
    AUTO_JSON *world = new_world();
    AUTO_JSON *pod =
        parse("{\"metadata\": {\"name\": \"web\", \"namespace\": \"shop\", \"uid\": \"u-1\","
              " \"labels\": {\"app\": \"x\"}}, \"spec\": {\"nodeName\": \"n1\"}}");
    AUTO_JSON *c = parse(container);
    return podenv_build(pod, c, image_env, look_up, world, e);
}

static void expect(const char *container, const char *name, const char *value)
{
    err e = {0};
    char **env = build(container, (const char *const[]){"PATH=/image", "GREETING=hi", NULL}, &e);
    if (!env)
        tap_fail(__FILE__, __LINE__, "%s", e.text);
    AUTO_FREE char *got = mem_strdup(podenv_get(env, name));
    strv_free(env);
    CHECK_STR(got, value);
}

TEST(environment_has_the_images_and_the_pods_name)
{
    expect("{}", "PATH", "/image");
    expect("{}", "HOSTNAME", "web");
    expect("{\"env\": [{\"name\": \"PATH\", \"value\": \"/mine\"}]}", "PATH", "/mine");
}

TEST(environment_refers_to_what_stands_before)
{
    expect("{\"env\": [{\"name\": \"X\", \"value\": \"$(GREETING), $(LATER) $$(GREETING)\"},"
           "{\"name\": \"LATER\", \"value\": \"no\"}]}",
        "X", "hi, $(LATER) $(GREETING)");
}

TEST(environment_from_config_maps_and_secrets)
{
    expect("{\"envFrom\": [{\"prefix\": \"P_\", \"configMapRef\": {\"name\": \"settings\"}}]}",
        "P_B", "2");
    expect("{\"env\": [{\"name\": \"K\", \"valueFrom\": {\"secretKeyRef\": "
           "{\"name\": \"login\", \"key\": \"pass\"}}}]}",
        "K", "hunter2");
    expect("{\"env\": [{\"name\": \"K\", \"valueFrom\": {\"configMapKeyRef\": "
           "{\"name\": \"nope\", \"key\": \"a\", \"optional\": true}}}]}",
        "K", NULL);
}

TEST(environment_errors_are_the_kubelets)
{
    err e = {0};
    CHECK(!build("{\"env\": [{\"name\": \"K\", \"valueFrom\": {\"secretKeyRef\": "
                 "{\"name\": \"login\", \"key\": \"user\"}}}]}",
        NULL, &e));
    CHECK_STR(e.text, "couldn't find key user in Secret shop/login");
    CHECK(!build("{\"envFrom\": [{\"configMapRef\": {\"name\": \"nope\"}}]}", NULL, &e));
    CHECK_STR(e.text, "configmap \"nope\" not found");
}

TEST(environment_has_downward_fields)
{
#define FIELD(path)                                                                                \
    "{\"resources\": {\"limits\": {\"memory\": \"1Gi\", \"cpu\": \"1500m\"}}, \"env\": "           \
    "[{\"name\": \"F\", \"valueFrom\": {" path "}}]}"
    expect(FIELD("\"fieldRef\": {\"fieldPath\": \"metadata.namespace\"}"), "F", "shop");
    expect(FIELD("\"fieldRef\": {\"fieldPath\": \"metadata.uid\"}"), "F", "u-1");
    expect(FIELD("\"fieldRef\": {\"fieldPath\": \"metadata.labels['app']\"}"), "F", "x");
    expect(FIELD("\"fieldRef\": {\"fieldPath\": \"status.podIP\"}"), "F", "127.0.0.1");
    expect(FIELD("\"resourceFieldRef\": {\"resource\": \"limits.cpu\"}"), "F", "2");
    expect(FIELD("\"resourceFieldRef\": {\"resource\": \"limits.memory\", \"divisor\": \"1Mi\"}"),
        "F", "1024");
#undef FIELD
}

static void expect_argv(const char *container, const char *want)
{
    static const char *const entrypoint[] = {"/entry", NULL}, *const cmd[] = {"default", NULL};
    AUTO_JSON *c = parse(container);
    char **env = strv_dup((const char *const[]){"N=5", NULL});
    char **argv = podenv_argv(c, entrypoint, cmd, env);
    AUTO_BUF joined = {0};
    for (char **a = argv; *a; a++)
        buf_fmt(&joined, "%s|", *a);
    strv_free(env);
    strv_free(argv);
    AUTO_FREE char *got = buf_take(&joined);
    CHECK_STR(got, want);
}

TEST(arguments_replace_the_images_as_documented)
{
    expect_argv("{}", "/entry|default|");
    expect_argv("{\"args\": [\"--n=$(N)\"]}", "/entry|--n=5|");
    expect_argv("{\"command\": [\"sh\"]}", "sh|");
    expect_argv("{\"command\": [\"sh\"], \"args\": [\"-c\", \"$$(N)\"]}", "sh|-c|$(N)|");
}

static int64_t milli(const char *text)
{
    int64_t value = -1;
    err e = {0};
    return quantity_parse(text, &value, &e) ? -1 : value;
}

TEST(quantities)
{
    CHECK_INT(milli("500m"), 500);
    CHECK_INT(milli("1.5"), 1500);
    CHECK_INT(milli("2Ki"), 2048000);
    CHECK_INT(milli("1e3"), 1000000);
    CHECK_INT(milli("1G"), INT64_C(1000000000000));
    CHECK_INT(milli("100n"), 1); // rounded up
    CHECK_INT(milli("1Q"), -1);
    CHECK_INT(milli("0x10"), -1);
    CHECK_INT(milli(""), -1);
    CHECK_INT(milli("9e99"), -1);
    int64_t bytes;
    err e = {0};
    CHECK_OK(quantity_parse_jvm("512m", &bytes, &e) == 0, e);
    CHECK_INT(bytes, 512 << 20);
    CHECK_OK(quantity_parse_jvm("2G", &bytes, &e) == 0, e);
    CHECK_INT(bytes, INT64_C(2) << 30);
    CHECK(quantity_parse_jvm("1.5g", &bytes, &e) != 0);
    CHECK_HAS(e.text, "not a size");
}

int main(void)
{
    return tap_run();
}
