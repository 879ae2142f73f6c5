-- SPDX-License-Identifier: MIT
-- What is said of a name that there is not: Keras's and Horovod's names, and what to write instead of some. The lists are those of
-- Keras 3.15 and have what the trainer has, too: a name is looked up only where it was not found.
--   local hint = ...   hint("nn", "LSTM") → "Keras has a layer of this name, and the trainer has none", or nil
local names = {
  layer = [[
    Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D AdaptiveMaxPooling1D
    AdaptiveMaxPooling2D AdaptiveMaxPooling3D Add AdditiveAttention AlphaDropout Attention AugMix AutoContrast Average AveragePooling1D
    AveragePooling2D AveragePooling3D BatchNormalization Bidirectional CategoryEncoding CenterCrop Concatenate
    ContrastLimitedAdaptiveHistogramEqualization Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D
    ConvLSTM3D Cropping1D Cropping2D Cropping3D CutMix Dense DepthwiseConv1D DepthwiseConv2D Discretization Dot Dropout ELU EinsumDense
    Embedding Equalization Flatten FlaxLayer GRU GRUCell GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D
    GlobalAveragePooling3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization HashedCrossing Hashing Identity Input
    InputLayer InputSpec IntegerLookup JaxLayer LSTM LSTMCell Lambda Layer LayerNormalization LeakyReLU Masking MaxNumBoundingBoxes
    MaxPooling1D MaxPooling2D MaxPooling3D Maximum MelSpectrogram Minimum MixUp MultiHeadAttention Multiply Normalization PReLU Permute
    Pipeline RMSNormalization RNN RandAugment RandomBrightness RandomColorDegeneration RandomColorJitter RandomContrast RandomCrop
    RandomElasticTransform RandomErasing RandomFlip RandomGaussianBlur RandomGrayscale RandomHue RandomInvert RandomPerspective
    RandomPosterization RandomRotation RandomSaturation RandomSharpness RandomShear RandomTranslation RandomZoom ReLU RepeatVector Rescaling
    Reshape Resizing ReversibleEmbedding STFTSpectrogram SeparableConv1D SeparableConv2D SimpleRNN SimpleRNNCell Softmax Solarization
    SpatialDropout1D SpatialDropout2D SpatialDropout3D SpectralNormalization StackedRNNCells StringLookup Subtract TFSMLayer
    TextVectorization TimeDistributed TorchModuleWrapper UnitNormalization UpSampling1D UpSampling2D UpSampling3D Wrapper ZeroPadding1D
    ZeroPadding2D ZeroPadding3D
  ]],
  loss = [[
    BinaryCrossentropy BinaryFocalCrossentropy CTC CategoricalCrossentropy CategoricalFocalCrossentropy CategoricalGeneralizedCrossEntropy
    CategoricalHinge Circle CosineSimilarity Dice Hinge Huber KLDivergence LogCosh Loss MeanAbsoluteError MeanAbsolutePercentageError
    MeanSquaredError MeanSquaredLogarithmicError Poisson SparseCategoricalCrossentropy SquaredHinge Tversky
  ]],
  metric = [[
    AUC Accuracy BinaryAccuracy BinaryIoU CategoricalAccuracy ConcordanceCorrelation F1Score FBetaScore FalseNegatives FalsePositives IoU
    LogCoshError Mean MeanIoU MeanMetricWrapper Metric OneHotIoU OneHotMeanIoU PearsonCorrelation Precision PrecisionAtRecall R2Score Recall
    RecallAtPrecision RootMeanSquaredError SensitivityAtSpecificity SparseCategoricalAccuracy SparseTopKCategoricalAccuracy
    SpecificityAtSensitivity Sum TopKCategoricalAccuracy TrueNegatives TruePositives
  ]],
  optimizer = [[
    Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lamb Lion LossScaleOptimizer MultiOptimizer Muon Nadam Optimizer OptimizerMap RMSprop
    SGD ScheduleFreeAdamW
  ]],
  schedule = [[
    CosineDecay CosineDecayRestarts ExponentialDecay InverseTimeDecay LearningRateSchedule PiecewiseConstantDecay PolynomialDecay
  ]],
  callback = [[
    BackupAndRestore CSVLogger Callback CallbackList EarlyStopping History LambdaCallback LearningRateScheduler ModelCheckpoint
    OrbaxCheckpoint ProgbarLogger ReduceLROnPlateau RemoteMonitor SwapEMAWeights TensorBoard TerminateOnNaN
  ]],
  initializer = [[
    Constant GlorotNormal GlorotUniform HeNormal HeUniform Initializer LecunNormal LecunUniform Ones Orthogonal RandomNormal RandomUniform
    STFT TruncatedNormal VarianceScaling Zeros
  ]],
  regularizer = [[
    L1 L1L2 L2 OrthogonalRegularizer Regularizer
  ]],
  application = [[
    ConvNeXtBase ConvNeXtLarge ConvNeXtSmall ConvNeXtTiny ConvNeXtXLarge DenseNet121 DenseNet169 DenseNet201 EfficientNetB0 EfficientNetB1
    EfficientNetB2 EfficientNetB3 EfficientNetB4 EfficientNetB5 EfficientNetB6 EfficientNetB7 EfficientNetV2B0 EfficientNetV2B1
    EfficientNetV2B2 EfficientNetV2B3 EfficientNetV2L EfficientNetV2M EfficientNetV2S InceptionResNetV2 InceptionV3 MobileNet MobileNetV2
    MobileNetV3Large MobileNetV3Small NASNetLarge NASNetMobile ResNet101 ResNet101V2 ResNet152 ResNet152V2 ResNet50 ResNet50V2 VGG16 VGG19
    Xception
  ]],
  constraint = [[
    Constraint MaxNorm MinMaxNorm NonNeg UnitNorm
  ]],
  activation = [[
    celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu linear log_sigmoid log_softmax mish
    relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign sparse_plus sparse_sigmoid sparsemax squareplus swish tanh
    tanh_shrink threshold
  ]],
  op = [[
    abs absolute adaptive_average_pool adaptive_max_pool add all allclose amax amin angle any append arange arccos arccosh arcsin arcsinh
    arctan arctan2 arctanh argmax argmin argpartition argsort array array_split associative_scan average average_pool bartlett
    batch_normalization binary_crossentropy bincount bitwise_and bitwise_invert bitwise_left_shift bitwise_not bitwise_or
    bitwise_right_shift bitwise_xor blackman broadcast_to cast categorical_crossentropy cbrt cdist ceil celu cholesky cholesky_inverse clip
    concatenate cond conj conjugate conv conv_transpose convert_to_numpy convert_to_tensor copy corrcoef correlate cos cosh count_nonzero
    cross ctc_decode ctc_loss cumprod cumsum custom_gradient deg2rad depth_to_space depthwise_conv det diag diagflat diagonal diff digitize
    divide divide_no_nan dot dot_product_attention dsplit dstack dtype eig eigh einsum elu empty empty_like equal erf erfc erfinv exp exp2
    expand_dims expm1 extract_sequences eye fabs fft fft2 flip fliplr flipud floor floor_divide fmax fmin fmod fold fori_loop full full_like
    gcd gelu geomspace get_item glu greater greater_equal hamming hanning hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh heaviside
    histogram hsplit hstack hypot i0 identity ifft2 imag in_top_k inner inv irfft is_tensor isclose isfinite isin isinf isnan isneginf
    isposinf isreal istft jvp kaiser kron layer_normalization lcm ldexp leaky_relu left_shift less less_equal linspace log log10 log1p log2
    log_sigmoid log_softmax logaddexp logaddexp2 logdet logical_and logical_not logical_or logical_xor logspace logsumexp lstsq lu_factor
    map matmul matrix_rank max max_pool maximum mean median meshgrid min minimum mod moments moveaxis multi_hot multiply nan_to_num
    nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar ndim
    negative nextafter nonzero norm normalize not_equal one_hot ones ones_like outer pad percentile pinv polar power prod psnr ptp qr
    quantile rad2deg ravel real rearrange reciprocal relu relu6 repeat reshape rfft right_shift rms_normalization roll rot90 round rsqrt
    saturate_cast scan scatter scatter_update searchsorted segment_max segment_min segment_prod segment_sum select selu separable_conv shape
    sigmoid sign signbit silu sin sinc sinh size slice slice_update slogdet soft_shrink softmax softplus softsign solve solve_triangular
    sort space_to_depth sparse_categorical_crossentropy sparse_plus sparse_sigmoid sparsemax split sqrt square squareplus squeeze stack std
    stft stop_gradient subtract sum svd swapaxes swish switch take take_along_axis tan tanh tanh_shrink tensordot threshold tile top_k trace
    transpose trapezoid tri tril triu true_divide trunc unfold unique unravel_index unstack vander var vdot vectorize vectorized_map view
    view_as_complex view_as_real vsplit vstack where while_loop zeros zeros_like
  ]],
}

-- Keras's second names of its own classes.
local second = {
  AvgPool1D = "AveragePooling1D", AvgPool2D = "AveragePooling2D", AvgPool3D = "AveragePooling3D", Convolution1D = "Conv1D",
  Convolution1DTranspose = "Conv1DTranspose", Convolution2D = "Conv2D", Convolution2DTranspose = "Conv2DTranspose", Convolution3D =
  "Conv3D", Convolution3DTranspose = "Conv3DTranspose", GlobalAvgPool1D = "GlobalAveragePooling1D", GlobalAvgPool2D =
  "GlobalAveragePooling2D", GlobalAvgPool3D = "GlobalAveragePooling3D", GlobalMaxPool1D = "GlobalMaxPooling1D", GlobalMaxPool2D =
  "GlobalMaxPooling2D", GlobalMaxPool3D = "GlobalMaxPooling3D", GroupQueryAttention = "GroupedQueryAttention", MaxPool1D = "MaxPooling1D",
  MaxPool2D = "MaxPooling2D", MaxPool3D = "MaxPooling3D", SeparableConvolution1D = "SeparableConv1D", SeparableConvolution2D =
  "SeparableConv2D", IdentityInitializer = "Identity", OrthogonalInitializer = "Orthogonal", STFTInitializer = "STFT",
}

-- Where Keras keeps names that are directly in nn, or that have no place here.
local instead = {
  nn = {
    layers = "layers are in nn itself: nn.Dense for keras.layers.Dense",
    models = "nn.Sequential, nn.Model and nn.load are in nn itself",
    losses = "losses are in nn itself, as nn.Huber {}, or told by their names: loss = \"mse\"",
    metrics = "metrics are in nn itself, as nn.AUC {}, or told by their names: metrics = { \"accuracy\" }",
    callbacks = "callbacks are in nn itself, as nn.EarlyStopping {}",
    activations = "activations are told by their names: nn.Dense { 8, activation = \"relu\" }, nn.Activation { \"relu\" }",
    datasets = "the module data has data.mnist(), and reads files: data.csv, data.npz, data.images",
    preprocessing = "the module data reads files: data.images, data.csv",
    utils = "class numbers go with sparse_categorical_crossentropy; data.images and data.csv read files",
    to_categorical = "class numbers go with sparse_categorical_crossentropy as they are; one-hot: y:reshape { -1, 1 }:equal(data.tensor { 0, 1, 2 }):cast \"f32\"",
    random = "nn.Sequential { …, seed = 1 } draws weights; numbers of one's own come from math.random and data.tensor",
    backend = "functions of tensors are in nn.ops",
    mixed_precision = "a model takes dtype = \"mixed_bfloat16\"",
    clone_model = "nn.load(path) of a saved model is another one of it",
    load_model = "write nn.load \"m.safetensors\"",
    load_weights = "write model:load_weights \"m.safetensors\"",
    Callback = "a callback is a table of functions: { on_epoch_end = function(self, epoch, logs) … end }",
    Layer = "layers of one's own there are none; losses, metrics and callbacks may be functions",
    Lambda = "of a node a Rescaling, an Activation, an Add or a Concatenate; other functions go into the data, or into a loss of one's own",
    History = "model:fit returns one",
    Optimizer = "gradients of a step: model:gradients(x, y); model.optimizer:apply(model, gradients)",
    GradientTape = "model:gradients(x, y) has those of a model's weights, nn.value_and_grad(fn) those of a function of tensors",
    Accuracy = "metrics = { \"accuracy\" }",
    InputLayer = "write nn.Input",
  },
  data = {
    read_csv = "write data.csv", read_parquet = "write data.parquet", load = "write data.npy or data.npz", DataFrame = "write data.frame { { \"Name\", tensor } }",
    Dataset = "tensors are given to fit as they are; data.images with lazy = true decodes pictures batch by batch", DataLoader = "tensors are given to fit as they are",
    load_data = "write data.mnist()", array = "write data.tensor", image_dataset_from_directory = "write data.images",
  },
  ["a model"] = {
    layers = "model:summary() shows its layers; keep a layer in a variable to use it again",
    get_layer = "keep the layer in a variable when the model is made: local d = nn.Dense { 8 }",
    add = "all layers are given at once: nn.Sequential { layer, layer, … }; put them into a table first: nn.Sequential(list)",
    pop = "all layers are given at once: nn.Sequential { layer, layer, … }",
    trainable = "layers have it: nn.Dense { 8, trainable = false }; or an optimizer's groups: { \"dense\", trainable = false }",
    weights = "model:get_weights() is a list of tensors",
    trainable_weights = "model:get_weights() is a list of tensors; model:gradients(x, y) has the names of those that are trained",
    trainable_variables = "model:get_weights() is a list of tensors; model:gradients(x, y) has the names of those that are trained",
    variables = "model:get_weights() is a list of tensors",
    save_weights = "write model:save \"m.safetensors\"; load_weights and nn.load read it",
    to_json = "model:save writes the layers, too, and nn.load reads them",
    get_config = "model:save writes the layers, too, and nn.load reads them",
    history = "model:fit returns it: local h = model:fit { … }; h.history.loss",
    loss = "model:fit returns it: local h = model:fit { … }; h.history.loss",
    metrics = "model:compile { metrics = { … } } sets them; model:evaluate { x, y, return_dict = true } has their names",
    metrics_names = "model:evaluate { x, y, return_dict = true } returns a table by name",
    build = "a model is built when its first layer tells its input: nn.Input { 784 }, or by the first rows that it sees",
    call = "write model:predict(x)",
    inputs = "keep the node in a variable: local i = nn.Input { 4 }",
    outputs = "keep the node in a variable before the model is made",
    input = "keep the node in a variable: local i = nn.Input { 4 }",
    output = "keep the node in a variable before the model is made",
    input_shape = "model:summary() shows it",
    output_shape = "model:summary() shows it",
    fit_generator = "model:fit takes tensors, or lazy pictures of data.images",
    train_step = "a step of one's own: model:gradients(x, y) and model.optimizer:apply(model, gradients)",
    add_loss = "a loss of one's own is a function: loss = function(y_true, y_pred) … end",
    add_metric = "a metric of one's own is a function: metrics = { far = function(y_true, y_pred) … end }",
    state_dict = "model:get_weights() is a list of tensors; model:save \"m.safetensors\" writes them",
    load_state_dict = "model:load_weights reads safetensors and .npz",
    parameters = "model:get_weights() is a list of tensors",
    forward = "write model:predict(x)",
    eval = "predict and evaluate never train, so there is no such mode",
    train = "write model:fit { x, y }",
    plot = "model:summary() shows its layers",
  },
  ["a tensor"] = {
    T = "write t:transpose()", numpy = "t:totable() is nested tables", tolist = "write t:totable()", size = "t.shape is its shape, #t its rows",
    ndim = "write #t.shape", astype = "write t:cast \"f32\"", to = "write t:cast \"f32\"", float = "write t:cast \"f32\"", long = "write t:cast \"i64\"",
    flatten = "write t:reshape { -1 }", view = "write t:reshape { n, m }", squeeze = "write t:reshape { n, m }", unsqueeze = "write t:reshape { n, 1 }",
    dot = "write t:matmul(other)", mm = "write t:matmul(other)", pow = "write t ^ 2", var = "write t:std() ^ 2", len = "write #t",
    gt = "write t:greater(x)", lt = "write t:less(x)", eq = "write t:equal(x)", device = "everything is computed on the CPU",
    backward = "nn.value_and_grad(fn) has gradients of a function of tensors", grad = "nn.value_and_grad(fn) has gradients of a function of tensors",
    head = "write t:slice(0, n)", relu = "write t:maximum(0)", detach = "a tensor has no gradient",
  },
  ["a node"] = {
    shape = "shapes are known when a model is made: model:summary() shows them", dtype = "numbers between layers are float32", name = "write node.layer.name",
    numpy = "a node has no numbers: model:predict(x) has", reshape = "write nn.Reshape { n, m } (node)", transpose = "nodes are changed by layers: layer(node)",
  },
  ["a layer"] = {
    weights = "model:get_weights() has those of all layers", get_weights = "write model:get_weights()", set_weights = "write model:set_weights(list)",
    kernel = "model:get_weights() has those of all layers", bias = "model:get_weights() has those of all layers", output = "keep the node: local h = layer(node)",
    input = "keep the node: local h = layer(node)", add_loss = "a loss of one's own is a function: loss = function(y_true, y_pred) … end",
    output_shape = "model:summary() shows it", input_shape = "model:summary() shows it", count_params = "write model:count_params()",
    get_config = "model:save writes the layers, and nn.load reads them", build = "layers are built with their model", call = "write layer(node)",
  },
  ["an option"] = {
    sparse = "leave it out: an input is a tensor of all its numbers", ragged = "leave it out: rows have one length: pad them", optional = "leave it out: every call gives all inputs",
    tensor = "leave it out: tensors are given to fit and predict",
    input_length = "leave it out: the length is that of the rows", data_format = "leave it out: channels come last", run_eagerly = "leave it out",
    jit_compile = "leave it out", steps_per_execution = "leave it out", auto_scale_loss = "leave it out: sums are float32", experimental_relax_shapes = "leave it out",
    weighted_metrics = "metrics count each row once; a function of one's own may weigh them", validation_freq = "each epoch is validated", validation_steps = "give fewer rows: validation_data = { x:slice(0, n), y:slice(0, n) }",
    workers = "leave it out: the threads are those of compile", max_queue_size = "leave it out", use_multiprocessing = "leave it out",
    sep = "write separator", delimiter = "write separator", na_values = "write missing", usecols = "write columns", nrows = "write t:head(n)",
    parse_dates = "dates are found by themselves; date_format says how others are written", index_col = "all columns are columns of the frame", skip = "write skiprows",
    dayfirst = "write date_format = \"%d/%m/%Y\"", skipinitialspace = "leave it out: spaces around fields are passed over",
    lr = "write learning_rate", decay = "give a schedule: learning_rate = nn.InverseTimeDecay { … }", mask_zero = "Keras has this option, and the trainer has not: rows have one length, and all their indices count",
    noise_shape = "Keras has this option, and the trainer has not", activity_regularizer = "Keras has this option, and the trainer has not: kernel_regularizer and others are there",
    kernel_constraint = "Keras has this option, and the trainer has not: kernel_regularizer is there", bias_constraint = "Keras has this option, and the trainer has not: bias_regularizer is there",
    embeddings_constraint = "Keras has this option, and the trainer has not: embeddings_regularizer is there", weights = "write model:load_weights(path) or model:set_weights(list) when the model is made",
    ema_momentum = "Keras has this option, and the trainer has not", use_ema = "Keras has this option, and the trainer has not", amsgrad = "Keras has this option, and the trainer has not",
    loss_scale_factor = "leave it out: gradients of weights are float32", gradient_accumulation_steps = "Keras has this option, and the trainer has not: sum gradients of model:gradients and apply them",
    compression = "Horovod has this option; gradients travel as float32 here", backward_passes_per_step = "Horovod has this option; here sum gradients of model:gradients, then model.optimizer:apply",
    gradient_predivide_factor = "Horovod has this option; gradients are averaged as they are", lora_rank = "Keras has this option, and the trainer has not",
  },
  hvd = {
    Compression = "gradients travel as float32; of large tables only the rows that batches have named",
    Adasum = "gradients are averaged: hvd.DistributedOptimizer(optimizer)",
    broadcast_parameters = "write hvd.broadcast_model(model, 0)",
    broadcast_variables = "write hvd.broadcast_model(model, 0)",
    broadcast_global_variables = "write hvd.broadcast_model(model, 0)",
    broadcast_optimizer_state = "hvd.broadcast_model(model, 0) takes the optimizer's state along",
    DistributedGradientTape = "model:gradients(x, y), then hvd.allreduce(gradients), then model.optimizer:apply(model, gradients)",
    nccl_built = "numbers travel through shared memory or MPI, on CPUs", mpi_built = "hvd has MPI as a plug-in for several machines",
    gloo_built = "numbers travel through shared memory or MPI", cuda_built = "everything is computed on CPUs", mpi_enabled = "hvd has MPI as a plug-in for several machines",
    mpi_threads_supported = "one thread of a rank talks to the others", LearningRateScheduleCallback = "write nn.LearningRateScheduler, or a schedule as the optimizer's learning_rate",
    allreduce_async = "write hvd.allreduce", grouped_allreduce = "hvd.allreduce takes a list of tensors, which travel as one", broadcast_async = "write hvd.broadcast",
    start_timeline = "HOROVOD_TIMELINE=FILE in the environment writes it", BestModelCheckpoint = "write nn.ModelCheckpoint { path, save_best_only = true }",
    load_model = "write nn.load", spark = "hvd.run(fn, { np = 2 }) starts the ranks",
  },
}

local article = { layer = "a layer", loss = "a loss", metric = "a metric", optimizer = "an optimizer", schedule = "a schedule", callback = "a callback", initializer = "an initializer",
  regularizer = "a regularizer", application = "a network", constraint = "a constraint", activation = "an activation", op = "a function" }
local order = { "layer", "loss", "metric", "optimizer", "schedule", "callback", "initializer", "regularizer", "application", "constraint", "op", "activation" }
-- Which kinds of names are looked for where.
local of = {
  nn = { layer = true, loss = true, metric = true, optimizer = true, schedule = true, callback = true, regularizer = true, constraint = true, application = true },
  ["nn.applications"] = { application = true }, ["nn.initializers"] = { initializer = true }, ["nn.regularizers"] = { regularizer = true },
  ["nn.ops"] = { op = true }, ["nn.optimizers"] = { optimizer = true }, ["nn.optimizers.schedules"] = { schedule = true },
}

local kinds -- a table by name, made when it is first needed
local function kind_of(name, wanted)
  if not kinds then
    kinds = {}
    for _, kind in ipairs(order) do
      for word in names[kind]:gmatch "%S+" do
        kinds[word] = kinds[word] or {}
        kinds[word][kind] = true
      end
    end
  end
  for _, kind in ipairs(order) do
    if wanted[kind] and kinds[name] and kinds[name][kind] then return kind end
  end
end

-- What to say of the name, which `what` has not; there: a table of the names that it has.
return function(what, name, there)
  local said = instead[what] and instead[what][name]
  if said then return said end
  local wanted = of[what]
  if not wanted then return end
  local other = second[name]
  if other and rawget(there, other) ~= nil then return ("Keras's other name of %s: write %s.%s"):format(other, what, other) end
  local kind = kind_of(other or name, wanted)
  if kind then return ("Keras has %s of this name, and the trainer has none"):format(article[kind]) end
end
