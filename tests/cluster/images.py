# SPDX-License-Identifier: MIT
"""OCI images of files: the pause image of every pod, and a busybox. sparkimage.py makes a large one by this."""
import hashlib
import io
import json
import pathlib
import shutil
import subprocess
import tarfile

PAUSE, BUSYBOX = "localhost/pause:1", "localhost/busybox:1"
# The tests' Spark applications live for seconds: most of a JVM's processor time then goes into compiling, and this halves it.
QUICK_JVM = dict.fromkeys(("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS"), "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
PAUSE_SOURCE = """
#include <signal.h>
#include <unistd.h>
static void quit(int s) { (void)s; _exit(0); }
int main(void) { signal(SIGTERM, quit); signal(SIGINT, quit); for (;;) pause(); }
"""


def add(tar, name, contents):
    """bytes: a program; a text: a symbolic link to it; None: a folder that everybody may write."""
    info = tarfile.TarInfo(name)
    info.mode = 0o755
    if isinstance(contents, str):
        info.type, info.linkname = tarfile.SYMTYPE, contents
        tar.addfile(info)
    elif contents is None:
        info.type, info.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(info)
    else:
        info.size = len(contents)
        tar.addfile(info, io.BytesIO(contents))


def layout(folder, reference, layers, config):
    """An OCI layout in folder, which takes the layers (tar files) over."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def descriptor(media_type, name):
        return {"mediaType": f"application/vnd.oci.image.{media_type}", "digest": f"sha256:{name}",
                "size": (blobs / name).stat().st_size}

    def text(media_type, value):
        data = json.dumps(value).encode()
        name = hashlib.sha256(data).hexdigest()
        (blobs / name).write_bytes(data)
        return descriptor(media_type, name)

    def layer(path):
        with open(path, "rb") as f:
            name = hashlib.file_digest(f, "sha256").hexdigest()
        shutil.move(path, blobs / name)
        return descriptor("layer.v1.tar", name)

    layers = [layer(path) for path in layers]
    manifest = text("manifest.v1+json", {
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": layers,
        "config": text("config.v1+json", {"architecture": "amd64", "os": "linux", "config": config, "rootfs": {
            "type": "layers", "diff_ids": [one["digest"] for one in layers]}})})
    manifest["annotations"] = {"org.opencontainers.image.ref.name": reference}
    (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [manifest]}))


def small(folder, name, reference, files, config):
    """An image of a few programs, as an archive that `ctr images import` reads."""
    with tarfile.open(folder / f"{name}.layer", "w") as tar:
        for path, contents in files.items():
            add(tar, path, contents)
    layout(folder / name, reference, [folder / f"{name}.layer"], config)
    with tarfile.open(folder / f"{name}.tar", "w") as tar:
        tar.add(folder / name, "")
    return folder / f"{name}.tar"


def of_node(folder):
    """What every node has: a list of archives."""
    folder.mkdir()
    subprocess.run(["gcc", "-static", "-Os", "-s", "-o", folder / "pause.exe", "-x", "c", "-"], input=PAUSE_SOURCE,
                   text=True, check=True)
    pause = {"pause": (folder / "pause.exe").read_bytes()}
    busybox = pathlib.Path(shutil.which("busybox"))
    names = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    files = {"bin/busybox": busybox.read_bytes(), "tmp": None}
    files.update({f"bin/{name}": "busybox" for name in names if name != "busybox"})
    return [small(folder, "pause", PAUSE, pause, {"Entrypoint": ["/pause"]}),
            small(folder, "busybox", BUSYBOX, files, {"Env": ["PATH=/bin"], "Cmd": ["sh"]})]
