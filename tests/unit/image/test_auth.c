// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/registry/auth.h"
#include "tests/support/tap.h"

static void check_challenge(
    const char *header, int scheme, const char *realm, const char *service, const char *scope)
{
    auth_challenge c;
    auth_challenge_parse(header, &c);
    CHECK_INT(c.scheme, scheme);
    CHECK_STR(c.realm, realm);
    CHECK_STR(c.service, service);
    CHECK_STR(c.scope, scope);
    auth_challenge_done(&c);
}

TEST(challenges)
{
    check_challenge(
        "Bearer realm=\"https://a/token\",service=\"s\",scope=\"repository:a/b:pull,push\"",
        AUTH_BEARER, "https://a/token", "s", "repository:a/b:pull,push");
    check_challenge("basic realm=plain", AUTH_BASIC, "plain", NULL, NULL);
    check_challenge("BEARER  Realm = x", AUTH_BEARER, NULL, NULL, NULL);
    check_challenge("Basic realm=\"say \\\"hi\\\"\"", AUTH_BASIC, "say \"hi\"", NULL, NULL);
    // The better one of several, in any order.
    check_challenge("Basic realm=b, Bearer realm=t", AUTH_BEARER, "t", NULL, NULL);
    check_challenge("Bearer realm=t, Basic realm=b", AUTH_BEARER, "t", NULL, NULL);
    check_challenge("Negotiate, Basic realm=b", AUTH_BASIC, "b", NULL, NULL);
    check_challenge("", AUTH_OTHER, NULL, NULL, NULL);
    check_challenge("Bearer realm=\"cut", AUTH_BEARER, "cut", NULL, NULL);
}

static void check_found(
    const char *json, const char *host, const char *user, const char *password, const char *helper)
{
    err e = {0};
    auth_credentials c;
    AUTO_JSON *config = auth_parse(json, strlen(json), &e);
    CHECK_OK(config && auth_find(config, host, "team/app", &c, &e) == 0, e);
    CHECK_STR(c.user, user);
    CHECK_STR(c.password, password);
    CHECK_STR(c.helper, helper);
    auth_credentials_done(&c);
}

TEST(docker_config)
{
    const char *const auths = "{\"auths\":{\"example.org:5000\":{\"auth\":\"YWRhOmxvOnZl\"},"
                              "\"https://index.docker.io/v1/\":{\"identitytoken\":\"tok\"}}}";
    check_found(auths, "example.org:5000", "ada", "lo:ve", NULL);
    check_found(auths, "example.org", NULL, NULL, NULL);
    check_found("{}", "example.org", NULL, NULL, NULL);
    const char *const helpers =
        "{\"credsStore\":\"desktop\",\"credHelpers\":{\"a.example\":\"gcr\"}}";
    check_found(helpers, "a.example", NULL, NULL, "docker-credential-gcr");
    check_found(helpers, "b.example", NULL, NULL, "docker-credential-desktop");
}

// The longest key that fits, as containers-auth.json(5) has it; one of another team never does.
TEST(logins_of_namespaces)
{
    static const char config[] =
        "{\"auths\":{\"r.example/team-b\":{\"auth\":\"Yjpi\"},\"r.example\":{\"auth\":\"aDpo\"},"
        "\"r.example/team\":{\"auth\":\"dDp0\"},\"r.example/team/"
        "app\":{\"username\":\"a\",\"password\":"
        "\"p\"},\"r.example:5000/team\":{\"auth\":\"cDpw\"},\"https://index.docker.io/v1/\":{"
        "\"identitytoken\":\"tok\",\"auth\":\"eDo=\"},\"docker.io/"
        "team\":{\"registrytoken\":\"reg\"},"
        "\"old.example/v2/\":{\"auth\":\"bzpv\"},\"only.example/team-b\":{\"auth\":\"Yjpi\"}}}";
    static const struct {
        const char *host, *name, *user, *identity, *token;
    } cases[] = {
        {"r.example", "team/app", "a", NULL, NULL},
        {"r.example", "team/app/deep", "a", NULL, NULL},
        {"r.example", "team/application", "t", NULL, NULL},
        {"r.example", "team-b/x", "b", NULL, NULL},
        {"r.example", "team-c/x", "h", NULL, NULL},
        {"r.example:5000", "team/x", "p", NULL, NULL},
        {"r.example:5000", "other", NULL, NULL, NULL},
        {"docker.io", "library/x", NULL, "tok", NULL},
        {"registry-1.docker.io", "team/x", NULL, NULL, "reg"},
        {"old.example", "x", "o", NULL, NULL},
        {"only.example", "team-a/x", NULL, NULL, NULL},
    };
    err e = {0};
    AUTO_JSON *tree = auth_parse(config, strlen(config), &e);
    CHECK_OK(tree, e);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auth_credentials c;
        CHECK_OK(auth_find(tree, cases[i].host, cases[i].name, &c, &e) == 0, e);
        if (!str_eq(c.user, cases[i].user) || !str_eq(c.identity, cases[i].identity) ||
            !str_eq(c.token, cases[i].token))
            tap_fail(__FILE__, __LINE__, "%s/%s: %s", cases[i].host, cases[i].name, c.user);
        auth_credentials_done(&c);
    }
}

TEST(docker_configs_that_are_wrong)
{
    const char *const bad[] = {"{\"auths\":{\"a\":{\"auth\":\"!!\"}}}",
        "{\"auths\":{\"a\":{\"auth\":\"YWRh\"}}}", "{\"credsStore\":\"../../bin/sh\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err e = {0};
        auth_credentials c;
        AUTO_JSON *config = json_parse(bad[i], strlen(bad[i]), &e);
        CHECK_INT(auth_find(config, "a", "x", &c, &e), -1);
        CHECK_HAS(e.text, "docker's config.json");
    }
}

TEST(each_field_has_its_type)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{\"auths\": []}", "line 1, column 11: auths must be a mapping, and is a list"},
        {"{\"auths\": {\"a.example:5000\": {\n\"auth\": 99887766}}}",
            "line 2, column 9: auths[\"a.example:5000\"].auth must be a text, and is a number"},
        {"{\"auths\": {\"a\": {\"password\": 99887766}}}", "auths.a.password must be a text"},
        {"{\"auths\": {\"a\": {\"identitytoken\": true}}}", "auths.a.identitytoken must be a text"},
        {"{\"credsStore\": [\"x\"]}", "credsStore must be a text, and is a list"},
        {"{\"credHelpers\": {\"a\": {}}}", "credHelpers.a must be a text, and is a mapping"},
        {"[]", "it must be a mapping, and is a list"},
    };
    err e = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK(!auth_parse(cases[i].text, strlen(cases[i].text), &e));
        CHECK_HAS(e.text, cases[i].error);
        CHECK(!strstr(e.text, "99887766"));
    }
    static const char more[] = "{\"auths\": null, \"HttpHeaders\": 5, \"psFormat\": [\"x\"]}";
    AUTO_JSON *config = auth_parse(more, strlen(more), &e);
    CHECK(config);
    char helper[] = "docker-credential-x";
    auth_credentials c = {.helper = helper};
    static const char wrong[] = "{\"Username\": \"u\", \"Secret\": 99887766}";
    CHECK_INT(auth_take_answer(wrong, strlen(wrong), &c, &e), -1);
    CHECK_HAS(e.text, "what docker-credential-x answers: line 1, column 29: Secret must be a text");
}

int main(void)
{
    return tap_run();
}
