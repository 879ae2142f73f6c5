#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sparkimage.py CACHE: a base image with Spark, Java and Python in it, as apache/spark:3.5.7 has them: the same layout,
user and entry point, made of Debian packages and PyPI's pyspark. An OCI layout in CACHE/images/spark, made once."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import images

REFERENCE = "apache/spark:3.5.7"
PACKAGES = "openjdk-17-jre-headless,python3-minimal,libpython3-stdlib,python3-numpy,python3-distutils,tini,procps"  # NumPy and distutils: pyspark.ml
SUITE = "bookworm"
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/locale/*")  # Java cannot be installed without folders of man pages
# Spark looks for its user's home, and a user without a name has none
USERS = "groupadd --root $1 --system --gid 185 spark; useradd --root $1 --system --uid 185 --gid spark spark"
# Spark on Kubernetes calls the entry point with "driver …" or "executor", and says the rest in the environment.
ENTRY = """#!/bin/bash
set -e
export SPARK_HOME=/opt/spark
case "$1" in
driver)
    shift
    exec /usr/bin/tini -s -- $SPARK_HOME/bin/spark-submit --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \\
        --deploy-mode client "$@" ;;
executor)
    env | grep SPARK_JAVA_OPT_ | sort -t_ -k4 -n | sed 's/[^=]*=\\(.*\\)/\\1/g' >/tmp/java_opts
    readarray -t options </tmp/java_opts
    exec /usr/bin/tini -s -- java $SPARK_SUBMIT_OPTS "${options[@]}" -Xms$SPARK_EXECUTOR_MEMORY -Xmx$SPARK_EXECUTOR_MEMORY \\
        -cp "$SPARK_HOME/conf:$SPARK_HOME/jars/*" org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \\
        --driver-url $SPARK_DRIVER_URL --executor-id $SPARK_EXECUTOR_ID --cores $SPARK_EXECUTOR_CORES \\
        --app-id $SPARK_APPLICATION_ID --hostname $SPARK_EXECUTOR_POD_IP \\
        --resourceProfileId ${SPARK_RESOURCE_PROFILE_ID:-0} --podName $SPARK_EXECUTOR_POD_NAME ;;
*) exec "$@" ;;
esac
"""
# An image made by other rules, or of another Spark, is made again.
VERSION = "1 " + hashlib.sha256("".join((REFERENCE, PACKAGES, SUITE, USERS, ENTRY, *images.QUICK_JVM.values())).encode()).hexdigest()


def spark_layer(path, pyspark):
    def owned_by_root(info):
        info.uid = info.gid = 0
        info.uname = info.gname = "root"
        return None if "__pycache__" in info.name else info

    with tarfile.open(path, "w") as tar:
        tar.add(pyspark, "opt/spark", filter=owned_by_root)
        images.add(tar, "opt/spark/work-dir", None)
        images.add(tar, "opt/entrypoint.sh", ENTRY.encode())


def make(cache):
    pyspark = next((cache / "pyspark").glob("lib/python3*/site-packages/pyspark"))
    folder, work = cache / "images" / "spark", cache / "images" / "spark.new"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    options = [f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT]
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", *options,
                    f"--customize-hook={USERS}", SUITE, work / "root.tar"], check=True)
    spark_layer(work / "spark.tar", pyspark)
    config = {"Entrypoint": ["/opt/entrypoint.sh"], "User": "spark", "WorkingDir": "/opt/spark/work-dir",
              "Env": ["PATH=/usr/local/bin:/usr/bin:/bin:/opt/spark/bin", "SPARK_HOME=/opt/spark",
                      *(f"{name}={value}" for name, value in images.QUICK_JVM.items())]}
    images.layout(work / "layout", REFERENCE, [work / "root.tar", work / "spark.tar"], config)
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(work / "layout", folder)
    shutil.rmtree(work)
    (cache / "versions").mkdir(exist_ok=True)
    (cache / "versions" / "spark-image").write_text(VERSION)


def main():
    cache = pathlib.Path(sys.argv[1])
    stamp = cache / "versions" / "spark-image"
    if not stamp.exists() or stamp.read_text() != VERSION:
        make(cache)


if __name__ == "__main__":
    main()
