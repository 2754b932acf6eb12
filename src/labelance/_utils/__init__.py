"""Small tools for every package: random numbers, kernels, files, memory, messages."""
