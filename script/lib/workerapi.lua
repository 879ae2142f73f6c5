-- SPDX-License-Identifier: MIT
-- What trainer files can use, for completion and inspection in the cells that write them: those
-- files run in the worker, whose modules the kernel does not have. A test compares this with the
-- modules themselves. What the trainer declares (layers, losses, optimizers, schedules) is told there: core.declared.
local core = ...

-- The form of these texts is in doc/adding-a-binding.md; "nn." and "model:" stand before their names.
local types = {
  ["dataset split"] = [[
    x: tensor -- The samples, one a row.
    y: tensor -- What is expected of each.
  ]],
  ["data set"] = [[
    train: dataset split -- To train with.
    test: dataset split -- To evaluate with.
  ]],
  tensor = [[
    slice(from, to, step) -> tensor -- Rows from to before `to`, counted from 0, every step-th; a view that copies nothing.
    shard(rank, size) -> tensor -- Every size-th row from row `rank` on; a view that copies nothing.
    reshape{n, m} -> tensor -- The same numbers in another shape.
    columns(from, to) -> tensor -- Columns from to before `to` of each row, counted from 0; a view that copies nothing.
    transpose{axes} -> tensor -- Its dimensions in another order, {1, 0}; without axes in reverse order.
    take(rows) -> tensor -- The rows that a list, or a tensor of integers, names.
    matmul(other) -> tensor -- The product of matrices, (m, k) by (k, n), or of vectors.
    copy() -> tensor -- A copy, whose rows lie side by side.
    cast(dtype) -> tensor -- Its numbers as "f32", "i64", "i32", "i16" or "u8".
    argmax(axis, keepdims=false) -> tensor -- Where the greatest number is, counted from 0; argmax(1): in each row.
    sum(axis, keepdims=false) -- The sum of all numbers; with an axis a tensor of sums along it. Integers are added exactly; a sum of them with more than 64 bits is an error.
    mean(axis, keepdims=false) -- The mean of all numbers, or along an axis.
    std(axis, keepdims=false) -- The standard deviation of all numbers, or along an axis.
    min(axis, keepdims=false) -- The least number, of all or along an axis.
    max(axis, keepdims=false) -- The greatest number, of all or along an axis.
    add(other) -> tensor -- As a + b: row by row, or with a number, as NumPy repeats sizes of 1.
    subtract(other) -> tensor -- As a - b.
    multiply(other) -> tensor -- As a * b, number by number.
    divide(other) -> tensor -- As a / b.
    power(other) -> tensor -- As a ^ b.
    maximum(other) -> tensor -- The greater of each two numbers.
    minimum(other) -> tensor -- The lesser of each two numbers.
    equal(other) -> tensor -- 1 where two numbers are the same, else 0, as u8; a == b compares the whole.
    not_equal(other) -> tensor -- 1 where two numbers differ.
    less(other) -> tensor -- 1 where a's number is less.
    less_equal(other) -> tensor -- 1 where a's number is less, or the same.
    greater(other) -> tensor -- 1 where a's number is greater.
    greater_equal(other) -> tensor -- 1 where a's number is greater, or the same.
    negative() -> tensor -- As -a.
    abs() -> tensor -- Each number without its sign.
    exp() -> tensor -- e to the power of each number.
    log() -> tensor -- The natural logarithm of each number.
    sqrt() -> tensor -- The square root of each number.
    square() -> tensor -- Each number times itself.
    sign() -> tensor -- -1, 0 or 1 for each number.
    floor() -> tensor -- Each number rounded down.
    sin() -> tensor -- The sine of each number.
    cos() -> tensor -- The cosine of each number.
    tanh() -> tensor -- The hyperbolic tangent of each number.
    sigmoid() -> tensor -- 1/(1 + e^-x) of each number.
    clip(least, most) -> tensor -- Each number, but at least `least` and at most `most`.
    item() -- The number of a tensor that has one.
    totable() -- Nested Lua tables with its numbers.
    shape: table -- Its dimensions.
    dtype: string -- "f32", "i64", "i32", "i16" or "u8".
  ]],
  frame = [[
    numbers{name, …, standardize=false, missing=} -> tensor -- Columns as f32 (rows, columns); standardize: (value - mean)/std; missing stands for what is missing.
    codes{name, …} -> tensor -- Columns of categories or integers as i64 (rows, columns); one name gives (rows).
    categories(name) -> table -- The names of a column's codes; the first has code 1, and 0 is missing or unknown.
    stats(name) -> table -- kind, mean, std, min, max and how many are missing, of the whole file.
    column(name) -> tensor -- A column's numbers, also of one that is called as a function of frames is.
    select{name, …} -> frame -- These columns alone.
    drop{name, …} -> frame -- Without these columns.
    rename{old="new"} -> frame -- With other names.
    head(n) -> frame -- The first n rows, 5.
    filter(columns, fn) -> frame -- The rows for whose values fn(value, …) is true; also filter(fn), fn(i) of the rows from 0, and filter(tensor), rows where it is not 0.
    slice(from, to, step) -> frame -- Rows from to before `to`.
    shard(rank, size) -> frame -- Every size-th row from row `rank` on.
    with(name, columns, fn, kind) -> frame -- With one more column: fn(value, …) of these columns' values for each row; also with(name, tensor) and with(name, fn), fn(i) of the rows from 0.
    fillna{column=value} -> frame -- With this instead of missing values.
    categorize{name, …} -> frame -- Numbers as categories, in their order.
    expand_date(name, parts) -> frame -- With parts of a column of dates as columns: Year, Month, Week (ISO 8601), Day, DayOfWeek (1 is Monday), DayOfYear.
    join(other, names, {how=}) -> frame -- With the columns of the other frame's row that has the same values in these columns; how = "left": missing values where there is none, "inner": without such rows.
    sort_values{name, …, ascending=true} -> frame -- The rows in the order of these columns.
    groupby{name, …} -> groups -- The rows by equal values in these columns.
    names: table -- The names of its columns.
    columns: table -- All that is known of them.
    rows: number -- How many rows it has.
  ]],
  groups = [[
    agg{Name={column, how}} -> frame -- A row for each group; how is size, count, sum, mean, std, min, max, median, first or last.
    transform(column, how) -> tensor -- The same of its group, for each row.
    shift(column, by) -> tensor -- The value of the row before, or `by` rows before, in the group.
    rolling(column, {window=, how="mean", min_periods=}) -> tensor -- Of the row and those before it in the group, `window` rows.
    cumsum(column) -> tensor -- The group's sum up to the row.
    elapsed(flag, when, {backward=false}) -> tensor -- when, less that of the group's last row whose flag is not 0.
  ]],
  history = [[
    history: table -- A list for each metric, one number an epoch.
    epoch: table -- The epochs, counted from 0.
  ]],
  model = [[
    compile{optimizer="rmsprop", loss=, loss_weights=, metrics={}, from_logits=false, threads=0, deterministic=true} -- Says how it is trained; the optimizer is an object or its name, the loss an object, a name or a function(y_true, y_pred) of tensors that returns a number for each row. With several outputs loss, loss_weights and metrics are lists, or tables by the outputs' names; loss_weights of a single output is a number. Any number of threads gives the same bits, whatever deterministic says.
    fit{x, y, batch_size=32, epochs=1, callbacks={}, validation_split=0, validation_data={x, y, sample_weight}, validation_batch_size=, class_weight={[0]=1}, sample_weight=, shuffle=true, seed=, initial_epoch=0, steps_per_epoch=, verbose=1} -> history -- Trains it; x and y may be given by these names, too, and one callback without a list. With several inputs or outputs x, y, sample_weight and class_weight are lists, or tables by their names.
    evaluate{x, y, batch_size=32, sample_weight=, verbose=1, return_dict=false} -- Returns the loss and the metrics for these samples.
    predict(x, {batch_size=}) -> tensor -- Its outputs for these samples, (n, outputs); with several inputs x is a list, with several outputs it returns a tensor for each: local a, b = model:predict(x). Batches of 256, or of 32 pictures; it needs no compile.
    train_on_batch(x, y, {sample_weight=, class_weight=, return_dict=false}) -- One step with these samples; returns the loss and the metrics of this batch.
    test_on_batch(x, y, {sample_weight=, return_dict=false}) -- The loss and the metrics of this batch, without a step.
    predict_on_batch(x) -> tensor -- As predict.
    gradients(x, y, {sample_weight=, class_weight=, loss=}) -- Returns the loss and a list of its gradients, a tensor for each trained weight, with their names as `names`.
    summary() -- Prints Keras's table of its layers, their shapes and parameters, and their FLOPs for one row.
    save(path, {include_optimizer=true, overwrite=true}) -- Writes its weights as safetensors, with the model in their metadata; a path that ends with .onnx is exported. overwrite false: an error where the file is there already.
    export(path, {format="onnx"}) -- Writes it for other runtimes, as ONNX: what predict computes, for any number of rows.
    load_weights(path or bytes, {skip_mismatch=false}) -> list -- Takes the weights of a safetensors or .npz file, or of its bytes; layers are called as here, in Keras's or PyTorch's way. Names those that skip_mismatch left alone.
    get_weights() -- A list of its tensors.
    set_weights(list) -- Takes tensors as get_weights gives them.
    count_params() -- How many parameters it has.
    name: string -- As it was given, else "sequential" or "functional"; in its summary, its file and its ONNX graph.
    optimizer: optimizer -- The optimizer that it was compiled with; after nn.load one that is like it.
    learning_rate: number -- Of its optimizer; may be set.
    momentum: number -- Of its optimizer; may be set.
    stop_training: boolean -- May be set by a callback: training ends after this epoch.
    cpu: string -- The instructions its kernels use.
    threads: number -- How many it computes with.
  ]],
  optimizer = [[
    apply(model, gradients) -- One step of the model's optimizer with a list of gradients; a DistributedOptimizer first averages them over the ranks.
  ]],
  results = [[
    rank(rank) -- All values that this rank returned.
    ranks() -> list -- The first value of each rank, as horovod.spark.run returns them; n is their number.
  ]],
}

local modules = {
  data = [[
    mnist{rank=0, size=1, path=} -> data set -- MNIST as {train = {x, y}, test = {x, y}}; with rank and size every size-th row.
    idx(path) -> tensor -- The tensor of an IDX file, gzipped or not.
    tensor(table, {dtype="f32"}) -> tensor -- A tensor from nested tables.
    npy(path, {mmap=false}) -> tensor -- The array of a NumPy file; mmap: the file itself, which may be larger than memory.
    npz(path) -> table -- The arrays of a NumPy archive, by name.
    safetensors(path) -> table -- The tensors of a safetensors file, by name.
    csv{path, separator=, names={}, columns={}, types={}, missing={}, like=, rank=0, size=1, header=true, skiprows=0, comment=, decimal=".", thousands=, encoding="utf-8", date_format=, true_values={}, false_values={}} -> frame -- A table as named columns of numbers; the separator is a comma; types are number, date, datetime, category; like: a frame whose categories and statistics count; header = false: the first record is data; encoding may be latin-1 or cp1252; date_format as strptime's, "%d/%m/%Y".
    parquet{path, columns={}, types={}, like=, rank=0, size=1} -> frame -- Parquet, a file or a folder of them, as data.csv would read it, where python3 has pyarrow.
    frame{{name, tensor}, …} -> frame -- A frame of columns of one's own.
    save(path, value, {compressed=false}) -- Writes a tensor as .npy, a table of tensors as .npz or .safetensors, a frame as .csv.
    concat{frame, …} -> frame -- The rows of all, one below the other.
    days(text) -> number -- Days since 1970-01-01 of a day as "2015-07-31".
    date(days) -> table -- What os.date says of days since 1970-01-01: year, month, day, wday, yday.
    image(path, {image_size={256, 256}, color_mode="rgb", dtype="f32"}) -> tensor -- A PNG or JPEG file as (height, width, channels) from 0 to 255.
    images{path, image_size={256, 256}, color_mode="rgb", dtype="f32", label_mode="int", lazy=false, shuffle=true, seed=1, validation_split=0, rank=0, size=1} -> data set -- Pictures in a folder for each class: {x, y, classes, paths}, or with validation_split {train, validation}; lazy: x is decoded batch by batch, while the one before trains.
    Frame: table -- What all frames have in common.
  ]],
  nn = [[
    Sequential{layer, layer, …, dtype="float32", remat=, seed=, name=} -> model -- A model of layers, one after the other; with dtype "mixed_bfloat16" numbers between layers are bf16, where the CPU can multiply it; remat is "full", "activations" or an nn.RematScope.
    Input{n, m, shape=, batch_shape=, batch_size=, input_shape=, dtype="float32", trainable=true, name=} -> node -- What a graph begins with: rows of this shape. dtype is float32 or one of whole numbers, as Keras's readers expect it of an Embedding's input; any tensor is taken, and any number of rows.
    Model{inputs=, outputs=, dtype="float32", remat=, seed=, name=} -> model -- A model of nodes: layers that were called on others, as nn.Dense { 10 } (node); dtype and remat as Sequential's.
    RematScope{mode="full", output_size_threshold=1024, layer_names={}} -> scope -- For a model's remat: outputs that training forgets after forward and computes anew in backward; mode is full, activations, larger_than (rows of more numbers than the threshold) or list_of_layers.
    remat(layer) -> layer -- The same of one layer.
    LeakyReLU{negative_slope=0.3, input_shape=, dtype=, trainable=true, name=} -- As ReLU with a slope where x is less than 0.
    Softmax{axis=-1, input_shape=, dtype=, trainable=true, name=} -- As Activation { "softmax" }.
    applications: table -- Networks for pictures: ResNet50{include_top=true, weights=, input_shape={224, 224, 3}, pooling=, classes=1000, classifier_activation="softmax", variant="keras", dtype=, remat=, seed=, name=}, ResNet101, ResNet152, MobileNet{…, alpha=1, depth_multiplier=1, dropout=0.001}, MobileNetV2{…, alpha=1} by Keras's names, ResNet18 and ResNet34 by torchvision's; and resnet50, mobilenet, mobilenet_v2, torchvision with preprocess_input(pictures).
    regularizers: table -- L1, L2 and L1L2 again, by Keras's path.
    initializers: table -- What weights start with, for kernel_initializer, bias_initializer, …, by Keras's classes, as nn.initializers.HeNormal { seed = 1 }, or by their names, as "he_normal": GlorotUniform, GlorotNormal, HeUniform, HeNormal, LecunUniform, LecunNormal, Zeros, Ones, Constant, RandomUniform, RandomNormal, TruncatedNormal, VarianceScaling, Orthogonal, Identity.
    optimizers: table -- The optimizers again, and schedules, by Keras's path: nn.optimizers.schedules.CosineDecay.
    AUC{num_thresholds=200, curve="ROC", from_logits=false, dtype="float32", name="auc"} -> metric -- A metric: the area under the curve ROC or PR.
    Precision{thresholds=0.5, top_k=, class_id=, dtype="float32", name="precision"} -> metric -- A metric: of the outputs above the threshold the share that was expected; top_k: of the k greatest of a row; class_id: of this output alone.
    Recall{thresholds=0.5, top_k=, class_id=, dtype="float32", name="recall"} -> metric -- A metric: of what was expected the share above the threshold.
    TruePositives{thresholds=0.5, dtype="float32", name="true_positives"} -> metric -- A metric: how many outputs above the threshold were expected.
    FalsePositives{thresholds=0.5, dtype="float32", name="false_positives"} -> metric -- How many above it were not expected.
    TrueNegatives{thresholds=0.5, dtype="float32", name="true_negatives"} -> metric -- How many others were not expected.
    FalseNegatives{thresholds=0.5, dtype="float32", name="false_negatives"} -> metric -- How many others were expected.
    F1Score{average=, threshold=, dtype="float32", name="f1_score"} -> metric -- A metric: the harmonic mean of precision and recall, where the greatest output of a row is positive, or those above the threshold; average, of several outputs: macro, micro or weighted.
    FBetaScore{average=, beta=1, threshold=, dtype="float32", name="fbeta_score"} -> metric -- The same, where recall counts beta times as much.
    confusion_matrix(y_true, y_pred, {num_classes=}) -> tensor -- How many rows of class i were taken for class j, (classes, classes); y_true and y_pred are class numbers, or rows of outputs, whose greatest counts.
    TopKCategoricalAccuracy{k=5, dtype="float32", name="top_k_categorical_accuracy"} -> metric -- A metric: the share of rows whose class is among the k greatest outputs.
    RootMeanSquaredError{dtype="float32", name="root_mean_squared_error"} -> metric -- As "root_mean_squared_error".
    BinaryAccuracy{threshold=0.5, dtype="float32", name="binary_accuracy"} -> metric -- The share of outputs on the right side of the threshold.
    CategoricalAccuracy{dtype="float32", name="categorical_accuracy"} -> metric -- As "categorical_accuracy".
    SparseCategoricalAccuracy{dtype="float32", name="sparse_categorical_accuracy"} -> metric -- As "sparse_categorical_accuracy".
    SparseTopKCategoricalAccuracy{k=5, dtype="float32", name="sparse_top_k_categorical_accuracy"} -> metric -- The same, where targets are class numbers.
    ModelCheckpoint{filepath, monitor="val_loss", verbose=0, save_best_only=false, save_weights_only=false, mode="auto", save_freq="epoch", initial_value_threshold=} -- A callback that saves the model after each epoch, or every save_freq batches; {epoch:02d} and {val_loss:.2f} are filled in, with save_freq {batch}, too.
    EarlyStopping{monitor="val_loss", min_delta=0, patience=0, verbose=0, mode="auto", baseline=, restore_best_weights=false, start_from_epoch=0} -- A callback that ends training when a metric no longer improves.
    TerminateOnNaN{} -- A callback that ends training at a loss that is not finite, instead of an error.
    TensorBoard{log_dir="logs", update_freq="epoch"} -- A callback that writes event files for TensorBoard; update_freq: epoch, batch or a number of batches.
    CSVLogger{filename, separator=",", append=false} -- A callback that writes a line for each epoch.
    ReduceLROnPlateau{monitor="val_loss", factor=0.1, patience=10, verbose=0, mode="auto", min_delta=1e-4, cooldown=0, min_lr=0} -- A callback that lowers the learning rate when a metric no longer improves.
    LearningRateScheduler{schedule, verbose=0} -- A callback: schedule(epoch, lr) returns the learning rate of each epoch.
    LambdaCallback{on_train_begin=, on_train_end=, on_epoch_begin=, on_epoch_end=, on_train_batch_begin=, on_train_batch_end=} -- A callback of functions: on_epoch_end = function(epoch, logs) … end.
    ops: table -- The functions of tensors by Keras's names, as ops.exp(t) for t:exp(); and concatenate({a, b}, axis), zeros{n, m}, ones{n, m}, zeros_like(t), ones_like(t), full({n, m}, value).
    value_and_grad(fn) -> function -- A function that returns what fn(tensor, …) returns, a number, and its gradient after that tensor (or a list of tensors).
    load(path or bytes) -> model -- A model as model:save wrote it, compiled as it was.
    read_checkpoint(path) -- The bytes of a checkpoint, to be returned from hvd.run.
  ]],
  hvd = [[
    run(fn, {np=, args={}, start_timeout=600, min_np=, max_np=, reset_limit=, elastic_timeout=600, cooldown_range={10, 100}}) -> results -- Calls fn(args…) on np ranks; results[1] is the first value of rank 0. With min_np or max_np the job is elastic: it survives the loss of ranks, and newcomers join.
    init() -- Begins; the rest of hvd needs it.
    shutdown() -- Ends what init began.
    is_initialized() -- Has init been called?
    rank() -- The number of this process, from 0.
    size() -- How many ranks there are.
    local_rank() -- The number of this process on its machine.
    local_size() -- How many ranks its machine has.
    cross_rank() -- The number of its machine.
    cross_size() -- How many machines there are.
    allreduce(x, {op=hvd.Average, name=}) -- A number, a tensor or a list of tensors, which travel as one, reduced over all ranks; Average, Sum, Min, Max or Product. Numbers are an integer where each rank gives one and wants no average.
    broadcast(x, root) -- The number or tensor of rank `root`, on all of them.
    broadcast_object(value, root) -- Data of rank `root`, on all of them.
    broadcast_model(model, root) -- The weights of rank `root` for all of them.
    allgather(x) -- The numbers or tensors of all ranks, joined along the first dimension.
    allgather_object(value) -- A list of the data of all ranks.
    barrier() -- Waits until all ranks are here.
    join() -- For a rank with no more data: takes part, with zeros, in what the others sum or average, until all have joined; returns the rank that was last.
    elastic: table -- Training that goes on when ranks are lost or join: State{model=, epoch=0, …}, whose methods are commit, save, restore, sync and register_reset_callbacks; run(fn) gives fn(state) the last commit; the callbacks CommitStateCallback(state, batches_per_commit), UpdateEpochStateCallback(state) and UpdateBatchStateCallback(state); and the error HostsUpdatedInterrupt.
    DistributedOptimizer(optimizer, {sparse_as_dense=false}) -> optimizer -- The optimizer whose gradients are averaged over all ranks. Of large tables of Embeddings the rows that batches have named travel; sparse_as_dense: the whole tables.
    BroadcastGlobalVariablesCallback(root) -- A callback: all variables from rank `root` to the others, once.
    MetricAverageCallback() -- A callback: the metrics of an epoch averaged over the ranks.
    LearningRateWarmupCallback{initial_lr=, warmup_epochs=5, momentum_correction=true, steps_per_epoch=, verbose=0} -- A callback: from initial_lr / size up to initial_lr over the first epochs.
    Average: number -- An op of allreduce.
    Sum: number -- An op of allreduce.
    Min: number -- An op of allreduce.
    Max: number -- An op of allreduce.
    Product: number -- An op of allreduce.
  ]],
}

local LUA = "assert collectgarbage coroutine debug dofile error getmetatable io ipairs load loadfile math next os package pairs "
  .. "pcall print rawequal rawget rawlen rawset require select setmetatable string table tonumber tostring type utf8 warn xpcall"

core.lua_names = {} -- the globals of Lua's own library
for name in LUA:gmatch "%S+" do core.lua_names[name] = true end

local names, modules_known = { arg = {} }, { args = {} }

local function each_sorted(tables, fn)
  local keys = {}
  for key in pairs(tables) do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do fn(key, tables[key]) end
end

each_sorted(modules, function(name, lines)
  core.api(lines, { prefix = name .. ".", root = names })
  if core.declared[name] then core.api(core.declared[name], { prefix = name .. ".", root = names }) end
end)
each_sorted(types, function(name, lines) core.api(lines, { prefix = name .. ":", root = names, types = { [name] = {} } }) end)
core.types.loss, core.types.schedule = {}, {}

-- A stand-in for what an entry tells of: it is never called.
local function stand_in(entry)
  if entry.kind == "function" then return function() return entry end end
  return core.types[entry.kind] or {}
end

local built

-- The globals of a trainer file (names), its modules by their usual names, and the methods of its types.
function core.trainer()
  if built then return built end
  for name in pairs(core.lua_names) do names[name] = core.library()[name] end
  for name in pairs(modules) do modules_known[name] = {} end
  for name, module in pairs(modules_known) do names[name] = module end
  built = { names = names, modules = modules_known, types = {} }
  for name in pairs(types) do built.types[name] = core.types[name] end
  for _, entry in ipairs(core.entries()) do
    local owner, name = entry.name:match "^(.-)[.:]([%w_]+)$"
    if entry.root == names then (modules_known[owner] or core.types[owner])[name] = stand_in(entry) end
  end
  return built
end
