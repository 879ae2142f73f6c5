-- SPDX-License-Identifier: MIT
-- What trainer files can use, for completion and inspection in the cells that write them: those
-- files run in the worker, whose modules the kernel does not have. A test compares this with the
-- modules themselves. What the trainer declares (layers, losses, optimizers, schedules) is told there, and classes in Lua in
-- workerclasses.lua: core.declared. What stands behind "-->" in an example is what it prints last.
local core = ...

-- The form of these texts is in doc/adding-a-binding.md; "nn." and "model:" stand before their names.
local types = {
  ["dataset split"] = [==[
    x: tensor -- The samples, one a row.
    y: tensor -- What is expected of each.
  ]==],
  ["data set"] = [==[
    train: dataset split -- To train with.
    test: dataset split -- To evaluate with.
  ]==],
  tensor = [==[
    slice(from, to, step) -> tensor -- Rows from to before `to`, counted from 0, every step-th; a view that copies nothing.
      example:
        print(data.tensor({ 1, 2, 3, 4 }):slice(1, 3):sum()) --> 5.0
    shard(rank, size) -> tensor -- Every size-th row from row `rank` on; a view that copies nothing.
      example:
        print(#data.tensor({ 1, 2, 3 }):shard(0, 2)) --> 2
    reshape{n, m} -> tensor -- The same numbers in another shape.
      example:
        print(data.tensor({ 1, 2, 3, 4 }):reshape({ 2, -1 })[1][0]) --> 3.0
    columns(from, to) -> tensor -- Columns from to before `to` of each row, counted from 0; a view that copies nothing.
      example:
        print(data.tensor({ { 1, 2, 3 }, { 4, 5, 6 } }):columns(1, 3):sum()) --> 16.0
    transpose{axes} -> tensor -- Its dimensions in another order, {1, 0}; without axes in reverse order.
      example:
        print(data.tensor({ { 1, 2 }, { 3, 4 } }):transpose()[0][1]) --> 3.0
    take(rows) -> tensor -- The rows that a list, or a tensor of integers, names.
      example:
        print(data.tensor({ 10, 20, 30 }):take { 2, 0 }[0]) --> 30.0
    matmul(other) -> tensor -- The product of matrices, (m, k) by (k, n), or of vectors.
      example:
        print(data.tensor({ { 1, 2 } }):matmul(data.tensor { { 3 }, { 4 } }):item()) --> 11.0
    copy() -> tensor -- A copy, whose rows lie side by side.
      example:
        print(data.tensor({ 1, 2, 3 }):shard(0, 2):copy()[1]) --> 3.0
    cast(dtype) -> tensor -- Its numbers as "f32", "i64", "i32", "i16" or "u8".
      example:
        print(data.tensor({ 1.7 }):cast("i64")[0]) --> 1
    argmax(axis, keepdims=false) -> tensor -- Where the greatest number is, counted from 0; argmax(1): in each row.
      example:
        print(data.tensor({ { 1, 9 }, { 8, 2 } }):argmax(1)[0]) --> 1
    sum(axis, keepdims=false) -- The sum of all numbers; with an axis a tensor of sums along it. Integers are added exactly; a sum of them with more than 64 bits is an error.
      example:
        print(data.tensor({ 1, 2 }):sum()) --> 3.0
    mean(axis, keepdims=false) -- The mean of all numbers, or along an axis.
      example:
        print(data.tensor({ 1, 2 }):mean()) --> 1.5
    std(axis, keepdims=false) -- The standard deviation of all numbers, or along an axis.
      example:
        print(data.tensor({ 1, 3 }):std()) --> 1.0
    min(axis, keepdims=false) -- The least number, of all or along an axis.
      example:
        print(data.tensor({ 1, 2 }):min()) --> 1.0
    max(axis, keepdims=false) -- The greatest number, of all or along an axis.
      example:
        print(data.tensor({ 1, 2 }):max()) --> 2.0
    add(other) -> tensor -- As a + b: row by row, or with a number, as NumPy repeats sizes of 1.
      example:
        print((data.tensor { 1, 2 } + 1)[1]) --> 3.0
    subtract(other) -> tensor -- As a - b.
      example:
        print((data.tensor { 5, 2 } - data.tensor { 1, 1 })[0]) --> 4.0
    multiply(other) -> tensor -- As a * b, number by number.
      example:
        print((data.tensor { { 1, 2 }, { 3, 4 } } * data.tensor { 10, 100 })[1][0]) --> 30.0
    divide(other) -> tensor -- As a / b.
      example:
        print((1 / data.tensor { 2, 4 })[1]) --> 0.25
    power(other) -> tensor -- As a ^ b.
      example:
        print((data.tensor { 3 } ^ 2):item()) --> 9.0
    maximum(other) -> tensor -- The greater of each two numbers.
      example:
        print(data.tensor({ -1, 2 }):maximum(0)[0]) --> 0.0
    minimum(other) -> tensor -- The lesser of each two numbers.
      example:
        print(data.tensor({ -1, 2 }):minimum(0)[1]) --> 0.0
    equal(other) -> tensor -- 1 where two numbers are the same, else 0, as u8; a == b compares the whole.
      example:
        print(data.tensor({ 1, 2 }):equal(data.tensor { 1, 3 }):mean()) --> 0.5
    not_equal(other) -> tensor -- 1 where two numbers differ.
      example:
        print(data.tensor({ 1, 2 }):not_equal(1)[1]) --> 1
    less(other) -> tensor -- 1 where a's number is less.
      example:
        print(data.tensor({ 1, 2 }):less(2)[0]) --> 1
    less_equal(other) -> tensor -- 1 where a's number is less, or the same.
      example:
        print(data.tensor({ 1, 2 }):less_equal(2):sum()) --> 2
    greater(other) -> tensor -- 1 where a's number is greater.
      example:
        print(data.tensor({ 1, 2 }):greater(1)[0]) --> 0
    greater_equal(other) -> tensor -- 1 where a's number is greater, or the same.
      example:
        print(data.tensor({ 1, 2 }):greater_equal(1):sum()) --> 2
    negative() -> tensor -- As -a.
      example:
        print((-data.tensor { 1, 2 })[0]) --> -1.0
    abs() -> tensor -- Each number without its sign.
      example:
        print(data.tensor({ -2 }):abs():item()) --> 2.0
    exp() -> tensor -- e to the power of each number.
      example:
        print(data.tensor({ 0 }):exp():item()) --> 1.0
    log() -> tensor -- The natural logarithm of each number.
      example:
        print(data.tensor({ 1 }):log():item()) --> 0.0
    sqrt() -> tensor -- The square root of each number.
      example:
        print(data.tensor({ 9 }):sqrt():item()) --> 3.0
    square() -> tensor -- Each number times itself.
      example:
        print(data.tensor({ 3 }):square():item()) --> 9.0
    sign() -> tensor -- -1, 0 or 1 for each number.
      example:
        print(data.tensor({ -5, 5 }):sign()[0]) --> -1.0
    floor() -> tensor -- Each number rounded down.
      example:
        print(data.tensor({ 1.5 }):floor():item()) --> 1.0
    sin() -> tensor -- The sine of each number.
      example:
        print(data.tensor({ 0 }):sin():item()) --> 0.0
    cos() -> tensor -- The cosine of each number.
      example:
        print(data.tensor({ 0 }):cos():item()) --> 1.0
    tanh() -> tensor -- The hyperbolic tangent of each number.
      example:
        print(data.tensor({ 0 }):tanh():item()) --> 0.0
    sigmoid() -> tensor -- 1/(1 + e^-x) of each number.
      example:
        print(data.tensor({ 0 }):sigmoid():item()) --> 0.5
    clip(least, most) -> tensor -- Each number, but at least `least` and at most `most`.
      example:
        print(data.tensor({ -3, 3 }):clip(-1, 1)[1]) --> 1.0
    item() -- The number of a tensor that has one.
      example:
        print(data.tensor({ 7 }):item()) --> 7.0
    totable() -- Nested Lua tables with its numbers.
      example:
        print(data.tensor({ { 1, 2 } }):totable()[1][2]) --> 2.0
    shape: table -- Its dimensions.
    dtype: string -- "f32", "i64", "i32", "i16" or "u8".
  ]==],
  frame = [==[
    numbers{name, …, standardize=false, missing=} -> tensor -- Columns as f32 (rows, columns); standardize: (value - mean)/std; missing stands for what is missing.
      example:
        io.open("n.csv", "w"):write("a\n1.5\n2.5\n3.5\n"):close()
        print(data.csv("n.csv"):numbers({ "a", standardize = true })[1]) --> [0]
    codes{name, …} -> tensor -- Columns of categories or integers as i64 (rows, columns); one name gives (rows).
      example:
        io.open("c.csv", "w"):write("kind\nred\nblue\nred\n"):close()
        print(data.csv("c.csv"):codes("kind")[2]) --> 1
    categories(name) -> table -- The names of a column's codes; the first has code 1, and 0 is missing or unknown.
      example:
        io.open("c.csv", "w"):write("kind\nred\nblue\nred\n"):close()
        print(#data.csv("c.csv"):categories "kind") --> 2
    stats(name) -> table -- kind, mean, std, min, max and how many are missing, of the whole file.
      example:
        io.open("n.csv", "w"):write("a\n1.5\n2.5\n3.5\n"):close()
        print(data.csv("n.csv"):stats("a").mean) --> 2.5
    column(name) -> tensor -- A column's numbers, also of one that is called as a function of frames is.
      example:
        f = data.frame { { "filter", data.tensor { 1, 2, 3 } } }
        print(f:column("filter"):sum()) --> 6.0
    select{name, …} -> frame -- These columns alone.
      example:
        f = data.frame { { "a", data.tensor { 1 } }, { "b", data.tensor { 2 } } }
        print(#f:select({ "b" }).names) --> 1
    drop{name, …} -> frame -- Without these columns.
      example:
        f = data.frame { { "a", data.tensor { 1 } }, { "b", data.tensor { 2 } } }
        print(f:drop({ "a" }).names[1]) --> b
    rename{old="new"} -> frame -- With other names.
      example:
        f = data.frame { { "a", data.tensor { 1 } } }
        print(f:rename({ a = "b" }).names[1]) --> b
    head(n) -> frame -- The first n rows, 5.
      example:
        f = data.frame { { "a", data.tensor { 1, 2, 3 } } }
        print(#f:head(2)) --> 2
    filter(columns, fn) -> frame -- The rows for whose values fn(value, …) is true; also filter(fn), fn(i) of the rows from 0, and filter(tensor), rows where it is not 0.
      example:
        f = data.frame { { "a", data.tensor { 1, 2, 3 } } }
        print(#f:filter({ "a" }, function(a) return a > 1 end)) --> 2
    slice(from, to, step) -> frame -- Rows from to before `to`.
      example:
        f = data.frame { { "a", data.tensor { 1, 2, 3 } } }
        print(#f:slice(0, 2)) --> 2
    shard(rank, size) -> frame -- Every size-th row from row `rank` on.
      example:
        f = data.frame { { "a", data.tensor { 1, 2, 3 } } }
        print(#f:shard(0, 2)) --> 2
    with(name, columns, fn, kind) -> frame -- With one more column: fn(value, …) of these columns' values for each row; also with(name, tensor) and with(name, fn), fn(i) of the rows from 0.
      example:
        f = data.frame { { "a", data.tensor { 1, 2, 3 } } }
        f = f:with("b", { "a" }, function(a) return a * 2 end)
        print(f.b:sum()) --> 12.0
    fillna{column=value} -> frame -- With this instead of missing values.
      example:
        io.open("m.csv", "w"):write("a\n1\nNA\n3\n"):close()
        print(data.csv("m.csv"):fillna({ a = 0 }).a:sum()) --> 4
    categorize{name, …} -> frame -- Numbers as categories, in their order.
      example:
        f = data.frame { { "year", data.tensor({ 2015, 2013, 2015 }, { dtype = "i64" }) } }
        print(f:categorize({ "year" }):codes("year")) --> [2, 1, 2]
    expand_date(name, parts) -> frame -- With parts of a column of dates as columns: Year, Month, Week (ISO 8601), Day, DayOfWeek (1 is Monday), DayOfYear.
      example:
        io.open("d.csv", "w"):write("day\n2015-07-31\n"):close()
        print(data.csv("d.csv"):expand_date("day", { "Week" }).Week[0]) --> 31
    join(other, names, {how=}) -> frame -- With the columns of the other frame's row that has the same values in these columns; how = "left": missing values where there is none, "inner": without such rows.
      example:
        a = data.frame { { "id", data.tensor({ 1, 2 }, { dtype = "i64" }) } }
        b = data.frame { { "id", data.tensor({ 2, 1 }, { dtype = "i64" }) }, { "v", data.tensor { 20, 10 } } }
        print(a:join(b, "id"):numbers("v")[0]) --> [10]
    sort_values{name, …, ascending=true} -> frame -- The rows in the order of these columns.
      example:
        f = data.frame { { "a", data.tensor { 2, 3, 1 } } }
        print(f:sort_values({ "a", ascending = false }).a) --> [3, 2, 1]
    groupby{name, …} -> groups -- The rows by equal values in these columns.
      example:
        f = data.frame { { "store", data.tensor({ 1, 2, 1 }, { dtype = "i64" }) }, { "sales", data.tensor { 3, 4, 5 } } }
        print(f:groupby({ "store" }):agg({ mean = { "sales", "mean" } }).mean) --> [4, 4]
    names: table -- The names of its columns.
    columns: table -- All that is known of them.
    rows: number -- How many rows it has.
  ]==],
  groups = [==[
    agg{Name={column, how}} -> frame -- A row for each group; how is size, count, sum, mean, std, min, max, median, first or last.
      example:
        f = data.frame { { "store", data.tensor({ 1, 2, 1 }, { dtype = "i64" }) }, { "sales", data.tensor { 3, 4, 5 } } }
        print(f:groupby({ "store" }):agg({ days = { "sales", "count" } }).days) --> [2, 1]
    transform(column, how) -> tensor -- The same of its group, for each row.
      example:
        f = data.frame { { "store", data.tensor({ 1, 2, 1 }, { dtype = "i64" }) }, { "sales", data.tensor { 3, 4, 5 } } }
        print(f:groupby({ "store" }):transform("sales", "max")) --> [5, 4, 5]
    shift(column, by) -> tensor -- The value of the row before, or `by` rows before, in the group.
      example:
        f = data.frame { { "store", data.tensor({ 1, 2, 1 }, { dtype = "i64" }) }, { "sales", data.tensor { 3, 4, 5 } } }
        print(f:groupby({ "store" }):shift("sales", 1)) --> [nan, nan, 3]
    rolling(column, {window=, how="mean", min_periods=}) -> tensor -- Of the row and those before it in the group, `window` rows.
      example:
        f = data.frame { { "store", data.tensor({ 1, 1, 1 }, { dtype = "i64" }) }, { "sales", data.tensor { 3, 4, 5 } } }
        print(f:groupby({ "store" }):rolling("sales", { window = 2, how = "sum" })) --> [nan, 7, 9]
    cumsum(column) -> tensor -- The group's sum up to the row.
      example:
        f = data.frame { { "store", data.tensor({ 1, 2, 1 }, { dtype = "i64" }) }, { "sales", data.tensor { 3, 4, 5 } } }
        print(f:groupby({ "store" }):cumsum("sales")) --> [3, 4, 8]
    elapsed(flag, when, {backward=false}) -> tensor -- when, less that of the group's last row whose flag is not 0.
      example:
        f = data.frame { { "store", data.tensor({ 1, 1, 1 }, { dtype = "i64" }) }, { "day", data.tensor({ 10, 11, 14 }, { dtype = "i64" }) },
          { "promo", data.tensor({ 1, 0, 0 }, { dtype = "i64" }) } }
        print(f:groupby({ "store" }):elapsed("promo", "day")) --> [0, 1, 4]
  ]==],
  history = [==[
    history: table -- A list for each metric, one number an epoch.
    epoch: table -- The epochs, counted from 0.
  ]==],
  model = [==[
    compile{optimizer="rmsprop", loss=, loss_weights=, metrics={}, from_logits=false, threads=0, deterministic=true} -- Says how it is trained; the optimizer is an object or its name, the loss an object, a name or a function(y_true, y_pred) of tensors that returns a number for each row. With several outputs loss, loss_weights and metrics are lists, or tables by the outputs' names; loss_weights of a single output is a number. Any number of threads gives the same bits, whatever deterministic says.
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
        model:compile { optimizer = "adam", loss = "mse", metrics = { "mae" } }
    fit{x, y, batch_size=32, epochs=1, callbacks={}, validation_split=0, validation_data={x, y, sample_weight}, validation_batch_size=, class_weight={[0]=1}, sample_weight=, shuffle=true, seed=, initial_epoch=0, steps_per_epoch=, verbose=1} -> history -- Trains it; x and y may be given by these names, too, and one callback without a list. With several inputs or outputs x, y, sample_weight and class_weight are lists, or tables by their names.
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 1 }, seed = 1 }
        model:compile { optimizer = nn.SGD { 0.1 }, loss = "mse" }
        x, y = data.tensor { { 1 }, { 2 } }, data.tensor { { 2 }, { 4 } }
        history = model:fit { x, y, epochs = 50, verbose = 0 }
        print(history.history.loss[50] < 0.1) --> true
    evaluate{x, y, batch_size=32, sample_weight=, verbose=1, return_dict=false} -- Returns the loss and the metrics for these samples.
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
        model:compile { loss = "mse", metrics = { "mae" } }
        x = data.tensor { { 1 }, { 2 } }
        loss, mae = model:evaluate { x, x, verbose = 0 }
    predict(x, {batch_size=}) -> tensor -- Its outputs for these samples, (n, outputs); with several inputs x is a list, with several outputs it returns a tensor for each: local a, b = model:predict(x). Batches of 256, or of 32 pictures; it needs no compile.
      example:
        model = nn.Sequential { nn.Dense { 3, input_dim = 2 } }
        model:compile { loss = "mse" }
        print(table.concat(model:predict(data.tensor { { 1, 2 } }).shape, "x")) --> 1x3
    train_on_batch(x, y, {sample_weight=, class_weight=, return_dict=false}) -- One step with these samples; returns the loss and the metrics of this batch.
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 1 }, seed = 1 }
        model:compile { optimizer = nn.SGD { 0.1 }, loss = "mse" }
        x, y = data.tensor { { 1 }, { 2 } }, data.tensor { { 2 }, { 4 } }
        for step = 1, 50 do loss = model:train_on_batch(x, y) end
        print(loss < 0.1) --> true
    test_on_batch(x, y, {sample_weight=, return_dict=false}) -- The loss and the metrics of this batch, without a step.
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
        model:compile { loss = "mse", metrics = { "mae" } }
        x = data.tensor { { 1 }, { 2 } }
        loss, mae = model:test_on_batch(x, x)
    predict_on_batch(x) -> tensor -- As predict.
      example:
        model = nn.Sequential { nn.Dense { 3, input_dim = 2 } }
        model:compile { loss = "mse" }
        print(#model:predict_on_batch(data.tensor { { 1, 2 } })) --> 1
    gradients(x, y, {sample_weight=, class_weight=, loss=}) -- Returns the loss and a list of its gradients, a tensor for each trained weight, with their names as `names`.
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }
        model:compile { optimizer = nn.SGD { 0.1 }, loss = "mse" }
        loss, gradients = model:gradients(data.tensor { { 1, 2 } }, data.tensor { { 3 } })
        print(gradients.names[1], #gradients) --> dense/kernel	2
    summary() -- Prints Keras's table of its layers, their shapes and parameters, and their FLOPs for one row.
      example:
        nn.Sequential({ nn.Dense { 3, input_dim = 2 } }):summary()
    save(path, {include_optimizer=true, overwrite=true}) -- Writes its weights as safetensors, with the model in their metadata; a path that ends with .onnx is exported. overwrite false: an error where the file is there already.
      example:
        nn.Sequential({ nn.Dense { 3, input_dim = 2 } }):save "m.safetensors"
    export(path, {format="onnx"}) -- Writes it for other runtimes, as ONNX: what predict computes, for any number of rows.
      example:
        nn.Sequential({ nn.Dense { 3, input_dim = 2 } }):export "m.onnx"
    load_weights(path or bytes, {skip_mismatch=false}) -> list -- Takes the weights of a safetensors or .npz file, or of its bytes; layers are called as here, in Keras's or PyTorch's way. Names those that skip_mismatch left alone.
      example:
        a = nn.Sequential { nn.Dense { 1, input_dim = 1 }, seed = 1 }
        b = nn.Sequential { nn.Dense { 1, input_dim = 1 }, seed = 2 }
        a:save "a.safetensors"
        b:load_weights "a.safetensors"
        print(a:get_weights()[1]:item() == b:get_weights()[1]:item()) --> true
    get_weights() -- A list of its tensors.
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }
        print(#model:get_weights()) --> 2
    set_weights(list) -- Takes tensors as get_weights gives them.
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
        model:compile { loss = "mse" }
        model:set_weights { data.tensor { { 2 } }, data.tensor { 1 } }
        print(model:predict(data.tensor { { 3 } }):item()) --> 7.0
    count_params() -- How many parameters it has.
      example:
        print(nn.Sequential({ nn.Dense { 3, input_dim = 2 } }):count_params()) --> 9
    name: string -- As it was given, else "sequential" or "functional"; in its summary, its file and its ONNX graph.
    optimizer: optimizer -- The optimizer that it was compiled with; after nn.load one that is like it.
    learning_rate: number -- Of its optimizer; may be set.
    momentum: number -- Of its optimizer; may be set.
    stop_training: boolean -- May be set by a callback: training ends after this epoch.
    cpu: string -- The instructions its kernels use.
    threads: number -- How many it computes with.
  ]==],
  optimizer = [==[
    apply(model, gradients) -- One step of the model's optimizer with a list of gradients; a DistributedOptimizer first averages them over the ranks.
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }
        sgd = nn.SGD { 0.1 }
        model:compile { optimizer = sgd, loss = "mse" }
        loss, gradients = model:gradients(data.tensor { { 1, 2 } }, data.tensor { { 3 } })
        for i, g in ipairs(gradients) do gradients[i] = g * 0.5 end
        sgd:apply(model, gradients)
  ]==],
  results = [==[
    rank(rank) -- All values that this rank returned.
      example:
        results = hvd.run(function() return "a", "b" end, { np = 1 })
        print(results:rank(0)) --> a	b
    ranks() -> list -- The first value of each rank, as horovod.spark.run returns them; n is their number.
      example:
        results = hvd.run(function() return "a", "b" end, { np = 1 })
        print(table.concat(results:ranks(), " ")) --> a
  ]==],
}

local modules = {
  data = [==[
    mnist{rank=0, size=1, path=} -> data set -- MNIST as {train = {x, y}, test = {x, y}}; with rank and size every size-th row.
      example:
        digits = data.mnist { rank = 0, size = 100 }
        print(#digits.train.x, #digits.test.y) --> 600	100
    idx(path) -> tensor -- The tensor of an IDX file, gzipped or not.
      example:
        local ok, why = pcall(data.idx, "nowhere.gz")
        print(ok, why:match "cannot.*") --> false	cannot read nowhere.gz: No such file or directory
    tensor(table, {dtype="f32"}) -> tensor -- A tensor from nested tables.
      example:
        t = data.tensor({ { 1, 2 }, { 3, 4 } }, { dtype = "i64" })
        print(t[1][0]) --> 3
    npy(path, {mmap=false}) -> tensor -- The array of a NumPy file; mmap: the file itself, which may be larger than memory.
      example:
        data.save("x.npy", data.tensor { { 1, 2 }, { 3, 4 } })
        print(data.npy("x.npy"):sum()) --> 10.0
    npz(path) -> table -- The arrays of a NumPy archive, by name.
      example:
        data.save("xy.npz", { x = data.tensor { 1, 2 }, y = data.tensor { 3 } })
        print(data.npz("xy.npz").y:item()) --> 3.0
    safetensors(path) -> table -- The tensors of a safetensors file, by name.
      example:
        data.save("xy.safetensors", { x = data.tensor { 1, 2 }, y = data.tensor { 3 } })
        print(data.safetensors("xy.safetensors").x:sum()) --> 3.0
    csv{path, separator=, names={}, columns={}, types={}, missing={}, like=, rank=0, size=1, header=true, skiprows=0, comment=, decimal=".", thousands=, encoding="utf-8", date_format=, true_values={}, false_values={}} -> frame -- A table as named columns of numbers; the separator is a comma; types are number, date, datetime, category; like: a frame whose categories and statistics count; header = false: the first record is data; encoding may be latin-1 or cp1252; date_format as strptime's, "%d/%m/%Y".
      example:
        io.open("t.csv", "w"):write("price,kind\n1.5,a\n2.5,b\n"):close()
        print(data.csv("t.csv"):numbers("price"):sum()) --> 4.0
    parquet{path, columns={}, types={}, like=, rank=0, size=1} -> frame -- Parquet, a file or a folder of them, as data.csv would read it, where python3 has pyarrow.
      example:
        ok, why = pcall(data.parquet, { "nowhere.parquet", columns = { "price" } })
        print(ok, why:find "nowhere.parquet" ~= nil) --> false	true
    frame{{name, tensor}, …} -> frame -- A frame of columns of one's own.
      example:
        f = data.frame { { "price", data.tensor { 1.5, 2.5 } } }
        print(#f) --> 2
    save(path, value, {compressed=false}) -- Writes a tensor as .npy, a table of tensors as .npz or .safetensors, a frame as .csv.
      example:
        data.save("w.npy", data.tensor { 1, 2, 3 })
    concat{frame, …} -> frame -- The rows of all, one below the other.
      example:
        f = data.frame { { "a", data.tensor { 1, 2, 3 } } }
        print(#data.concat { f, f:head(1) }) --> 4
    days(text) -> number -- Days since 1970-01-01 of a day as "2015-07-31".
      example:
        print(data.days "2015-07-31") --> 16647
    date(days) -> table -- What os.date says of days since 1970-01-01: year, month, day, wday, yday.
      example:
        print(data.date(0).year) --> 1970
    image(path, {image_size={256, 256}, color_mode="rgb", dtype="f32"}) -> tensor -- A PNG or JPEG file as (height, width, channels) from 0 to 255.
      example:
        ok, why = pcall(data.image, "nowhere.png", { image_size = { 32, 32 } })
        print(ok, why:find "nowhere.png" ~= nil) --> false	true
    images{path, image_size={256, 256}, color_mode="rgb", dtype="f32", label_mode="int", lazy=false, shuffle=true, seed=1, validation_split=0, rank=0, size=1} -> data set -- Pictures in a folder for each class: {x, y, classes, paths}, or with validation_split {train, validation}; lazy: x is decoded batch by batch, while the one before trains.
      example:
        ok, why = pcall(data.images, { "nowhere", image_size = { 32, 32 } })
        print(ok, why:find "nowhere" ~= nil) --> false	true
    Frame: table -- What all frames have in common.
  ]==],
  nn = [==[
    Sequential{layer, layer, …, dtype="float32", remat=, seed=, name=} -> model -- A model of layers, one after the other; with dtype "mixed_bfloat16" numbers between layers are bf16, where the CPU can multiply it; remat is "full", "activations" or an nn.RematScope.
      example:
        model = nn.Sequential { nn.Dense { 8, activation = "relu", input_dim = 4 }, nn.Dense { 1 }, seed = 1 }
        print(model:count_params()) --> 49
    Input{n, m, shape=, batch_shape=, batch_size=, input_shape=, dtype="float32", trainable=true, name=} -> node -- What a graph begins with: rows of this shape. dtype is float32 or one of whole numbers, as Keras's readers expect it of an Embedding's input; any tensor is taken, and any number of rows.
      formula: rows of a shape: `nn.Input { 28, 28 }`
      source: Keras 3
      example:
        x = nn.Input { 4 }
        print(nn.Model({ inputs = x, outputs = nn.Dense { 1 } (x) }):count_params()) --> 5
    Model{inputs=, outputs=, dtype="float32", remat=, seed=, name=} -> model -- A model of nodes: layers that were called on others, as nn.Dense { 10 } (node); dtype and remat as Sequential's.
      example:
        store, rest = nn.Input { 1 }, nn.Input { 3 }
        h = nn.Concatenate {} { nn.Flatten {} (nn.Embedding { 100, 8 } (store)), rest }
        model = nn.Model { inputs = { store, rest }, outputs = nn.Dense { 1 } (h), seed = 1 }
        print(model:count_params()) --> 812
    RematScope{mode="full", output_size_threshold=1024, layer_names={}} -> scope -- For a model's remat: outputs that training forgets after forward and computes anew in backward; mode is full, activations, larger_than (rows of more numbers than the threshold) or list_of_layers.
      example:
        scope = nn.RematScope { "larger_than", output_size_threshold = 4096 }
        model = nn.applications.MobileNet { input_shape = { 32, 32, 3 }, alpha = 0.25, classes = 5, remat = scope }
        print(model:count_params()) --> 219829
    remat(layer) -> layer -- The same of one layer.
      example:
        input = nn.Input { 8, 8, 3 }
        x = nn.remat(nn.Conv2D { 16, 3, activation = "relu" }) (input)
        model = nn.Model { inputs = input, outputs = nn.Dense { 2 } (nn.GlobalAveragePooling2D {} (x)) }
    applications: table -- Networks for pictures: ResNet50{include_top=true, weights=, input_shape={224, 224, 3}, pooling=, classes=1000, classifier_activation="softmax", variant="keras", dtype=, remat=, seed=, name=}, ResNet101, ResNet152, MobileNet{…, alpha=1, depth_multiplier=1, dropout=0.001}, MobileNetV2{…, alpha=1} by Keras's names, ResNet18 and ResNet34 by torchvision's; and resnet50, mobilenet, mobilenet_v2, torchvision with preprocess_input(pictures).
      example:
        model = nn.applications.MobileNet { input_shape = { 32, 32, 3 }, alpha = 0.25, classes = 5 }
        print(model:count_params()) --> 219829
    regularizers: table -- L1, L2 and L1L2 again, by Keras's path.
    initializers: table -- What weights start with, for kernel_initializer, bias_initializer, …, by Keras's classes, as nn.initializers.HeNormal { seed = 1 }, or by their names, as "he_normal": GlorotUniform, GlorotNormal, HeUniform, HeNormal, LecunUniform, LecunNormal, Zeros, Ones, Constant, RandomUniform, RandomNormal, TruncatedNormal, VarianceScaling, Orthogonal, Identity.
      example:
        model = nn.Sequential { nn.Dense { 2, input_dim = 2, kernel_initializer = nn.initializers.Constant { 3 }, bias_initializer = "ones" } }
        print(model:predict(data.tensor { { 1, 1 } })[0]) --> [7, 7]
    optimizers: table -- The optimizers again, and schedules, by Keras's path: nn.optimizers.schedules.CosineDecay.
    confusion_matrix(y_true, y_pred, {num_classes=}) -> tensor -- How many rows of class i were taken for class j, (classes, classes); y_true and y_pred are class numbers, or rows of outputs, whose greatest counts.
      example:
        m = nn.confusion_matrix(data.tensor { 0, 1, 1 }, data.tensor { 0, 1, 0 })
    ops: table -- The functions of tensors by Keras's names, as ops.exp(t) for t:exp(); and concatenate({a, b}, axis), zeros{n, m}, ones{n, m}, zeros_like(t), ones_like(t), full({n, m}, value).
    value_and_grad(fn) -> function -- A function that returns what fn(tensor, …) returns, a number, and its gradient after that tensor (or a list of tensors).
      example:
        value, slope = nn.value_and_grad(function(t) return (t * t):sum() end)(data.tensor { 1, 2, 3 })
        print(value, slope[2]) --> 14.0	6.0
    load(path or bytes) -> model -- A model as model:save wrote it, compiled as it was.
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
        model:compile { loss = "mse" }
        model:save "m.safetensors"
        print(nn.load("m.safetensors"):count_params()) --> 2
    read_checkpoint(path) -- The bytes of a checkpoint, to be returned from hvd.run.
      example:
        model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
        model:save "m.safetensors"
        print(#nn.read_checkpoint "m.safetensors" > 100) --> true
  ]==],
  hvd = [==[
    run(fn, {np=, args={}, start_timeout=600, min_np=, max_np=, reset_limit=, elastic_timeout=600, cooldown_range={10, 100}}) -> results -- Calls fn(args…) on np ranks; results[1] is the first value of rank 0. With min_np or max_np the job is elastic: it survives the loss of ranks, and newcomers join.
      example:
        results = hvd.run(function(a, b) return a + b end, { np = 1, args = { 1, 2 } })
        print(results[1]) --> 3
    init() -- Begins; the rest of hvd needs it.
      example:
        hvd.init()
        print(hvd.rank(), hvd.size()) --> 0	1
    shutdown() -- Ends what init began.
      example:
        hvd.init()
        hvd.shutdown()
        print(hvd.is_initialized()) --> false
    is_initialized() -- Has init been called?
      example:
        print(hvd.is_initialized()) --> false
    rank() -- The number of this process, from 0.
      example:
        hvd.init()
        if hvd.rank() == 0 then print "only once" end --> only once
    size() -- How many ranks there are.
      example:
        hvd.init()
        rate = 0.001 * hvd.size()
    local_rank() -- The number of this process on its machine.
      example:
        hvd.init()
        print(hvd.local_rank()) --> 0
    local_size() -- How many ranks its machine has.
      example:
        hvd.init()
        print(hvd.local_size()) --> 1
    cross_rank() -- The number of its machine.
      example:
        hvd.init()
        print(hvd.cross_rank()) --> 0
    cross_size() -- How many machines there are.
      example:
        hvd.init()
        print(hvd.cross_size()) --> 1
    allreduce(x, {op=hvd.Average, name=}) -- A number, a tensor or a list of tensors, which travel as one, reduced over all ranks; Average, Sum, Min, Max or Product. Numbers are an integer where each rank gives one and wants no average.
      example:
        hvd.init()
        print(hvd.allreduce(2, { op = hvd.Sum }) == 2 * hvd.size()) --> true
    broadcast(x, root) -- The number or tensor of rank `root`, on all of them.
      example:
        hvd.init()
        print(hvd.broadcast(data.tensor { 1, 2 }, 0):sum()) --> 3.0
    broadcast_object(value, root) -- Data of rank `root`, on all of them.
      example:
        hvd.init()
        print(hvd.broadcast_object({ lr = 0.1 }, 0).lr) --> 0.1
    broadcast_model(model, root) -- The weights of rank `root` for all of them.
      example:
        hvd.init()
        model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
        hvd.broadcast_model(model, 0)
    allgather(x) -- The numbers or tensors of all ranks, joined along the first dimension.
      example:
        hvd.init()
        print(#hvd.allgather(data.tensor { 1, 2 }) == 2 * hvd.size()) --> true
    allgather_object(value) -- A list of the data of all ranks.
      example:
        hvd.init()
        print(#hvd.allgather_object { rank = hvd.rank() } == hvd.size()) --> true
    barrier() -- Waits until all ranks are here.
      example:
        hvd.init()
        hvd.barrier()
    join() -- For a rank with no more data: takes part, with zeros, in what the others sum or average, until all have joined; returns the rank that was last.
      example:
        hvd.init()
        print(hvd.join()) --> 0
    elastic: table -- Training that goes on when ranks are lost or join: State{model=, epoch=0, …}, whose methods are commit, save, restore, sync and register_reset_callbacks; run(fn) gives fn(state) the last commit; the callbacks CommitStateCallback(state, batches_per_commit), UpdateEpochStateCallback(state) and UpdateBatchStateCallback(state); and the error HostsUpdatedInterrupt.
      example:
        hvd.init()
        model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
        model:compile { optimizer = hvd.DistributedOptimizer(nn.SGD { 0.1 }), loss = "mse" }
        train = hvd.elastic.run(function(state)
          model:fit { data.tensor { { 1 } }, data.tensor { 2 }, epochs = 3, initial_epoch = state.epoch, verbose = 0,
            callbacks = { hvd.elastic.UpdateEpochStateCallback(state), hvd.elastic.CommitStateCallback(state, 0) } }
          return state.epoch
        end)
        print(train(hvd.elastic.State { model = model, epoch = 0 })) --> 3
    DistributedOptimizer(optimizer, {sparse_as_dense=false}) -> optimizer -- The optimizer whose gradients are averaged over all ranks. Of large tables of Embeddings the rows that batches have named travel; sparse_as_dense: the whole tables.
      example:
        hvd.init()
        model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
        model:compile { optimizer = hvd.DistributedOptimizer(nn.Adam { 0.001 * hvd.size() }), loss = "mse" }
    BroadcastGlobalVariablesCallback(root) -- A callback: all variables from rank `root` to the others, once.
      formula: all variables of rank `root_rank` for the others, once, at the end of the first batch
      source: Horovod 0.28
      example:
        callbacks = { hvd.BroadcastGlobalVariablesCallback(0) }
    MetricAverageCallback() -- A callback: the metrics of an epoch averaged over the ranks.
      formula: each metric of an epoch ← its mean over the ranks
      source: Horovod 0.28
      example:
        callbacks = { hvd.MetricAverageCallback() }
    LearningRateWarmupCallback{initial_lr=, warmup_epochs=5, momentum_correction=true, steps_per_epoch=, verbose=0} -- A callback: from initial_lr / size up to initial_lr over the first epochs.
      formula: lr ← initial_lr/size·(1 + p·(size - 1)/`warmup_epochs`) in these epochs, p the epochs done; `momentum_correction`: momentum ← momentum·(new lr)/(old lr) in this step
      source: Goyal and others, arXiv 1706.02677
      example:
        callbacks = { hvd.LearningRateWarmupCallback { initial_lr = 0.004, warmup_epochs = 3 } }
    Average: number -- An op of allreduce.
    Sum: number -- An op of allreduce.
    Min: number -- An op of allreduce.
    Max: number -- An op of allreduce.
    Product: number -- An op of allreduce.
  ]==],
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
