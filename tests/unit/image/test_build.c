// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/index.h"
#include "k8s/image/layer.h"
#include "k8s/image/programs/build.h"
#include "k8s/image/unpack.h"
#include "tests/support/tap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char *file_at(const char *name)
{
    return path_join(tap_dir(), name);
}

static void put(const char *name, const char *text)
{
    err e = {0};
    AUTO_FREE char *path = file_at(name), *dir = path_dirname(path);
    CHECK_OK(path_make_dirs(dir, 0755, &e) == 0, e);
    CHECK_OK(path_write(path, text, strlen(text), 0644, &e) == 0, e);
}

// A store, and a build with a small program as the worker, with a trainer and data.
struct fixture {
    image_store *store;
    char *cwd, *share;
    const char *dirs[2], *data_dirs[2];
    struct image_copy add[3];
    struct image_build build;
};

static void set_up(struct fixture *f, const char *store)
{
    err e = {0};
    put("work/trainer.lua", "print 'hello'\n");
    put("share/data/mnist/train.gz", "digits");
    AUTO_FREE char *dir = file_at(store);
    *f = (struct fixture){
        .store = image_store_open(dir, &e),
        .cwd = file_at("work"),
        .share = file_at("share/data"),
        .add = {{"trainer.lua"}, {"data/mnist"}},
    };
    CHECK_OK(f->store, e);
    f->dirs[0] = f->cwd;
    f->data_dirs[0] = f->share;
    f->build = (struct image_build){
        .add = f->add,
        .tag = "firesteel/test",
        .dirs = f->dirs,
        .data_dirs = f->data_dirs,
        .worker.program = "/bin/true",
    };
}

static void tear_down(struct fixture *f)
{
    image_store_free(f->store);
    free(f->cwd);
    free(f->share);
}

static struct image_built build(struct fixture *f)
{
    err e = {0};
    struct image_built built;
    CHECK_OK(image_build(f->store, &f->build, &built, &e) == 0, e);
    return built;
}

static void check_fails(struct fixture *f, const char *why)
{
    err e = {0};
    struct image_built built;
    CHECK_INT(image_build(f->store, &f->build, &built, &e), -1);
    CHECK_HAS(e.text, why);
}

TEST(the_same_inputs_give_the_same_digest)
{
    struct fixture f, g;
    set_up(&f, "one");
    set_up(&g, "two");
    struct image_built a = build(&f), b = build(&f);
    CHECK_STR(a.ref, "firesteel/test:latest");
    CHECK_INT(a.new_layers, 3);
    CHECK_INT(b.new_layers, 0); // the cache
    CHECK_STR(a.manifest.digest.text, b.manifest.digest.text);

    put("work/trainer.lua", "print 'hello'\n"); // another time, another inode
    AUTO_FREE char *trainer = file_at("work/trainer.lua");
    chmod(trainer, 0600);
    struct image_built c = build(&g); // a store without the cache
    CHECK_INT(c.new_layers, 3);
    CHECK_STR(a.manifest.digest.text, c.manifest.digest.text);

    put("work/trainer.lua", "print 'hullo'\n");
    struct image_built d = build(&f);
    CHECK_INT(d.new_layers, 1); // the worker's is kept
    CHECK(!oci_digest_equal(&a.manifest.digest, &d.manifest.digest));
    CHECK(oci_digest_equal(&a.content.layers[1].digest, &d.content.layers[1].digest));
    chmod(trainer, 0755);
    struct image_built x = build(&f);
    CHECK_INT(x.new_layers, 1); // executable is something else
    image_built_done(&a);
    image_built_done(&b);
    image_built_done(&c);
    image_built_done(&d);
    image_built_done(&x);
    tear_down(&f);
    tear_down(&g);
}

TEST(the_config)
{
    err e = {0};
    struct fixture f;
    set_up(&f, "one");
    struct image_built b = build(&f);
    AUTO_JSON *config = image_store_read_json(f.store, &b.content.config.digest, &e);
    CHECK_OK(config, e);
    CHECK_STR(json_path_str(config, "architecture"), OCI_ARCHITECTURE);
    CHECK_STR(json_path_str(config, "created"), "1970-01-01T00:00:00Z");
    CHECK_STR(json_path_str(config, "config.WorkingDir"), "/work");
    CHECK_STR(json_path_str(config, "config.Entrypoint[0]"), "/opt/firesteel/firesteel-worker");
    CHECK_INT(cJSON_GetArraySize(json_path(config, "rootfs.diff_ids")), 3);
    f.build.created = 86400;
    image_built_done(&b);
    b = build(&f);
    AUTO_JSON *later = image_store_read_json(f.store, &b.content.config.digest, &e);
    CHECK_STR(json_path_str(later, "created"), "1970-01-02T00:00:00Z");
    image_built_done(&b);
    tear_down(&f);
}

TEST(targets_excludes_and_what_it_runs_with)
{
    err e = {0};
    struct fixture f;
    set_up(&f, "one");
    put("work/conf/prod.yaml", "a: 1\n");
    put("work/conf/old/x.bak", "");
    put("work/conf/old/y.yaml", "");
    const struct image_copy add[] = {{"trainer.lua", NULL},
        {"conf/prod.yaml", "/etc/app/config.yaml"}, {"conf", "sub/"}, {"trainer.lua", "/srv/"},
        {0}};
    const char *const exclude[] = {"**/*.bak", NULL}, *const env[] = {"A=1", "B=2=3", "A=4", NULL},
                      *const entrypoint[] = {"/bin/tini", "--", NULL}, *const cmd[] = {"run", NULL};
    f.build.add = add;
    f.build.exclude = exclude;
    f.build.env = env;
    f.build.user = "185:0";
    f.build.workdir = "/app";
    f.build.entrypoint = entrypoint;
    f.build.cmd = cmd;
    f.build.no_worker = true;
    struct image_built b = build(&f);
    CHECK_INT(b.content.layer_n, 2); // the root and the files
    AUTO_JSON *config = image_store_read_json(f.store, &b.content.config.digest, &e);
    AUTO_FREE char *run = json_to_str(json_get(config, "config"));
    CHECK_STR(run, "{\"Env\":[\"A=4\",\"B=2=3\"],\"Entrypoint\":[\"/bin/tini\",\"--\"],"
                   "\"Cmd\":[\"run\"],\"User\":\"185:0\",\"WorkingDir\":\"/app\"}");
    AUTO_FREE char *cache = file_at("cache");
    AUTO_FREE char *root = image_unpack(f.store, &b.manifest.digest, cache, NULL, &e);
    CHECK_OK(root, e);
    const char *const there[] = {"app/trainer.lua", "etc/app/config.yaml", "app/sub/conf/prod.yaml",
        "app/sub/conf/old/y.yaml", "srv/trainer.lua"};
    for (size_t i = 0; i < ARRAY_LEN(there); i++) {
        AUTO_FREE char *path = path_join(root, there[i]);
        CHECK(path_exists(path));
    }
    AUTO_FREE char *left_out = path_join(root, "app/sub/conf/old/x.bak");
    AUTO_FREE char *worker = path_join(root, "opt/firesteel");
    CHECK(!path_exists(left_out) && !path_exists(worker));
    image_built_done(&b);
    const struct image_copy out[] = {{"trainer.lua", "/a/../../b"}, {0}};
    f.build.add = out;
    check_fails(&f, "“/a/../../b” is no place in an image");
    tear_down(&f);
}

TEST(a_base_below)
{
    err e = {0};
    struct fixture f;
    set_up(&f, "one");
    struct image_built base = build(&f);
    const struct image_copy more[] = {{"extra", NULL}, {0}};
    put("work/extra/deep/file", "x");
    f.build.from = "firesteel/test";
    f.build.tag = "firesteel/more:1";
    f.build.add = more;
    struct image_built b = build(&f);
    CHECK_INT(b.content.layer_n, 5);
    CHECK(oci_digest_equal(&b.content.layers[0].digest, &base.content.layers[0].digest));
    // The worker's layer does not depend on the base: a registry stores it once.
    CHECK(oci_digest_equal(&b.content.layers[3].digest, &base.content.layers[1].digest));
    CHECK_INT(b.new_layers, 1);
    AUTO_JSON *config = image_store_read_json(f.store, &b.content.config.digest, &e);
    CHECK_INT(cJSON_GetArraySize(json_path(config, "rootfs.diff_ids")), 5);
    CHECK_INT(cJSON_GetArraySize(json_path(config, "history")), 5);
    f.build.from = "nobody/has:it";
    check_fails(&f, "base image nobody/has:it: image nobody/has:it is not in the local store");
    check_fails(&f, "is not in the local store (it has firesteel/test:latest");
    image_built_done(&base);
    image_built_done(&b);
    tear_down(&f);
}

static void change_file(void *arg, const char *source, int64_t size, const char hex[SHA256_HEX])
{
    put("changes.txt", "other!");
}

// The store knows a layer by the content that was read first.
TEST(a_file_that_changes_while_the_layer_is_written_is_refused)
{
    err e = {0};
    put("changes.txt", "before");
    AUTO_FREE char *dir = file_at("store-changes"), *path = file_at("changes.txt");
    image_store *s = image_store_open(dir, &e);
    layer *l = layer_new();
    layer_result r;
    CHECK_OK(s, e);
    layer_tells(l, &(struct layer_told){.fn = change_file});
    CHECK_OK(layer_file(l, "changes.txt", path, &e) == 0, e);
    CHECK_INT(layer_write(l, s, 0, &r, &e), -1);
    CHECK_INT(e.code, ERR_CONFLICT);
    CHECK_HAS(e.text, "changed while the image was built");
    layer_free(l);
    image_store_free(s);
}

static void link_to(const char *name, const char *to)
{
    AUTO_FREE char *path = file_at(name);
    unlink(path);
    CHECK_INT(symlink(to, path), 0);
}

TEST(a_link_that_the_notebook_names_is_followed_out)
{
    struct fixture f;
    set_up(&f, "one");
    put("secret/key", "SECRET");
    put("work/conf/a.yaml", "a: 1\n");
    AUTO_FREE char *absolute = file_at("secret"), *own = file_at("work/conf");
    const char *const to[] = {"../secret", absolute, own, "conf"};
    for (size_t i = 0; i < ARRAY_LEN(to); i++) {
        link_to("work/link", to[i]);
        f.add[1].name = "link";
        struct image_built b = build(&f);
        image_built_done(&b);
    }
    link_to("work/link", "../secret");
    f.add[1].name = "link/key";
    struct image_built b = build(&f);
    image_built_done(&b);
    f.add[1].name = "link/none";
    check_fails(&f, "there is no such file or folder");
    // Data is looked for in further folders.
    link_to("work/data", absolute);
    f.add[1].name = "data/mnist";
    b = build(&f);
    image_built_done(&b);
    tear_down(&f);
}

// Between the look at a file and its reading somebody puts a link in its place, or a pipe.
TEST(what_was_swapped_is_not_read)
{
    put("secret/key", "SECRET");
    put("tree/sub/key", "plain");
    AUTO_FREE char *tree = file_at("tree"), *sub = file_at("tree/sub"),
                   *key = file_at("tree/sub/key"), *stores = file_at("one");
    for (int i = 0; i < 3; i++) {
        err e = {0};
        layer_result r;
        image_store *s = image_store_open(stores, &e);
        layer *l = layer_new();
        int fd = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
        CHECK_OK(layer_reads(l, fd, tree, &e) == 0 && layer_tree(l, "x", "", "", NULL, &e) == 0, e);
        close(fd);
        CHECK_INT(i < 2 ? unlink(key) : path_remove(sub, &e), 0);
        CHECK_INT(i == 0   ? symlink("../../secret/key", key)
                  : i == 1 ? mkfifo(key, 0600)
                           : symlink("../secret", sub),
            0);
        CHECK_INT(layer_write(l, s, 0, &r, &e), -1);
        CHECK_HAS(e.text, "cannot read");
        CHECK_HAS(e.text, "tree/sub/key");
        layer_free(l);
        image_store_free(s);
        CHECK_INT(i < 2 ? unlink(key) : 0, 0);
        if (i < 2)
            put("tree/sub/key", "plain");
    }
}

TEST(what_is_wrong_is_said)
{
    struct fixture f;
    set_up(&f, "one");
    f.add[1].name = "data/cifar";
    check_fails(&f, "add[2] “data/cifar”: there is no such file or folder in");
    check_fails(&f, "share/data");
    f.add[1].name = "../secret";
    check_fails(&f, "add[2] “../secret”");
    f.add[1].name = "/etc/passwd";
    check_fails(&f, "must be the relative name");
    f.add[1].name = ".";
    check_fails(&f, "must be the relative name");
    AUTO_FREE char *fifo = file_at("work/fifo");
    mkfifo(fifo, 0600);
    f.add[1].name = "fifo";
    check_fails(&f, "is neither a file nor a folder");
    f.add[1].name = "trainer.lua";
    f.build.tag = "No Such";
    check_fails(&f, "is not the name of an image");
    f.build.tag = NULL;
    check_fails(&f, "needs a tag");
    f.build.tag = "a";
    f.build.worker.program = "/nowhere/firesteel-worker";
    check_fails(&f, "the worker's layer: cannot read /nowhere/firesteel-worker");
    tear_down(&f);
}

int main(void)
{
    return tap_run();
}
