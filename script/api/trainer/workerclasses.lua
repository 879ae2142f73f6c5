-- SPDX-License-Identifier: MIT
-- The classes of the module `nn` that are written in Lua: metrics, callbacks, and layers that are others here. Each is declared
-- here alone: the kernel tells of it (help, completion, doc/api.md, doc/models.md), and the worker makes the class of it
-- (script/worker/model/nn.lua): its options by name and by place, their types and defaults.
local core = ...

core.declared.nn = core.declared.nn .. [==[
    AUC{num_thresholds: integer=200, curve="ROC", from_logits=false, dtype="float32", name="auc"} -> metric -- A metric: the area under the curve ROC or PR.
      formula: the area under the curve of true over false positives (`curve` "ROC", by the trapezoidal rule), or of precision over recall ("PR", interpolated), from counts at 200 thresholds (`num_thresholds`)
      source: Davis & Goadrich 2006
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 2, activation = "sigmoid" } }
        model:compile { loss = "binary_crossentropy", metrics = { nn.AUC { num_thresholds = 100 } } }
    Precision{thresholds: any=0.5, top_k: integer=, class_id: integer=, name="precision", dtype="float32"} -> metric -- A metric: of the outputs above the threshold the share that was expected; top_k: of the k greatest of a row; class_id: of this output alone.
      formula: TP/(TP + FP): of the outputs above `thresholds`, 0.5, the share that was expected; `top_k`: of the k greatest of a row; `class_id`: of one class
      source: Keras 3
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 2, activation = "sigmoid" } }
        model:compile { loss = "binary_crossentropy", metrics = { nn.Precision { thresholds = 0.3 } } }
    Recall{thresholds: any=0.5, top_k: integer=, class_id: integer=, name="recall", dtype="float32"} -> metric -- A metric: of what was expected the share above the threshold.
      formula: TP/(TP + FN): of what was expected, the share above the threshold
      source: Keras 3
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 2, activation = "sigmoid" } }
        model:compile { loss = "binary_crossentropy", metrics = { nn.Recall {} } }
    TruePositives{thresholds: any=0.5, name="true_positives", dtype="float32"} -> metric -- A metric: how many outputs above the threshold were expected.
      formula: outputs above `thresholds` that were expected
      source: Keras 3
      example:
        metrics = { nn.TruePositives { name = "tp" } }
    FalsePositives{thresholds: any=0.5, name="false_positives", dtype="float32"} -> metric -- How many above it were not expected.
      formula: outputs above it that were not expected
      source: Keras 3
      example:
        metrics = { nn.FalsePositives { name = "fp" } }
    TrueNegatives{thresholds: any=0.5, name="true_negatives", dtype="float32"} -> metric -- How many others were not expected.
      formula: outputs up to it that were not expected
      source: Keras 3
      example:
        metrics = { nn.TrueNegatives { name = "tn" } }
    FalseNegatives{thresholds: any=0.5, name="false_negatives", dtype="float32"} -> metric -- How many others were expected.
      formula: outputs up to it that were expected
      source: Keras 3
      example:
        metrics = { nn.FalseNegatives { name = "fn" } }
    F1Score{average: string=, threshold: number=, name="f1_score", dtype="float32"} -> metric -- A metric: the harmonic mean of precision and recall, where the greatest output of a row is positive, or those above the threshold; average, of several outputs: macro, micro or weighted.
      formula: 2·precision·recall/(precision + recall), where the greatest output of a row is positive, or those above `threshold`; of several outputs by `average`: "micro", "macro", "weighted"
      source: van Rijsbergen 1979
      example:
        model = nn.Sequential { nn.Dense { 3, input_dim = 2, activation = "softmax" } }
        model:compile { loss = "categorical_crossentropy", metrics = { nn.F1Score { average = "macro" } } }
    FBetaScore{average: string=, beta=1, threshold: number=, name="fbeta_score", dtype="float32"} -> metric -- The same, where recall counts beta times as much.
      formula: (1 + β²)·precision·recall/(β²·precision + recall), β is `beta`, 1
      source: van Rijsbergen 1979
      example:
        metrics = { nn.FBetaScore { average = "macro", beta = 2 } }
    TopKCategoricalAccuracy{k: integer=5, name="top_k_categorical_accuracy", dtype="float32"} -> metric -- A metric: the share of rows whose class is among the k greatest outputs.
      example:
        model = nn.Sequential { nn.Dense { 10, input_dim = 2, activation = "softmax" } }
        model:compile { loss = "categorical_crossentropy", metrics = { nn.TopKCategoricalAccuracy { k = 3 } } }
    RootMeanSquaredError{name="root_mean_squared_error", dtype="float32"} -> metric -- As "root_mean_squared_error".
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }
        model:compile { loss = "mse", metrics = { nn.RootMeanSquaredError {} } }
    BinaryAccuracy{name="binary_accuracy", dtype="float32", threshold=0.5} -> metric -- The share of outputs on the right side of the threshold.
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 2, activation = "sigmoid" } }
        model:compile { loss = "bce", metrics = { nn.BinaryAccuracy {} } }
    CategoricalAccuracy{name="categorical_accuracy", dtype="float32"} -> metric -- As "categorical_accuracy".
      example:
        model = nn.Sequential { nn.Dense { 3, input_dim = 2, activation = "softmax" } }
        model:compile { loss = "categorical_crossentropy", metrics = { nn.CategoricalAccuracy {} } }
    SparseCategoricalAccuracy{name="sparse_categorical_accuracy", dtype="float32"} -> metric -- As "sparse_categorical_accuracy".
      example:
        model = nn.Sequential { nn.Dense { 3, input_dim = 2, activation = "softmax" } }
        model:compile { loss = "sparse_categorical_crossentropy", metrics = { nn.SparseCategoricalAccuracy {} } }
    SparseTopKCategoricalAccuracy{k: integer=5, name="sparse_top_k_categorical_accuracy", dtype="float32"} -> metric -- The same, where targets are class numbers.
      example:
        model = nn.Sequential { nn.Dense { 10, input_dim = 2, activation = "softmax" } }
        model:compile { loss = "sparse_categorical_crossentropy", metrics = { nn.SparseTopKCategoricalAccuracy { k = 3 } } }
    ModelCheckpoint{filepath, monitor="val_loss", verbose: integer=0, save_best_only=false, save_weights_only=false, mode="auto", save_freq: any="epoch", initial_value_threshold: number=} -- A callback that saves the model after each epoch, or every save_freq batches; {epoch:02d} and {val_loss:.2f} are filled in, with save_freq {batch}, too.
      formula: writes the model to `filepath` after each epoch, or every `save_freq` batches; `save_best_only`: where `monitor` is better, from `initial_value_threshold` on
      source: Keras 3
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
        model:compile { loss = "mse" }
        x = data.tensor { { 1 }, { 2 } }
        model:fit { x, x, epochs = 2, verbose = 0, callbacks = { nn.ModelCheckpoint { "best.safetensors", monitor = "loss", save_best_only = true } } }
        print(#nn.read_checkpoint "best.safetensors" > 100) --> true
    EarlyStopping{monitor="val_loss", min_delta=0, patience: integer=0, verbose: integer=0, mode="auto", baseline: number=, restore_best_weights=false, start_from_epoch: integer=0} -- A callback that ends training when a metric no longer improves.
      formula: ends the training after `patience` epochs in which `monitor` did not beat the best by `min_delta`, counted from `start_from_epoch` on
      source: Prechelt 1998
      example:
        stop = nn.EarlyStopping { monitor = "val_loss", patience = 3, restore_best_weights = true }
    TerminateOnNaN{} -- A callback that ends training at a loss that is not finite, instead of an error.
      formula: ends the training at a loss that is not finite, with its history; without it that is an error
      source: Keras 3
      example:
        stop = nn.TerminateOnNaN()
    TensorBoard{log_dir="logs", update_freq: any="epoch"} -- A callback that writes event files for TensorBoard; update_freq: epoch, batch or a number of batches.
      formula: event files of scalars, in `log_dir`/train and `log_dir`/validation: epoch_loss, epoch_learning_rate; batch_loss with `update_freq`
      source: Keras 3
      example:
        events = nn.TensorBoard { log_dir = "logs" }
    CSVLogger{filename, separator=",", append=false} -- A callback that writes a line for each epoch.
      formula: a line of all logs for each epoch
      source: Keras 3
      example:
        log = nn.CSVLogger { "epochs.csv", separator = ";" }
    ReduceLROnPlateau{monitor="val_loss", factor=0.1, patience: integer=10, verbose: integer=0, mode="auto", min_delta=1e-4, cooldown: integer=0, min_lr=0} -- A callback that lowers the learning rate when a metric no longer improves.
      formula: lr ← max(lr·`factor`, `min_lr`) after `patience` epochs in which `monitor` did not beat the best by `min_delta`; then `cooldown` epochs do not count
      source: Keras 3
      example:
        lower = nn.ReduceLROnPlateau { monitor = "val_loss", factor = 0.5, patience = 2 }
    LearningRateScheduler{schedule, verbose: integer=0} -- A callback: schedule(epoch, lr) returns the learning rate of each epoch.
      formula: lr ← schedule(epoch, lr) before each epoch
      source: Keras 3
      example:
        warm = nn.LearningRateScheduler { function(epoch, lr) return epoch < 5 and 0.001 * (epoch + 1) or lr end }
    LambdaCallback{on_train_begin: function=, on_train_end: function=, on_epoch_begin: function=, on_epoch_end: function=, on_train_batch_begin: function=, on_train_batch_end: function=} -- A callback of functions: on_epoch_end = function(epoch, logs) … end.
      formula: functions of one's own: `on_epoch_end` = function(epoch, logs) … end
      source: Keras 3
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
        model:compile { loss = "mse" }
        x = data.tensor { { 1 }, { 2 } }
        model:fit { x, x, epochs = 2, verbose = 0, callbacks = { nn.LambdaCallback { on_epoch_end = function(epoch) print(epoch) end } } }
        --> 0
        --> 1
    LeakyReLU{negative_slope=0.3, input_shape: table=, dtype: string=, trainable=true, name: string=} -- As ReLU with a slope where x is less than 0.
      example:
        model = nn.Sequential { nn.Dense { 8, input_dim = 4 }, nn.LeakyReLU { 0.2 }, nn.Dense { 1 } }
    Softmax{axis: integer=-1, input_shape: table=, dtype: string=, trainable=true, name: string=} -- As Activation { "softmax" }.
      example:
        model = nn.Sequential { nn.Dense { 3, input_dim = 4 }, nn.Softmax {} }
]==]
