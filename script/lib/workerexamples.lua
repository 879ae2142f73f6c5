-- SPDX-License-Identifier: MIT
-- Examples of what trainer files can use (workerapi.lua), a file each; nn, data and hvd are there. What stands after
-- "-->" is what it prints last.
local core = ...

core.examples [[
data.mnist
  digits = data.mnist { rank = 0, size = 100 }
  print(#digits.train.x, #digits.test.y) --> 600	100
data.idx
  local ok, why = pcall(data.idx, "nowhere.gz")
  print(ok, why:match "cannot.*") --> false	cannot read nowhere.gz: No such file or directory
data.tensor
  t = data.tensor({ { 1, 2 }, { 3, 4 } }, { dtype = "i64" })
  print(t[1][0]) --> 3
data.npy
  data.save("x.npy", data.tensor { { 1, 2 }, { 3, 4 } })
  print(data.npy("x.npy"):sum()) --> 10.0
data.npz
  data.save("xy.npz", { x = data.tensor { 1, 2 }, y = data.tensor { 3 } })
  print(data.npz("xy.npz").y:item()) --> 3.0
data.safetensors
  data.save("xy.safetensors", { x = data.tensor { 1, 2 }, y = data.tensor { 3 } })
  print(data.safetensors("xy.safetensors").x:sum()) --> 3.0
data.save
  data.save("w.npy", data.tensor { 1, 2, 3 })
data.csv
  io.open("t.csv", "w"):write("price,kind\n1.5,a\n2.5,b\n"):close()
  print(data.csv("t.csv"):numbers("price"):sum()) --> 4.0
data.parquet
  ok, why = pcall(data.parquet, { "nowhere.parquet", columns = { "price" } })
  print(ok, why:find "nowhere.parquet" ~= nil) --> false	true
data.frame
  f = data.frame { { "price", data.tensor { 1.5, 2.5 } } }
  print(#f) --> 2
data.image
  ok, why = pcall(data.image, "nowhere.png", { image_size = { 32, 32 } })
  print(ok, why:find "nowhere.png" ~= nil) --> false	true
data.images
  ok, why = pcall(data.images, { "nowhere", image_size = { 32, 32 } })
  print(ok, why:find "nowhere" ~= nil) --> false	true
data.date
  print(data.date(0).year) --> 1970
frame:numbers
  io.open("n.csv", "w"):write("a\n1.5\n2.5\n3.5\n"):close()
  print(data.csv("n.csv"):numbers({ "a", standardize = true })[1]) --> [0]
frame:codes
  io.open("c.csv", "w"):write("kind\nred\nblue\nred\n"):close()
  print(data.csv("c.csv"):codes("kind")[2]) --> 1
frame:categories
  io.open("c.csv", "w"):write("kind\nred\nblue\nred\n"):close()
  print(#data.csv("c.csv"):categories "kind") --> 2
frame:stats
  io.open("n.csv", "w"):write("a\n1.5\n2.5\n3.5\n"):close()
  print(data.csv("n.csv"):stats("a").mean) --> 2.5
data.days
  print(data.days "2015-07-31") --> 16647
data.concat
  f = data.frame { { "a", data.tensor { 1, 2, 3 } } }
  print(#data.concat { f, f:head(1) }) --> 4
frame:column
  f = data.frame { { "filter", data.tensor { 1, 2, 3 } } }
  print(f:column("filter"):sum()) --> 6.0
frame:select
  f = data.frame { { "a", data.tensor { 1 } }, { "b", data.tensor { 2 } } }
  print(#f:select({ "b" }).names) --> 1
frame:drop
  f = data.frame { { "a", data.tensor { 1 } }, { "b", data.tensor { 2 } } }
  print(f:drop({ "a" }).names[1]) --> b
frame:rename
  f = data.frame { { "a", data.tensor { 1 } } }
  print(f:rename({ a = "b" }).names[1]) --> b
frame:head
  f = data.frame { { "a", data.tensor { 1, 2, 3 } } }
  print(#f:head(2)) --> 2
frame:filter
  f = data.frame { { "a", data.tensor { 1, 2, 3 } } }
  print(#f:filter({ "a" }, function(a) return a > 1 end)) --> 2
frame:slice
  f = data.frame { { "a", data.tensor { 1, 2, 3 } } }
  print(#f:slice(0, 2)) --> 2
frame:shard
  f = data.frame { { "a", data.tensor { 1, 2, 3 } } }
  print(#f:shard(0, 2)) --> 2
frame:with
  f = data.frame { { "a", data.tensor { 1, 2, 3 } } }
  f = f:with("b", { "a" }, function(a) return a * 2 end)
  print(f.b:sum()) --> 12.0
frame:fillna
  io.open("m.csv", "w"):write("a\n1\nNA\n3\n"):close()
  print(data.csv("m.csv"):fillna({ a = 0 }).a:sum()) --> 4
frame:categorize
  f = data.frame { { "year", data.tensor({ 2015, 2013, 2015 }, { dtype = "i64" }) } }
  print(f:categorize({ "year" }):codes("year")) --> [2, 1, 2]
frame:expand_date
  io.open("d.csv", "w"):write("day\n2015-07-31\n"):close()
  print(data.csv("d.csv"):expand_date("day", { "Week" }).Week[0]) --> 31
frame:sort_values
  f = data.frame { { "a", data.tensor { 2, 3, 1 } } }
  print(f:sort_values({ "a", ascending = false }).a) --> [3, 2, 1]
frame:groupby
  f = data.frame { { "store", data.tensor({ 1, 2, 1 }, { dtype = "i64" }) }, { "sales", data.tensor { 3, 4, 5 } } }
  print(f:groupby({ "store" }):agg({ mean = { "sales", "mean" } }).mean) --> [4, 4]
groups:agg
  f = data.frame { { "store", data.tensor({ 1, 2, 1 }, { dtype = "i64" }) }, { "sales", data.tensor { 3, 4, 5 } } }
  print(f:groupby({ "store" }):agg({ days = { "sales", "count" } }).days) --> [2, 1]
groups:transform
  f = data.frame { { "store", data.tensor({ 1, 2, 1 }, { dtype = "i64" }) }, { "sales", data.tensor { 3, 4, 5 } } }
  print(f:groupby({ "store" }):transform("sales", "max")) --> [5, 4, 5]
groups:shift
  f = data.frame { { "store", data.tensor({ 1, 2, 1 }, { dtype = "i64" }) }, { "sales", data.tensor { 3, 4, 5 } } }
  print(f:groupby({ "store" }):shift("sales", 1)) --> [nan, nan, 3]
groups:rolling
  f = data.frame { { "store", data.tensor({ 1, 1, 1 }, { dtype = "i64" }) }, { "sales", data.tensor { 3, 4, 5 } } }
  print(f:groupby({ "store" }):rolling("sales", { window = 2, how = "sum" })) --> [nan, 7, 9]
groups:cumsum
  f = data.frame { { "store", data.tensor({ 1, 2, 1 }, { dtype = "i64" }) }, { "sales", data.tensor { 3, 4, 5 } } }
  print(f:groupby({ "store" }):cumsum("sales")) --> [3, 4, 8]
groups:elapsed
  f = data.frame { { "store", data.tensor({ 1, 1, 1 }, { dtype = "i64" }) }, { "day", data.tensor({ 10, 11, 14 }, { dtype = "i64" }) },
    { "promo", data.tensor({ 1, 0, 0 }, { dtype = "i64" }) } }
  print(f:groupby({ "store" }):elapsed("promo", "day")) --> [0, 1, 4]
frame:join
  a = data.frame { { "id", data.tensor({ 1, 2 }, { dtype = "i64" }) } }
  b = data.frame { { "id", data.tensor({ 2, 1 }, { dtype = "i64" }) }, { "v", data.tensor { 20, 10 } } }
  print(a:join(b, "id"):numbers("v")[0]) --> [10]
nn.Sequential
  model = nn.Sequential { nn.Dense { 8, activation = "relu", input_dim = 4 }, nn.Dense { 1 }, seed = 1 }
  print(model:count_params()) --> 49
nn.applications
  model = nn.applications.MobileNet { input_shape = { 32, 32, 3 }, alpha = 0.25, classes = 5 }
  print(model:count_params()) --> 219829
nn.RematScope
  scope = nn.RematScope { "larger_than", output_size_threshold = 4096 }
  model = nn.applications.MobileNet { input_shape = { 32, 32, 3 }, alpha = 0.25, classes = 5, remat = scope }
  print(model:count_params()) --> 219829
nn.remat
  input = nn.Input { 8, 8, 3 }
  x = nn.remat(nn.Conv2D { 16, 3, activation = "relu" }) (input)
  model = nn.Model { inputs = input, outputs = nn.Dense { 2 } (nn.GlobalAveragePooling2D {} (x)) }
nn.initializers
  model = nn.Sequential { nn.Dense { 2, input_dim = 2, kernel_initializer = nn.initializers.Constant { 3 }, bias_initializer = "ones" } }
  print(model:predict(data.tensor { { 1, 1 } })[0]) --> [7, 7]
nn.Input
  x = nn.Input { 4 }
  print(nn.Model({ inputs = x, outputs = nn.Dense { 1 } (x) }):count_params()) --> 5
nn.Model
  store, rest = nn.Input { 1 }, nn.Input { 3 }
  h = nn.Concatenate {} { nn.Flatten {} (nn.Embedding { 100, 8 } (store)), rest }
  model = nn.Model { inputs = { store, rest }, outputs = nn.Dense { 1 } (h), seed = 1 }
  print(model:count_params()) --> 812
nn.LeakyReLU
  model = nn.Sequential { nn.Dense { 8, input_dim = 4 }, nn.LeakyReLU { 0.2 }, nn.Dense { 1 } }
nn.Softmax
  model = nn.Sequential { nn.Dense { 3, input_dim = 4 }, nn.Softmax {} }
nn.AUC
  model = nn.Sequential { nn.Dense { 1, input_dim = 2, activation = "sigmoid" } }
  model:compile { loss = "binary_crossentropy", metrics = { nn.AUC { num_thresholds = 100 } } }
nn.Precision
  model = nn.Sequential { nn.Dense { 1, input_dim = 2, activation = "sigmoid" } }
  model:compile { loss = "binary_crossentropy", metrics = { nn.Precision { thresholds = 0.3 } } }
nn.Recall
  model = nn.Sequential { nn.Dense { 1, input_dim = 2, activation = "sigmoid" } }
  model:compile { loss = "binary_crossentropy", metrics = { nn.Recall {} } }
nn.TruePositives
  metrics = { nn.TruePositives { name = "tp" } }
nn.FalsePositives
  metrics = { nn.FalsePositives { name = "fp" } }
nn.TrueNegatives
  metrics = { nn.TrueNegatives { name = "tn" } }
nn.FalseNegatives
  metrics = { nn.FalseNegatives { name = "fn" } }
nn.F1Score
  model = nn.Sequential { nn.Dense { 3, input_dim = 2, activation = "softmax" } }
  model:compile { loss = "categorical_crossentropy", metrics = { nn.F1Score { average = "macro" } } }
nn.FBetaScore
  metrics = { nn.FBetaScore { average = "macro", beta = 2 } }
nn.confusion_matrix
  m = nn.confusion_matrix(data.tensor { 0, 1, 1 }, data.tensor { 0, 1, 0 })
nn.TopKCategoricalAccuracy
  model = nn.Sequential { nn.Dense { 10, input_dim = 2, activation = "softmax" } }
  model:compile { loss = "categorical_crossentropy", metrics = { nn.TopKCategoricalAccuracy { k = 3 } } }
nn.SparseTopKCategoricalAccuracy
  model = nn.Sequential { nn.Dense { 10, input_dim = 2, activation = "softmax" } }
  model:compile { loss = "sparse_categorical_crossentropy", metrics = { nn.SparseTopKCategoricalAccuracy { k = 3 } } }
nn.RootMeanSquaredError
  model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }
  model:compile { loss = "mse", metrics = { nn.RootMeanSquaredError {} } }
nn.BinaryAccuracy
  model = nn.Sequential { nn.Dense { 1, input_dim = 2, activation = "sigmoid" } }
  model:compile { loss = "bce", metrics = { nn.BinaryAccuracy {} } }
nn.CategoricalAccuracy
  model = nn.Sequential { nn.Dense { 3, input_dim = 2, activation = "softmax" } }
  model:compile { loss = "categorical_crossentropy", metrics = { nn.CategoricalAccuracy {} } }
nn.SparseCategoricalAccuracy
  model = nn.Sequential { nn.Dense { 3, input_dim = 2, activation = "softmax" } }
  model:compile { loss = "sparse_categorical_crossentropy", metrics = { nn.SparseCategoricalAccuracy {} } }
nn.ModelCheckpoint
  model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
  model:compile { loss = "mse" }
  x = data.tensor { { 1 }, { 2 } }
  model:fit { x, x, epochs = 2, verbose = 0, callbacks = { nn.ModelCheckpoint { "best.safetensors", monitor = "loss", save_best_only = true } } }
  print(#nn.read_checkpoint "best.safetensors" > 100) --> true
nn.EarlyStopping
  stop = nn.EarlyStopping { monitor = "val_loss", patience = 3, restore_best_weights = true }
nn.TerminateOnNaN
  stop = nn.TerminateOnNaN()
nn.TensorBoard
  events = nn.TensorBoard { log_dir = "logs" }
nn.CSVLogger
  log = nn.CSVLogger { "epochs.csv", separator = ";" }
nn.ReduceLROnPlateau
  lower = nn.ReduceLROnPlateau { monitor = "val_loss", factor = 0.5, patience = 2 }
nn.LearningRateScheduler
  warm = nn.LearningRateScheduler { function(epoch, lr) return epoch < 5 and 0.001 * (epoch + 1) or lr end }
nn.LambdaCallback
  model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
  model:compile { loss = "mse" }
  x = data.tensor { { 1 }, { 2 } }
  model:fit { x, x, epochs = 2, verbose = 0, callbacks = { nn.LambdaCallback { on_epoch_end = function(epoch) print(epoch) end } } }
  --> 0
  --> 1
nn.value_and_grad
  value, slope = nn.value_and_grad(function(t) return (t * t):sum() end)(data.tensor { 1, 2, 3 })
  print(value, slope[2]) --> 14.0	6.0
nn.load
  model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
  model:compile { loss = "mse" }
  model:save "m.safetensors"
  print(nn.load("m.safetensors"):count_params()) --> 2
nn.read_checkpoint
  model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
  model:save "m.safetensors"
  print(#nn.read_checkpoint "m.safetensors" > 100) --> true
model:compile
  model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
  model:compile { optimizer = "adam", loss = "mse", metrics = { "mae" } }
model:fit
  model = nn.Sequential { nn.Dense { 1, input_dim = 1 }, seed = 1 }
  model:compile { optimizer = nn.SGD { 0.1 }, loss = "mse" }
  x, y = data.tensor { { 1 }, { 2 } }, data.tensor { { 2 }, { 4 } }
  history = model:fit { x, y, epochs = 50, verbose = 0 }
  print(history.history.loss[50] < 0.1) --> true
model:evaluate
  model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
  model:compile { loss = "mse", metrics = { "mae" } }
  x = data.tensor { { 1 }, { 2 } }
  loss, mae = model:evaluate { x, x, verbose = 0 }
model:predict
  model = nn.Sequential { nn.Dense { 3, input_dim = 2 } }
  model:compile { loss = "mse" }
  print(table.concat(model:predict(data.tensor { { 1, 2 } }).shape, "x")) --> 1x3
model:train_on_batch
  model = nn.Sequential { nn.Dense { 1, input_dim = 1 }, seed = 1 }
  model:compile { optimizer = nn.SGD { 0.1 }, loss = "mse" }
  x, y = data.tensor { { 1 }, { 2 } }, data.tensor { { 2 }, { 4 } }
  for step = 1, 50 do loss = model:train_on_batch(x, y) end
  print(loss < 0.1) --> true
model:test_on_batch
  model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
  model:compile { loss = "mse", metrics = { "mae" } }
  x = data.tensor { { 1 }, { 2 } }
  loss, mae = model:test_on_batch(x, x)
model:predict_on_batch
  model = nn.Sequential { nn.Dense { 3, input_dim = 2 } }
  model:compile { loss = "mse" }
  print(#model:predict_on_batch(data.tensor { { 1, 2 } })) --> 1
model:gradients
  model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }
  model:compile { optimizer = nn.SGD { 0.1 }, loss = "mse" }
  loss, gradients = model:gradients(data.tensor { { 1, 2 } }, data.tensor { { 3 } })
  print(gradients.names[1], #gradients) --> dense/kernel	2
optimizer:apply
  model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }
  sgd = nn.SGD { 0.1 }
  model:compile { optimizer = sgd, loss = "mse" }
  loss, gradients = model:gradients(data.tensor { { 1, 2 } }, data.tensor { { 3 } })
  for i, g in ipairs(gradients) do gradients[i] = g * 0.5 end
  sgd:apply(model, gradients)
model:summary
  nn.Sequential({ nn.Dense { 3, input_dim = 2 } }):summary()
model:save
  nn.Sequential({ nn.Dense { 3, input_dim = 2 } }):save "m.safetensors"
model:export
  nn.Sequential({ nn.Dense { 3, input_dim = 2 } }):export "m.onnx"
model:load_weights
  a = nn.Sequential { nn.Dense { 1, input_dim = 1 }, seed = 1 }
  b = nn.Sequential { nn.Dense { 1, input_dim = 1 }, seed = 2 }
  a:save "a.safetensors"
  b:load_weights "a.safetensors"
  print(a:get_weights()[1]:item() == b:get_weights()[1]:item()) --> true
model:get_weights
  model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }
  print(#model:get_weights()) --> 2
model:set_weights
  model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
  model:compile { loss = "mse" }
  model:set_weights { data.tensor { { 2 } }, data.tensor { 1 } }
  print(model:predict(data.tensor { { 3 } }):item()) --> 7.0
model:count_params
  print(nn.Sequential({ nn.Dense { 3, input_dim = 2 } }):count_params()) --> 9
hvd.run
  results = hvd.run(function(a, b) return a + b end, { np = 1, args = { 1, 2 } })
  print(results[1]) --> 3
hvd.init
  hvd.init()
  print(hvd.rank(), hvd.size()) --> 0	1
hvd.shutdown
  hvd.init()
  hvd.shutdown()
  print(hvd.is_initialized()) --> false
hvd.is_initialized
  print(hvd.is_initialized()) --> false
hvd.rank
  hvd.init()
  if hvd.rank() == 0 then print "only once" end --> only once
hvd.size
  hvd.init()
  rate = 0.001 * hvd.size()
hvd.local_rank
  hvd.init()
  print(hvd.local_rank()) --> 0
hvd.local_size
  hvd.init()
  print(hvd.local_size()) --> 1
hvd.cross_rank
  hvd.init()
  print(hvd.cross_rank()) --> 0
hvd.cross_size
  hvd.init()
  print(hvd.cross_size()) --> 1
hvd.allreduce
  hvd.init()
  print(hvd.allreduce(2, { op = hvd.Sum }) == 2 * hvd.size()) --> true
hvd.broadcast
  hvd.init()
  print(hvd.broadcast(data.tensor { 1, 2 }, 0):sum()) --> 3.0
hvd.broadcast_object
  hvd.init()
  print(hvd.broadcast_object({ lr = 0.1 }, 0).lr) --> 0.1
hvd.broadcast_model
  hvd.init()
  model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
  hvd.broadcast_model(model, 0)
hvd.allgather
  hvd.init()
  print(#hvd.allgather(data.tensor { 1, 2 }) == 2 * hvd.size()) --> true
hvd.allgather_object
  hvd.init()
  print(#hvd.allgather_object { rank = hvd.rank() } == hvd.size()) --> true
hvd.barrier
  hvd.init()
  hvd.barrier()
hvd.join
  hvd.init()
  print(hvd.join()) --> 0
hvd.elastic
  hvd.init()
  model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
  model:compile { optimizer = hvd.DistributedOptimizer(nn.SGD { 0.1 }), loss = "mse" }
  train = hvd.elastic.run(function(state)
    model:fit { data.tensor { { 1 } }, data.tensor { 2 }, epochs = 3, initial_epoch = state.epoch, verbose = 0,
      callbacks = { hvd.elastic.UpdateEpochStateCallback(state), hvd.elastic.CommitStateCallback(state, 0) } }
    return state.epoch
  end)
  print(train(hvd.elastic.State { model = model, epoch = 0 })) --> 3
hvd.DistributedOptimizer
  hvd.init()
  model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
  model:compile { optimizer = hvd.DistributedOptimizer(nn.Adam { 0.001 * hvd.size() }), loss = "mse" }
hvd.BroadcastGlobalVariablesCallback
  callbacks = { hvd.BroadcastGlobalVariablesCallback(0) }
hvd.MetricAverageCallback
  callbacks = { hvd.MetricAverageCallback() }
hvd.LearningRateWarmupCallback
  callbacks = { hvd.LearningRateWarmupCallback { initial_lr = 0.004, warmup_epochs = 3 } }
results:rank
  results = hvd.run(function() return "a", "b" end, { np = 1 })
  print(results:rank(0)) --> a	b
results:ranks
  results = hvd.run(function() return "a", "b" end, { np = 1 })
  print(table.concat(results:ranks(), " ")) --> a
tensor:slice
  print(data.tensor({ 1, 2, 3, 4 }):slice(1, 3):sum()) --> 5.0
tensor:shard
  print(#data.tensor({ 1, 2, 3 }):shard(0, 2)) --> 2
tensor:reshape
  print(data.tensor({ 1, 2, 3, 4 }):reshape({ 2, -1 })[1][0]) --> 3.0
tensor:columns
  print(data.tensor({ { 1, 2, 3 }, { 4, 5, 6 } }):columns(1, 3):sum()) --> 16.0
tensor:transpose
  print(data.tensor({ { 1, 2 }, { 3, 4 } }):transpose()[0][1]) --> 3.0
tensor:take
  print(data.tensor({ 10, 20, 30 }):take { 2, 0 }[0]) --> 30.0
tensor:matmul
  print(data.tensor({ { 1, 2 } }):matmul(data.tensor { { 3 }, { 4 } }):item()) --> 11.0
tensor:copy
  print(data.tensor({ 1, 2, 3 }):shard(0, 2):copy()[1]) --> 3.0
tensor:cast
  print(data.tensor({ 1.7 }):cast("i64")[0]) --> 1
tensor:std
  print(data.tensor({ 1, 3 }):std()) --> 1.0
tensor:add
  print((data.tensor { 1, 2 } + 1)[1]) --> 3.0
tensor:subtract
  print((data.tensor { 5, 2 } - data.tensor { 1, 1 })[0]) --> 4.0
tensor:multiply
  print((data.tensor { { 1, 2 }, { 3, 4 } } * data.tensor { 10, 100 })[1][0]) --> 30.0
tensor:divide
  print((1 / data.tensor { 2, 4 })[1]) --> 0.25
tensor:power
  print((data.tensor { 3 } ^ 2):item()) --> 9.0
tensor:maximum
  print(data.tensor({ -1, 2 }):maximum(0)[0]) --> 0.0
tensor:minimum
  print(data.tensor({ -1, 2 }):minimum(0)[1]) --> 0.0
tensor:equal
  print(data.tensor({ 1, 2 }):equal(data.tensor { 1, 3 }):mean()) --> 0.5
tensor:not_equal
  print(data.tensor({ 1, 2 }):not_equal(1)[1]) --> 1
tensor:less
  print(data.tensor({ 1, 2 }):less(2)[0]) --> 1
tensor:less_equal
  print(data.tensor({ 1, 2 }):less_equal(2):sum()) --> 2
tensor:greater
  print(data.tensor({ 1, 2 }):greater(1)[0]) --> 0
tensor:greater_equal
  print(data.tensor({ 1, 2 }):greater_equal(1):sum()) --> 2
tensor:negative
  print((-data.tensor { 1, 2 })[0]) --> -1.0
tensor:abs
  print(data.tensor({ -2 }):abs():item()) --> 2.0
tensor:exp
  print(data.tensor({ 0 }):exp():item()) --> 1.0
tensor:log
  print(data.tensor({ 1 }):log():item()) --> 0.0
tensor:sqrt
  print(data.tensor({ 9 }):sqrt():item()) --> 3.0
tensor:square
  print(data.tensor({ 3 }):square():item()) --> 9.0
tensor:sign
  print(data.tensor({ -5, 5 }):sign()[0]) --> -1.0
tensor:floor
  print(data.tensor({ 1.5 }):floor():item()) --> 1.0
tensor:sin
  print(data.tensor({ 0 }):sin():item()) --> 0.0
tensor:cos
  print(data.tensor({ 0 }):cos():item()) --> 1.0
tensor:tanh
  print(data.tensor({ 0 }):tanh():item()) --> 0.0
tensor:sigmoid
  print(data.tensor({ 0 }):sigmoid():item()) --> 0.5
tensor:clip
  print(data.tensor({ -3, 3 }):clip(-1, 1)[1]) --> 1.0
tensor:argmax
  print(data.tensor({ { 1, 9 }, { 8, 2 } }):argmax(1)[0]) --> 1
tensor:sum
  print(data.tensor({ 1, 2 }):sum()) --> 3.0
tensor:mean
  print(data.tensor({ 1, 2 }):mean()) --> 1.5
tensor:min
  print(data.tensor({ 1, 2 }):min()) --> 1.0
tensor:max
  print(data.tensor({ 1, 2 }):max()) --> 2.0
tensor:item
  print(data.tensor({ 7 }):item()) --> 7.0
tensor:totable
  print(data.tensor({ { 1, 2 } }):totable()[1][2]) --> 2.0
]]
