// SPDX-License-Identifier: MIT
#include "trainer/dnn/dnn.h"

#include <dlfcn.h>

const dnn_ops *dnn_load(const char *path, err *e)
{
    // RTLD_LOCAL: the symbols of oneDNN's libraries (OpenMP, OpenCL) must not mix with ours.
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        err_set(e, ERR_NOT_FOUND,
            "oneDNN (apt install libdnnl2, in Debian 13 libdnnl3.6) cannot be loaded: %s",
            dlerror());
        return NULL;
    }
    const dnn_ops *ops = dlsym(plugin, "firesteel_dnn");
    if (!ops || ops->version != DNN_VERSION) {
        err_set(e, ERR_INVALID, "%s is not the oneDNN plug-in of this version of firesteel", path);
        dlclose(plugin);
        return NULL;
    }
    return ops; // OpenMP cannot be unloaded, so the plug-in stays loaded
}
