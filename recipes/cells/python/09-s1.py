# all of it: trainer, local mode, image, manifest, deploy, wait, logs, delete
# cells: parameters trainer local build manifest deploy expect logs delete
