-- SPDX-License-Identifier: MIT
-- Formulas and their sources, for `help`: tests/support/formulapage.py writes this file from the headers.
local core = ...

core.formulas [[
nn.L1
  l1·Σ |W| is added to the loss of each batch, also where nothing is trained; l1 0.01
  Tibshirani 1996
nn.L2
  l2·Σ W²; l2 0.01
  Krogh & Hertz 1992
nn.L1L2
  l1·Σ |W| + l2·Σ W²; both 0
  Zou & Hastie 2005
nn.SparseCategoricalCrossentropy
  -log p[y], y a class number
  Bridle 1990
nn.CategoricalCrossentropy
  -Σ y·log p; label_smoothing s: y ← y·(1-s) + s/outputs
  Bridle 1990; label_smoothing: Szegedy and others, arXiv 1512.00567
nn.BinaryCrossentropy
  mean -y·log p - (1-y)·log(1-p); label_smoothing s: y ← y·(1-s) + s/2
  Keras 3
nn.MeanSquaredError
  mean (y-p)²
  Keras 3
nn.MeanAbsoluteError
  mean |y-p|
  Keras 3
nn.MeanAbsolutePercentageError
  100 · mean |y-p|/max(|y|, 1e-7)
  Keras 3
nn.MeanSquaredLogarithmicError
  mean (log(max(y, 1e-7)+1) - log(max(p, 1e-7)+1))²
  Keras 3
nn.Huber
  mean of (y-p)²/2 where |y-p| ≤ delta, else delta·|y-p| - delta²/2
  Huber 1964
nn.LogCosh
  mean log cosh(p-y)
  Keras 3
nn.Poisson
  mean p - y·log(p + 1e-7)
  Keras 3
nn.AUC
  the area under the curve of true over false positives (curve "ROC", by the trapezoidal rule), or of precision over recall ("PR", interpolated), from counts at 200 thresholds (num_thresholds)
  Davis & Goadrich 2006
nn.Precision
  TP/(TP + FP): of the outputs above thresholds, 0.5, the share that was expected; top_k: of the k greatest of a row; class_id: of one class
  Keras 3
nn.Recall
  TP/(TP + FN): of what was expected, the share above the threshold
  Keras 3
nn.TruePositives
  outputs above thresholds that were expected
  Keras 3
nn.FalsePositives
  outputs above it that were not expected
  Keras 3
nn.TrueNegatives
  outputs up to it that were not expected
  Keras 3
nn.FalseNegatives
  outputs up to it that were expected
  Keras 3
nn.F1Score
  2·precision·recall/(precision + recall), where the greatest output of a row is positive, or those above threshold; of several outputs by average: "micro", "macro", "weighted"
  van Rijsbergen 1979
nn.FBetaScore
  (1 + β²)·precision·recall/(β²·precision + recall), β is beta, 1
  van Rijsbergen 1979
nn.SGD
  v ← momentum·v - lr·g; w ← w + v (momentum 0: w ← w - lr·g); nesterov: w ← w + momentum·v - lr·g
  Sutskever and others 2013
nn.Adam
  m ← β1·m + (1-β1)·g; v ← β2·v + (1-β2)·g²; w ← w - lr·√(1-β2ᵗ)/(1-β1ᵗ)·m/(√v + ε)
  Kingma & Ba, arXiv 1412.6980, before section 2.1
nn.AdamW
  Adam with weight_decay 0.004
  Loshchilov & Hutter, arXiv 1711.05101
nn.RMSprop
  v ← ρ·v + (1-ρ)·g²; w ← w - lr·g/√(v + ε); with momentum: m ← momentum·m + lr·g/√(v + ε), w ← w - m; centered: a ← ρ·a + (1-ρ)·g, and v - a² instead of v (Graves, arXiv 1308.0850)
  Tieleman & Hinton 2012
nn.Adagrad
  a ← a + g², from initial_accumulator_value; w ← w - lr·g/√(a + ε)
  Duchi, Hazan, Singer 2011
nn.LazyAdam
  Adam; of an Embedding's table only the rows that the batch names change: w, m, v and their weight decay
  TensorFlow Addons, LazyAdam; PyTorch, SparseAdam
nn.ExponentialDecay
  i·decay_rate^(s/d); staircase: s/d rounded down
  Keras 3
nn.InverseTimeDecay
  i/(1 + decay_rate·s/d); staircase: s/d rounded down
  Keras 3
nn.PolynomialDecay
  (i - end)·(1 - min(s, d)/d)^power + end; cycle: d is the next multiple of it
  Keras 3
nn.CosineDecay
  i·((1 - alpha)·(1 + cos π·min(s, d)/d)/2 + alpha); with warmup_target first in warmup_steps from i up to it, then from it
  Loshchilov & Hutter, arXiv 1608.03983
nn.CosineDecayRestarts
  the same again and again, each t_mul times as long and from m_mul times the rate
  Loshchilov & Hutter, arXiv 1608.03983
nn.PiecewiseConstantDecay
  values[k] while boundaries[k-1] < s ≤ boundaries[k]
  Keras 3
nn.ModelCheckpoint
  writes the model to filepath after each epoch, or every save_freq batches; save_best_only: where monitor is better, from initial_value_threshold on
  Keras 3
nn.EarlyStopping
  ends the training after patience epochs in which monitor did not beat the best by min_delta, counted from start_from_epoch on
  Prechelt 1998
nn.ReduceLROnPlateau
  lr ← max(lr·factor, min_lr) after patience epochs in which monitor did not beat the best by min_delta; then cooldown epochs do not count
  Keras 3
nn.LearningRateScheduler
  lr ← schedule(epoch, lr) before each epoch
  Keras 3
nn.CSVLogger
  a line of all logs for each epoch
  Keras 3
nn.TensorBoard
  event files of scalars, in log_dir/train and log_dir/validation: epoch_loss, epoch_learning_rate; batch_loss with update_freq
  Keras 3
nn.TerminateOnNaN
  ends the training at a loss that is not finite, with its history; without it that is an error
  Keras 3
nn.LambdaCallback
  functions of one's own: on_epoch_end = function(epoch, logs) … end
  Keras 3
hvd.BroadcastGlobalVariablesCallback
  all variables of rank root_rank for the others, once, at the end of the first batch
  Horovod 0.28
hvd.MetricAverageCallback
  each metric of an epoch ← its mean over the ranks
  Horovod 0.28
hvd.LearningRateWarmupCallback
  lr ← initial_lr/size·(1 + p·(size - 1)/warmup_epochs) in these epochs, p the epochs done; momentum_correction: momentum ← momentum·(new lr)/(old lr) in this step
  Goyal and others, arXiv 1706.02677
]]
