"""One sample at a time: online SGD, plain, in small batches, or with a look ahead."""
