// SPDX-License-Identifier: MIT
// Exports a run to MLflow's file store, which MLflow's client reads and `mlflow migrate-filestore`
// moves into a database (mlflow/store/tracking/file_store.py, MLflow 3.17):
//   DIR/EXPERIMENT/meta.yaml       the notebook; its number is computed from its name
//   DIR/EXPERIMENT/RUN/meta.yaml   the run; its number is computed from its name: always the same
//                      params/NAME  metrics/NAME "milliseconds value step" a line  tags/NAME
//                      artifacts/   run.artifact's files, the notebook, report.html
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "script/journal/fold/fold.h"

// dir: is made if needed. experiment NULL: the notebook's name. Replaces an export of the same run.
// *place: the run's folder, new. *notes (a strv, may move): a sentence for each thing that could
// not be exported.
int mlflow_write(const fold *f, const char *spool_dir, const char *dir, const char *experiment,
    char **place, char ***notes, err *e);
