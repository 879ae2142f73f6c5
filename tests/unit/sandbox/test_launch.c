// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/sandbox/nodes/launch.h"
#include "k8s/sandbox/nodes/podinit.h"
#include "k8s/sandbox/nodes/schedule.h"
#include "k8s/sandbox/nodes/volumes.h"
#include "tests/support/tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define S(text) ((char *)(text)) // literals where an owner's strings would be

static cJSON *parse(const char *text)
{
    err e = {0};
    cJSON *j = json_parse(text, strlen(text), &e);
    if (!j)
        tap_fail(__FILE__, __LINE__, "%s", e.text);
    return j;
}

static char *joined(char *const *words)
{
    AUTO_BUF out = {0};
    for (; *words; words++)
        buf_fmt(&out, "%s%s", out.len ? " " : "", *words);
    return buf_take(&out);
}

static struct runtime_spec spec_of(char **argv, struct runtime_mount *mount)
{
    return (struct runtime_spec){.dir = tap_dir(),
        .hostname = "web",
        .cwd = "/w",
        .mounts = mount,
        .mount_n = 1,
        .argv = argv};
}

TEST(command_of_a_host_pod_is_read_only)
{
    err e = {0};
    struct runtime r = {.program = S("/x/sandbox"),
        .bwrap = (const char *const[]){"/usr/bin/bwrap", NULL},
        .overlay = true};
    char *argv[] = {S("sh"), S("-c"), S("true"), NULL};
    struct runtime_mount mount = {S("/data"), S("/mnt"), true};
    struct runtime_spec spec = spec_of(argv, &mount);
    spec.memory = 1000;
    spec.cpus = "1";
    char **command = runtime_command(&r, &spec, &e);
    CHECK_OK(command != NULL, e);
    AUTO_FREE char *line = joined(command);
    strv_free(command);
    AUTO_FREE char *start = str_fmt(
        "/x/sandbox --pod --parent %d --data 1000 --cpus 1 -- /usr/bin/bwrap --ro-bind / / ",
        getpid());
    CHECK(str_starts(line, start));
    CHECK_HAS(line, "--ro-bind /data /mnt ");
    CHECK_HAS(line, "--unshare-pid");
    CHECK_HAS(line, "--die-with-parent");
    CHECK(str_ends(line, "--chdir /w -- sh -c true"));
}

TEST(command_of_an_image_has_a_writable_layer)
{
    err e = {0};
    struct runtime r = {.program = S("/x/sandbox"),
        .bwrap = (const char *const[]){"/usr/bin/bwrap", NULL},
        .overlay = true};
    char *argv[] = {S("run"), NULL};
    struct runtime_mount mount = {S("/data"), S("/mnt"), false};
    struct runtime_spec spec = spec_of(argv, &mount);
    spec.root = "/images/abc";
    char **command = runtime_command(&r, &spec, &e);
    CHECK_OK(command != NULL, e);
    AUTO_FREE char *line = joined(command);
    strv_free(command);
    AUTO_FREE char *overlay = str_fmt(
        "--overlay /images/abc %s/upper %s/work %s/root --", tap_dir(), tap_dir(), tap_dir());
    AUTO_FREE char *root = str_fmt("--bind %s/root / ", tap_dir()),
                   *upper = path_join(tap_dir(), "upper");
    CHECK_HAS(line, overlay);
    CHECK_HAS(line, root);
    CHECK_HAS(line, "--bind /data /mnt ");
    CHECK(path_is_dir(upper));
}

// As a plain process: in a copy of the root; the worker is ours, other programs are the image's if
// it has them.
TEST(command_of_an_image_as_a_plain_process)
{
    static const char *const programs[][2] = {{"/opt/firesteel/firesteel-worker", "/ours/worker"},
        {"/bin/tool", "COPY/bin/tool"}, {"sh", "sh"}, {"/bin/missing", "/bin/missing"}};
    err e = {0};
    struct runtime r;
    runtime_plain(&r, "/x/sandbox", "/ours/worker");
    AUTO_FREE char *image = path_join(tap_dir(), "image"), *file = path_join(image, "bin/tool"),
                   *bin = path_join(image, "bin"), *copy = path_join(tap_dir(), "root");
    CHECK(path_make_dirs(bin, 0700, &e) == 0 && path_write(file, "x", 1, 0700, &e) == 0);
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        char *argv[] = {(char *)programs[i][0], S("-x"), NULL};
        struct runtime_spec spec = spec_of(argv, NULL);
        spec.root = image;
        spec.mount_n = 0;
        char **command = runtime_command(&r, &spec, &e);
        CHECK_OK(command != NULL, e);
        AUTO_FREE char *line = joined(command);
        strv_free(command);
        const char *wanted = programs[i][1];
        bool copied = str_starts(wanted, "COPY");
        AUTO_FREE char *end = str_fmt(
            "--guard -- %s%s -x", copied ? copy : "", wanted + (copied ? strlen("COPY") : 0));
        CHECK(str_ends(line, end));
    }
    runtime_done(&r);
}

TEST(command_without_overlay_copies_the_root)
{
    err e = {0};
    struct runtime r = {
        .program = S("/x/sandbox"), .bwrap = (const char *const[]){"/usr/bin/bwrap", NULL}};
    AUTO_FREE char *image = path_join(tap_dir(), "image"), *file = path_join(image, "file");
    AUTO_FREE char *copy = path_join(tap_dir(), "root/file");
    CHECK(path_make_dirs(image, 0700, &e) == 0 && path_write(file, "x", 1, 0600, &e) == 0);
    char *argv[] = {S("run"), NULL};
    struct runtime_mount mount = {S("/data"), S("/mnt"), false};
    struct runtime_spec spec = spec_of(argv, &mount);
    spec.root = image;
    char **command = runtime_command(&r, &spec, &e);
    CHECK_OK(command != NULL, e);
    strv_free(command);
    CHECK(path_exists(copy));
}

TEST(command_without_namespaces_is_guarded_and_for_the_host_only)
{
    err e = {0};
    struct runtime r = {.program = S("/x/sandbox"), .why = S("no namespaces")};
    char *argv[] = {S("run"), NULL};
    struct runtime_mount mount = {S("/data"), S("/mnt"), false};
    struct runtime_spec spec = spec_of(argv, &mount);
    char **command = runtime_command(&r, &spec, &e);
    CHECK_OK(command != NULL, e);
    AUTO_FREE char *line = joined(command);
    strv_free(command);
    CHECK(str_ends(line, "--guard -- run"));
    spec.root = "/images/abc";
    CHECK(!runtime_command(&r, &spec, &e));
    CHECK_STR(e.text, "only pods of image \"host\" run here: no namespaces");
}

TEST(programs_are_looked_for_inside_the_root)
{
    err e = {0};
    AUTO_FREE char *bin = path_join(tap_dir(), "usr/bin"), *tool = path_join(bin, "tool");
    AUTO_FREE char *link = path_join(tap_dir(), "bin"), *text = path_join(bin, "text");
    CHECK(path_make_dirs(bin, 0755, &e) == 0 && path_write(tool, "x", 1, 0755, &e) == 0 &&
          path_write(text, "x", 1, 0644, &e) == 0 && symlink("/usr/bin", link) == 0);
    CHECK(runtime_has_program(tap_dir(), "tool", "/sbin:/bin", "/"));
    CHECK(runtime_has_program(tap_dir(), "/bin/tool", "", "/"));
    CHECK(runtime_has_program(tap_dir(), "./tool", "", "/bin"));
    CHECK(!runtime_has_program(tap_dir(), "text", "/bin", "/")); // not executable
    CHECK(
        !runtime_has_program(tap_dir(), "sh", "/sbin:/bin", "/")); // the machine's, not the root's
    CHECK(!runtime_has_program(tap_dir(), "../../bin/sh", "", "/bin")); // ".." stays inside
}

static const cJSON *look_up(void *arg, const char *kind, const char *name)
{
    return json_get(json_get(arg, kind), name);
}

static void check_file(const char *relative, const char *want)
{
    AUTO_FREE char *path = path_join(tap_dir(), relative);
    AUTO_BUF text = {0};
    err e = {0};
    CHECK_OK(path_read(path, &text, 0, &e) == 0, e);
    CHECK_STR(buf_cstr(&text), want);
}

TEST(volumes_become_folders)
{
    err e = {0};
    AUTO_JSON *world = parse("{\"ConfigMap\": {\"c\": {\"data\": {\"a\": \"1\", \"b\": \"2\"}}},"
                             " \"Secret\": {\"s\": {\"data\": {\"pass\": \"aHVudGVyMg==\"}}}}");
    AUTO_JSON *pod =
        parse("{\"metadata\": {\"name\": \"web\"}, \"spec\": {\"volumes\": ["
              "{\"name\": \"all\", \"configMap\": {\"name\": \"c\"}},"
              "{\"name\": \"some\", \"configMap\": {\"name\": \"c\", \"items\": [{\"key\": \"b\", "
              "\"path\": "
              "\"x/y\"}]}},"
              "{\"name\": \"both\", \"projected\": {\"sources\": [{\"secret\": {\"name\": \"s\"}}, "
              "{\"downwardAPI\": {\"items\": [{\"path\": \"n\", \"fieldRef\": {\"fieldPath\": "
              "\"metadata.name\"}}]}}]}},"
              "{\"name\": \"gone\", \"secret\": {\"secretName\": \"no\", \"optional\": true}}]}}");
    CHECK_OK(volumes_make(pod, tap_dir(), look_up, world, &e) == 0, e);
    check_file("all/a", "1");
    check_file("some/x/y", "2");
    check_file("both/pass", "hunter2");
    check_file("both/n", "web");
}

static void check_refused(const char *volume, const char *why)
{
    err e = {0};
    AUTO_JSON *world = parse("{\"ConfigMap\": {\"c\": {\"data\": {\"a\": \"1\"}}}}");
    AUTO_FREE char *text = str_fmt("{\"spec\": {\"volumes\": [%s]}}", volume);
    AUTO_JSON *pod = parse(text);
    CHECK(volumes_make(pod, tap_dir(), look_up, world, &e) != 0);
    CHECK_HAS(e.text, why);
}

TEST(volumes_that_cannot_be_made_say_why)
{
    check_refused("{\"name\": \"v\", \"configMap\": {\"name\": \"no\"}}",
        "MountVolume.SetUp failed for volume \"v\" : configmap \"no\" not found");
    check_refused("{\"name\": \"v\", \"configMap\": {\"name\": \"c\", \"items\": "
                  "[{\"key\": \"a\", \"path\": \"../../x\"}]}}",
        "invalid path ../../x");
    check_refused("{\"name\": \"v\", \"nfs\": {}}", "emptyDir, configMap, secret");
}

// The source of a mount of the volume "v" with this subPath, below the volume's folder; new. NULL:
// refused.
static char *sub_path(const char *sub, err *e)
{
    struct volume_mounts m;
    AUTO_JSON *pod = parse("{\"spec\": {\"volumes\": [{\"name\": \"v\", \"emptyDir\": {}}]}}");
    AUTO_FREE char *text = str_fmt(
        "{\"volumeMounts\": [{\"name\": \"v\", \"mountPath\": \"/m\", \"subPath\": \"%s\"}]}", sub);
    AUTO_JSON *container = parse(text);
    CHECK_OK(volumes_make(pod, tap_dir(), look_up, NULL, e) == 0, *e);
    bool good = volumes_mounts(pod, container, tap_dir(), NULL, &m, e) == 0;
    char *source = good ? mem_strdup(m.items[0].source + strlen(tap_dir())) : NULL;
    volume_mounts_done(&m);
    return source;
}

static void check_sub_path(const char *sub, const char *want)
{
    err e = {0};
    AUTO_FREE char *got = sub_path(sub, &e);
    CHECK_STR(got, want);
    if (!want)
        CHECK_HAS(e.text, "must not leave its volume");
}

TEST(sub_paths_stay_in_their_volume)
{
    check_sub_path("a/b", "/v/a/b");
    check_sub_path("..", NULL);
    check_sub_path("a/../../x", NULL);
    // A container of the pod has put links into the volume.
    AUTO_FREE char *out = path_join(tap_dir(), "v/out"), *up = path_join(tap_dir(), "v/up"),
                   *in = path_join(tap_dir(), "v/in"), *dot = path_join(tap_dir(), "v/a/dot"),
                   *sly = path_join(tap_dir(), "v/sly"), *made = path_join(tap_dir(), "new");
    CHECK(!symlink("/etc", out) && !symlink("..", up) && !symlink("a/b", in) &&
          !symlink(".", dot) && !symlink("a/dot/dot/../../..", sly));
    check_sub_path("out", NULL);
    check_sub_path("out/ssl", NULL);
    check_sub_path("up", NULL);
    check_sub_path("up/new", NULL);
    check_sub_path("sly", NULL);
    check_sub_path("in", "/v/a/b");
    check_sub_path("in/c", "/v/a/b/c");
    CHECK(!path_exists(made));
}

TEST(volumes_stay_in_the_folder_of_their_pod)
{
    check_refused("{\"name\": \"../v\", \"emptyDir\": {}}", "is not the name of a volume");
    check_refused("{\"name\": \"\", \"emptyDir\": {}}", "is not the name of a volume");
}

TEST(pods_that_do_not_fit_the_node)
{
    AUTO_JSON *node = parse("{\"metadata\": {\"labels\": {\"disk\": \"ssd\"}}, \"status\": "
                            "{\"allocatable\": {\"cpu\": \"1\"}}}");
    AUTO_JSON *big = parse("{\"spec\": {\"nodeSelector\": {\"disk\": \"ssd\"}, \"containers\": "
                           "[{\"resources\": {\"limits\": {\"cpu\": \"64\"}}}]}}");
    AUTO_JSON *gpu = parse("{\"spec\": {\"containers\": [{\"resources\": {\"limits\": "
                           "{\"nvidia.com/gpu\": 1}}}]}}");
    AUTO_JSON *far = parse("{\"spec\": {\"nodeSelector\": {\"disk\": \"tape\"}}}");
    CHECK(!schedule_fit(big, node)); // CPUs are shared, not counted
    AUTO_FREE char *no_gpu = schedule_fit(gpu, node), *no_disk = schedule_fit(far, node);
    CHECK_HAS(no_gpu, "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.");
    CHECK_HAS(no_disk, "didn't match Pod's node affinity/selector");
}

TEST(starter_refuses_what_it_does_not_know)
{
    err e = {0};
    char *unknown[] = {S("--frobnicate"), S("1"), S("--"), S("true"), NULL},
         *empty[] = {S("--"), NULL};
    char *orphan[] = {S("--parent"), S("1234567"), S("--"), S("true"), NULL};
    CHECK(podinit_run(unknown, &e) != 0);
    CHECK_HAS(e.text, "bad option --frobnicate");
    CHECK(podinit_run(empty, &e) != 0);
    CHECK_STR(e.text, "no command");
    CHECK(podinit_run(orphan, &e) != 0);
    CHECK_STR(e.text, "the sandbox is gone");
}

int main(void)
{
    return tap_run();
}
