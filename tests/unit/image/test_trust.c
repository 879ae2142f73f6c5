// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/registry/conf.h"
#include "k8s/image/registry/trust.h"
#include "tests/support/tap.h"

static void put(const char *name, const char *text)
{
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), name);
    AUTO_FREE char *dir = path_dirname(path);
    CHECK_OK(path_make_dirs(dir, 0755, &e) == 0, e);
    CHECK_OK(path_write(path, text, strlen(text), 0644, &e) == 0, e);
}

static struct trust find(const char *host, int status, err *e)
{
    AUTO_FREE char *config = path_join(tap_dir(), "config");
    AUTO_FREE char *etc = path_join(tap_dir(), "etc");
    struct trust t;
    CHECK_INT(trust_find(&(struct trust_places){config, etc, NULL}, host, &t, e), status);
    return t;
}

static bool conf_insecure(const char *text, const char *host)
{
    CLEANUP(registries_done) struct registries conf = {0};
    registries_read(&conf, text);
    return registries_insecure(&conf, host);
}

TEST(a_folder_of_certificates)
{
    err e = {0};
    put("etc/docker/certs.d/a:5000/ca.crt", "docker's");
    struct trust t = find("a:5000", 0, &e);
    CHECK_STR(buf_cstr(&t.ca), "docker's\n");
    CHECK_HAS(t.ca_from, "etc/docker/certs.d/a:5000");
    CHECK(!t.insecure && !t.cert.len);
    trust_done(&t);

    put("config/containers/certs.d/a:5000/2.crt", "two");
    put("config/containers/certs.d/a:5000/1.crt", "one");
    put("config/containers/certs.d/a:5000/client.cert", "mine");
    put("config/containers/certs.d/a:5000/client.key", "secret");
    t = find("a:5000", 0, &e); // the person's own folder hides the system's
    CHECK_STR(buf_cstr(&t.ca), "one\ntwo\n");
    CHECK_STR(buf_cstr(&t.cert), "mine");
    CHECK_STR(buf_cstr(&t.key), "secret");
    trust_done(&t);

    t = find("a", 0, &e); // another port is another registry
    CHECK(!t.ca.len && !t.ca_from);
    trust_done(&t);
}

TEST(a_certificate_without_its_key)
{
    err e = {0};
    put("config/containers/certs.d/b/client.cert", "mine");
    struct trust t = find("b", -1, &e);
    CHECK_INT(e.code, ERR_NOT_FOUND);
    CHECK_HAS(e.text, "certs.d/b/client.key is missing");
    trust_done(&t);
}

TEST(registries_conf)
{
    static const char conf[] = "unqualified-search-registries = [\"docker.io\"]\n"
                               "# insecure = true\n"
                               "[[registry]]\r\n"
                               "location = \"a:5000\" # ours\n"
                               "insecure = true\n"
                               "[[registry.mirror]]\n"
                               "location = \"m\"\n"
                               "insecure = true\n"
                               "[[registry]]\n"
                               "  prefix='b/team'\n"
                               "  insecure=true\n"
                               "[[registry]]\n"
                               "location = \"c\"\n"
                               "[[registry]]\n"
                               "insecure = false\n"
                               "location = \"d\"";
    CHECK(conf_insecure(conf, "a:5000"));
    CHECK(!conf_insecure(conf, "a"));
    CHECK(conf_insecure(conf, "m")); // a mirror
    CHECK(conf_insecure(conf, "b"));
    CHECK(!conf_insecure(conf, "c"));
    CHECK(!conf_insecure(conf, "d"));
    CHECK(conf_insecure("[[registry]]\nlocation=\"x\"\ninsecure=true", "x"));
    CHECK(!conf_insecure("location=\"x\"\ninsecure=true", "x"));
    CHECK(!conf_insecure("[[registry]]\nlocation=\"x\ninsecure=true", "x"));
}

TEST(mirrors_of_registries_conf)
{
    CLEANUP(registries_done) struct registries conf = {0};
    registries_read(&conf,
        "[[registry]]\nprefix = \"docker.io\"\nlocation = \"proxy.example/hub\"\n"
        "[[registry.mirror]]\nlocation = \"near.example:5000\"\n"
        "[[registry.mirror]]\nlocation = \"far.example/m\"\npull-from-mirror = \"digest-only\"\n"
        "[[registry]]\nprefix = \"docker.io/team\"\nblocked = true\n"
        "[[registry]]\nprefix = \"*.inner.example\"\nlocation = \"one.example\"\n");
    const struct registry_entry *e = registries_entry(&conf, "docker.io/library/x");
    CHECK(e && e->n == 2 && !e->blocked);
    AUTO_FREE char *own = registries_name(e, e->own.location, "docker.io/library/x");
    CHECK_STR(own, "proxy.example/hub/library/x");
    AUTO_FREE char *near = registries_name(e, e->mirrors[0].location, "docker.io/library/x");
    CHECK_STR(near, "near.example:5000/library/x");
    CHECK(e->mirrors[0].tags && !e->mirrors[1].tags && e->mirrors[1].digests);
    CHECK(registries_entry(&conf, "docker.io/team/y")->blocked);
    CHECK(!registries_entry(&conf, "docker.io/teams/y")->blocked);
    CHECK(!registries_entry(&conf, "docker.iox/y"));
    e = registries_entry(&conf, "a.inner.example/y");
    AUTO_FREE char *one = registries_name(e, e->own.location, "a.inner.example/y");
    CHECK_STR(one, "one.example/y");
    registries_read(&conf, "[[registry]]\nlocation = \"docker.io\"\n"); // a later file
    CHECK_INT(registries_entry(&conf, "docker.io/library/x")->n, 0);
}

TEST(what_docker_and_containers_call_insecure)
{
    err e = {0};
    put("etc/docker/daemon.json", "{\"insecure-registries\": [\"10.0.0.0/8\", \"plain:5000\"]}");
    put("etc/containers/registries.conf", "[[registry]]\nlocation = \"p\"\ninsecure = true\n");
    struct trust t = find("plain:5000", 0, &e);
    CHECK(t.insecure);
    trust_done(&t);
    t = find("p", 0, &e);
    CHECK(t.insecure);
    trust_done(&t);
    put("config/containers/registries.conf", "");
    t = find("p", 0, &e); // the person's own file counts alone
    CHECK(!t.insecure);
    trust_done(&t);
    put("etc/docker/daemon.json", "{\"insecure-registries\": \"plain:5000\"}");
    t = find("plain:5000", -1, &e);
    CHECK_HAS(
        e.text, "/etc/docker/daemon.json: line 1, column 25: insecure-registries must be a list");
    trust_done(&t);
}

int main(void)
{
    return tap_run();
}
