-- SPDX-License-Identifier: MIT
-- Formulas and their sources, for `help`: tests/support/formulapage.py writes this file from the headers.
local core = ...

core.formulas [[
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
